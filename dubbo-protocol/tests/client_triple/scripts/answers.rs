//! What is in an answer, and what is missing from it.

use bytes::Bytes;
use dubbo_core::status::{Code, Retry, Status};
use dubbo_test::{
    peer::h2::{
        Fields, Frame,
        Last::This,
        Step::{
            Close, Data, GoAway, Headers, LastData, LastHeaders, Pieces, Raw, Request, Reset, Send,
        },
        code, envelope, kind,
    },
    soon,
};

use super::{
    END, OK, Peer,
    Want::{Done, Fails},
    a, answer, check,
};
use crate::support::{many, message};

#[tokio::test]
async fn what_is_in_front_of_a_provider_is_told_from_it() {
    const HTML: Fields = &[(":status", "502"), ("content-type", "text/html")];
    const JSON: Fields = &[(":status", "404"), ("content-type", "application/json")];
    const JSON_415: Fields = &[(":status", "415"), ("content-type", "application/json")];
    const BARE: Fields = &[(":status", "503")];
    const OF_JAVA: Fields = &[
        (":status", "404"),
        ("content-type", "application/grpc"),
        ("grpc-status", "12"),
        ("grpc-message", "Invoker for gRPC not found"),
    ];
    const HINT: Fields = &[(":status", "103"), ("link", "</x>")];
    check([
        (
            "the HTML of a gateway",
            vec![Headers(HTML), LastData("<html>Bad Gateway</html>".into())],
            Fails(
                Code::Unavailable,
                Retry::Ambiguous,
                &["HTTP 502", "text/html"],
            ),
            true,
        ),
        (
            "an endpoint that is none of RPC",
            vec![Headers(JSON), LastData("{\"error\":\"no\"}".into())],
            Fails(
                Code::Unimplemented,
                Retry::Never,
                &["HTTP 404", "application/json"],
            ),
            true,
        ),
        (
            "one that takes other content",
            vec![Headers(JSON_415), LastData("{}".into())],
            Fails(
                Code::Unknown,
                Retry::Ambiguous,
                &["HTTP 415", "application/json"],
            ),
            true,
        ),
        (
            "headers alone",
            vec![LastHeaders(BARE)],
            Fails(
                Code::Unavailable,
                Retry::Ambiguous,
                &["HTTP 503", "no content type"],
            ),
            true,
        ),
        (
            "an early hint before the answer",
            [vec![Headers(HINT)], answer()].concat(),
            Done("a"),
            true,
        ),
    ])
    .await;

    // The provider's own words, as they are.
    let peer = Peer::new(vec![Request, LastHeaders(OF_JAVA)], "").await;
    let status = peer.greeted().await.expect_err("no such service");
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unimplemented, "Invoker for gRPC not found")
    );
    peer.check_life("trailers alone", true).await;
}

