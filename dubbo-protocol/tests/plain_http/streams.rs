//! Streams of answers over plain HTTP (`docs/spec/triple.md` §5.5).

use dubbo_core::{request::Response, status::Status, stream};
use futures_util::{StreamExt as _, stream::iter};

use crate::{
    greeter::{GreetResponse, Provider, greeter, server_stream},
    support::{Caller, GREET_BIDI, GREET_MANY, GREET_STREAM, Http1, JSON},
};

fn message(text: &str) -> GreetResponse {
    let greeting = text.to_owned();
    GreetResponse { greeting }
}

#[tokio::test]
async fn a_stream_of_answers_is_a_stream_of_events() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json(GREET_STREAM, "{\"name\":\"x\"}").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let want = ["m0", "m1", "m2"].map(|text| format!("data:{{\"greeting\":\"{text}\"}}\n\n"));
        assert_eq!(answer.text(), want.concat());
    }
}

#[tokio::test]
async fn an_error_is_one_more_event_unless_it_comes_first() {
    let service = server_stream(|request| {
        let fails = Err(Status::not_found("no\nmore"));
        let name = &*request.message().name;
        Response::stream(match name {
            "at once" => iter(vec![fails]),
            _ => iter(vec![Ok(message("a\nb")), fails]),
        })
    });
    let provider = Provider::of(service).await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json(GREET_STREAM, "{\"name\":\"late\"}").await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.text(),
            "data:{\"greeting\":\"a\\nb\"}\n\ndata:{\"code\":\"not_found\",\"message\":\"no\\nmore\"}\n\n"
        );
        let answer = caller.json(GREET_STREAM, "{\"name\":\"at once\"}").await;
        let want = (404, "not_found".to_owned(), "no\nmore".to_owned());
        assert_eq!(answer.refused(), want);
    }
}

#[tokio::test]
async fn events_go_out_as_they_come_and_end_with_the_deadline() {
    let service = server_stream(|_| {
        let first = iter([Ok(message("first"))]);
        Response::stream(first.chain(futures_util::stream::pending()))
    });
    let provider = Provider::of(service).await;
    let mut caller = Http1::connect(provider.address).await;
    let headers = [JSON, ("triple-timeout-ms", "50")];
    caller
        .send("POST", GREET_STREAM, &headers, b"{\"name\":\"x\"}")
        .await;
    assert_eq!(caller.head().await.0, 200);
    assert_eq!(caller.line().await, "1B");
    assert_eq!(caller.line().await, "data:{\"greeting\":\"first\"}");
    assert_eq!(
        (caller.line().await, caller.line().await),
        Default::default()
    );
    caller.line().await;
    let last = caller.line().await;
    assert!(
        last.starts_with("data:{\"code\":\"deadline_exceeded\""),
        "{last}"
    );
}

#[tokio::test]
async fn a_stream_is_given_up_when_its_reader_hangs_up() {
    let (sender, items) = stream::channel(1);
    let items = parking_lot::Mutex::new(Some(items));
    let service = server_stream(move |_| Response::stream(items.lock().take().expect("one call")));
    let provider = Provider::of(service).await;
    let mut caller = Http1::connect(provider.address).await;
    caller
        .send("POST", GREET_STREAM, &[JSON], b"{\"name\":\"x\"}")
        .await;
    sender.send(Ok(message("one"))).await.expect("read");
    caller.head().await;
    drop(caller);
    crate::greeter::due(async { while sender.send(Ok(message("more"))).await.is_ok() {} }).await;
}

#[tokio::test]
async fn streams_that_plain_http_has_no_form_for_are_refused() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for (path, content, part) in [
            (GREET_MANY, "application/json", "takes a stream"),
            (GREET_BIDI, "application/json", "call it by gRPC"),
            (
                GREET_STREAM,
                "application/proto",
                "as events to a request in JSON",
            ),
        ] {
            let headers = [("content-type", content)];
            let answer = caller.call("POST", path, &headers, "{}").await;
            let (status, code, message) = answer.refused();
            assert_eq!((status, &*code), (415, "unknown"));
            assert!(message.contains(part), "{message}");
            let accepted = answer.header("accept-post").expect("a list");
            assert!(accepted.contains("application/grpc+proto"), "{accepted}");
            assert!(!accepted.contains("application/proto"), "{accepted}");
            assert_eq!(accepted.contains("application/json"), path == GREET_STREAM);
        }
    }
}
