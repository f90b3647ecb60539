//! The section `triple.reflection` of a protocol.

use std::net::SocketAddr;

use dubbo_test::peer::h2::{Client, envelope};
use examples::{Polite, greet::GreeterServer};

use super::rig::load;

/// The status, and what the services of a provider are called, of one with this section `reflection`.
async fn listed(reflection: &str) -> (String, String) {
    let yaml = format!(
        "dubbo: {{protocols: {{t: {{ip: 127.0.0.1, port: 0, triple: {{reflection: {{{reflection}}}}}}}}}}}"
    );
    let instance = load(&yaml)
        .provide(GreeterServer::new(Polite))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let url = &instance.exported()[0];
    assert_eq!(
        url.param(".reflection.enable").is_some(),
        !reflection.is_empty()
    );
    let address = SocketAddr::from(([127, 0, 0, 1], url.port().expect("bound")));
    let mut client = Client::connect(address).await;
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let headers = [("content-type", "application/grpc"), ("te", "trailers")];
    let mut call = client.post(path, &headers).await;
    // `list_services: "*"`
    call.data(envelope(b"\x3a\x01*"), true);
    let head = call.response().await;
    let names = String::from_utf8_lossy(&call.body().await).into_owned();
    let trailers = call.trailers().await.unwrap_or(head.headers);
    let status = trailers["grpc-status"].to_str().expect("text");
    (status.to_owned(), names)
}

#[tokio::test]
async fn clients_can_ask_what_there_is_unless_that_is_switched_off() {
    for on in ["", "enable: true"] {
        let (status, names) = listed(on).await;
        assert_eq!(status, "0", "{on}");
        for name in [
            "greet.Greeter",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ] {
            assert!(names.contains(name), "{name} in {names:?}");
        }
    }
    let (status, names) = listed("enable: false").await;
    assert_eq!((&*status, &*names), ("12", ""));
}
