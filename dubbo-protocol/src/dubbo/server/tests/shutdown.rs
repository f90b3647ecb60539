//! The end of a server, announced, drained, cut.

use std::{sync::Arc, time::Duration};

use dubbo_core::request::Request;
use dubbo_hessian2::Value;
use dubbo_test::{
    peer::dubbo::{Answer, Call, Connection, Frame},
    soon,
};
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};

use super::{BUFFER, Rig, greeter};
use crate::java::JavaService;

fn gated() -> (JavaService, Arc<Semaphore>, Arc<Notify>) {
    let (began, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let (tell, wait) = (Arc::clone(&began), Arc::clone(&gate));
    let service = JavaService::new(Call::PATH).method("wait", move |_: Request<()>| {
        tell.add_permits(1);
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            Ok(1.into())
        }
    });
    (service, began, gate)
}

async fn one(semaphore: &Semaphore) {
    let permit = soon("the handler to begin", semaphore.acquire()).await;
    permit.expect("open").forget();
}

/// Sees the notice that the provider is about to leave.
async fn told(connection: &mut Connection) {
    let frame = connection.frame().await;
    assert_eq!(
        (frame.flags, frame.status, &*frame.body),
        (0xa2, 0, &b"\x01R"[..])
    );
}

fn closing(answer: &Answer) -> Option<&Value> {
    let beside = answer.attachments.as_ref().expect("with attachments");
    beside
        .iter()
        .find(|(name, _)| name == "closing")
        .map(|(_, value)| value)
}

#[tokio::test]
async fn consumers_are_told_on_every_connection_and_served_on() {
    let rig = Rig::of(greeter());
    let mut connections = [rig.connect(), rig.connect()];
    for connection in &mut connections {
        let answer = connection.ask(&Call::greet("x")).await;
        assert_eq!(closing(&answer), None);
    }
    rig.announce();
    let mut late = rig.connect();
    late.send(Frame::heartbeat(1)).await;
    for connection in &mut connections {
        told(connection).await;
        let answer = connection.ask(&Call::greet("x")).await;
        assert_eq!(closing(&answer), Some(&Value::from("true")));
        assert_eq!(answer.value(), Value::from("hello x"));
    }
    let mut frames = [late.frame().await, late.frame().await];
    frames.sort_by_key(|frame| frame.flags);
    assert_eq!(
        frames.map(|frame| frame.flags),
        [0x22, 0xa2],
        "in any order"
    );
    // Who cannot read attachments gets none.
    let mut old = Call::greet("x");
    old.protocol = "2.6.2";
    assert_eq!(late.ask(&old).await.attachments, None);
}

#[tokio::test(start_paused = true)]
async fn calls_in_flight_finish_and_others_are_refused_untouched() {
    let (service, began, gate) = gated();
    let rig = Rig::of(service);
    let mut connection = rig.connect();
    let call = Call::of("wait", "", &[]);
    connection.send(call.frame(7)).await;
    one(&began).await;
    rig.announce();
    told(&mut connection).await;
    let draining = rig.drain(Instant::now() + Duration::from_secs(10));
    let calling = async {
        loop {
            connection.send(call.frame(8)).await;
            tokio::select! {
                () = one(&began) => {} // not draining yet
                answer = connection.frame() => {
                    let (status, text) = Answer::of(&answer).refused();
                    assert_eq!((answer.id, status), (8, 100));
                    assert!(text.contains("shutting down"), "{text}");
                    break;
                }
            }
        }
        connection.send(Frame::heartbeat(9)).await;
        assert_eq!(connection.frame().await.id, 9, "alive until the end");
        gate.notify_one();
        let answer = Answer::of(&connection.frame().await);
        assert_eq!(closing(&answer), Some(&Value::from("true")));
        assert_eq!((answer.id, answer.value()), (7, Value::Int(1)));
        connection.closed().await;
    };
    let (drained, ()) = tokio::join!(draining, calling);
    assert_eq!(drained, 0);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_soon() {
    let rig = Rig::of(greeter());
    let mut connection = rig.connect();
    assert_eq!(
        connection.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
    let start = Instant::now();
    let drained = rig.drain(start + Duration::from_mins(1)).await;
    assert_eq!(drained, 0);
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    told(&mut connection).await;
    connection.closed().await;
}

#[tokio::test(start_paused = true)]
async fn connections_with_calls_are_cut_at_the_deadline_and_counted() {
    let (service, began, _gate) = gated();
    let rig = Rig::of(service);
    let mut busy = [rig.connect(), rig.connect()];
    let mut idle = rig.connect();
    idle.send(Frame::heartbeat(1)).await;
    idle.frame().await;
    for connection in &mut busy {
        connection.send(Call::of("wait", "", &[]).frame(1)).await;
        one(&began).await;
    }
    busy[0].send(Call::of("wait", "", &[]).one_way(2)).await;
    one(&began).await;
    let start = Instant::now();
    let drained = rig.drain(start + Duration::from_secs(3)).await;
    assert_eq!(drained, 2);
    assert_eq!(start.elapsed().as_secs(), 3);
    for connection in &mut busy {
        connection.closed().await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_cross_with_the_last_word_are_read_over_and_reset_nothing() {
    let rig = Rig::of(greeter());
    let mut connection = rig.connect();
    rig.announce();
    told(&mut connection).await;
    let start = Instant::now();
    let draining = rig.drain(start + Duration::from_mins(1));
    let calling = async {
        connection.closed().await;
        let said = start.elapsed();
        // More than fits into what nobody reads.
        let large = Call::greet(&"x".repeat(2 * BUFFER));
        connection.send(large.frame(7)).await;
        connection.send(Frame::heartbeat(8)).await;
        drop(connection);
        said
    };
    let (drained, said) = tokio::join!(draining, calling);
    assert_eq!(drained, 0);
    assert_eq!(
        start.elapsed(),
        said,
        "nobody waits for a peer that has closed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_close_is_not_waited_for_long() {
    let rig = Rig::of(greeter());
    let mut connection = rig.connect();
    let start = Instant::now();
    let draining = rig.drain(start + Duration::from_mins(1));
    let waiting = async {
        connection.closed().await;
        start.elapsed()
    };
    let (drained, said) = tokio::join!(draining, waiting);
    assert_eq!(drained, 0);
    assert_eq!(start.elapsed(), said + Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn whoever_sends_far_too_much_can_read_why_it_is_refused() {
    let rig = Rig::at(&[("payload", "1000")], greeter());
    let mut connection = rig.connect();
    let mut endless = Call::greet("x").frame(9);
    endless.claimed = Some(i32::MAX);
    connection.send(endless).await;
    let rest = vec![0; 100 * BUFFER];
    connection.send_bytes(&rest).await;
    let answer = Answer::of(&connection.frame().await);
    assert_eq!((answer.id, answer.refused().0), (9, 40));
    connection.closed().await;
}
