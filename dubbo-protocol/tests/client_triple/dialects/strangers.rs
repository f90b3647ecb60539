//! Answers of peers that are none of ours, and of what stands before them.

use dubbo_core::status::{Code, Origin};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Server, envelope},
    soon,
};
use tokio::{io::AsyncWriteExt as _, net::TcpListener};

use super::{connections::request, rig::WAYS};
use crate::support::{greet, many, message, stub};

/// A call as `way` says, which is answered with these headers and this body.
async fn answered(
    way: &str,
    status: u16,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<String, dubbo_core::status::Status> {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), way).await;
    let mut connection = server.accept().await;
    let play = async {
        let mut request = connection.request().await;
        request.send_headers(status, headers);
        request.send_data(body.to_vec(), true);
    };
    let (reply, ()) = tokio::join!(soon("an answer", greet(&stub, "x")), play);
    reply.map(dubbo_core::request::Response::into_message)
}

/// `lines` as gRPC-Web has trailers.
fn trailers(lines: &str) -> Vec<u8> {
    let mut bytes = envelope(lines.as_bytes()).to_vec();
    bytes[0] = 0x80;
    bytes
}

const WEB: (&str, &str) = ("content-type", "application/grpc-web+proto");
const PROTO: (&str, &str) = ("content-type", "application/proto");
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn an_html_page_of_a_proxy_is_shown_for_what_it_is() {
    let page = b"<html><h1>502 Bad Gateway</h1></html>";
    for way in [WAYS[0], WAYS[2]] {
        let answer = answered(way, 502, &[("content-type", "text/html")], page).await;
        let status = answer.expect_err("a page");
        assert_eq!(status.code(), Code::Unavailable, "{way}: {status}");
        for part in ["502", "text/html", "greet.Greeter/Greet"] {
            assert!(status.message().contains(part), "{part} in {status}");
        }
    }
    for way in [WAYS[1], WAYS[3]] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let protocol = TripleProtocol::default();
        let address = listener.local_addr().expect("bound");
        let stub = stub(&protocol, address, way).await;
        let play = async {
            let (mut stream, _) = listener.accept().await.expect("open");
            request(&mut stream).await;
            let head =
                "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n";
            let answer = [head.as_bytes(), page].concat();
            stream.write_all(&answer).await.expect("open");
        };
        let (reply, ()) = tokio::join!(soon("an answer", greet(&stub, "x")), play);
        let status = reply.expect_err("a page");
        assert_eq!(status.code(), Code::Unavailable, "{way}: {status}");
        for part in ["502", "text/html", "greet.Greeter/Greet"] {
            assert!(status.message().contains(part), "{part} in {status}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_grpc_web_ends_with_its_trailers() {
    let hi = envelope(&message("hi"));
    let ok = trailers("grpc-status: 0\r\nx-t: 1\r\n");
    let whole = [&hi[..], &ok].concat();
    assert_eq!(
        answered(WAYS[0], 200, &[WEB], &whole).await.expect("whole"),
        "hi"
    );
    for (body, code, part) in [
        // Part of it may be missing.
        (hi.to_vec(), Code::Unknown, "ended without trailers"),
        (Vec::new(), Code::Internal, "ended without trailers"),
        (
            whole[..whole.len() - 1].to_vec(),
            Code::Unknown,
            "ended without trailers",
        ),
        (
            [&whole[..], b"\0"].concat(),
            Code::Internal,
            "behind its trailers",
        ),
        (trailers("grpc-status"), Code::Internal, "is no trailer"),
        (trailers("x: 1\r\n"), Code::Internal, "without grpc-status"),
        (ok, Code::Unimplemented, "has no message"),
        (
            trailers("grpc-status: 5\r\ngrpc-message: no%20one\r\n"),
            Code::NotFound,
            "no one",
        ),
    ] {
        let answer = answered(WAYS[0], 200, &[WEB], &body).await;
        let status = answer.expect_err(part);
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(part), "{part} in {status}");
    }
    let headers = [WEB, ("grpc-status", "7"), ("grpc-message", "no")];
    let status = answered(WAYS[0], 200, &headers, b"").await;
    assert_eq!(
        status.expect_err("in the headers").code(),
        Code::PermissionDenied
    );
}

#[tokio::test]
async fn a_stream_of_grpc_web_may_be_over_with_its_headers() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), WAYS[0]).await;
    let mut connection = server.accept().await;
    let play = async {
        for only in [true, false] {
            let mut request = connection.request().await;
            let headers = [WEB, ("grpc-status", "0"), ("x-t", "1")];
            if only {
                request.send_only_headers(200, &headers);
            } else {
                request.send_headers(200, &headers);
                request.send_data(Vec::new(), true);
            }
        }
    };
    let calls = async {
        for _ in 0..2 {
            let mut replies = many(&stub, "x").await.expect("it works").into_message();
            assert_eq!(replies.message().await.expect("no error"), None);
            let trailers = replies.trailers().expect("it has ended");
            assert_eq!(trailers.get("x-t"), Some("1"));
        }
    };
    soon("both", async { tokio::join!(play, calls) }).await;
}

#[tokio::test]
async fn an_answer_of_connect_is_a_message_in_the_form_that_was_asked_for() {
    let hi = message("hi");
    assert_eq!(
        answered(WAYS[2], 200, &[PROTO], &hi).await.expect("whole"),
        "hi"
    );
    for (status, headers, body, code, part) in [
        (
            200,
            &[JSON][..],
            &b"\"hi\""[..],
            Code::Internal,
            "application/proto was asked for",
        ),
        (
            200,
            &[("content-type", "text/html")],
            b"hi",
            Code::Unknown,
            "text/html",
        ),
        (200, &[], b"", Code::Unknown, "no content type"),
        (
            200,
            &[PROTO, ("content-encoding", "br")],
            &hi,
            Code::Internal,
            "compressed as \"br\"",
        ),
        (
            200,
            &[PROTO, ("content-encoding", "gzip")],
            &hi,
            Code::Internal,
            "gzip",
        ),
        (
            503,
            &[JSON],
            br#"{"code":"aborted","message":"try again"}"#,
            Code::Aborted,
            "try again",
        ),
        (
            503,
            &[JSON],
            b"{",
            Code::Unavailable,
            "which is no answer of Connect",
        ),
        (404, &[], b"", Code::Unimplemented, "HTTP 404"),
    ] {
        let answer = answered(WAYS[2], status, headers, body).await;
        let status = answer.expect_err(part);
        assert_eq!(status.code(), code, "{status}");
        assert!(status.message().contains(part), "{part} in {status}");
    }
}

#[tokio::test]
async fn a_provider_that_turned_a_call_down_may_be_passed_over() {
    let headers = [JSON, ("dubbo-reject", "limit"), ("trailer-x-t", "1")];
    let body = br#"{"code":"unavailable","message":"full"}"#;
    let status = answered(WAYS[2], 503, &headers, body).await;
    let status = status.expect_err("full");
    assert!(status.is_not_processed(), "{status}");
    assert_eq!(status.origin(), Origin::Remote);
    assert_eq!(status.attachments().get("x-t"), Some("1"));
    assert!(!status.attachments().contains("dubbo-reject"));

    let refusal = trailers("grpc-status: 14\r\ndubbo-reject: closing\r\n");
    let status = answered(WAYS[0], 200, &[WEB], &refusal).await;
    assert!(status.expect_err("closing").is_not_processed());
    let after = [&envelope(&message("hi"))[..], &refusal].concat();
    let status = answered(WAYS[0], 200, &[WEB], &after).await;
    assert!(!status.expect_err("it has begun").is_not_processed());
}
