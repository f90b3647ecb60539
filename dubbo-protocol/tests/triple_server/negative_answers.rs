//! What callers hear who ask for what is not there (`docs/spec/triple.md` §1.6; §12, TV11, TV15).

use crate::{
    greeter::{INTERFACE, Provider, greeter, url},
    wire::{Wire, request},
};

async fn grouped() -> (Provider, Wire) {
    let url = url()
        .with_param("group", "g1")
        .with_param("version", "1.0.0");
    let provider = Provider::at(&url, greeter()).await;
    let wire = Wire::connect(provider.address).await;
    (provider, wire)
}

#[tokio::test]
async fn group_and_version_are_exact() {
    let (_provider, mut wire) = grouped().await;
    let group = ("tri-service-group", "g1");
    let version = ("tri-service-version", "1.0.0");
    assert_eq!(wire.greet("x", &[group, version]).await.code(), 0);
    for headers in [
        &[group, ("tri-service-version", "9.9.9")][..],
        &[("tri-service-group", "G1"), version],
        &[group],
        &[version],
        &[],
    ] {
        let answer = wire.greet("x", headers).await;
        let (code, message) = answer.refused();
        assert_eq!(code, 12, "{headers:?}");
        assert!(message.contains(INTERFACE) && message.contains("`g1/greet.GreetService:1.0.0`"));
        for (_, value) in headers {
            assert!(message.contains(value), "{message}");
        }
    }
}

#[tokio::test]
async fn one_interface_may_be_exported_under_several_keys() {
    let (mut provider, mut wire) = grouped().await;
    provider.also(&url(), greeter()).await;
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
    let both = [
        ("tri-service-group", "g1"),
        ("tri-service-version", "1.0.0"),
    ];
    assert_eq!(wire.greet("x", &both).await.code(), 0);
    assert_eq!(wire.greet("x", &both[..1]).await.code(), 12);
}

#[tokio::test]
async fn unknown_services_and_methods_are_unimplemented_under_http_status_200() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    for (path, text) in [
        (
            "/greet.GreetService/Nope",
            "`greet.GreetService` has no method `Nope`; there are `Greet`",
        ),
        ("/greet.GreetService/GREET", "has no method `GREET`"),
        (
            "/greet.Nobody/Greet",
            "no service `greet.Nobody` is exported here; there are `greet.GreetService`",
        ),
        (
            "/prefix/greet.GreetService/Greet",
            "no service `prefix/greet.GreetService`",
        ),
        (
            "//greet.GreetService/Greet",
            "no service `/greet.GreetService`",
        ),
        ("/Greet", "names no method"),
        ("/", "no method"),
    ] {
        let answer = wire.call(path, &[], request("x")).await;
        let (code, message) = answer.refused();
        assert_eq!(code, 12, "{path}");
        assert!(message.contains(text), "{path}: {message}");
        assert!(answer.trailers.is_none());
    }
}

#[tokio::test]
async fn a_grpc_caller_with_another_form_of_messages_gets_a_grpc_answer() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    for (content, answered) in [
        ("application/grpc+hessian2", "application/grpc+hessian2"),
        ("application/grpc+proto; x=y", "application/grpc"),
    ] {
        let answer = wire.greet("x", &[("content-type", content)]).await;
        let (code, message) = answer.refused();
        assert_eq!(code, 12);
        assert!(message.contains(content), "{message}");
        assert_eq!(answer.header("content-type"), Some(answered));
    }
}
