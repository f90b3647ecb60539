//! Calls whose callers are gone.

use std::sync::Arc;

use dubbo_core::request::Request;
use dubbo_protocol::java::JavaService;
use dubbo_test::{
    peer::dubbo::{Call, Frame},
    soon,
};
use tokio::sync::Semaphore;

use crate::provider::{GREETER, Provider};

/// Says when a handler begins to wait for ever, and when it is dropped.
fn hanging() -> (JavaService, Arc<Semaphore>, Arc<Semaphore>) {
    struct Tell(Arc<Semaphore>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.add_permits(1);
        }
    }
    let (began, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let [tell_began, tell_dropped] = [&began, &dropped].map(Arc::clone);
    let service = JavaService::new(GREETER).method("hang", move |_: Request<()>| {
        tell_began.add_permits(1);
        let tell = Tell(Arc::clone(&tell_dropped));
        async move {
            let _tell = tell;
            std::future::pending::<()>().await;
            Ok(().into())
        }
    });
    (service, began, dropped)
}

async fn all(semaphore: &Semaphore, count: u32, what: &str) {
    let permits = soon(what, semaphore.acquire_many(count)).await;
    permits.expect("open").forget();
}

#[tokio::test]
async fn the_calls_of_a_connection_end_with_it_and_those_of_others_do_not() {
    let (service, began, dropped) = hanging();
    let provider = Provider::of(service).await;
    let mut one = provider.connect().await;
    let mut other = provider.connect().await;
    for id in 0..20 {
        one.send(Call::of("hang", "", &[]).frame(id)).await;
    }
    other.send(Call::of("hang", "", &[]).frame(1)).await;
    all(&began, 21, "the handlers to begin").await;
    drop(one);
    all(&dropped, 20, "the handlers to be dropped").await;
    other.send(Frame::heartbeat(2)).await;
    assert_eq!(other.frame().await.id, 2);
    assert_eq!(dropped.available_permits(), 0);
}

#[tokio::test]
async fn a_connection_that_speaks_nonsense_ends_with_its_calls() {
    let (service, began, dropped) = hanging();
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    connection.send(Call::of("hang", "", &[]).frame(1)).await;
    all(&began, 1, "the handler to begin").await;
    connection.send_bytes(b"nonsense").await;
    connection.closed().await;
    all(&dropped, 1, "the handler to be dropped").await;
}

#[tokio::test]
async fn dropping_the_protocol_ends_its_connections_and_calls() {
    let (service, began, dropped) = hanging();
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    connection.send(Call::of("hang", "", &[]).frame(1)).await;
    connection.send(Call::of("hang", "", &[]).one_way(2)).await;
    all(&began, 2, "the handlers to begin").await;
    drop(provider.protocol);
    connection.closed().await;
    all(&dropped, 2, "the handlers to be dropped").await;
}
