//! The ends of calls that got no answer: the table of a connection is empty after each.

use futures_util::future::join_all;
use tokio::task::unconstrained;

use super::*;
use crate::endpoint::Link as _;

#[tokio::test(start_paused = true)]
async fn calls_on_a_lost_connection_fail_at_once() {
    let goodbye = "the peer closed the connection";
    for (last_words, reason) in [
        (&b""[..], goodbye),
        (b"\xda\xbb\x02", "in the middle of a frame"),
        (b"HTTP/1.1 400 Bad Request", "a frame begins with [48, 54]"),
        (b"\xda\xba", "a frame begins with [da, ba]"),
        (
            b"\xda\xbb\x02\x14\0\0\0\0\0\0\0\x01\xff\xff\xff\xff",
            "-1 bytes",
        ),
    ] {
        let mut rig = Rig::new();
        let (invoker, connection, mut peer) = rig.connected("").await;
        let calls = join_all((0..100).map(|_| hello(&invoker)));
        let start = Instant::now();
        let ending = async {
            for _ in 0..100 {
                peer.call().await;
            }
            assert_eq!(connection.in_flight(), 100);
            peer.send_bytes(last_words).await;
            drop(peer);
        };
        let (replies, ()) = tokio::join!(calls, ending);
        for reply in replies {
            let parts = [reason, "the connection was lost", "sayHello at peer:1"];
            assert_failed(reply, Code::Unavailable, Retry::Ambiguous, &parts);
        }
        assert_eq!(start.elapsed(), Duration::ZERO, "{reason}");
        assert_eq!(connection.table().len(), 0);
        assert_eq!(invoker.in_flight(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_end_is_an_answer() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("").await;
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
        drop(peer);
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_which_nothing_was_written_moves_to_the_next_connection() {
    // The first call fills the buffer of the connection, so nothing of the second is written.
    let mut rig = Rig::with_buffer(100);
    let (invoker, connection, peer) = rig.connected("").await;
    let served = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(connection.in_flight(), 2);
        drop(peer);
        let mut peer = rig.accept().await;
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    let ((one, other), ()) = tokio::join!(
        async { tokio::join!(hello(&invoker), hello(&invoker)) },
        served
    );
    assert_failed(
        one,
        Code::Unavailable,
        Retry::Ambiguous,
        &["the connection was lost"],
    );
    assert_eq!(result(other), OK);
    assert_eq!(connection.table().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_leaves_at_once_and_its_answer_is_late() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("").await;
    let mut call = Box::pin(hello(&invoker));
    let frame = tokio::select! {
        _ = &mut call => panic!("nobody answered"),
        frame = peer.call() => frame,
    };
    assert_eq!((connection.table().len(), invoker.in_flight()), (1, 1));
    drop(call);
    assert_eq!((connection.table().len(), invoker.in_flight()), (0, 0));
    peer.send(Frame::ok(frame.id, DONE)).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(connection.late_replies(), 1);
    assert!(connection.is_usable());
}

#[tokio::test(start_paused = true)]
async fn the_deadline_covers_the_wait_for_a_connection_and_for_room() {
    let rig = Rig::new();
    *rig.connector.refuses.lock() = true;
    let invoker = rig.invoker("");
    tokio::time::sleep(Duration::from_secs(20)).await;
    let refused = hello_within(&invoker, Duration::from_secs(1)).await;
    let parts = ["cannot connect: connection refused; the next attempt is in"];
    assert_failed(refused, Code::Unavailable, Retry::Safe, &parts);

    // A peer that does not read: what fits is sent, and the rest waits for room.
    let mut rig = Rig::with_buffer(100);
    let (invoker, connection, _peer) = rig.connected("").await;
    let large = || {
        let mut call = invocation(&invoker, SAY_HELLO);
        let bytes = Bytes::from(vec![b'x'; 600 << 10]);
        call.body = Body::Unary(Payload::encoded(Codec::Hessian2, bytes));
        call.timeout = Some(Duration::from_secs(1));
        invoker.invoke(call)
    };
    let start = Instant::now();
    let (sent, waited) = tokio::join!(large(), large());
    assert_failed(
        sent,
        Code::DeadlineExceeded,
        Retry::Ambiguous,
        &["no answer within 1s"],
    );
    assert_failed(
        waited,
        Code::DeadlineExceeded,
        Retry::Safe,
        &["did not read the calls before this one within 1s; nothing was sent"],
    );
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    assert_eq!(connection.table().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_calls_that_time_out_or_cannot_be_written_leave_nothing_behind() {
    const ROUND: usize = 10_000;
    let mut rig = Rig::with_buffer(1_000);
    let (invoker, connection, peer) = rig.connected("heartbeat=0").await;
    for _ in 0..9 {
        let calls = (0..ROUND).map(|_| hello_within(&invoker, Duration::from_millis(100)));
        for reply in unconstrained(join_all(calls)).await {
            let status = reply.expect_err("nobody reads");
            assert_eq!(status.code(), Code::DeadlineExceeded);
        }
        assert_eq!((connection.table().len(), invoker.in_flight()), (0, 0));
    }
    *rig.connector.refuses.lock() = true;
    let calls = unconstrained(join_all((0..ROUND).map(|_| hello(&invoker))));
    let cut = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(connection.table().len(), ROUND);
        drop(peer);
    };
    for reply in tokio::join!(calls, cut).0 {
        let status = reply.expect_err("it cannot be written");
        assert_eq!(
            (status.code(), status.retry()),
            (Code::Unavailable, Retry::Safe)
        );
    }
    assert_eq!((connection.table().len(), invoker.in_flight()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn references_to_one_address_share_connections_unless_their_options_differ() {
    let mut rig = Rig::new();
    let (one, same) = (rig.invoker(""), rig.invoker("application=x&timeout=5"));
    let (small, _two) = (rig.invoker("payload=100"), rig.invoker("connections=2"));
    for _ in 0..4 {
        rig.accept().await;
    }
    let one = connection(&one).await;
    assert!(Arc::ptr_eq(&one, &connection(&same).await));
    assert!(!Arc::ptr_eq(&one, &connection(&small).await));
}

#[tokio::test(start_paused = true)]
async fn the_connection_with_the_fewest_calls_takes_the_next() {
    let mut rig = Rig::new();
    let invoker = rig.invoker("connections=4");
    let mut peers = Vec::new();
    for _ in 0..4 {
        peers.push(rig.accept().await);
    }
    let calls = join_all((0..8).map(|_| hello(&invoker)));
    let served = async {
        for peer in &mut peers {
            for _ in 0..2 {
                let call = peer.call().await;
                peer.send(Frame::ok(call.id, DONE)).await;
            }
        }
    };
    for reply in tokio::join!(calls, served).0 {
        assert_eq!(result(reply), OK);
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_to_connect_come_at_growing_intervals_and_end_with_the_reference() {
    let rig = Rig::new();
    *rig.connector.refuses.lock() = true;
    let invoker = rig.invoker("");
    tokio::time::sleep(Duration::from_mins(1)).await;
    let attempts = rig.connector.attempts.lock().len();
    assert!(
        (12..40).contains(&attempts),
        "{attempts} attempts in a minute"
    );
    invoker.close().await;
    let closed = hello(&invoker).await;
    assert_failed(
        closed,
        Code::Unavailable,
        Retry::Safe,
        &["the reference has been closed"],
    );
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(rig.connector.attempts.lock().len(), attempts);
}

#[tokio::test(start_paused = true)]
async fn a_closed_reference_lets_its_calls_end_and_then_the_connection() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("").await;
    drop(connection);
    let served = async {
        let call = peer.call().await;
        invoker.close().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        peer.send(Frame::ok(call.id, DONE)).await;
        peer.closed().await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_calls_until_its_deadline() {
    for answers in [true, false] {
        let mut rig = Rig::new();
        let (invoker, connection, mut peer) = rig.connected("").await;
        let table = connection;
        let weak = Arc::downgrade(&table);
        drop(table);
        let served = async {
            let call = peer.call().await;
            let start = Instant::now();
            let answer = async {
                tokio::time::sleep(Duration::from_secs(3)).await;
                if answers {
                    peer.send(Frame::ok(call.id, DONE)).await;
                }
                peer.closed().await;
            };
            let deadline = start + Duration::from_secs(5);
            let (cut, ()) = tokio::join!(rig.client.shut_down(deadline), answer);
            (cut, start.elapsed().as_secs())
        };
        let (reply, outcome) = tokio::join!(hello(&invoker), served);
        if answers {
            assert_eq!((result(reply).as_slice(), outcome), (OK, (0, 3)));
        } else {
            assert_eq!(outcome, (1, 5));
            assert_failed(
                reply,
                Code::Unavailable,
                Retry::Ambiguous,
                &["the client was shut down"],
            );
        }
        assert!(weak.upgrade().is_none(), "nobody holds it");
        let parts = ["the client has been closed"];
        assert_failed(
            hello(&invoker).await,
            Code::Unavailable,
            Retry::Safe,
            &parts,
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_never_spoke_dubbo_may_speak_tls() {
    const ADVICE: &str = "if it demands TLS, set `dubbo.tls_config.ca-cert-file`";
    // Closed at once, an alert of TLS, and a provider that was well before.
    for (said, advised) in [
        (vec![], true),
        (b"\x15\x03\x01\0\x02\x02\x46".to_vec(), true),
        (Frame::heartbeat(1).encode(), false),
    ] {
        let mut rig = Rig::new();
        let (invoker, _, mut peer) = rig.connected("").await;
        let served = async {
            peer.call().await;
            peer.send_bytes(&said).await;
            drop(peer);
        };
        let (reply, ()) = tokio::join!(hello(&invoker), served);
        let parts = ["the connection was lost: ", "sayHello at peer:1"];
        let status = assert_failed(reply, Code::Unavailable, Retry::Ambiguous, &parts);
        assert_eq!(status.message().contains(ADVICE), advised, "{status}");
    }
}
