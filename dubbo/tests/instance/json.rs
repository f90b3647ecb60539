//! `serialization: json`, from the file to the wire.

use dubbo_test::{peer::h2::Server, soon};
use examples::{
    Polite,
    greet::GreeterServer,
    users::{UserServiceClient, UserServiceServer, Users},
};

use super::{
    probe::Probe,
    rig::{consume, greet, load},
};
use dubbo::spi::registry::Registry;

#[tokio::test]
async fn a_reference_sends_json_when_it_or_else_its_provider_says_so() {
    for (param, options, want) in [
        ("", "", "application/grpc+proto"),
        ("", "serialization: json", "application/grpc+json"),
        ("?serialization=json", "", "application/grpc+json"),
        (
            "?serialization=json",
            "serialization: protobuf",
            "application/grpc+proto",
        ),
        (
            "?serialization=protobuf",
            "serialization: json",
            "application/grpc+json",
        ),
        // What others say of such services, too.
        ("?serialization=hessian2", "", "application/grpc+proto"),
    ] {
        let server = Server::bind().await;
        let url = format!("tri://{}{param}", server.address());
        let (consumer, mut connection) = tokio::join!(consume(&url, options), server.accept());
        let answered = async {
            let mut request = connection.request().await;
            let content = request.header("content-type").expect("always").to_owned();
            let message = request.message().await.expect("one");
            let (asked, answer) = if content.ends_with("json") {
                (&b"{\"name\":\"Ada\"}"[..], &b"{\"greeting\":\"hi\"}"[..])
            } else {
                (&b"\x0a\x03Ada"[..], &b"\x0a\x02hi"[..])
            };
            assert_eq!(message, asked);
            request.send_headers(200, &[("content-type", &content)]);
            request.send_message(answer);
            request.finish("0");
            content
        };
        let both = async { tokio::join!(greet(&consumer, "Ada"), answered) };
        let (greeting, content) = soon("an answer", both).await;
        assert_eq!(greeting.expect("answered"), "hi");
        assert_eq!(content, want, "{param} {options}");
    }
}

#[tokio::test]
async fn a_provider_tells_its_consumers_and_reads_both_forms() {
    let probe = Probe::new();
    let yaml = "dubbo: {registries: {p: {protocol: probe, address: here}}, protocols: {t: {ip: 127.0.0.1, port: 0}}, \
                provider: {services: {Polite: {serialization: json}}}}";
    let instance = load(yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(GreeterServer::new(Polite))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let registered = probe.asked("register");
    assert_eq!(registered[0].param("serialization"), Some("json"));
    let url = format!("tri://{}", registered[0].address());
    for options in ["serialization: json", "serialization: protobuf", ""] {
        let consumer = consume(&url, options).await;
        let greeting = greet(&consumer, "Ada").await.expect("answered");
        assert_eq!(greeting, "Hello, Ada!", "{options}");
    }
}

#[tokio::test]
async fn json_is_refused_for_a_java_interface_and_other_names_in_any_case() {
    let yaml = "dubbo: {consumer: {references: {UserServiceClient: {url: 'tri://127.0.0.1:1', serialization: json}}}, \
                provider: {services: {Users: {serialization: json}}}}";
    let instance = load(yaml).build().expect("valid");
    let refused = instance.refer::<UserServiceClient>().await;
    let error = refused.expect_err("refused").to_string();
    let provided = load(yaml).provide(UserServiceServer::new(Users)).build();
    for error in [error, provided.expect_err("refused").to_string()] {
        for part in [
            "`serialization` is `json`",
            "a Java interface",
            "within gRPC's framing",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
    for name in ["msgpack", "fastjson2"] {
        let yaml =
            format!("dubbo:\n  consumer:\n    references:\n      R: {{serialization: {name}}}\n");
        let error = load(&yaml).build().expect_err("refused").to_string();
        for part in [
            "dubbo.yaml:4:11",
            name,
            "`protobuf`, `json` and `hessian2` are",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}
