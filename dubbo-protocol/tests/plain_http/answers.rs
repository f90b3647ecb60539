//! Calls that work (`docs/spec/triple.md` §5.1; §12, TV1, TV3, TV11).

use dubbo_core::request::Response;

use crate::{
    greeter::{Provider, greeter, hello, unary, url},
    support::{Caller, GREET, JSON},
};

#[tokio::test]
async fn json_goes_in_and_out() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        for (path, content, echoed) in [
            (GREET, "application/json", "application/json"),
            // As Java spells methods.
            (
                "/greet.GreetService/greet",
                "application/json",
                "application/json",
            ),
            (
                GREET,
                "application/json;charset=UTF-8",
                "application/json; charset=utf-8",
            ),
            (GREET, "Application/JSON", "application/json"),
        ] {
            for version in [
                &[][..],
                &[("triple-protocol-version", "0.1.0")],
                &[("connect-protocol-version", "1")],
            ] {
                let headers = [&[("content-type", content)], version].concat();
                let body = "{\"name\":\"dubbo\"}";
                let answer = caller.call("POST", path, &headers, body).await;
                assert_eq!(answer.status, 200, "{answer:?}");
                assert_eq!(answer.header("content-type"), Some(echoed));
                assert_eq!(answer.text(), "{\"greeting\":\"hello dubbo\"}");
                assert_eq!(answer.header("content-length"), Some("26"));
            }
        }
    }
}

#[tokio::test]
async fn protobuf_goes_in_and_out_and_an_empty_body_is_the_zero_message() {
    let provider = Provider::of(greeter()).await;
    let content = [("content-type", "application/proto")];
    for mut caller in Caller::both(provider.address).await {
        for (body, want) in [
            (&b"\x0a\x05dubbo"[..], &b"\x0a\x0bhello dubbo"[..]),
            (b"", b"\x0a\x06hello "),
        ] {
            let answer = caller.call("POST", GREET, &content, body).await;
            assert_eq!((answer.status, &answer.body[..]), (200, want));
            assert_eq!(answer.header("content-type"), Some("application/proto"));
        }
    }
}

#[tokio::test]
async fn headers_are_attachments_and_trailers_come_before_the_body() {
    let service = unary(|request| async move {
        let told = |name| request.attachments().get(name).unwrap_or("-").to_owned();
        let names = ["TraceId", "x-many", "expect", "host", "triple-timeout-ms"];
        let told = names.map(told).join(" ");
        let bytes = request.attachments().get_bin("blob");
        assert_eq!(bytes.as_deref(), Some(&b"\0\x01\xfe\xff"[..]));
        let reply = request.context().reply();
        reply.header("x-context", "2").expect("in time");
        reply.trailer("late", "3");
        Ok(Response::new(hello(&told))
            .header("x-early", "1")
            .trailer("k", "v")
            .trailer("UserId", "7"))
    });
    let provider = Provider::of(service).await;
    for mut caller in Caller::both(provider.address).await {
        let headers = [
            ("traceid", "abc"),
            ("x-many", "\u{4e0a}\u{6d77}"),
            ("blob-bin", "AAH+/w"),
            ("triple-timeout-ms", "60000"),
            ("tri-header-convert", "%7B%22traceid%22%3A%22TraceId%22%7D"),
        ];
        let answer = caller.json_with(GREET, &headers, "{\"name\":\"\"}").await;
        let want = "{\"greeting\":\"hello abc \u{4e0a}\u{6d77} - - -\"}";
        assert_eq!(answer.text(), want);
        for (name, value) in [
            ("trailer-k", "v"),
            ("trailer-userid", "7"),
            ("trailer-late", "3"),
            ("x-early", "1"),
            ("x-context", "2"),
            // Who names no user agent may be Java, which wants its spelling back.
            (
                "trailer-tri-header-convert",
                "%7B%22userid%22%3A%22UserId%22%7D",
            ),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        let headers = [&headers[..], &[("user-agent", "curl/8")]].concat();
        let answer = caller.json_with(GREET, &headers, "{\"name\":\"\"}").await;
        assert_eq!(answer.header("trailer-tri-header-convert"), None);
    }
}

#[tokio::test]
async fn group_and_version_are_exact() {
    let url = url()
        .with_param("group", "g1")
        .with_param("version", "1.0.0");
    let provider = Provider::at(&url, greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let group = ("tri-service-group", "g1");
        for (version, want) in [("1.0.0", 200), ("9.9.9", 404)] {
            let headers = [group, ("tri-service-version", version)];
            let answer = caller.json_with(GREET, &headers, "{\"name\":\"x\"}").await;
            assert_eq!(answer.status, want);
            if want == 404 {
                let (_, code, message) = answer.refused();
                assert_eq!(code, "unimplemented");
                assert!(
                    message.contains("g1") && message.contains("9.9.9"),
                    "{message}"
                );
            }
        }
    }
}

#[tokio::test]
async fn text_in_any_language_arrives_as_it_was() {
    let provider = Provider::of(greeter()).await;
    let name = "\u{4e00}\u{884c}\n\u{4e8c}\u{884c} \u{1f923}\n\u{4e09}\u{884c}";
    for mut caller in Caller::both(provider.address).await {
        let body = serde_json::json!({ "name": name }).to_string();
        let answer = caller.call("POST", GREET, &[JSON], body).await;
        let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(answer["greeting"], format!("hello {name}"));
    }
}

#[tokio::test]
async fn the_health_of_a_server_is_a_call_away() {
    let provider = Provider::of(greeter()).await;
    for mut caller in Caller::both(provider.address).await {
        let path = "/grpc.health.v1.Health/Check";
        let body = "{\"service\":\"greet.GreetService\"}";
        let answer = caller.json(path, body).await;
        assert_eq!(answer.text(), "{\"status\":\"SERVING\"}");
        let answer = caller.json(path, "{\"nope\":1}").await;
        let (status, code, message) = answer.refused();
        assert_eq!((status, &*code), (400, "invalid_argument"));
        assert!(message.contains("nope"), "{message}");
    }
}
