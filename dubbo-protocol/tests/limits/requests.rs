//! Requests that do not end, that nobody serves or waits for, and answers that nobody takes.

use std::time::Duration;

use bytes::Bytes;
use dubbo_test::attack::{deaf, expiring, slow_body, unknown};

use crate::{
    process::Server,
    service::{ECHO, GIVE, request},
};

/// Half a request.
const HALF: &[u8] = b"\0\0\0\x80\0only this";

#[tokio::test]
async fn a_request_that_does_not_end_is_given_up_in_time() {
    let server = Server::start(".request-timeout=300").await;
    let attack = slow_body::http2(server.address, ECHO, 900, HALF);
    let answers = server.under(attack).await.within(16 << 20);
    assert_eq!(answers.len(), 900);
    for answer in answers {
        assert_eq!(answer.code(), Some(4), "{answer:?}");
        let text = answer.message();
        assert!(text.contains("within 300ms"), "{text}");
    }
}

#[tokio::test]
async fn over_http1_it_is_answered_with_408() {
    let server = Server::start(".request-timeout=300").await;
    let head = format!(
        "POST {ECHO} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"
    );
    let attack = slow_body::http1(server.address, &head, b"{\"number\":");
    let answer = server.under(attack).await.within(4 << 20);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.contains("\"code\":\"deadline_exceeded\""),
        "{answer}"
    );
}

#[tokio::test]
async fn unfinished_requests_have_a_limit_together() {
    let server = Server::start(".max-unfinished-size=8mib").await;
    let part = [&b"\0\0\x10\0\0"[..], &vec![0; 1 << 20][..(1 << 20) - 1]].concat();
    let attack = async {
        let held = slow_body::http2(server.address, ECHO, 12, &part);
        // Those within the limit wait on.
        tokio::time::timeout(Duration::from_secs(1), held).await
    };
    let waiting = server.under(attack).await.within(32 << 20);
    assert!(waiting.is_err(), "some are within the limit");
}

/// Bodies of what is not served are read and thrown away, so that the windows of the connection stay open.
#[tokio::test]
async fn calls_of_what_is_not_served_cost_nothing_however_much_they_send() {
    let server = Server::start("").await;
    let attack = unknown::run(server.address, per_build(100_000, 10_000), 16 << 10);
    let codes = server.under(attack).await.within(24 << 20);
    assert_eq!(codes, [Some(12)]);
}

#[tokio::test]
async fn calls_that_are_given_up_at_once_leave_nothing_behind() {
    let server = Server::start("").await;
    let count = per_build(100_000, 10_000);
    let calls = || {
        let body = request(0, Bytes::from(vec![0; 64 << 10]));
        expiring::run(
            server.address,
            ECHO,
            count / 2,
            body,
            Duration::from_millis(1),
        )
    };
    // What a busy server needs at all is not what is left behind.
    calls().await;
    let ends = server.under(calls()).await.within(16 << 20);
    assert!(ends.given_up + ends.expired > 0, "{ends:?}");
    let all = ends.given_up + ends.expired + ends.answered;
    assert_eq!(all, count / 2);
}

#[tokio::test]
async fn answers_that_are_not_taken_have_a_limit_together() {
    let server = Server::start(".max-unfinished-size=8mib").await;
    let request = request(1 << 20, "");
    let attack = deaf::without_window(server.address, GIVE, 500, &request);
    let (wire, heard) = server.under(attack).await.within(48 << 20);
    assert_eq!(heard.code(), None);
    assert!(heard.ended > 400, "most are refused: {heard:?}");
    drop(wire);
}

#[tokio::test]
async fn a_peer_that_does_not_read_at_all_is_not_read_from_for_ever() {
    let server = Server::start(".max-unfinished-size=8mib").await;
    let request = request(64 << 10, "");
    let attack = deaf::without_reading(server.address, GIVE, 50_000, &request);
    let (wire, taken) = server.under(attack).await.within(96 << 20);
    assert!(taken > 0);
    drop(wire);
}

/// Debug builds do a fraction of it.
fn per_build(release: usize, debug: usize) -> usize {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}
