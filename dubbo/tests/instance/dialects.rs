//! A reference says what it speaks.

use dubbo_test::peer::h2::Server;

use super::rig::{consume, greet};

#[tokio::test]
async fn a_reference_speaks_the_dialect_that_its_configuration_names() {
    for (options, content) in [
        ("", "application/grpc+proto"),
        (
            "protocol_config: {triple: {dialect: grpc}}",
            "application/grpc+proto",
        ),
        (
            "protocol_config: {triple: {dialect: grpc-web}}",
            "application/grpc-web+proto",
        ),
        (
            "protocol_config: {triple: {dialect: connect}}",
            "application/proto",
        ),
        ("params: {triple.dialect: connect}", "application/proto"),
    ] {
        let server = Server::bind().await;
        let url = format!("tri://{}", server.address());
        let (consumer, mut connection) = tokio::join!(consume(&url, options), server.accept());
        let heard = async {
            let mut request = connection.request().await;
            let content = request.header("content-type").map(str::to_owned);
            request.reply(b"");
            content
        };
        let (_, heard) = tokio::join!(greet(&consumer, "you"), heard);
        assert_eq!(heard.as_deref(), Some(content), "{options}");
    }
}
