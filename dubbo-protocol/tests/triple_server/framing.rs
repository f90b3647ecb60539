//! Envelopes and DATA frames have nothing to do with each other (`docs/spec/triple.md` §6.1; §12, TV10, TV14).

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};

use crate::{
    greeter::{Provider, due, greeter},
    wire::{
        GREET, GREET_BIDI, GREET_MANY, GREET_STREAM, Wire, envelope, messages, next, request, unhex,
    },
};

#[tokio::test]
async fn a_request_may_come_one_byte_a_frame() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    for (path, body, want) in [
        (GREET, request("dubbo"), "hello dubbo"),
        (
            GREET_MANY,
            [request("a"), request(""), request("bc")].concat(),
            "hello a++bc",
        ),
    ] {
        let mut exchange = wire.open(path, &[]).await;
        for byte in body {
            exchange.data(vec![byte], false);
        }
        exchange.data("", true);
        assert_eq!(exchange.answer().await.greetings(), [want]);
    }
}

#[tokio::test]
async fn two_hundred_messages_may_come_in_one_frame() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let names: Vec<_> = (0..200).map(|n| n.to_string()).collect();
    let body: Vec<_> = names.iter().flat_map(|name| request(name)).collect();
    assert!(body.len() < 16_384, "one frame");
    let answer = wire.call(GREET_BIDI, &[], body).await;
    let want: Vec<_> = names.iter().map(|name| format!("hello {name}")).collect();
    assert_eq!((answer.greetings(), answer.code()), (want, 0));
}

/// A frame for each would be more than the messages are, and a peer built on h2 ends the connection over too many.
#[tokio::test]
async fn small_messages_that_are_ready_together_go_out_in_one_frame() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let mut exchange = wire.open(GREET_STREAM, &[]).await;
    exchange.data(request("x"), true);
    let (_, mut body) = due(&mut exchange.response)
        .await
        .expect("answered")
        .into_parts();
    let frame = next(&mut body).await.expect("open").expect("data");
    assert_eq!(messages(&frame).len(), 3);
    assert_eq!(next(&mut body).await.expect("open"), None);
}

#[tokio::test]
async fn a_prefix_may_come_alone_and_the_end_in_an_empty_frame() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let body = request("dubbo");
    let mut exchange = wire.open(GREET, &[]).await;
    for part in [&body[..5], &body[5..], &[]] {
        exchange.data(part.to_vec(), part.is_empty());
    }
    assert_eq!(exchange.answer().await.greetings(), ["hello dubbo"]);
}

#[tokio::test]
async fn a_message_larger_than_any_frame_arrives_whole() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let name = "x".repeat(3 << 20);
    let answer = wire.greet(&name, &[]).await;
    assert_eq!(answer.greetings(), [format!("hello {name}")]);
}

#[tokio::test]
async fn a_compressed_request_is_inflated_and_answered_plainly() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let gzip = [("grpc-encoding", "gzip"), ("grpc-accept-encoding", "gzip")];
    let stored = unhex(
        "01 00 00 00 1e 1f 8b 08 00 00 00 00 00 00 ff 01 07 00 f8 ff \
         0a 05 64 75 62 62 6f 02 fa 17 98 07 00 00 00",
    );
    let answer = wire.call(GREET, &gzip, stored).await;
    assert_eq!(answer.greetings(), ["hello dubbo"]);
    assert_eq!(answer.header("grpc-encoding"), None);

    // The flag is of each message, and an empty message needs no inflating whatever its flag.
    let plain = request("plain");
    let packed = envelope(1, &deflated(&request("packed")[5..]));
    let body = [plain, packed, envelope(1, b"")].concat();
    let answer = wire.call(GREET_MANY, &gzip, body.clone()).await;
    assert_eq!(answer.greetings(), ["hello plain+packed+"]);
}

#[tokio::test]
async fn broken_framing_has_exact_codes_and_spares_the_connection() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    let two = [request("a"), request("b")].concat();
    for (what, encoding, body, code, text) in [
        ("nothing at all", "", vec![], 12, "without a message"),
        ("half a prefix", "", vec![0, 0, 0], 3, "3 of the 5 bytes"),
        (
            "half a message",
            "",
            vec![0, 0, 0, 0, 7, 10],
            3,
            "1 of the 7 bytes",
        ),
        ("a second message", "", two, 12, "more than one"),
        ("unknown flags", "", envelope(2, b"x"), 13, "flags 0x02"),
        (
            "gRPC-Web's trailers",
            "",
            envelope(0x80, b""),
            13,
            "flags 0x80",
        ),
        (
            "a flag without a name",
            "",
            envelope(1, b"x"),
            3,
            "grpc-encoding",
        ),
        ("no gzip", "gzip", envelope(1, b"x"), 3, "no gzip"),
        (
            "an unknown compression",
            "snappy",
            request("x"),
            12,
            "\"snappy\" is not known here",
        ),
        (
            "not the message",
            "",
            envelope(0, b"\xff"),
            3,
            "GreetService/Greet",
        ),
    ] {
        let answer = wire.call(GREET, &[("grpc-encoding", encoding)], body).await;
        let (got, message) = answer.refused();
        assert_eq!(got, code, "{what}: {message}");
        assert!(message.contains(text), "{what}: {message}");
    }
    assert_eq!(wire.greet("x", &[]).await.code(), 0);
}

#[tokio::test]
async fn a_stream_that_breaks_tells_its_handler_why() {
    let provider = Provider::of(greeter()).await;
    let mut wire = Wire::connect(provider.address).await;
    for path in [GREET_MANY, GREET_BIDI] {
        let body = [request("a"), envelope(2, b"x")].concat();
        let answer = wire.call(path, &[], body).await;
        assert_eq!(answer.code(), 13, "{path}");
    }
}

fn deflated(plain: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(plain).expect("in memory");
    out.finish().expect("in memory")
}
