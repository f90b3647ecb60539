//! A server that closes, or does not want a call, costs no call.

use dubbo_core::{
    status::{Code, Retry},
    stream,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Frame, Server, ServerConnection, code, kind},
    soon,
};
use tokio::task::JoinSet;

use crate::support::{greet, join, message, stub};

#[tokio::test]
async fn a_goaway_stops_new_calls_and_fails_none() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut first = server.accept().await;
    let early = async { greet(&stub, "early").await };
    let peer = async {
        let mut early = first.request().await;
        // Both steps of a graceful end.
        first.insert(&Frame::go_away(0x7fff_ffff, code::NO_ERROR, ""));
        first.insert(&Frame::go_away(early.stream(), code::NO_ERROR, ""));
        let mut second = server.accept().await;
        let late = async { greet(&stub, "late").await };
        let answered = async {
            let mut late = second.request().await;
            assert_eq!(late.message().await.as_deref(), Some(&*message("late")));
            late.reply(&message("b"));
        };
        let (late, ()) = tokio::join!(soon("an answer", late), answered);
        assert_eq!(late.expect("it went elsewhere").message(), "b");
        early.reply(&message("a"));
        first.closed().await;
    };
    let (early, ()) = tokio::join!(soon("an answer", early), peer);
    assert_eq!(early.expect("it was under way").message(), "a");
}

#[tokio::test]
async fn a_call_that_a_goaway_left_out_is_sent_again() {
    for debug in ["", "app_requested"] {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), "").await;
        let mut first = server.accept().await;
        let unary = async { greet(&stub, "x").await };
        let peer = async {
            let left_out = first.request().await;
            first.insert(&Frame::go_away(0, code::NO_ERROR, debug));
            let mut second = server.accept().await;
            let mut again = second.request().await;
            assert_eq!(again.message().await.as_deref(), Some(&*message("x")));
            again.reply(&message("a"));
            (left_out, second)
        };
        let (reply, _kept) = tokio::join!(soon("an answer", unary), peer);
        assert_eq!(reply.expect("it went elsewhere").message(), "a");
    }
}

#[tokio::test]
async fn a_stream_goes_elsewhere_while_nothing_has_been_taken_from_it() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut first = server.accept().await;
    let (feed, requests) = stream::channel(1);
    let call = async { join(&stub, requests).await };
    let peer = async {
        let left_out = first.request().await;
        first.insert(&Frame::go_away(0, code::NO_ERROR, ""));
        let mut second = server.accept().await;
        let mut again = second.request().await;
        feed.send("x".to_owned()).await.expect("it is read");
        assert_eq!(again.message().await.as_deref(), Some(&*message("x")));
        again.reply(&message("a"));
        (left_out, second)
    };
    let (reply, _kept) = tokio::join!(soon("an answer", call), peer);
    assert_eq!(reply.expect("it went elsewhere").message(), "a");
}

#[tokio::test]
async fn a_stream_from_which_a_message_was_taken_fails_as_not_processed() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut first = server.accept().await;
    let (feed, requests) = stream::channel(1);
    feed.send("x".to_owned()).await.expect("there is room");
    let call = async { join(&stub, requests).await };
    let peer = async {
        let mut left_out = first.request().await;
        left_out.message().await.expect("it was taken");
        first.insert(&Frame::go_away(0, code::NO_ERROR, "bye"));
        left_out
    };
    let (reply, _left_out) = tokio::join!(soon("an answer", call), peer);
    let status = reply.expect_err("half of it is gone");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    let address = server.address().to_string();
    for part in ["GOAWAY NO_ERROR", "bye", "greet.Greeter/Join", &address] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
}

#[tokio::test]
async fn a_refused_stream_is_sent_again_once() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let call = async { greet(&stub, "x").await };
    let peer = async {
        connection.request().await.send_reset(code::REFUSED_STREAM);
        connection.request().await.reply(&message("a"));
    };
    let (reply, ()) = tokio::join!(soon("an answer", call), peer);
    assert_eq!(reply.expect("the second was taken").message(), "a");

    let call = async { greet(&stub, "x").await };
    let peer = async {
        connection.request().await.send_reset(code::REFUSED_STREAM);
        connection.request().await.send_reset(code::REFUSED_STREAM);
    };
    let (reply, ()) = tokio::join!(soon("an error", call), peer);
    let status = reply.expect_err("it was refused twice");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    assert!(status.message().contains("REFUSED_STREAM"), "{status}");

    // Nothing more of that call comes.
    let call = async { greet(&stub, "next").await };
    let peer = async {
        let mut next = connection.request().await;
        assert_eq!(next.message().await.as_deref(), Some(&*message("next")));
        next.reply(&message("b"));
    };
    let (reply, ()) = tokio::join!(soon("an answer", call), peer);
    reply.expect("it worked");
}

