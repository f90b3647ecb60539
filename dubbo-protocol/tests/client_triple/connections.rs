//! How connections are made, shared, lost and made again.

use std::{net::SocketAddr, time::Duration};

use dubbo_core::{
    protocol::Protocol as _,
    status::{Code, Origin, Retry},
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{Frame, Server, ServerConnection, code, kind},
    soon,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpSocket, TcpStream},
    task::JoinSet,
    time::Instant,
};

use crate::support::{greet, message, stub};

/// An address where nobody listens.
async fn nobody() -> SocketAddr {
    Server::bind().await.address()
}

#[tokio::test]
async fn a_refused_connection_is_said_with_address_reason_and_next_attempt() {
    let (address, protocol) = (nobody().await, TripleProtocol::default());
    let stub = stub(&protocol, address, "").await;
    assert!(!stub.invoker().is_available(), "nothing is known yet");
    assert!(stub.invoker().is_connecting());
    assert_eq!(
        stub.invoker().why_unavailable().as_deref(),
        Some(&*format!("connecting to {address}: no answer yet"))
    );
    let status = soon("an error", greet(&stub, "x"))
        .await
        .expect_err("nobody listens");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        (status.origin(), status.retry()),
        (Origin::Transport, Retry::Safe)
    );
    for part in [
        "greet.Greeter/Greet",
        &address.to_string(),
        "refused",
        "next attempt is in",
    ] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
    assert!(!stub.invoker().is_available() && !stub.invoker().is_connecting());
    let why = stub.invoker().why_unavailable().expect("it failed");
    let want = format!("cannot connect to {address}: Connection refused");
    assert!(why.starts_with(&want), "{why}");
}

#[tokio::test]
async fn what_is_no_http2_server_is_never_taken_for_a_provider() {
    for (says, want) in [
        (
            Some("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"),
            "does not speak HTTP/2",
        ),
        (
            None,
            "closed the connection before it spoke HTTP/2; the peer may serve another protocol; if it demands TLS",
        ),
    ] {
        let (server, protocol) = (Server::bind().await, TripleProtocol::default());
        let stub = stub(&protocol, server.address(), "").await;
        let call = async { greet(&stub, "x").await };
        let peer = async {
            let mut socket = server.accept_raw().await;
            if let Some(says) = says {
                socket.write_all(says.as_bytes()).await.expect("it reads");
            }
            // The preface is read first, or closing would reset the connection.
            let mut preface = [0; 24];
            let read = tokio::io::AsyncReadExt::read_exact(&mut socket, &mut preface).await;
            read.expect("it speaks first");
            socket.shutdown().await.expect("it is open");
            socket
        };
        let (reply, _socket) = tokio::join!(soon("an error", call), peer);
        let status = reply.expect_err("there is no provider");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::Unavailable, Retry::Safe)
        );
        assert!(status.message().contains(want), "{status}");
        assert!(!stub.invoker().is_available());
    }
}

#[tokio::test]
async fn an_attempt_that_gets_no_answer_ends_at_its_timeout() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "connect.timeout=50").await;
    let call = async { greet(&stub, "x").await };
    let (reply, _silent) = tokio::join!(soon("an error", call), server.accept_raw());
    let status = reply.expect_err("it is silent");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    assert!(
        status.message().contains("no answer within 50ms"),
        "{status}"
    );
}

/// An address that takes no connection and refuses none: whoever connects hears nothing. As long as the sockets live.
async fn black_hole() -> (SocketAddr, TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a free port");
    let listener = socket.listen(1).expect("it is bound");
    let address = listener.local_addr().expect("it is bound");
    let mut waiting = Vec::new();
    let patience = Duration::from_millis(200);
    // The system takes in no more once its queue for the listener is full.
    while let Ok(connected) = tokio::time::timeout(patience, TcpStream::connect(address)).await {
        waiting.push(connected.expect("it is not refused"));
        assert!(waiting.len() < 100, "the queue never fills");
    }
    (address, listener, waiting)
}

