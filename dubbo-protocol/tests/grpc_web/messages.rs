//! Calls that take one message and answer with one.

use std::io::Write as _;

use crate::{
    greeter::{Provider, Req, Resp, builder, greeter, hello, unary},
    page::{Read, TEXT, WEB, ask, base64, envelope, request},
    support::{Caller, GREET},
};

#[tokio::test]
async fn an_answer_is_its_message_and_then_its_trailers_byte_for_byte() {
    let provider = Provider::of(greeter()).await;
    let want = b"\0\0\0\0\x0d\x0a\x0bhello dubbo\x80\0\0\0\x10grpc-status: 0\r\n";
    for mut caller in Caller::both(provider.address).await {
        let answer = ask(&mut caller, GREET, WEB, &[], request("dubbo")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, want, "{}", answer.body.escape_ascii());
        assert_eq!(answer.header("content-type"), Some(WEB));
        assert_eq!(answer.header("grpc-status"), None);
        assert_eq!(answer.header("trailer"), None);
        assert!(answer.trailers.is_empty(), "{answer:?}");

        let answer = ask(&mut caller, GREET, TEXT, &[], base64(&request("dubbo"))).await;
        let text = "AAAAAA0KC2hlbGxvIGR1YmJvgAAAABBncnBjLXN0YXR1czogMA0K";
        let padded = [base64(&want[..18]), base64(&want[18..])].concat();
        assert!([text, &padded].contains(&answer.text()), "{answer:?}");
        assert_eq!(answer.header("content-type"), Some(TEXT));
    }
}

#[tokio::test]
async fn every_content_type_is_answered_in_itself() {
    let provider = Provider::of(greeter()).await;
    let (proto, json) = (request("x"), envelope(0, br#"{"name":"x"}"#));
    let (in_proto, in_json) = (&b"\x0a\x07hello x"[..], &br#"{"greeting":"hello x"}"#[..]);
    for mut caller in Caller::both(provider.address).await {
        for (content, body, want) in [
            ("application/grpc-web", &proto, in_proto),
            ("application/grpc-web+proto", &proto, in_proto),
            ("application/grpc-web+json", &json, in_json),
            ("application/grpc-web-text", &proto, in_proto),
            ("application/grpc-web-text+proto", &proto, in_proto),
            ("application/grpc-web-text+json", &json, in_json),
        ] {
            let body = if content.contains("text") {
                base64(body).into_bytes()
            } else {
                body.clone()
            };
            let answer = ask(&mut caller, GREET, content, &[], body).await;
            assert_eq!(answer.header("content-type"), Some(content));
            let read = Read::of(&answer);
            assert_eq!(read.messages, [want], "{content}");
            assert_eq!(read.trailer("grpc-status"), Some("0"), "{content}");
        }
    }
}

#[tokio::test]
async fn a_page_may_ask_in_one_form_and_be_answered_in_the_other() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let accept = [("accept", "application/grpc-web-text")];
        let answer = ask(&mut caller, GREET, WEB, &accept, request("x")).await;
        assert_eq!(answer.header("content-type"), Some(TEXT));
        assert_eq!(Read::of(&answer).greetings(), ["hello x"]);
    }
}

#[tokio::test]
async fn base64_is_read_however_it_was_cut_and_padded() {
    let provider = Provider::of(greeter()).await;
    let bytes = request("somebody");
    let Caller::Http2(send) = Caller::http2(provider.address).await else {
        unreachable!("it is HTTP/2");
    };
    for at_once in 1..=bytes.len() {
        // As a page sends that encodes what it has whenever it has something.
        let text: String = bytes.chunks(at_once).map(base64).collect();
        let request = http::Request::post(format!("http://test{GREET}"))
            .header("content-type", TEXT)
            .body(())
            .expect("sound");
        let mut ready = send.clone().ready().await.expect("open");
        let (response, mut stream) = ready.send_request(request, false).expect("room");
        for chunk in text.as_bytes().chunks(3) {
            stream
                .send_data(chunk.to_vec().into(), false)
                .expect("open");
        }
        stream.send_data("".into(), true).expect("open");
        let mut body = response.await.expect("answered").into_body();
        let mut all = Vec::new();
        while let Some(data) = body.data().await {
            let data = data.expect("whole");
            body.flow_control()
                .release_capacity(data.len())
                .expect("used");
            all.extend_from_slice(&data);
        }
        let greeting = base64(b"\0\0\0\0\x10\x0a\x0ehello somebody");
        let all = String::from_utf8(all).expect("text");
        assert!(all.starts_with(&greeting[..24]), "{at_once}: {all}");
    }
}

#[tokio::test]
async fn what_a_handler_says_beside_its_message_is_in_headers_and_in_the_last_envelope() {
    let service = builder()
        .unary::<Req, Resp, _, _>(0, |request| async move {
            let context = request.context();
            let seen = ["x-own", "x-grpc-web", "x-user-agent", "user-agent"]
                .map(|name| request.attachments().get(name).unwrap_or("-").to_owned());
            context.reply().header("x-before", "1").expect("in time");
            context.reply().trailer("x-after", "2");
            Ok(hello(&seen.join(" ")).into())
        })
        .build();
    let provider = Provider::of(service).await;
    for mut caller in Caller::both(provider.address).await {
        let headers = [("x-own", "a"), ("x-user-agent", "grpc-web-javascript/0.1")];
        let answer = ask(&mut caller, GREET, WEB, &headers, request("")).await;
        assert_eq!(answer.header("x-before"), Some("1"));
        assert_eq!(answer.header("x-after"), None);
        let read = Read::of(&answer);
        assert_eq!(read.trailer("x-after"), Some("2"));
        let agent = "grpc-web-javascript/0.1";
        assert_eq!(read.greetings(), [format!("hello a - {agent} {agent}")]);
    }
}

#[tokio::test]
async fn a_compressed_message_is_inflated() {
    let provider = Provider::of(greeter()).await;
    let level = flate2::Compression::best();
    let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
    out.write_all(&request("x")[5..]).expect("in memory");
    let body = envelope(1, &out.finish().expect("in memory"));
    for mut caller in Caller::both(provider.address).await {
        let gzip = [("grpc-encoding", "gzip")];
        let answer = ask(&mut caller, GREET, WEB, &gzip, &body).await;
        assert_eq!(Read::of(&answer).greetings(), ["hello x"]);
        let text = ask(&mut caller, GREET, TEXT, &gzip, base64(&body)).await;
        assert_eq!(Read::of(&text).greetings(), ["hello x"]);
    }
}

#[tokio::test]
async fn the_time_that_a_page_waits_bounds_the_call() {
    let provider = Provider::of(unary(|request| async move {
        let bounded = request.context().deadline().is_some();
        Ok(hello(if bounded { "bounded" } else { "free" }).into())
    }))
    .await;
    for mut caller in Caller::both(provider.address).await {
        let timeout = [("grpc-timeout", "10S")];
        let answer = ask(&mut caller, GREET, WEB, &timeout, request("")).await;
        assert_eq!(Read::of(&answer).greetings(), ["hello bounded"]);
        let none = [("grpc-timeout", "0n")];
        let answer = ask(&mut caller, GREET, WEB, &none, request("")).await;
        assert_eq!(answer.header("grpc-status"), Some("4"));
    }
}
