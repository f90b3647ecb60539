//! How much is taken at once.

use std::sync::Arc;

use dubbo_core::{protocol::ProtocolError, request::Request};
use dubbo_hessian2::Value;
use dubbo_protocol::java::JavaService;
use dubbo_test::{
    peer::dubbo::{Answer, Call, Frame},
    soon,
};
use tokio::sync::Semaphore;

use crate::provider::{GREETER, Provider, export, greeter, url};

/// Counts the handlers that have begun, and lets as many go on as there are permits.
fn gated() -> (JavaService, Arc<Semaphore>, Arc<Semaphore>) {
    let (began, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let [tell, wait] = [&began, &gate].map(Arc::clone);
    let service = JavaService::new(GREETER).method("wait", move |_: Request<()>| {
        tell.add_permits(1);
        let wait = Arc::clone(&wait);
        async move {
            wait.acquire().await.expect("open").forget();
            Ok(1.into())
        }
    });
    (service, began, gate)
}

async fn all(semaphore: &Semaphore, count: u32) {
    let permits = soon("the handlers to begin", semaphore.acquire_many(count)).await;
    permits.expect("open").forget();
}

#[tokio::test]
async fn calls_beyond_the_limit_of_the_port_are_refused_untouched() {
    let (service, began, gate) = gated();
    let provider = Provider::at(&url().with_param("max-calls", "2"), service).await;
    let (mut one, mut other) = (provider.connect().await, provider.connect().await);
    let call = Call::of("wait", "", &[]);
    one.send(call.frame(1)).await;
    other.send(call.frame(2)).await;
    all(&began, 2).await;
    let (status, text) = one.ask(&call).await.refused();
    assert_eq!(status, 100);
    assert!(text.contains("`max-calls`"), "{text}");
    gate.add_permits(1);
    let _first_or_second = began.available_permits();
    gate.add_permits(2);
    for connection in [&mut one, &mut other] {
        assert_eq!(Answer::of(&connection.frame().await).value(), Value::Int(1));
    }
    assert_eq!(
        one.ask(&call).await.value(),
        Value::Int(1),
        "there is room again"
    );
}

#[tokio::test]
async fn large_requests_take_the_room_of_many() {
    let (service, began, gate) = gated();
    let service = {
        let gate = Arc::clone(&gate);
        let began = Arc::clone(&began);
        service.method("large", move |_: Request<(Vec<u8>,)>| {
            began.add_permits(1);
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.expect("open").forget();
                Ok(1.into())
            }
        })
    };
    let provider = Provider::at(&url().with_param("payload", "67108864"), service).await;
    let mut connection = provider.connect().await;
    let half = Value::Bytes(vec![0; 33 << 20].into());
    let large = Call::of("large", "[B", &[half]);
    connection.send(large.frame(1)).await;
    let sending = async {
        connection.send(large.frame(2)).await;
        let mut ids = [connection.frame().await.id, connection.frame().await.id];
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
    };
    let watching = async {
        all(&began, 1).await;
        // The second is not begun before the first has ended.
        gate.add_permits(1);
        all(&began, 1).await;
        gate.add_permits(1);
    };
    tokio::join!(sending, watching);
}

#[tokio::test]
async fn connections_beyond_the_limit_are_closed_and_there_is_room_again_later() {
    let provider = Provider::at(&url().with_param("accepts", "1"), greeter()).await;
    let mut first = provider.connect().await;
    assert_eq!(
        first.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
    let mut second = provider.connect().await;
    second.send(Frame::heartbeat(1)).await;
    second.closed().await;
    drop(first);
    let served = async {
        loop {
            let mut third = provider.connect().await;
            third.send(Frame::heartbeat(1)).await;
            if third.frame_or_end().await.is_some() {
                break;
            }
        }
    };
    soon("the first connection to be forgotten", served).await;
}

#[tokio::test]
async fn connections_that_say_nothing_count_too_and_the_oldest_go() {
    let provider = Provider::at(&url().with_param("accepts", "3"), greeter()).await;
    let mut speaking = provider.connect().await;
    speaking.ask(&Call::greet("x")).await.value();
    let mut silent = Vec::new();
    for _ in 0..5 {
        silent.push(provider.connect().await);
    }
    for gone in &mut silent[..3] {
        gone.closed().await;
    }
    for last in &mut silent[3..] {
        let answer = last.ask(&Call::greet("y")).await;
        assert_eq!(answer.value(), Value::from("hello y"));
    }
    let answer = speaking.ask(&Call::greet("z")).await;
    assert_eq!(answer.value(), Value::from("hello z"));
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_not_answered_without_end() {
    let began = Arc::new(Semaphore::new(0));
    let tell = Arc::clone(&began);
    let service = JavaService::new(GREETER).method("large", move |_: Request<()>| {
        tell.add_permits(1);
        async { Ok(vec![0_u8; 1 << 20].into()) }
    });
    let provider = Provider::at(&url().with_param("max-connection-calls", "8"), service).await;
    let mut connection = provider.connect().await;
    for id in 0..200 {
        connection.send(Call::of("large", "", &[]).frame(id)).await;
    }
    // Its sockets take some, the connection 1 MiB, and 8 calls wait with theirs.
    let mut before = 0;
    loop {
        let mut other = provider.connect().await;
        other.send(Frame::heartbeat(1)).await;
        other.frame().await;
        let now = began.available_permits();
        if now > 0 && now == before {
            break;
        }
        before = now;
    }
    assert!(before < 100, "{before} answers are in memory");
    for _ in 0..200 {
        assert_eq!(connection.frame().await.status, 20);
    }
}

#[tokio::test]
async fn services_of_one_port_agree_on_its_settings() {
    let provider = Provider::of(greeter()).await;
    let at = url()
        .with_port(provider.address.port())
        .with_param("version", "2");
    for (key, value) in [
        ("accepts", "5"),
        ("heartbeat", "1000"),
        ("max-calls", "5"),
        ("max-connection-calls", "5"),
    ] {
        let refused = export(&provider.protocol, &at.with_param(key, value), greeter()).await;
        let Err(ProtocolError::Url { reason, .. }) = refused else {
            panic!("{key} differs");
        };
        assert!(reason.contains("the same settings"), "{reason}");
    }
    assert!(export(&provider.protocol, &at, greeter()).await.is_ok());
}
