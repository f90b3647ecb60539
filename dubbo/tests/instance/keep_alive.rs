//! A consumer asks a silent provider whether it is still there.

use std::cell::RefCell;

use dubbo_test::peer::h2::{Frame, Server, kind};

use super::rig::{consume, greet};

fn is_ping(frame: &Frame) -> bool {
    frame.kind == kind::PING && frame.flags == 0
}

#[tokio::test]
async fn a_connection_that_is_silent_for_too_long_is_probed_and_given_up() {
    for keys in [
        "retries: 0, protocol_config: {triple: {KEYS}}",
        "retries: 0, KEYS",
    ] {
        let server = Server::bind().await;
        let options = keys.replace(
            "KEYS",
            "keep-alive-interval: 20ms, keep-alive-timeout: 30ms",
        );
        let url = format!("tri://{}", server.address());
        let (consumer, mut connection) = tokio::join!(consume(&url, &options), server.accept());
        connection.frame("a PING", is_ping).await;

        let hangs = async {
            let _unanswered = connection.request().await;
            connection.mute();
            connection.closed().await;
        };
        let (status, ()) = tokio::join!(greet(&consumer, "you"), hangs);
        let status = status.expect_err("the provider hangs");
        assert_eq!(status.code(), dubbo::Code::Unavailable, "{status}");
    }
}

#[tokio::test]
async fn a_connection_in_use_is_not_probed_nor_one_that_should_not_be() {
    for options in ["", "protocol_config: {triple: {keep-alive-interval: 0}}"] {
        let server = Server::bind().await;
        let url = format!("tri://{}", server.address());
        let (consumer, mut connection) = tokio::join!(consume(&url, options), server.accept());
        let answered = async {
            connection.request().await.reply(b"");
            let seen = RefCell::new(Vec::new());
            let message = |frame: &Frame| {
                seen.borrow_mut().push(frame.kind);
                frame.kind == kind::DATA
            };
            connection.frame("the request", message).await;
            seen.into_inner()
        };
        let (greeting, seen) = tokio::join!(greet(&consumer, "you"), answered);
        assert_eq!(greeting.expect("answers"), "");
        assert!(!seen.contains(&kind::PING), "{options}: {seen:?}");
    }
}
