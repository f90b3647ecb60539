//! What a server of Triple puts up with: keys of `dubbo.protocols.<id>.triple`, from the text to what peers notice
//! (`docs/spec/triple.md` §9.5).

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use bytes::Buf as _;
use dubbo::Instance;
use dubbo_test::{
    attack::{Answer, Caller, Heard, Wire, idle, messages, slow_body},
    peer::h2::{Client, Frame, PREFACE, code, kind},
};
use tokio::time::Instant;

use super::rig::{load, named};

const GREET: &str = "/greet.Greeter/Greet";

/// A provider with these keys, and where it is.
async fn provide(keys: &str) -> (Instance, SocketAddr) {
    let yaml =
        format!("dubbo: {{protocols: {{t: {{ip: 127.0.0.1, port: 0, triple: {{{keys}}}}}}}}}");
    let instance = load(&yaml).provide(named("a")).build().expect("valid");
    instance.start().await.expect("starts");
    let port = instance.exported()[0].port().expect("bound");
    (instance, SocketAddr::from(([127, 0, 0, 1], port)))
}

/// What the server announces: its settings by their number, and the window of the connection.
async fn announced(keys: &str) -> (BTreeMap<u16, u32>, u32) {
    let (_instance, address) = provide(keys).await;
    let mut client = Client::connect(address).await;
    let is_settings = |frame: &Frame| frame.kind == kind::SETTINGS && !frame.is_ack();
    let mut settings = client.frame("settings", is_settings).await.payload;
    let mut values = BTreeMap::new();
    while settings.has_remaining() {
        values.insert(settings.get_u16(), settings.get_u32());
    }
    let is_window = |frame: &Frame| frame.kind == kind::WINDOW_UPDATE && frame.stream == 0;
    let mut more = client.frame("a window", is_window).await.payload;
    (values, 65_535 + more.get_u32())
}

#[tokio::test]
async fn peers_are_told_what_there_is_room_for() {
    const STREAMS: u16 = 3;
    const WINDOW: u16 = 4;
    const FRAME: u16 = 5;
    const HEADERS: u16 = 6;
    let (defaults, window) = announced("").await;
    for (setting, want) in [
        (STREAMS, 1_000),
        (WINDOW, 1 << 20),
        (FRAME, 1 << 20),
        (HEADERS, 64 << 10),
    ] {
        assert_eq!(defaults[&setting], want, "{setting}");
    }
    assert_eq!(window, 8 << 20);
    let keys = "max-concurrent-streams: 7, initial-window-size: 128kib, max-frame-size: 32kib, \
                max-header-list-size: 16kib, connection-initial-window-size: 1mib";
    let (values, window) = announced(keys).await;
    for (setting, want) in [
        (STREAMS, 7),
        (WINDOW, 128 << 10),
        (FRAME, 32 << 10),
        (HEADERS, 16 << 10),
    ] {
        assert_eq!(values[&setting], want, "{setting}");
    }
    assert_eq!(window, 1 << 20);
}

#[tokio::test]
async fn larger_frames_and_more_headers_are_refused() {
    let (_instance, address) = provide("max-frame-size: 16kib, max-header-count: 20").await;
    let mut wire = Wire::http2(address, &[]).await;
    wire.send(Frame::ping(false, [0; 8]).encode()).await;
    let large = Frame::new(0xfa, 0, 0, vec![0; 20 << 10]);
    wire.send(large.encode()).await;
    let heard = wire.hear("GOAWAY", |heard| heard.go_away.is_some()).await;
    assert_eq!(heard.code(), Some(FRAME_SIZE_ERROR));
    let caller = Caller::connect(address).await;
    let many: Vec<_> = (0..20).map(|n| format!("x-{n}")).collect();
    let many: Vec<_> = many.iter().map(|name| (name.as_str(), "1")).collect();
    let answer = caller.call(GREET, &many, &b"\0\0\0\0\0"[..]).await;
    assert_eq!(answer.expect("answered").status, 431);
}

#[tokio::test]
async fn requests_have_their_time_and_their_size() {
    let keys = "request-timeout: 200ms, max-unfinished-size: 1000, max-body-size: 2000";
    let (_instance, address) = provide(keys).await;
    let answer = messages::promised(address, GREET, 2_001).await;
    assert_eq!(answer.code(), Some(8));
    assert!(answer.message().contains("2000 bytes"), "{answer:?}");
    let part = [&b"\0\0\0\x07\xd0"[..], &[0; 600]].concat();
    let answers = slow_body::http2(address, GREET, 2, &part).await;
    let codes: Vec<_> = answers.iter().map(Answer::code).collect();
    assert_eq!(codes, [Some(8), Some(4)]);
    let text = answers[0].message();
    assert!(text.contains("the limit is 1000"), "{text}");
    let text = answers[1].message();
    assert!(text.contains("within 200ms"), "{text}");
}

#[tokio::test]
async fn there_are_no_more_connections_than_allowed() {
    let (_instance, address) = provide("max-connections: 1").await;
    let mut first = Wire::http2(address, &[]).await;
    first.hear("settings", |heard| heard.settings > 0).await;
    let mut second = Wire::http2(address, &[]).await;
    let heard = second.hear("a refusal", |heard| heard.closed).await;
    assert_eq!(heard.code(), Some(code::ENHANCE_YOUR_CALM));
}

#[tokio::test]
async fn connections_live_as_long_as_they_may() {
    let over = |heard: &Heard| heard.closed;
    for keys in [
        "max-connection-age: 300ms, max-connection-age-grace: 1ms",
        "max-connection-idle: 300ms",
    ] {
        let (_instance, address) = provide(keys).await;
        let start = Instant::now();
        let mut wire = Wire::http2(address, &[]).await;
        let heard = wire.hear("the end", over).await;
        assert_eq!(heard.code(), Some(code::NO_ERROR), "{keys}");
        let lived = start.elapsed();
        assert!(lived >= Duration::from_millis(270), "{keys}: {lived:?}");
    }
    for (keys, said) in [
        ("handshake-timeout: 200ms", &b"PRI *"[..]),
        (
            "keep-alive-interval: 200ms, keep-alive-timeout: 100ms",
            PREFACE,
        ),
        // Of HTTP/1 the next request has to come by then.
        (
            "keep-alive-interval: 200ms",
            b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "max-connection-age: 200ms",
            b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
        (
            "max-connection-idle: 200ms",
            b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        ),
    ] {
        let (_instance, address) = provide(keys).await;
        let start = Instant::now();
        let mut sockets = idle::run(address, 1, said).await;
        idle::hung_up(&mut sockets[0]).await;
        let lived = start.elapsed();
        assert!(lived >= Duration::from_millis(170), "{keys}: {lived:?}");
        assert!(lived < Duration::from_secs(8), "{keys}: {lived:?}");
    }
}

const FRAME_SIZE_ERROR: u32 = 6;