#[tokio::test]
async fn an_answer_that_is_cut_short_is_never_a_whole_one() {
    const SOME: Fields = &[("x", "1")];
    let missing: &[&str] = &["ended without", "part of it may be missing"];
    let unknown = |parts| Fails(Code::Unknown, Retry::Ambiguous, parts);
    let internal = |parts| Fails(Code::Internal, Retry::Ambiguous, parts);
    let lost = || {
        Fails(
            Code::Unavailable,
            Retry::Ambiguous,
            &["the connection was lost", "closed"],
        )
    };
    let data = Frame::data(1, a(), false);
    let headers = begin();
    check([
        (
            "DATA, then END_STREAM on an empty frame",
            vec![Headers(OK), Data(a()), LastData(Bytes::new())],
            unknown(missing),
            true,
        ),
        (
            "END_STREAM on the last DATA",
            vec![Headers(OK), LastData(a())],
            unknown(missing),
            true,
        ),
        (
            "trailers without a status",
            vec![Headers(OK), Data(a()), LastHeaders(SOME)],
            unknown(missing),
            true,
        ),
        (
            "no DATA",
            vec![Headers(OK), LastData(Bytes::new())],
            internal(missing),
            true,
        ),
        (
            "headers alone",
            vec![LastHeaders(OK)],
            internal(missing),
            true,
        ),
        (
            "closed within HEADERS",
            vec![Raw(half(&headers)), Close],
            lost(),
            false,
        ),
        (
            "closed within DATA",
            vec![Headers(OK), Raw(half(&data)), Close],
            lost(),
            false,
        ),
        (
            "closed before the trailers",
            vec![Headers(OK), Data(a()), Close],
            lost(),
            false,
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_answer_is_whole_however_its_bytes_are_cut() {
    let headers = begin().payload;
    let (start, rest) = (headers.slice(..5), headers.slice(5..));
    let padded = [&[3][..], &a(), &[0; 3]].concat();
    check([
        (
            "byte by byte",
            [vec![Pieces(1)], answer()].concat(),
            Done("a"),
            true,
        ),
        (
            "frames that are cut anywhere",
            [vec![Pieces(7)], answer()].concat(),
            Done("a"),
            true,
        ),
        (
            "a byte for each DATA, and empty ones between",
            [
                vec![Headers(OK)],
                a().iter()
                    .flat_map(|byte| [Data(vec![*byte].into()), Data(Bytes::new())])
                    .collect(),
                vec![LastHeaders(END)],
            ]
            .concat(),
            Done("a"),
            true,
        ),
        (
            "headers in two frames",
            vec![
                Send(Frame::new(kind::HEADERS, 0, 1, start)),
                Send(Frame::new(kind::CONTINUATION, 4, 1, rest)),
                Data(a()),
                LastHeaders(END),
            ],
            Done("a"),
            true,
        ),
        (
            "padding, and a kind of frame that nobody knows",
            vec![
                Headers(OK),
                Send(Frame::new(0xfa, 0xff, 1, "?")),
                Send(Frame::new(kind::DATA, 8, 1, padded)),
                LastHeaders(END),
            ],
            Done("a"),
            true,
        ),
    ])
    .await;
}

/// The HEADERS of an answer.
fn begin() -> Frame {
    let fields: &[(&str, &[u8])] = &[(":status", b"200"), ("content-type", b"application/grpc")];
    Frame::headers(1, fields, false)
}

#[tokio::test]
async fn broken_rules_of_http2_are_the_peers_fault() {
    let broken: &[&str] = &["broke the rules of HTTP/2"];
    let internal = || Fails(Code::Internal, Retry::Ambiguous, broken);
    check([
        ("DATA before HEADERS", vec![Data(a())], internal(), false),
        (
            "DATA on no stream",
            vec![Send(Frame::data(0, "x", false))],
            internal(),
            false,
        ),
        (
            "HEADERS on a stream that nobody opened",
            vec![Send(Frame::headers(99, &[(":status", b"200")], true))],
            internal(),
            false,
        ),
        (
            "a frame larger than the largest",
            vec![Raw(vec![0xff, 0xff, 0xff, kind::DATA, 0, 0, 0, 0, 1].into())],
            internal(),
            false,
        ),
        (
            "a window that grows by nothing",
            vec![Send(Frame::new(kind::WINDOW_UPDATE, 0, 0, vec![0; 4]))],
            internal(),
            false,
        ),
        (
            "something between HEADERS and their end",
            vec![
                Send(Frame::new(kind::HEADERS, 0, 1, "")),
                Send(Frame::ping(false, [0; 8])),
            ],
            internal(),
            false,
        ),
    ])
    .await;
}

#[tokio::test]
async fn two_hundred_messages_come_in_order_however_they_are_sent() {
    let words: Vec<_> = (0..200).map(|number| format!("{number}")).collect();
    let all: Vec<u8> = words
        .iter()
        .flat_map(|word| envelope(&message(word)))
        .collect();
    let bytes = all.iter().map(|byte| Data(vec![*byte].into())).collect();
    for (what, data) in [
        ("all in one DATA", vec![Data(all.clone().into())]),
        ("one byte a DATA", bytes),
        (
            "frames in pieces",
            vec![Pieces(3), Data(all.clone().into())],
        ),
    ] {
        for end in [
            vec![LastHeaders(END)],
            vec![Data(Bytes::new()), LastHeaders(END)],
        ] {
            let steps = [vec![Request, Headers(OK)], data.clone(), end].concat();
            let peer = Peer::new(steps, "").await;
            let (items, ended) = items(&peer).await;
            assert_eq!(items, words, "{what}");
            ended.expect(what);
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_without_a_status_is_an_error_after_its_messages() {
    let two = || vec![Request, Headers(OK), Data(a()), Data(a())];
    for (what, end, want) in [
        ("END_STREAM", vec![LastData(Bytes::new())], Code::Unknown),
        (
            "a reset without an error",
            vec![Reset(code::NO_ERROR)],
            Code::Internal,
        ),
        ("the end of the connection", vec![Close], Code::Unavailable),
        (
            "GOAWAY and the end",
            vec![GoAway(This, 0), Close],
            Code::Unavailable,
        ),
    ] {
        let peer = Peer::new([two(), end].concat(), "").await;
        let (items, ended) = items(&peer).await;
        assert_eq!(items, ["a", "a"], "{what}");
        let status = ended.expect_err(what);
        assert_eq!(status.code(), want, "{what}: {status}");
        assert_eq!(status.retry(), Retry::Ambiguous, "{what}: {status}");
    }
}

/// The items of a streaming call, and how it ended.
async fn items(peer: &Peer) -> (Vec<String>, Result<(), Status>) {
    let mut items = Vec::new();
    let mut stream = match soon("headers", many(&peer.stub, "x")).await {
        Ok(reply) => reply.into_message(),
        Err(status) => return (items, Err(status)),
    };
    loop {
        match soon("an item", stream.message()).await {
            Ok(Some(item)) => items.push(item),
            Ok(None) => return (items, Ok(())),
            Err(status) => return (items, Err(status)),
        }
    }
}

/// The first half of a frame.
fn half(frame: &Frame) -> Bytes {
    let bytes = frame.encode();
    bytes.slice(..bytes.len() / 2)
}
