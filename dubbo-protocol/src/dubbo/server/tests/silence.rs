//! Connections on which nothing happens.

use std::{sync::Arc, time::Duration};

use dubbo_core::request::Request;
use dubbo_hessian2::Value;
use dubbo_test::{
    peer::dubbo::{Call, Connection, Frame},
    soon,
};
use tokio::{sync::Semaphore, time::Instant};

use super::{Rig, greeter};
use crate::java::JavaService;

async fn is_served(connection: &mut Connection) -> bool {
    connection.ask(&Call::greet("x")).await.value() == Value::from("hello x")
}

/// How long a connection lives on which nothing more happens.
async fn lives_for(mut connection: Connection) -> Duration {
    let start = Instant::now();
    while connection.frame_or_end().await.is_some() {}
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_after_three_intervals() {
    for (parameter, value, want) in [
        ("", "", 180),
        ("heartbeat", "10000", 30),
        ("heartbeat.timeout", "150s", 150),
    ] {
        let rig = Rig::at(&[(parameter, value)], greeter());
        let mut connection = rig.connect();
        assert!(is_served(&mut connection).await);
        let lived = lives_for(connection).await;
        assert_eq!(lived.as_secs(), want, "{parameter}={value}");
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeats_keep_a_connection() {
    let rig = Rig::of(greeter());
    let mut connection = rig.connect();
    for id in 0..10 {
        tokio::time::sleep(Duration::from_secs(179)).await;
        connection.send(Frame::heartbeat(id)).await;
        assert_eq!(connection.frame().await.id, id);
    }
}

#[tokio::test(start_paused = true)]
async fn silence_can_be_allowed_for_ever() {
    let rig = Rig::at(&[("heartbeat.timeout", "0")], greeter());
    let mut connection = rig.connect();
    assert!(is_served(&mut connection).await);
    tokio::time::sleep(Duration::from_hours(100)).await;
    assert!(is_served(&mut connection).await);
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_enough_calls_is_not_read_from_and_not_taken_for_silent() {
    let (began, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let [tell, wait] = [&began, &gate].map(Arc::clone);
    let service = JavaService::new(Call::PATH).method("wait", move |_: Request<()>| {
        tell.add_permits(1);
        let wait = Arc::clone(&wait);
        async move {
            wait.acquire().await.expect("open").forget();
            Ok(1.into())
        }
    });
    let rig = Rig::at(
        &[("max-connection-calls", "3"), ("heartbeat", "1000")],
        service,
    );
    let mut connection = rig.connect();
    let call = Call::of("wait", "", &[]);
    for id in 0..5 {
        connection.send(call.frame(id)).await;
    }
    connection.send(Frame::heartbeat(-1)).await;
    soon("the handlers to begin", began.acquire_many(3))
        .await
        .expect("open")
        .forget();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(began.available_permits(), 0, "no fourth one");
    let mut ids = Vec::new();
    for _ in 0..5 {
        gate.add_permits(1);
        ids.push(connection.frame().await.id);
    }
    ids.push(connection.frame().await.id);
    ids.sort_unstable();
    assert_eq!(ids, [-1, 0, 1, 2, 3, 4]);
}

/// Answers with more than a peer takes that does not read.
fn large() -> JavaService {
    JavaService::new(Call::PATH)
        .method("large", async |_: Request<()>| {
            Ok(vec![7_u8; 2 << 20].into())
        })
        .method("small", async |_: Request<()>| Ok(1.into()))
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_none_of_its_answers_is_given_up_whatever_it_says() {
    // At the limit of its calls, when nothing is read from it; and below, with one-way heartbeats.
    for calls in ["3", "1000"] {
        let rig = Rig::at(
            &[("max-connection-calls", calls), ("heartbeat", "1000")],
            large(),
        );
        let mut connection = rig.connect();
        let start = Instant::now();
        for id in 0..10 {
            connection.send(Call::of("large", "", &[]).frame(id)).await;
        }
        let beat = Frame::event(-1, "N").encode();
        while rig.0.0.connections.len() == 1 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(start.elapsed() < Duration::from_secs(10), "{calls}");
            if calls == "1000" && start.elapsed() < Duration::from_secs(3) {
                connection.send_bytes(&beat).await;
            }
        }
        assert!(start.elapsed() >= Duration::from_secs(3), "{calls}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_reads_slowly_is_not_given_up() {
    let rig = Rig::at(&[("heartbeat", "1000")], large());
    let mut connection = rig.connect();
    for id in 0..3 {
        connection.send(Call::of("large", "", &[]).frame(id)).await;
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(connection.frame().await.body.len() > 2 << 20);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_reads_keep_no_calls_of_others_out() {
    let rig = Rig::at(&[("max-calls", "3")], large());
    let mut stalled = rig.connect();
    for id in 0..10 {
        stalled.send(Call::of("large", "", &[]).frame(id)).await;
    }
    let mut other = rig.connect();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let answer = other.ask(&Call::of("small", "", &[])).await;
        assert_eq!(answer.value(), Value::Int(1));
    }
}
