//! How long connections live (`docs/spec/triple.md` §9.5).

use std::time::Duration;

use dubbo_test::{
    attack::{Blocks, Caller, Wire, idle},
    peer::h2::{Frame, PREFACE, code, kind},
};
use tokio::time::Instant;

use crate::{
    process::Server,
    service::{ECHO, HANG, request},
};

#[tokio::test]
async fn an_old_connection_is_asked_to_end_and_cut_when_it_does_not() {
    let server = Server::start(".max-connection-age=1s&.max-connection-age-grace=1s").await;
    let start = Instant::now();
    let mut wire = Wire::http2(server.address, &[]).await;
    let block = Blocks::new(HANG).block();
    let call = Frame::new(kind::HEADERS, END_HEADERS, 1, block);
    wire.send(call.encode()).await;
    let heard = wire.hear("GOAWAY", |heard| heard.go_away.is_some()).await;
    assert_eq!(heard.code(), Some(code::NO_ERROR));
    let asked = start.elapsed();
    // A tenth either way, and what a busy machine adds.
    assert!(asked >= Duration::from_millis(900), "{asked:?}");
    assert!(asked < Duration::from_millis(1_900), "{asked:?}");
    // It goes on as if nothing was.
    wire.hear("the end", |heard| heard.closed).await;
    let grace = start.elapsed().saturating_sub(asked);
    assert!(grace >= Duration::from_millis(900), "{grace:?}");
    server.call().await;
}

#[tokio::test]
async fn calls_that_end_within_the_grace_are_answered() {
    let server = Server::start(".max-connection-age=300&.max-connection-age-grace=1m").await;
    let caller = Caller::connect(server.address).await;
    let mut opened = caller.open(ECHO, &[]).await.expect("it is new");
    // The connection is asked to end while this call waits for its request.
    let refused = dubbo_test::soon("the end of new calls", async {
        loop {
            if let Err(error) = caller.call(ECHO, &[], request(1, "")).await {
                return error;
            }
        }
    })
    .await;
    assert!(
        refused.is_go_away() || refused.reason() == Some(h2::Reason::NO_ERROR),
        "{refused}"
    );
    let sent = opened.body.send_data(request(2, ""), true);
    sent.expect("it goes on");
    let answer = opened.answer().await.expect("it goes on");
    assert_eq!(answer.code(), Some(0));
}

#[tokio::test]
async fn a_connection_without_calls_is_asked_to_end() {
    let server = Server::start(".max-connection-idle=300").await;
    let mut wire = Wire::http2(server.address, &[]).await;
    let heard = wire.hear("the end", |heard| heard.closed).await;
    assert_eq!(heard.code(), Some(code::NO_ERROR));
    server.call().await;
}

#[tokio::test]
async fn a_peer_that_answers_no_ping_is_given_up_on() {
    let server = Server::start(".keep-alive-interval=200&.keep-alive-timeout=200").await;
    let mut dead = idle::run(server.address, 1, PREFACE).await;
    idle::hung_up(&mut dead[0]).await;
    // One that answers lives on, calls or none.
    let caller = Caller::connect(server.address).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let answer = caller.call(ECHO, &[], request(1, "")).await;
    assert_eq!(answer.expect("it is there").code(), Some(0));
}

const END_HEADERS: u8 = 4;
