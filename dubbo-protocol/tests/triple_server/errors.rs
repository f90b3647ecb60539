//! How errors of handlers reach callers of every make (`docs/spec/triple.md` §5.3, §13.1; §12, TV5).

use dubbo_core::{
    request::Response,
    status::{Code, Status},
};

use crate::{
    greeter::{GreetResponse, Provider, hello, server_stream, unary},
    wire::{GREET_STREAM, Wire, request},
};

/// `google.rpc.BadRequest`, with its only field as bytes.
#[derive(Clone, PartialEq, prost::Message)]
struct BadRequest {
    #[prost(bytes = "vec", tag = "1")]
    field_violation: Vec<u8>,
}

impl prost::Name for BadRequest {
    const NAME: &'static str = "BadRequest";
    const PACKAGE: &'static str = "google.rpc";
}

const GO: (&str, &str) = ("user-agent", "grpc-go-triple/0.1.0 (go1.26.8)");

async fn fails_with(status: Status) -> (Provider, Wire) {
    let provider = Provider::of(unary(move |_| {
        let status = status.clone();
        async { Err(status) }
    }))
    .await;
    let wire = Wire::connect(provider.address).await;
    (provider, wire)
}

#[tokio::test]
async fn an_error_with_details_has_the_bytes_of_dubbo_go() {
    let status = Status::invalid_argument("bad name").with_detail(&BadRequest {
        field_violation: b"\x0a\x04name\x12\x05empty".to_vec(),
    });
    let (_provider, mut wire) = fails_with(status).await;
    let answer = wire.greet("x", &[]).await;
    assert_eq!(answer.refused(), (3, "bad name".to_owned()));
    assert_eq!(
        answer.trailer("grpc-status-details-bin"),
        Some(
            "CAMSCGJhZCBuYW1lGjwKKXR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5CYWRSZXF1ZXN0Eg8KDQoEbmFtZRIFZW1wdHk"
        )
    );
    assert!(answer.trailers.is_none(), "one block is enough: {answer:?}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/grpc+proto")
    );
}

#[tokio::test]
async fn every_code_arrives() {
    let provider = Provider::of(unary(|request| async move {
        let number = request.message().name.parse().expect("a number");
        Err(Status::new(Code::from_number(number), "status as asked"))
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    for number in 1..=16 {
        let answer = wire.greet(&number.to_string(), &[]).await;
        assert_eq!(answer.refused(), (number, "status as asked".to_owned()));
        assert_eq!(answer.trailer("grpc-status-details-bin"), None);
    }
    // An error is an error, whatever it says of itself.
    assert_eq!(wire.greet("0", &[]).await.refused().0, 2);
    assert_eq!(wire.greet("99", &[GO]).await.refused().0, 99);
    assert_eq!(wire.greet("99", &[]).await.refused().0, 2);
}

#[tokio::test]
async fn a_business_error_is_17_to_those_who_know_it_and_2_to_others() {
    let (_provider, mut wire) = fails_with(Status::business("boom")).await;
    for agent in [
        "grpc-go-triple/0.1.0 (go1.26.8)",
        "triple-go/0.1.0",
        "dubbo-rust/0.1.0",
    ] {
        let answer = wire.greet("x", &[("user-agent", agent)]).await;
        assert_eq!(answer.refused(), (17, "boom".to_owned()), "{agent}");
        assert_eq!(answer.trailer("tri-exception-code"), None);
    }
    let answer = wire.greet("x", &[]).await;
    assert_eq!(answer.refused(), (2, "boom".to_owned()));
    assert_eq!(answer.trailer("tri-exception-code"), Some("3"));
}

#[tokio::test]
async fn text_is_escaped() {
    let text = "50% + \u{e9}\n\t\u{4e2d} end ";
    let (_provider, mut wire) = fails_with(Status::business(text)).await;
    let answer = wire.greet("x", &[GO]).await;
    assert_eq!(answer.refused(), (17, text.to_owned()));
    assert_eq!(
        answer.trailer("grpc-message"),
        Some("50%25 %2B %C3%A9%0A%09%E4%B8%AD end ")
    );
    let (_provider, mut wire) = fails_with(Status::business("")).await;
    assert_eq!(wire.greet("x", &[GO]).await.refused(), (17, String::new()));
}

#[tokio::test]
async fn an_error_in_a_stream_follows_what_came_before_it() {
    let provider = Provider::of(server_stream(|request| {
        let count: usize = request.message().name.parse().expect("a number");
        let items = (0..count).map(|_| Ok(hello("x")));
        let end = [Err(Status::permission_denied("enough")), Ok(hello("never"))];
        Response::stream(futures_util::stream::iter(items.chain(end)))
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    for count in [0, 1, 3] {
        let answer = wire
            .call(GREET_STREAM, &[], request(&count.to_string()))
            .await;
        assert_eq!(answer.greetings().len(), count);
        assert_eq!((answer.code(), &*answer.message()), (7, "enough"));
    }
}

#[tokio::test]
async fn a_panic_ends_its_own_call_and_no_other() {
    let provider = Provider::of(unary(|request| {
        // Before there is a future.
        assert_ne!(request.message().name, "early", "so early");
        async move {
            assert_ne!(request.message().name, "late", "so late");
            tokio::task::yield_now().await;
            assert_ne!(request.message().name, "later", "later still");
            Ok(hello("x").into())
        }
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    for name in ["early", "late", "later"] {
        let answer = wire.greet(name, &[]).await;
        // What it says is for the log, not for the caller.
        assert_eq!(answer.refused(), (13, "the handler panicked".to_owned()));
        assert_eq!(wire.greet("fine", &[]).await.code(), 0);
    }
}

#[tokio::test]
async fn a_panic_in_a_stream_is_its_end() {
    let provider = Provider::of(server_stream(|_| {
        let items = (0..2).map(|n| {
            assert_ne!(n, 1, "in the middle");
            Ok(hello("x"))
        });
        Response::stream(futures_util::stream::iter(items))
    }))
    .await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call(GREET_STREAM, &[], request("x")).await;
    assert_eq!((answer.greetings().len(), answer.code()), (1, 13));
    assert_eq!(answer.message(), "the handler panicked");
    assert_eq!(
        wire.greet("x", &[]).await.code(),
        12,
        "the connection goes on"
    );
}

#[tokio::test]
async fn a_failed_call_never_has_a_message() {
    // A dubbo-go caller loses the code of an error that follows a message (docs/spec/triple.md §6.2).
    let provider = Provider::of(unary(|_request| async {
        Ok(Response::new(GreetResponse::default()).trailer("bad name", "x"))
    }))
    .await;
    let answer = Wire::connect(provider.address).await.greet("x", &[]).await;
    assert_eq!(answer.refused().0, 13);
}