#[tokio::test]
async fn a_call_that_is_given_up_while_connecting_is_over_at_once_and_leaves_nothing() {
    let (address, _listener, _waiting) = black_hole().await;
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    let protocol = TripleProtocol::default();
    let stub = stub(&protocol, address, "connect.timeout=1h").await;
    let mut call = Box::pin(greet(&stub, "x").into_future());
    let waited = tokio::time::timeout(Duration::from_millis(50), &mut call).await;
    waited.expect_err("nobody answers");
    let begun = Instant::now();
    drop(call);
    assert!(begun.elapsed() < Duration::from_millis(50));
    assert_eq!(stub.invoker().in_flight(), 0);

    drop(stub);
    soon("the end of all tasks", async {
        while tasks() > before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_call_waits_for_the_attempt_under_way_but_not_beyond_its_deadline() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let socket = server.accept_raw().await;
    let call = greet(&stub, "x").timeout(Duration::from_millis(50));
    let status = soon("an error", call).await.expect_err("no connection yet");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::DeadlineExceeded, Retry::Safe)
    );
    assert!(
        status.message().contains("no connection within 50ms"),
        "{status}"
    );

    let call = async { greet(&stub, "x").await };
    let peer = async {
        let mut connection = ServerConnection::over(socket);
        connection.request().await.reply(&message("a"));
        connection
    };
    let (reply, _connection) = tokio::join!(soon("an answer", call), peer);
    assert_eq!(reply.expect("it waited").message(), "a");
}

#[tokio::test]
async fn a_provider_that_is_back_is_found_again() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let address = server.address();
    let stub = stub(&protocol, address, "").await;
    let mut connection = server.accept().await;
    let call = async { greet(&stub, "x").await };
    let peer = async { connection.request().await.reply(&message("a")) };
    let (reply, ()) = tokio::join!(soon("an answer", call), peer);
    reply.expect("it worked");

    let call = async { greet(&stub, "x").await };
    let peer = async {
        let request = connection.request().await;
        drop(server);
        drop(connection);
        request
    };
    let (reply, _request) = tokio::join!(soon("an error", call), peer);
    let status = reply.expect_err("the provider died under it");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Ambiguous)
    );
    assert!(
        status.message().contains("the connection was lost"),
        "{status}"
    );
    let status = soon("an error", greet(&stub, "x"))
        .await
        .expect_err("nobody listens");
    assert_eq!(status.retry(), Retry::Safe, "{status}");

    let server = Server::bind_to(address).await;
    let mut connection = server.accept().await;
    let call = async { greet(&stub, "x").await };
    let peer = async { connection.request().await.reply(&message("b")) };
    let (reply, ()) = tokio::join!(soon("an answer", call), peer);
    assert_eq!(reply.expect("it is back").message(), "b");
    assert!(stub.invoker().is_available());
    assert_eq!(stub.invoker().why_unavailable(), None);
}

#[tokio::test]
async fn references_to_one_address_share_a_connection_until_the_last_is_gone() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let one = stub(&protocol, server.address(), "group=a").await;
    let other = stub(&protocol, server.address(), "group=b").await;
    let mut connection = server.accept().await;
    for stub in [&one, &other] {
        let call = async { greet(stub, "x").await };
        let peer = async { connection.request().await.reply(&message("a")) };
        let (reply, ()) = tokio::join!(soon("an answer", call), peer);
        reply.expect("it worked");
    }
    // Another way of keeping it is another connection, and so is another protocol value.
    let _apart = stub(&protocol, server.address(), "keep-alive-interval=1m").await;
    let _its_connection = server.accept().await;
    let second = TripleProtocol::default();
    let _of_second = stub(&second, server.address(), "group=a").await;
    let _its_connection = server.accept().await;

    drop(one);
    let call = async { greet(&other, "x").await };
    let peer = async { connection.request().await.reply(&message("a")) };
    let (reply, ()) = tokio::join!(soon("an answer", call), peer);
    reply.expect("the other reference still holds it");
    other.invoker().close().await;
    connection.closed().await;
    let status = greet(&other, "x").await.expect_err("it is closed");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    assert!(!other.invoker().is_available());
    let why = other.invoker().why_unavailable().expect("it is closed");
    assert!(why.ends_with("has been closed"), "{why}");
}

