//! Who answers at which path.

use std::sync::Arc;

use dubbo_core::protocol::{Protocol as _, ProtocolError};
use dubbo_protocol::{DubboProtocol, TripleProtocol};
use http::{HeaderValue, Request, Response};

use dubbo_core::http::HttpBody;

use crate::{
    greeter::{Provider, greeter, url},
    handlers::{Answers, mount, named, try_mount},
    support::{Caller, GREET},
    wire::{self, Wire},
};

#[tokio::test]
async fn the_longest_path_answers_and_the_root_takes_what_is_left() {
    let provider = Provider::of(greeter()).await;
    let mut mounted = Vec::new();
    for (path, name) in [("", "root"), ("docs", "docs"), ("docs/api", "api")] {
        mounted.push(mount(&provider, path, named(name)).await);
    }
    for mut caller in Caller::both(provider.address).await {
        for (path, want) in [
            ("/", "root"),
            ("/docs", "docs"),
            ("/docs/", "docs"),
            ("/docs/x?y=z", "docs"),
            ("/docsx", "root"),
            ("/docs/api", "api"),
            ("/docs/api/x/y", "api"),
            ("/x.S/M", "root"),
            ("/greet.GreetService/Nope", "root"),
        ] {
            let answer = caller.call("GET", path, &[], "").await;
            assert_eq!(answer.status, 200, "{path}");
            let said = answer.text().split_once(':').expect("a name");
            assert_eq!(said.0, want, "{path}");
            assert!(said.1.ends_with(path), "{path}: {said:?}");
        }
    }
}

#[tokio::test]
async fn calls_of_what_is_exported_are_calls_whatever_is_mounted() {
    let provider = Provider::of(greeter()).await;
    let _root = mount(&provider, "", named("root")).await;
    let _same = mount(&provider, "greet.GreetService", named("same")).await;
    let mut wire = Wire::connect(provider.address).await;
    assert_eq!(wire.greet("x", &[]).await.greetings(), ["hello x"]);
    let health = "/grpc.health.v1.Health/Check";
    let answer = wire.call(health, &[], wire::envelope(0, b"")).await;
    assert_eq!(answer.code(), 0);
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json(GREET, r#"{"name":"x"}"#).await;
        assert_eq!(answer.text(), r#"{"greeting":"hello x"}"#);
        // Another method of HTTP is no call, but its path is one's.
        assert_eq!(caller.call("GET", GREET, &[], "").await.status, 405);
        let answer = caller.call("GET", "/greet.GreetService/x", &[], "").await;
        assert!(answer.text().starts_with("same:"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_grpc_caller_hears_grpc_from_what_is_mounted_or_from_the_server() {
    let provider = Provider::of(greeter()).await;
    let _pages = mount(&provider, "pages.S", named("pages")).await;
    let speaks = Answers(|_request: Request<HttpBody>| async {
        let mut response = Response::new(HttpBody::empty());
        for (name, value) in [("content-type", "application/grpc"), ("grpc-status", "7")] {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        response
    });
    let _grpc = mount(&provider, "other.S", Arc::new(speaks)).await;
    let mut wire = Wire::connect(provider.address).await;
    let answer = wire.call("/other.S/M", &[], wire::request("x")).await;
    assert_eq!(answer.refused().0, 7);
    for path in ["/pages.S/M", "/nobody.S/M"] {
        let (code, message) = wire.call(path, &[], wire::request("x")).await.refused();
        assert_eq!(code, 12, "{path}");
        assert!(message.contains("no service"), "{path}: {message}");
    }
    // What is wrong with a call is no business of what is mounted.
    let _root = mount(&provider, "", named("root")).await;
    let answer = wire.greet("x", &[("grpc-timeout", "5x")]).await;
    assert_eq!(answer.refused().0, 3);
}

#[tokio::test]
async fn a_path_is_mounted_once_and_free_when_it_is_taken_back() {
    let provider = Provider::of(greeter()).await;
    let mounted = mount(&provider, "docs", named("first")).await;
    assert_eq!(mounted.url().port(), Some(provider.address.port()));
    let taken = try_mount(&provider, "/docs/", named("second")).await;
    let taken = taken.err().expect("taken");
    assert!(matches!(taken, ProtocolError::Duplicate { .. }), "{taken}");
    assert!(taken.to_string().contains("/docs"), "{taken}");
    let nowhere = try_mount(&provider, "a b", named("third")).await;
    let nowhere = nowhere.err().expect("no path");
    assert!(matches!(nowhere, ProtocolError::Url { .. }), "{nowhere}");

    mounted.unexport().await;
    let mut caller = Caller::http2(provider.address).await;
    assert_eq!(caller.call("GET", "/docs", &[], "").await.status, 404);
    let _again = mount(&provider, "docs", named("again")).await;
    let answer = caller.call("GET", "/docs", &[], "").await;
    assert!(answer.text().starts_with("again:"), "{answer:?}");
}

#[tokio::test]
async fn a_port_may_serve_nothing_else() {
    let protocol = TripleProtocol::default();
    let mounted = protocol.mount(&url().with_path(""), named("root")).await;
    let mounted = mounted.expect("mounted");
    let port = mounted.url().port().expect("a bound port");
    for mut caller in Caller::both(([127, 0, 0, 1], port).into()).await {
        let answer = caller.call("GET", "/x", &[], "").await;
        assert!(answer.text().starts_with("root:"), "{answer:?}");
    }
}

#[tokio::test]
async fn a_protocol_without_http_says_so() {
    let protocol = DubboProtocol::default();
    let server = dubbo_core::url::Url::new("dubbo", "127.0.0.1").with_path("docs");
    let error = protocol.mount(&server, named("docs")).await.err();
    let error = error.expect("refused").to_string();
    assert!(
        error.contains("`dubbo`") && error.contains("HTTP"),
        "{error}"
    );
}
