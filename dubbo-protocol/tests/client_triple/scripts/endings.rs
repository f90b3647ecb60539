//! How a call or a connection ends before its time.

use std::time::Duration;

use dubbo_core::status::{Code, Retry};
use dubbo_test::{
    peer::h2::{
        Frame,
        Last::{Any, Nothing, This},
        Step::{self, About, Close, Data, GoAway, Headers, Hush, Raw, Request, Reset, Send, Stall},
        code, kind,
    },
    soon,
};

use super::{
    OK, Peer,
    Want::{Done, Fails},
    a, answer, check,
};
use crate::support::greet;

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
}

#[tokio::test]
async fn a_refused_call_is_sent_again_once_and_a_reset_after_the_answer_is_nothing() {
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

/// `SETTINGS_MAX_CONCURRENT_STREAMS`.
const MAX_CONCURRENT_STREAMS: u16 = 3;
/// `SETTINGS_INITIAL_WINDOW_SIZE`.
const INITIAL_WINDOW_SIZE: u16 = 4;