#[tokio::test]
async fn closing_a_reference_lets_its_calls_finish() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let call = async { greet(&stub, "x").await };
    let peer = async {
        let mut request = connection.request().await;
        stub.invoker().close().await;
        request.reply(&message("a"));
        connection.closed().await;
    };
    let (reply, ()) = tokio::join!(soon("an answer", call), peer);
    assert_eq!(reply.expect("it was under way").message(), "a");
}

#[tokio::test]
async fn calls_spread_over_the_connections() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "connections=3").await;
    let mut connections = Vec::new();
    for _ in 0..3 {
        connections.push(server.accept().await);
    }
    // Each of them knows the peer's settings by then.
    for _ in 0..3 {
        soon("connections", async {
            let call = async { greet(&stub, "x").await };
            let [a, b, c] = &mut connections[..] else {
                panic!("three")
            };
            let peer = async {
                tokio::select! {
                    mut request = a.request() => request.reply(&message("a")),
                    mut request = b.request() => request.reply(&message("a")),
                    mut request = c.request() => request.reply(&message("a")),
                }
            };
            tokio::join!(call, peer).0.expect("it worked");
        })
        .await;
    }
    let calls = async {
        tokio::join!(
            async { greet(&stub, "x").await },
            async { greet(&stub, "x").await },
            async { greet(&stub, "x").await },
        )
    };
    let peer = async {
        // All three at once: one on each.
        let mut requests = Vec::new();
        for connection in &mut connections {
            requests.push(connection.request().await);
        }
        for mut request in requests {
            request.reply(&message("a"));
        }
    };
    let ((a, b, c), ()) = tokio::join!(soon("answers", calls), peer);
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
}

#[tokio::test]
async fn thousands_of_calls_take_no_connection_more_than_are_configured() {
    const CALLS: usize = 5_000;
    const CONNECTIONS: usize = 3;
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "connections=3").await;
    let mut accepted = Vec::new();
    for _ in 0..CONNECTIONS {
        accepted.push(server.accept().await);
    }
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let stub = stub.clone();
        calls.spawn(async move { greet(&stub, "x").await.expect("it is answered") });
    }
    let [a, b, c] = &mut accepted[..] else {
        panic!("three")
    };
    let mut requests = Vec::new();
    soon("all of them at once", async {
        while requests.len() < CALLS {
            tokio::select! {
                request = a.request() => requests.push(request),
                request = b.request() => requests.push(request),
                request = c.request() => requests.push(request),
            }
        }
    })
    .await;
    assert_eq!(stub.invoker().in_flight(), CALLS);
    for mut request in requests {
        request.reply(&message("a"));
    }
    while let Some(done) = calls.join_next().await {
        assert_eq!(done.expect("it is answered").message(), "a");
    }
    let one_more = tokio::time::timeout(Duration::ZERO, server.accept_raw()).await;
    one_more.expect_err("there are three");
}

#[tokio::test]
async fn calls_beyond_the_peers_limit_wait_for_their_turn() {
    let server = Server::bind().await.max_streams(1);
    let protocol = TripleProtocol::default();
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let calls = async {
        tokio::join!(
            async { greet(&stub, "x").await },
            async { greet(&stub, "x").await },
            async { greet(&stub, "x").await },
        )
    };
    let peer = async {
        for _ in 0..3 {
            connection.request().await.reply(&message("a"));
        }
    };
    let ((a, b, c), ()) = tokio::join!(soon("answers", calls), peer);
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
}

