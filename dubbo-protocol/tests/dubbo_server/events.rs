//! Signs of life and other events.

use std::sync::Arc;

use dubbo_core::request::Request;
use dubbo_hessian2::Value;
use dubbo_protocol::java::JavaService;
use dubbo_test::peer::dubbo::{Call, Connection, Frame};
use tokio::sync::Semaphore;

use crate::provider::{GREETER, Provider, greeter};

const REQUEST: u8 = 0x80;
const TWO_WAY: u8 = 0x40;
const EVENT: u8 = 0x20;

/// Nothing has been sent before the answer to this.
async fn nothing_was_sent(connection: &mut Connection) {
    let answer = connection.ask(&Call::greet("x")).await;
    assert_eq!(answer.value(), Value::from("hello x"));
}

#[tokio::test]
async fn a_heartbeat_is_answered_in_its_own_terms() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for id in [1, -1, i64::MIN] {
        connection.send(Frame::heartbeat(id)).await;
        let answer = connection.frame().await;
        assert_eq!(answer, Frame::new(EVENT, 20, id, *b"N"));
    }
    // dubbo-go puts two nulls into its own answers.
    connection
        .send(Frame::new(REQUEST | TWO_WAY | EVENT, 0, 3, *b"NN"))
        .await;
    assert_eq!(connection.frame().await, Frame::new(EVENT, 20, 3, *b"N"));
    // In another serialization null is something else.
    for (serialization, null) in [(23, &b"\xaf"[..]), (4, b"\0"), (0, b"N"), (31, b"?")] {
        let mut heartbeat = Frame::new(REQUEST | TWO_WAY | EVENT, 0, 4, null);
        heartbeat.flags = REQUEST | TWO_WAY | EVENT | serialization;
        connection.send(heartbeat).await;
        let answer = connection.frame().await;
        assert_eq!((answer.flags, answer.status), (EVENT | serialization, 20));
        assert_eq!((answer.id, &*answer.body), (4, null));
    }
}

#[tokio::test]
async fn other_events_are_not_answered_and_do_no_harm() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    for frame in [
        Frame::event(1, "R"),
        Frame::event(1, "W"),
        Frame::event(1, "X"),
        Frame::new(REQUEST | EVENT, 0, 1, *b"N"),
        Frame::new(REQUEST | TWO_WAY | EVENT, 0, 1, *b"\x01R"),
        Frame::new(REQUEST | TWO_WAY | EVENT, 0, 1, *b"\x01X"),
        Frame::new(REQUEST | TWO_WAY | EVENT, 0, 1, vec![b'N'; 16]),
        Frame::new(REQUEST | TWO_WAY | EVENT, 0, 1, vec![b'N'; 100_000]),
        Frame::new(EVENT, 20, 1, *b"N"),
    ] {
        connection.send(frame).await;
        nothing_was_sent(&mut connection).await;
    }
}

#[tokio::test]
async fn a_heartbeat_does_not_wait_for_handlers() {
    let began = Arc::new(Semaphore::new(0));
    let tell = Arc::clone(&began);
    let service = JavaService::new(GREETER).method("hang", move |_: Request<()>| {
        tell.add_permits(1);
        async {
            std::future::pending::<()>().await;
            Ok(().into())
        }
    });
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    let calls: Vec<u8> = (0..500)
        .flat_map(|id| Call::of("hang", "", &[]).frame(id).encode())
        .collect();
    connection.send_bytes(&calls).await;
    let _all = began.acquire_many(500).await.expect("open");
    connection.send(Frame::heartbeat(-9)).await;
    assert_eq!(connection.frame().await.id, -9);
}
