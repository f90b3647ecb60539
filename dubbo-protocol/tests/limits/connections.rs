//! Connections that say too little, are too many, or gone.

use dubbo_test::{
    attack::{Heard, Wire, idle, reset_connections},
    peer::h2::{PREFACE, code},
};

use crate::process::Server;

#[tokio::test]
async fn what_begins_and_does_not_end_is_hung_up_on_in_time() {
    let server = Server::start(".handshake-timeout=300").await;
    for said in idle::BEGINNINGS {
        let attack = async {
            for mut socket in idle::run(server.address, 20, said).await {
                idle::hung_up(&mut socket).await;
            }
        };
        server.under(attack).await.within(4 << 20);
    }
}

#[tokio::test]
async fn thousands_that_say_nothing_keep_nobody_out() {
    let server = Server::start("").await;
    let attack = async {
        let mut all = Vec::new();
        for said in idle::BEGINNINGS {
            all.extend(idle::run(server.address, 750, said).await);
        }
        all.len()
    };
    let all = server.under(attack).await.within(32 << 20);
    assert_eq!(all, 3_000);
}

#[tokio::test]
async fn a_connection_too_many_is_told_so() {
    let server = Server::start(".max-connections=3").await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut wire = Wire::http2(server.address, &[]).await;
        wire.hear("settings", |heard| heard.settings > 0).await;
        held.push(wire);
    }
    let mut fourth = Wire::http2(server.address, &[]).await;
    let heard = fourth.hear("a refusal", |heard| heard.closed).await;
    let told = (code::ENHANCE_YOUR_CALM, "too_many_connections".to_owned());
    assert_eq!(heard.go_away, Some(told));
    let mut fifth = idle::run(server.address, 1, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    let answer = idle::hung_up(&mut fifth[0]).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("`max-connections`"), "{answer}");
    // There is room again when one of them has gone, which the server has to notice first.
    drop(held.pop());
    dubbo_test::soon("room for another connection", async {
        loop {
            let mut wire = Wire::http2(server.address, &[]).await;
            let known = |heard: &Heard| heard.settings > 0 || heard.go_away.is_some();
            if wire.hear("settings", known).await.code().is_none() {
                return;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn connections_that_are_reset_at_once_cost_nothing() {
    let server = Server::start("").await;
    for said in [&b""[..], &PREFACE[..10], PREFACE, b"GET / HTTP/1.1\r\n"] {
        let attack = reset_connections::run(server.address, 500, said);
        server.under(attack).await.within(4 << 20);
    }
}

/// Beyond what it can have open it takes nobody in, and goes on with those whom it has; when there is room again it takes in
/// those who waited.
#[tokio::test]
async fn running_out_of_files_is_no_end() {
    let server = Server::start_with_files(64).await;
    let attack = async {
        // Each is a file of the server's until they are dropped here.
        idle::run(server.address, 120, PREFACE).await.len()
    };
    let opened = server.under(attack).await.within(8 << 20);
    assert_eq!(opened, 120);
}
