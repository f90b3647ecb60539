//! Texts of all languages, in errors and beside messages.

use dubbo_hessian2::{Encoder, ToHessian as _, Value, java::Throwable};
use dubbo_protocol::{DubboProtocol, java::thrown};
use dubbo_test::peer::dubbo::{Frame, Server};

use crate::support::{echo, stub};

const TEXT: &str = "第一行：用户不存在\n第二行\r\n第三行 😀 é";

fn encoded(write: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut encoder = Encoder::new();
    write(&mut encoder);
    encoder.into_bytes()
}

#[tokio::test]
async fn the_text_of_an_error_is_the_provider_s_to_the_last_character() {
    let exception = encoded(|encoder| {
        encoder.int(0);
        let thrown = Throwable::new("java.lang.IllegalStateException", TEXT);
        thrown.encode(encoder).expect("a value");
    });
    let refusal = encoded(|encoder| encoder.str(TEXT));
    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let connection = server.accept().await;
    let mut answers = [(20, exception), (70, refusal)].into_iter();
    tokio::spawn(connection.answer_all(move |frame| {
        let (status, body) = answers.next().expect("two calls");
        vec![Frame::answer(frame, status, body)]
    }));
    let status = echo(&stub, "x").await.expect_err("it was thrown");
    assert_eq!(thrown(&status).and_then(Throwable::message), Some(TEXT));
    assert!(status.message().ends_with(TEXT), "{status}");
    let status = echo(&stub, "x").await.expect_err("it was refused");
    assert!(status.message().ends_with(TEXT), "{status}");
}

#[tokio::test]
async fn attachments_of_all_languages_and_cases_go_both_ways() {
    let server = Server::bind().await;
    let protocol = DubboProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let provider = async {
        let call = connection.call().await;
        // The map that ends the request, back to where it came from.
        let start = call
            .body
            .iter()
            .position(|byte| *byte == b'H')
            .expect("a map");
        let body = [&b"\x94\x02OK"[..], &call.body[start..], b"N"].concat();
        connection.send(Frame::answer(&call, 20, body)).await;
    };
    let call = echo(&stub, "x")
        .attach("city", "上海")
        .attach("TraceId", "abc")
        .attach("lines", TEXT);
    let (reply, ()) = tokio::join!(call.into_future(), provider);
    let reply = reply.expect("it worked");
    assert_eq!(reply.message(), &Value::from("OK"));
    for (name, want) in [
        ("city", "上海"),
        ("TraceId", "abc"),
        ("traceid", "abc"),
        ("lines", TEXT),
    ] {
        assert_eq!(reply.trailers().get(name), Some(want), "{name}");
    }
}
