//! Calls that fail, and requests that are none.

use dubbo_core::status::{Detail, Status};

use crate::{
    greeter::{Provider, greeter, unary},
    page::{Read, TEXT, WEB, ask, base64, envelope, request},
    support::{Answer, Caller, GREET},
};

/// Checks that all of it is in the headers, and gives code and message.
fn refused(answer: &Answer) -> (&str, String) {
    assert_eq!((answer.status, answer.text()), (200, ""), "{answer:?}");
    let message = answer.header("grpc-message").unwrap_or_default();
    let message = percent_encoding::percent_decode_str(message).decode_utf8();
    let code = answer.header("grpc-status").expect("a status");
    (code, message.expect("text").into_owned())
}

#[tokio::test]
async fn a_call_that_fails_at_once_has_its_status_in_headers() {
    let provider = Provider::of(unary(|_request| async {
        let detail = Detail {
            type_url: "type.googleapis.com/x.Y".to_owned(),
            value: b"z".as_slice().into(),
        };
        Err(Status::not_found("no 50% é").with_details(vec![detail]))
    }))
    .await;
    for mut caller in Caller::both(provider.address).await {
        for (content, body) in [
            (WEB, request("x")),
            (TEXT, base64(&request("x")).into_bytes()),
        ] {
            let answer = ask(&mut caller, GREET, content, &[], body).await;
            assert_eq!(answer.header("content-type"), Some(content));
            assert_eq!(refused(&answer), ("5", "no 50% é".to_owned()));
            assert_eq!(answer.header("grpc-message"), Some("no 50%25 %C3%A9"));
            assert!(answer.header("grpc-status-details-bin").is_some());
        }
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_with_its_code_and_the_reason() {
    let provider = Provider::of(greeter()).await;
    let good = base64(&request("x"));
    let text = |text: &str| text.as_bytes().to_vec();
    for mut caller in Caller::both(provider.address).await {
        for (content, path, body, code, says) in [
            (TEXT, GREET, text("?!?!"), "3", "no base64"),
            (TEXT, GREET, text(&good[..good.len() - 1]), "3", "padding"),
            (TEXT, GREET, request("x"), "3", "no base64"),
            (TEXT, GREET, Vec::new(), "12", "without a message"),
            (WEB, GREET, Vec::new(), "12", "without a message"),
            (WEB, GREET, text("\0\0\0"), "3", "3 of the 5"),
            (WEB, GREET, text("\0\0\0\0\x09x"), "3", "1 of the 9"),
            (WEB, GREET, envelope(0x80, b"a: b\r\n"), "13", "0x80"),
            (WEB, GREET, envelope(4, b""), "13", "0x04"),
            (WEB, GREET, envelope(0, b"\xff"), "3", ""),
            (
                WEB,
                GREET,
                [request("x"), request("y")].concat(),
                "12",
                "more than one",
            ),
            (WEB, "/x.S/M", request("x"), "12", "no service"),
            (
                WEB,
                "/greet.GreetService/M",
                request("x"),
                "12",
                "no method",
            ),
            (
                "application/grpc-web+thrift",
                GREET,
                request("x"),
                "12",
                "+thrift",
            ),
            (
                "application/grpc-web; x=y",
                GREET,
                request("x"),
                "12",
                "application/grpc-web-text",
            ),
        ] {
            let answer = ask(&mut caller, path, content, &[], &body).await;
            let (got, message) = refused(&answer);
            assert_eq!(got, code, "{content} {}: {message}", body.escape_ascii());
            assert!(message.contains(says), "{content}: {message}");
            let kind = answer.header("content-type").expect("one");
            assert!(kind.starts_with("application/grpc-web"), "{kind}");
        }
        for (headers, code) in [
            ([("grpc-encoding", "br")], "12"),
            ([("grpc-timeout", "soon")], "3"),
            ([("tri-service-group", "g")], "12"),
        ] {
            let answer = ask(&mut caller, GREET, WEB, &headers, request("x")).await;
            assert_eq!(refused(&answer).0, code, "{headers:?}");
        }
        let answer = ask(&mut caller, GREET, WEB, &[], request("x")).await;
        assert_eq!(Read::of(&answer).greetings(), ["hello x"], "it goes on");
    }
}

#[tokio::test]
async fn a_request_that_does_not_end_is_not_answered_and_one_that_is_reset_is_over() {
    let provider = Provider::of(greeter()).await;
    let Caller::Http2(send) = Caller::http2(provider.address).await else {
        unreachable!("it is HTTP/2");
    };
    let request = http::Request::post(format!("http://test{GREET}"))
        .header("content-type", TEXT)
        .body(())
        .expect("sound");
    let mut ready = send.clone().ready().await.expect("open");
    let (response, mut stream) = ready.send_request(request, false).expect("room");
    stream.send_data("AAAA".into(), false).expect("open");
    stream.send_reset(h2::Reason::CANCEL);
    response.await.expect_err("reset");
    let mut caller = Caller::Http2(send);
    let answer = ask(&mut caller, GREET, WEB, &[], crate::page::request("x")).await;
    assert_eq!(Read::of(&answer).greetings(), ["hello x"]);
}

#[tokio::test]
async fn another_method_of_http_is_no_call() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller
            .call("GET", GREET, &[("content-type", WEB)], "")
            .await;
        assert_eq!(refused(&answer).0, "12");
        assert_eq!(answer.header("allow"), Some("POST"));
    }
}