#[tokio::test]
async fn a_shut_down_protocol_refers_to_nothing_more() {
    let protocol = TripleProtocol::default();
    let address = nobody().await;
    let stub = stub(&protocol, address, "").await;
    let drained = protocol.close(tokio::time::Instant::now()).await;
    assert_eq!(drained.aborted, 0);
    let status = soon("an error", greet(&stub, "x"))
        .await
        .expect_err("it is shut down");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
    assert!(status.message().contains("closed"), "{status}");
}

#[tokio::test]
async fn a_caller_that_tries_again_at_once_does_not_hold_up_the_connection() {
    let (address, protocol) = (nobody().await, TripleProtocol::default());
    let stub = stub(&protocol, address, "").await;
    greet(&stub, "x").await.expect_err("nobody listens");
    let caller = stub.clone();
    let calling = tokio::spawn(async move {
        let start = tokio::time::Instant::now();
        while let Err(status) = greet(&caller, "x").await {
            // No timer of the runtime would fire.
            assert!(start.elapsed() < Duration::from_secs(20), "{status}");
        }
    });
    let server = Server::bind_to(address).await;
    let mut connection = server.accept().await;
    connection.request().await.reply(&message("a"));
    calling.await.expect("it got through");
}

#[tokio::test]
async fn a_connection_outlives_any_number_of_cancelled_calls() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let lasting = async { greet(&stub, "lasting").await };
    let peer = async {
        let mut lasting = connection.request().await;
        let mut cancelled = Vec::new();
        for _ in 0..2_500 {
            cancelled.push(tokio::select! {
                reply = async { greet(&stub, "cancelled").await } => panic!("{reply:?}"),
                request = connection.request() => request,
            });
        }
        for request in &mut cancelled {
            assert_eq!(request.reset_by_client().await, code::CANCEL);
        }
        // What was under way meanwhile.
        for request in &cancelled {
            connection.insert(&Frame::data(request.stream(), vec![0; 100], false));
        }
        connection.insert(&Frame::ping(false, [7; 8]));
        let seen = |frame: &Frame| frame.kind == kind::PING && frame.is_ack();
        connection.frame("an answer to PING", seen).await;
        let good = async { greet(&stub, "good").await };
        let answered = async { connection.request().await.reply(&message("b")) };
        let (good, ()) = tokio::join!(soon("an answer", good), answered);
        assert_eq!(good.expect("the same connection").message(), "b");
        lasting.reply(&message("a"));
    };
    let (reply, ()) = tokio::join!(lasting, peer);
    assert_eq!(reply.expect("it was under way").message(), "a");
}

#[tokio::test]
async fn answers_that_nobody_reads_leave_room_for_others() {
    let (server, protocol) = (Server::bind().await, TripleProtocol::default());
    let _stub = stub(&protocol, server.address(), "").await;
    let mut connection = server.accept().await;
    let settings = |frame: &Frame| frame.kind == kind::SETTINGS && !frame.is_ack();
    let settings = connection.frame("SETTINGS", settings).await;
    let stream_window = settings
        .payload
        .chunks(6)
        .find_map(|setting| match *setting {
            [0, INITIAL_WINDOW_SIZE, a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
            _ => None,
        })
        .expect("it says how much");
    let update = |frame: &Frame| frame.kind == kind::WINDOW_UPDATE && frame.stream == 0;
    let update = connection.frame("a WINDOW_UPDATE", update).await;
    let update = update.payload[..].try_into().expect("four bytes");
    let added = u32::from_be_bytes(update);
    let unread = added / stream_window;
    assert!(unread > 1_000, "{unread} streams fill the connection");
    // Dubbo Java adds it to a size of its own.
    let room = i32::MAX.unsigned_abs() - added;
    assert!(room > 64 << 10, "the window overflows in Java");
}

/// `SETTINGS_INITIAL_WINDOW_SIZE`.
const INITIAL_WINDOW_SIZE: u8 = 4;