#[tokio::test]
async fn a_call_moves_on_however_many_connections_are_closing() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "connections=2").await;
    let mut connections = [server.accept().await, server.accept().await];
    let call = async { greet(&stub, "x").await };
    let peer = async {
        let [one, two] = &mut connections;
        let (first, other) = tokio::select! {
            request = one.request() => {
                one.insert(&Frame::go_away(0, code::NO_ERROR, ""));
                (request, two)
            }
            request = two.request() => {
                two.insert(&Frame::go_away(0, code::NO_ERROR, ""));
                (request, one)
            }
        };
        let second = other.request().await;
        other.insert(&Frame::go_away(0, code::NO_ERROR, ""));
        let mut third = server.accept().await;
        let mut fourth = server.accept().await;
        tokio::select! {
            mut request = third.request() => request.reply(&message("a")),
            mut request = fourth.request() => request.reply(&message("a")),
        }
        (first, second, third, fourth)
    };
    let (reply, _kept) = tokio::join!(soon("an answer", call), peer);
    assert_eq!(reply.expect("it found one").message(), "a");
}

#[tokio::test]
async fn a_peer_that_leaves_out_every_call_fails_it_in_the_end() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let leaving_out = async {
        loop {
            let mut connection = server.accept().await;
            let _request = connection.request().await;
            connection.insert(&Frame::go_away(0, code::NO_ERROR, "busy"));
            connection.closed().await;
        }
    };
    let status = tokio::select! {
        reply = async { soon("an error", greet(&stub, "x")).await } => reply.expect_err("left out"),
        () = leaving_out => unreachable!("it goes on for ever"),
    };
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    assert!(status.message().contains("busy"), "{status}");
}

#[tokio::test]
async fn a_call_that_may_have_broken_two_connections_breaks_no_third() {
    for code in [code::ENHANCE_YOUR_CALM, code::PROTOCOL_ERROR] {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), "").await;
        let call = async { greet(&stub, "x").await };
        let breaking = async {
            for _ in 0..2 {
                let mut connection = server.accept().await;
                let _request = connection.request().await;
                connection.insert(&Frame::go_away(0, code, "bad_headers"));
                connection.closed().await;
            }
        };
        let (reply, ()) = tokio::join!(soon("an error", call), breaking);
        let status = reply.expect_err("it breaks connections");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::Unavailable, Retry::Ambiguous)
        );
        assert!(status.message().contains("bad_headers"), "{status}");
    }
}

#[tokio::test]
async fn a_limit_of_our_own_is_not_called_a_broken_rule() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let call = async { greet(&stub, "x").await };
    let peer = async {
        let request = connection.request().await;
        connection.insert(&Frame::new(kind::HEADERS, 0, request.stream(), ""));
        for _ in 0..1_000 {
            connection.insert(&Frame::new(kind::CONTINUATION, 0, request.stream(), ""));
        }
        request
    };
    let (reply, _request) = tokio::join!(soon("an error", call), peer);
    let status = reply.expect_err("it was too much");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Ambiguous)
    );
    let want = "the connection was lost: we sent GOAWAY ENHANCE_YOUR_CALM";
    assert!(status.message().contains(want), "{status}");
}

/// Answers `count` requests, and says that it does no more; later ones are left out.
async fn serve_some(mut connection: ServerConnection, count: u32) {
    let mut last = 0;
    for _ in 0..count {
        let mut request = connection.request().await;
        last = request.stream();
        request.reply(&message("a"));
    }
    connection.insert(&Frame::go_away(last, code::NO_ERROR, ""));
    connection.closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_while_connections_come_and_go() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let serving = async {
        let mut connections = JoinSet::new();
        loop {
            connections.spawn(serve_some(server.accept().await, 20));
        }
    };
    let calling = async {
        let mut calls = JoinSet::new();
        for _ in 0..4 {
            let stub = stub.clone();
            calls.spawn(async move {
                for _ in 0..100 {
                    let reply = greet(&stub, "x").await.expect("no call fails");
                    assert_eq!(reply.message(), "a");
                }
            });
        }
        while let Some(done) = calls.join_next().await {
            done.expect("no call fails");
        }
    };
    tokio::select! {
        () = soon("all answers", calling) => {}
        () = serving => {}
    }
}
