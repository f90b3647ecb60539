//! Peers that do what no good one would, as tables: what the caller is told, whether the call may be made again, and
//! whether the connection lives on.

use std::time::Duration;

use bytes::Bytes;
use dubbo_core::{
    call::Stub,
    status::{Code, Retry, Status},
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{
        Fields, Frame,
        Last::{Any, Nothing, This},
        Scripted,
        Step::{self, *},
        code, envelope, kind,
    },
    soon,
};

use crate::support::{greet, many, message, stub};

/// What comes of a call.
enum Want {
    /// This answer. The number of a connection is that of a plain peer.
    Done(&'static str),
    /// An error with these parts in its text.
    Fails(Code, Retry, &'static [&'static str]),
}
use Want::{Done, Fails};

/// What the peer does once it has the request, what comes of it, and whether the connection takes the next call.
type Row = (&'static str, Vec<Step>, Want, bool);

struct Peer {
    server: Scripted,
    stub: Stub,
    _protocol: TripleProtocol,
}

impl Peer {
    async fn new(steps: Vec<Step>, query: &str) -> Self {
        let (server, protocol) = (Scripted::start(steps).await, TripleProtocol::default());
        Self {
            stub: stub(&protocol, server.address(), query).await,
            server,
            _protocol: protocol,
        }
    }

    async fn greeted(&self) -> Result<String, Status> {
        let reply = soon("an answer", greet(&self.stub, "x")).await;
        reply.map(dubbo_core::request::Response::into_message)
    }

    /// What the peer is asked next comes over the first connection, or not.
    async fn check_life(&self, what: &str, lives: bool) {
        let next = self.greeted().await.expect(what);
        assert_eq!(
            next == "1",
            lives,
            "{what}: connection {next} was asked next"
        );
    }
}

async fn check(rows: impl IntoIterator<Item = Row>) {
    for (what, steps, want, lives) in rows {
        let steps = [vec![Request], steps].concat();
        let peer = Peer::new(steps, "").await;
        match (peer.greeted().await, want) {
            (Ok(answer), Done(want)) => assert_eq!(answer, want, "{what}"),
            (Err(status), Fails(code, retry, parts)) => {
                assert_eq!(
                    (status.code(), status.retry()),
                    (code, retry),
                    "{what}: {status}"
                );
                let address = peer.server.address().to_string();
                for part in parts.iter().chain(&["greet.Greeter/Greet", &*address]) {
                    assert!(
                        status.message().contains(part),
                        "{what}: {part} in {status}"
                    );
                }
            }
            (Ok(answer), Fails(..)) => panic!("{what}: answered {answer}"),
            (Err(status), Done(_)) => panic!("{what}: {status}"),
        }
        peer.check_life(what, lives).await;
    }
}

const OK: Fields = &[(":status", "200"), ("content-type", "application/grpc")];
const END: Fields = &[("grpc-status", "0")];

/// `a` in its envelope.
fn a() -> Bytes {
    envelope(&message("a"))
}

/// A whole answer.
fn answer() -> Vec<Step> {
    vec![Headers(OK), Data(a()), LastHeaders(END)]
}

/// The first half of a frame.
fn half(frame: &Frame) -> Bytes {
    let bytes = frame.encode();
    bytes.slice(..bytes.len() / 2)
}

#[tokio::test]
async fn every_code_of_a_reset_has_its_status_and_none_ends_the_connection() {
    use Code::{Canceled, Internal, PermissionDenied, ResourceExhausted};
    let table = [
        (code::NO_ERROR, Internal, Retry::Ambiguous, "NO_ERROR"),
        (
            code::PROTOCOL_ERROR,
            Internal,
            Retry::Ambiguous,
            "PROTOCOL_ERROR",
        ),
        (
            code::INTERNAL_ERROR,
            Internal,
            Retry::Ambiguous,
            "INTERNAL_ERROR",
        ),
        (
            code::FLOW_CONTROL_ERROR,
            Internal,
            Retry::Ambiguous,
            "FLOW_CONTROL_ERROR",
        ),
        (
            code::SETTINGS_TIMEOUT,
            Internal,
            Retry::Ambiguous,
            "SETTINGS_TIMEOUT",
        ),
        (
            code::STREAM_CLOSED,
            Internal,
            Retry::Ambiguous,
            "STREAM_CLOSED",
        ),
        (
            code::FRAME_SIZE_ERROR,
            Internal,
            Retry::Ambiguous,
            "FRAME_SIZE_ERROR",
        ),
        (code::CANCEL, Canceled, Retry::Never, "CANCEL"),
        (
            code::COMPRESSION_ERROR,
            Internal,
            Retry::Ambiguous,
            "COMPRESSION_ERROR",
        ),
        (
            code::CONNECT_ERROR,
            Internal,
            Retry::Ambiguous,
            "CONNECT_ERROR",
        ),
        (
            code::ENHANCE_YOUR_CALM,
            ResourceExhausted,
            Retry::Ambiguous,
            "ENHANCE_YOUR_CALM",
        ),
        (
            code::INADEQUATE_SECURITY,
            PermissionDenied,
            Retry::Never,
            "INADEQUATE_SECURITY",
        ),
        (
            code::HTTP_1_1_REQUIRED,
            Internal,
            Retry::Ambiguous,
            "HTTP_1_1_REQUIRED",
        ),
        (0xface, Internal, Retry::Ambiguous, "face"),
    ];
    for (number, want, retry, name) in table {
        for before in [vec![], vec![Headers(OK)], vec![Headers(OK), Data(a())]] {
            let what = format!("{name} after {} frames", before.len());
            let peer = Peer::new([vec![Request], before, vec![Reset(number)]].concat(), "").await;
            let status = peer.greeted().await.expect_err(&what);
            assert_eq!(
                (status.code(), status.retry()),
                (want, retry),
                "{what}: {status}"
            );
            assert!(status.message().contains(name), "{what}: {status}");
            peer.check_life(&what, true).await;
        }
    }
    // Nothing was done for it, so it is sent again: once.
    let refused = || Reset(code::REFUSED_STREAM);
    check([
        ("refused once", vec![refused()], Done("1"), true),
        (
            "refused twice",
            vec![refused(), Request, refused()],
            Fails(Code::Unavailable, Retry::Safe, &["REFUSED_STREAM"]),
            true,
        ),
        (
            "a reset after the whole answer",
            [answer(), vec![Reset(code::NO_ERROR)]].concat(),
            Done("a"),
            true,
        ),
    ])
    .await;
}

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
async fn an_answer_is_whole_with_its_status_only_however_it_is_cut() {
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
    let split = Frame::headers(
        1,
        &[(":status", b"200"), ("content-type", b"application/grpc")],
        false,
    );
    let (start, rest) = (split.payload.slice(..5), split.payload.slice(5..));
    let padded = [&[3][..], &a(), &[0; 3]].concat();
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
            vec![Raw(half(&split)), Close],
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
async fn a_goaway_costs_only_calls_that_may_have_been_begun() {
    let after = |steps: Vec<Step>| [steps, answer()].concat();
    let calm = code::ENHANCE_YOUR_CALM;
    check([
        (
            "a graceful end in two steps",
            after(vec![GoAway(Any, 0), GoAway(This, 0)]),
            Done("a"),
            false,
        ),
        (
            "its first step alone",
            after(vec![GoAway(Any, 0)]),
            Done("a"),
            false,
        ),
        (
            "one without the end",
            after(vec![GoAway(This, 0)]),
            Done("a"),
            false,
        ),
        (
            "an error, and the answer all the same",
            after(vec![GoAway(This, code::INTERNAL_ERROR)]),
            Done("a"),
            false,
        ),
        (
            "a call left out",
            vec![GoAway(Nothing, 0)],
            Done("2"),
            false,
        ),
        (
            "a call left out, and the end",
            vec![GoAway(Nothing, 0), Close],
            Done("2"),
            false,
        ),
        (
            "a call left out for an error is sent again once",
            vec![GoAway(Nothing, calm)],
            Done("2"),
            false,
        ),
        (
            "the end in the middle of a call",
            vec![GoAway(This, 0), Close],
            Fails(
                Code::Unavailable,
                Retry::Ambiguous,
                &["the connection was lost", "the peer sent GOAWAY NO_ERROR"],
            ),
            false,
        ),
        (
            "an error and the end in the middle of a call",
            vec![GoAway(This, code::PROTOCOL_ERROR), Close],
            Fails(
                Code::Unavailable,
                Retry::Ambiguous,
                &[
                    "the connection was lost",
                    "the peer sent GOAWAY PROTOCOL_ERROR",
                ],
            ),
            false,
        ),
    ])
    .await;
}

#[tokio::test]
async fn of_two_calls_in_flight_a_goaway_may_leave_one_out() {
    for (code, close) in [
        (code::NO_ERROR, false),
        (code::NO_ERROR, true),
        (code::ENHANCE_YOUR_CALM, false),
    ] {
        let mut steps = vec![Request, Request, About(0), GoAway(This, code)];
        steps.extend(answer());
        steps.extend(close.then_some(Close));
        let peer = Peer::new(steps, "").await;
        let (first, second) = tokio::join!(peer.greeted(), peer.greeted());
        assert_eq!(first.expect("it was taken"), "a");
        assert_eq!(second.expect("it went elsewhere"), "2");
    }
}

#[tokio::test]
async fn a_call_that_was_never_sent_goes_elsewhere_however_the_connection_ends() {
    let one_at_a_time = Frame::settings(&[(MAX_CONCURRENT_STREAMS, 1)]);
    for (what, end) in [
        ("closed", vec![Close]),
        (
            "closed with an error",
            vec![GoAway(This, code::INTERNAL_ERROR), Close],
        ),
        ("silent", vec![Stall]),
        ("nonsense", vec![Raw("HTTP/1.1 400 Bad Request\r\n".into())]),
    ] {
        let steps = [vec![Hush, Send(one_at_a_time.clone()), Request], end].concat();
        let peer = Peer::new(steps, "keep-alive-interval=20&keep-alive-timeout=20").await;
        let (sent, waiting) = tokio::join!(peer.greeted(), peer.greeted());
        let status = sent.expect_err(what);
        assert_eq!(status.retry(), Retry::Ambiguous, "{what}: {status}");
        assert_eq!(waiting.expect(what), "2");
    }
}

#[tokio::test]
async fn a_peer_that_answers_no_settings_is_good_enough() {
    let settings = Frame::settings(&[]);
    let steps = [vec![Hush, Send(settings), Request], answer()].concat();
    let peer = Peer::new(steps, "").await;
    assert_eq!(peer.greeted().await.expect("it is answered"), "a");
}

#[tokio::test]
async fn a_peer_that_stops_answering_pings_is_given_up_and_replaced() {
    for silence in [Hush, Stall] {
        let steps = vec![Request, silence];
        let peer = Peer::new(steps, "keep-alive-interval=20&keep-alive-timeout=20").await;
        let status = peer.greeted().await.expect_err("nobody answers");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::Unavailable, Retry::Ambiguous)
        );
        let want = "the connection was lost: the peer did not answer a keep-alive PING within 20ms";
        assert!(status.message().contains(want), "{status}");
        peer.check_life("silent", false).await;
    }
}

