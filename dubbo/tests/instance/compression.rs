//! `triple.compression`, from the file to the wire.

use dubbo::codegen::prost::Message as _;
use dubbo_test::{
    peer::h2::{Client, Server, envelope},
    soon,
};
use examples::{
    Polite,
    greet::{GreetRequest, GreeterServer},
    users::UserServiceClient,
};

use super::rig::{consume, greet, load, reference, url_of};

#[tokio::test]
async fn a_server_compresses_what_its_protocol_lists_from_the_length_on_that_it_says() {
    for (keys, accepted, name_len, want) in [
        ("", "gzip,deflate,zstd", 5_000, None),
        ("send: zstd", "gzip,zstd", 5_000, Some("zstd")),
        ("send: [deflate, gzip]", "gzip,zstd", 5_000, Some("gzip")),
        ("send: gzip", "gzip", 500, None),
        ("send: gzip, min-size: 400", "gzip", 500, Some("gzip")),
        ("send: gzip, min-size: 6kb", "gzip", 5_000, None),
    ] {
        let yaml = format!(
            "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0, triple: {{compression: {{{keys}}}}}}}}}}}"
        );
        let builder = load(&yaml).provide(GreeterServer::new(Polite));
        let instance = builder.build().expect("valid");
        instance.start().await.expect("starts");
        let address = url_of(&instance)[6..].parse().expect("an address");
        let mut client = Client::connect(address).await;
        let headers = [
            ("content-type", "application/grpc"),
            ("grpc-accept-encoding", accepted),
        ];
        let mut call = client.post("/greet.Greeter/Greet", &headers).await;
        let name = "x".repeat(name_len);
        call.data(envelope(&GreetRequest { name }.encode_to_vec()), true);
        call.response().await;
        let body = call.body().await;
        // The header may stand before plain messages too.
        assert_eq!(body[0] == 1, want.is_some(), "{keys}");
        let magic = want.map(|want| match want {
            "gzip" => &[0x1f, 0x8b][..],
            _ => &[0x28, 0xb5, 0x2f, 0xfd],
        });
        assert!(body[5..].starts_with(magic.unwrap_or(b"\x0a")), "{keys}");
        assert_eq!(body.len() < name_len, want.is_some(), "{keys}");
    }
}

#[tokio::test]
async fn a_reference_compresses_as_its_section_or_its_params_say() {
    for (options, want) in [
        ("", None),
        (
            "protocol_config: {triple: {compression: {send: deflate}}}",
            Some("deflate"),
        ),
        (
            "protocol_config: {triple: {compression: {send: [gzip], min-size: 3kb}}}",
            Some("gzip"),
        ),
        ("params: {compression.send: zstd}", Some("zstd")),
        // The section wins.
        (
            "params: {compression.send: zstd}, protocol_config: {triple: {compression: {send: []}}}",
            None,
        ),
    ] {
        let server = Server::bind().await;
        let url = format!("tri://{}", server.address());
        let (consumer, mut connection) = tokio::join!(consume(&url, options), server.accept());
        let name = "x".repeat(2_000);
        let answered = async {
            let mut request = connection.request().await;
            let encoding = request.header("grpc-encoding").map(str::to_owned);
            let message = request.message().await.expect("one");
            request.reply(b"");
            (encoding, message.len())
        };
        let both = async { tokio::join!(greet(&consumer, &name), answered) };
        let (greeting, (encoding, len)) = soon("an answer", both).await;
        greeting.expect("answered");
        assert_eq!(encoding.as_deref(), want, "{options}");
        let is_short = len < 200;
        assert_eq!(
            is_short,
            want.is_some() && !options.contains("3kb"),
            "{options}: {len}"
        );
    }
}

#[tokio::test]
async fn a_reference_to_a_java_interface_that_should_compress_is_refused_with_the_reason() {
    for options in [
        "protocol_config: {triple: {compression: {send: gzip}}}",
        "params: {compression.send: gzip}",
    ] {
        let yaml = reference("tri://127.0.0.1:1", options);
        let yaml = yaml.replace("GreeterClient", "UserServiceClient");
        let instance = load(&yaml).build().expect("valid");
        let refused = instance.refer::<UserServiceClient>().await;
        let error = refused.expect_err("refused").to_string();
        for part in [
            "`compression.send` is `gzip`",
            "is a Java interface",
            "leave it out",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}
