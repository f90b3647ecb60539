//! Headers that are too large, too many, or never end.

use dubbo_test::{
    attack::{Caller, Heard, continuations, headers},
    peer::h2::code,
};

use crate::{
    process::Server,
    service::{ECHO, request},
};

fn told_to_calm_down(heard: &Heard, why: &str) {
    let told = (code::ENHANCE_YOUR_CALM, why.to_owned());
    assert_eq!(heard.go_away, Some(told), "{heard:?}");
}

#[tokio::test]
async fn ten_mebibytes_of_headers_end_the_connection_before_they_are_here() {
    let server = Server::start("").await;
    let frame = 16 << 10;
    let attack = continuations::run(server.address, ECHO, (10 << 20) / frame, frame);
    let heard = server.under(attack).await.within(8 << 20);
    told_to_calm_down(&heard, "too_many_continuations");
}

#[tokio::test]
async fn a_header_block_of_empty_frames_ends_the_connection() {
    let server = Server::start("").await;
    let attack = continuations::run(server.address, ECHO, 100_000, 0);
    let heard = server.under(attack).await.within(4 << 20);
    told_to_calm_down(&heard, "too_many_continuations");
}

#[tokio::test]
async fn a_hundred_thousand_headers_end_the_connection() {
    let server = Server::start("").await;
    let attack = headers::many(server.address, ECHO, 100_000);
    let heard = server.under(attack).await.within(4 << 20);
    told_to_calm_down(&heard, "header_list_way_too_large");
}

#[tokio::test]
async fn headers_that_hpack_makes_large_count_as_what_they_are() {
    let server = Server::start("").await;
    let attack = headers::repeated(server.address, ECHO, 10_000, 100);
    let heard = server.under(attack).await.within(4 << 20);
    told_to_calm_down(&heard, "header_list_way_too_large");
}

/// What is not far beyond is a matter of its request alone.
#[tokio::test]
async fn headers_over_the_limit_are_answered_with_431_and_the_connection_goes_on() {
    let server = Server::start(".max-header-list-size=16kib&.max-header-count=20").await;
    let caller = Caller::connect(server.address).await;
    let long = "x".repeat(20 << 10);
    let many: Vec<_> = (0..20).map(|n| format!("x-{n}")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), "")).collect();
    for headers in [&[("k", long.as_str())][..], &many] {
        let answer = caller.call(ECHO, headers, request(1, "")).await;
        let answer = answer.expect("it is answered");
        assert_eq!(answer.status, 431, "{answer:?}");
        let fewer = &headers[..headers.len() / 2];
        let answer = caller.call(ECHO, fewer, request(1, "")).await;
        assert_eq!(answer.expect("it is answered").code(), Some(0));
    }
}