#[tokio::test]
async fn a_peer_that_never_reads_holds_a_call_until_its_deadline() {
    let peer = Peer::new(vec![Stall], "").await;
    let large = "x".repeat(1 << 20);
    for text in ["x", &large] {
        let call = greet(&peer.stub, text).timeout(Duration::from_millis(50));
        let status = soon("an error", call).await.expect_err("nobody reads it");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::DeadlineExceeded, Retry::Ambiguous),
            "{status}"
        );
    }
    assert_eq!(peer.stub.invoker().in_flight(), 0);
    peer.server.resume();
    peer.check_life("it reads again", true).await;
}

#[tokio::test]
async fn a_call_given_up_while_the_peer_does_not_read_is_reset_once_it_does() {
    // Room for more than any socket holds.
    let room = 1_u32 << 30;
    let settings = Frame::settings(&[(INITIAL_WINDOW_SIZE, room)]);
    let update = Frame::new(kind::WINDOW_UPDATE, 0, 0, room.to_be_bytes().to_vec());
    let mut peer = Peer::new(vec![Send(settings), Send(update), Request, Stall], "").await;
    // The peer reads no more from here on.
    let first = greet(&peer.stub, "x").timeout(Duration::from_millis(50));
    soon("an error", first).await.expect_err("nobody answers");
    let large = "x".repeat(16 << 20);
    let mut call = Box::pin(greet(&peer.stub, &large).into_future());
    let waited = tokio::time::timeout(Duration::from_millis(100), &mut call).await;
    waited.expect_err("nobody reads it");
    let begun = tokio::time::Instant::now();
    drop(call);
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(50), "{took:?} to give up");
    assert_eq!(peer.stub.invoker().in_flight(), 0);

    peer.server.resume();
    let reset = |frame: &Frame| frame.kind == kind::RST_STREAM && frame.stream == 3;
    let reset = peer.server.frame("a reset", reset).await;
    assert_eq!(reset.code(), Some(code::CANCEL));
    peer.check_life("it reads again", true).await;
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

/// `SETTINGS_MAX_CONCURRENT_STREAMS`.
const MAX_CONCURRENT_STREAMS: u16 = 3;
/// `SETTINGS_INITIAL_WINDOW_SIZE`.
const INITIAL_WINDOW_SIZE: u16 = 4;
