//! Calls that nobody waits for.

use std::sync::Arc;

use dubbo_core::request::Request;
use dubbo_hessian2::Value;
use dubbo_protocol::java::JavaService;
use dubbo_test::{
    peer::dubbo::{Call, Frame},
    soon,
};
use tokio::sync::Notify;

use crate::provider::{GREETER, Provider, STRING, greeter, url};

#[tokio::test]
async fn no_one_way_call_is_answered_whatever_becomes_of_it() {
    let provider = Provider::at(&url().with_param("payload", "1000"), greeter()).await;
    let mut connection = provider.connect().await;
    let mut unknown = Call::greet("x");
    unknown.attachments = Some(vec![("path", "x.Other".into())]);
    let mut foreign = Call::greet("x").one_way(1);
    foreign.flags = 0x97;
    for frame in [
        Call::greet("x").one_way(1),
        Call::of("fail", STRING, &["business".into()]).one_way(1),
        Call::of("fail", STRING, &["by panic".into()]).one_way(1),
        Call::of("nope", "", &[]).one_way(1),
        unknown.one_way(1),
        foreign,
        Frame::new(0x80, 0, 1, *b"E"),
        Call::greet(&"x".repeat(1500)).one_way(1),
    ] {
        connection.send(frame).await;
        // The handler of the one before it may take a moment longer.
        for _ in 0..3 {
            let answer = connection.ask(&Call::greet("y")).await;
            assert_eq!(answer.value(), Value::from("hello y"));
        }
    }
}

#[tokio::test]
async fn a_one_way_call_is_done_even_if_the_caller_hangs_up() {
    let (began, go_on, done) = (
        Arc::new(Notify::new()),
        Arc::new(Notify::new()),
        Arc::new(Notify::new()),
    );
    let notes = [&began, &go_on, &done].map(Arc::clone);
    let service = JavaService::new(GREETER).method("note", move |_: Request<()>| {
        let [began, go_on, done] = notes.each_ref().map(Arc::clone);
        async move {
            began.notify_one();
            go_on.notified().await;
            done.notify_one();
            Ok(().into())
        }
    });
    let provider = Provider::of(service).await;
    let mut connection = provider.connect().await;
    connection.send(Call::of("note", "", &[]).one_way(1)).await;
    soon("the handler to begin", began.notified()).await;
    drop(connection);
    // The server has seen the end of that connection when it has served another one.
    let mut other = provider.connect().await;
    other.send(Frame::heartbeat(1)).await;
    other.frame().await;
    go_on.notify_one();
    soon("the handler to finish", done.notified()).await;
}
