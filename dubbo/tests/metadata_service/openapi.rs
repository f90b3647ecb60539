//! Documents of what an application serves, by its metadata service.

use std::{net::SocketAddr, time::Duration};

use dubbo_metadata::instance::Endpoints;
use dubbo_test::peer::h2::{Client, envelope};
use examples::greet::GreeterServer;

use super::{Found, load, only_instance, registry, users};

/// The outcome of `GetOpenAPIInfo` with this request: status, its text, the message.
async fn ask(address: SocketAddr, request: &[u8]) -> (String, String, Vec<u8>) {
    let headers = [
        ("content-type", "application/grpc+proto"),
        ("te", "trailers"),
        ("tri-service-group", "app"),
        ("tri-service-version", "2.0.0"),
    ];
    let path = "/org.apache.dubbo.metadata.MetadataServiceV2/GetOpenAPIInfo";
    let mut client = Client::connect(address).await;
    let mut call = client.post(path, &headers).await;
    call.data(envelope(request), true);
    let head = call.response().await;
    let body = call.body().await;
    let end = match call.trailers().await {
        Some(trailers) => trailers,
        None => head.headers,
    };
    let text = |name: &str| {
        let value = end.get(name).map(|value| value.to_str().expect("text"));
        value.unwrap_or_default().to_owned()
    };
    (text("grpc-status"), text("grpc-message"), body)
}

#[tokio::test]
async fn any_protocol_that_shows_documents_switches_the_method_on() {
    for (open, closed, want) in [
        ("", "", "12"),
        (
            "triple: {openapi: {enabled: true, info-title: Shop}}",
            "",
            "0",
        ),
        (
            "",
            "triple: {openapi: {enabled: true, info-title: Shop}}",
            "0",
        ),
    ] {
        let registry = registry();
        let sections = format!(
            "application: {{name: app}}, protocols: {{a: {{ip: 127.0.0.1, port: 0, {open}}}, \
             b: {{ip: 127.0.0.2, port: 0, {closed}}}}}"
        );
        let provider = load(&registry, &sections)
            .provide(GreeterServer::new(Found))
            .provide(users())
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let exported = provider.exported();
        let address = exported
            .iter()
            .map(dubbo::Url::address)
            .find(|at| at.starts_with("127.0.0.1"));
        let address = address.expect("served").parse().expect("an address");

        let (status, text, body) = ask(address, b"").await;
        assert_eq!(status, want, "{text}");
        if want == "12" {
            assert_eq!(text, "OpenAPI is not available");
        } else {
            let document = String::from_utf8_lossy(&body);
            for part in [
                r#""title":"Shop""#,
                "/greet.Greeter/Greet",
                "/org.example.Users/find",
            ] {
                assert!(document.contains(part), "{part}: {document}");
            }
            // `service: [greet]`
            let (_, _, body) = ask(address, b"\x22\x05greet").await;
            let document = String::from_utf8_lossy(&body);
            assert!(document.contains("/greet.Greeter/Greet"), "{document}");
            assert!(!document.contains("/org.example.Users/find"), "{document}");
            let (status, _, body) = ask(address, b"\x22\x06nobody").await;
            // The envelope of nothing.
            assert_eq!((&*status, &body[..]), ("0", &[0; 5][..]));
        }
        provider.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn the_metadata_service_is_in_no_document() {
    let registry = registry();
    let sections = "application: {name: app}, protocols: {tri: {ip: 127.0.0.1, port: 0, triple: {openapi: {enabled: true}}}}";
    let provider = load(&registry, sections)
        .provide(GreeterServer::new(Found))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let instance = only_instance(&registry).await;
    let endpoints = Endpoints::parse(&instance.metadata["dubbo.endpoints"]).expect("valid");
    let address = SocketAddr::from(([127, 0, 0, 1], endpoints.port("tri").expect("served")));
    let (_, _, body) = ask(address, b"").await;
    let document = String::from_utf8_lossy(&body);
    assert!(
        document.contains("greet.Greeter") && !document.contains("MetadataService"),
        "{document}"
    );
    provider.shutdown(Duration::ZERO).await;
}
