//! Signs of life in both directions, and peers that want no more calls.

use super::*;
use crate::endpoint::Link as _;

#[tokio::test(start_paused = true)]
async fn an_idle_peer_is_asked_for_a_sign_of_life_and_given_up_in_the_end() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("").await;
    let start = Instant::now();
    let silent = async {
        let call = peer.call().await;
        let mut beats = Vec::new();
        while let Some(frame) = peer.frame_or_end().await {
            assert!(frame.is_heartbeat() && frame.id != call.id, "{frame:?}");
            assert_eq!(frame.encode()[..4], [0xda, 0xbb, 0xe2, 0]);
            beats.push(start.elapsed().as_secs());
        }
        beats
    };
    let (reply, beats) = tokio::join!(hello(&invoker), silent);
    assert_eq!(beats, [60, 120]);
    assert_eq!(start.elapsed().as_secs(), 180);
    let parts = [
        "nothing came from the peer within 180s",
        "sayHello at peer:1",
    ];
    assert_failed(reply, Code::Unavailable, Retry::Ambiguous, &parts);
    assert_eq!(connection.table().len(), 0);

    let mut peer = rig.accept().await;
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_heartbeats_is_never_given_up() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("heartbeat=4000").await;
    let start = Instant::now();
    // As Java and as dubbo-go answers, and then calls, which are signs of life as well.
    for (beat, body) in [(4, &b"N"[..]), (8, b"NN"), (12, b"N")] {
        let frame = peer.frame().await;
        assert!(frame.is_heartbeat());
        assert_eq!(start.elapsed().as_secs(), beat);
        peer.send(Frame::answer(&frame, 20, body)).await;
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
    assert!(peer.frame().await.is_heartbeat());
    assert_eq!(start.elapsed().as_secs(), 12 + 3 + 4);
}

#[tokio::test(start_paused = true)]
async fn heartbeats_can_be_switched_off() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("heartbeat=0").await;
    let nothing = tokio::time::timeout(Duration::from_hours(24), peer.frame_or_end()).await;
    assert!(nothing.is_err(), "{nothing:?}");
    assert!(invoker.is_available());
}

#[tokio::test(start_paused = true)]
async fn heartbeats_of_the_peer_are_answered_in_every_serialization() {
    let mut rig = Rig::new();
    let (_invoker, _, mut peer) = rig.connected("").await;
    for serialization in 0..32 {
        for id in [i64::from(serialization), -5, i64::MIN] {
            let mut beat = Frame::heartbeat(id);
            beat.flags = beat.flags & !0x1f | serialization;
            peer.send(beat).await;
            let want = Frame {
                flags: 0x20 | serialization,
                status: 20,
                id,
                claimed: None,
                body: b"N".to_vec(),
            };
            assert_eq!(peer.frame().await, want);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_events_are_dropped_without_a_word_and_callbacks_refused() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("").await;
    let one_way_heartbeat = Frame {
        flags: 0xa2,
        ..Frame::heartbeat(1)
    };
    let long = Frame {
        body: b"N".repeat(16),
        ..Frame::heartbeat(2)
    };
    let longest = Frame {
        body: vec![b'N'; 9 << 20],
        ..Frame::heartbeat(3)
    };
    for event in [
        one_way_heartbeat,
        long,
        longest,
        Frame::event(4, "X"),
        Frame::event(5, ""),
    ] {
        peer.send(event).await;
    }
    let one_way = Frame {
        flags: 0x82,
        ..Frame::call(6, "who knows")
    };
    peer.send(one_way).await;
    let fastjson = Frame {
        flags: 0xd7,
        ..Frame::call(-7, "{}")
    };
    for callback in [Frame::call(7, "who knows"), fastjson] {
        peer.send(callback.clone()).await;
        let refusal = peer.frame().await;
        assert_eq!(
            (refusal.flags, refusal.status, refusal.id),
            (0x02, 40, callback.id)
        );
        assert!(
            refusal.body.escape_ascii().to_string().contains("callback"),
            "{refusal:?}"
        );
    }
    assert!(invoker.is_available());
}

#[tokio::test(start_paused = true)]
async fn a_read_only_peer_gets_no_new_calls_and_answers_those_under_way() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("").await;
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::event(1, "R")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!invoker.is_available());
        let why = invoker.why_unavailable().unwrap_or_default();
        assert_eq!(
            why,
            "peer:1 takes no calls: the provider has asked for no more calls"
        );
        let parts = ["asked for no more calls", "sayHello at peer:1"];
        assert_failed(
            hello(&invoker).await,
            Code::Unavailable,
            Retry::Safe,
            &parts,
        );
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);

    peer.send(Frame::event(2, "W")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(invoker.is_available() && connection.is_usable());
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
    assert_eq!(
        rig.connector.attempts.lock().len(),
        1,
        "the same connection"
    );
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_stays_read_only_is_tried_anew_after_a_while() {
    let mut rig = Rig::new();
    let (invoker, connection, mut old) = rig.connected("").await;
    let served = async {
        let call = old.call().await;
        old.send(Frame::event(1, "R")).await;
        let start = Instant::now();
        let mut new = rig.accept().await;
        assert_eq!(start.elapsed().as_secs(), 10);
        let served = async {
            let call = new.call().await;
            new.send(Frame::ok(call.id, DONE)).await;
        };
        assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
        old.send(Frame::ok(call.id, DONE)).await;
        new
    };
    let (reply, _new) = tokio::join!(hello(&invoker), served);
    assert_eq!(result(reply), OK);
    // The last to know of it lets it go.
    drop(connection);
    old.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_only_peer_that_goes_is_replaced_at_once() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("").await;
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
        peer.send(Frame::event(1, "R")).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!invoker.is_available());
    drop(peer);
    let start = Instant::now();
    let _new = rig.accept().await;
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_says_closing_gets_no_new_calls() {
    // dubbo-go says it in results and in errors.
    let result_closing = [
        &b"\x94\x02OKH\x07closing\x04true\x01k\x01v\x05dubbo\x052.0.2"[..],
        b"\x30\x2bdubbo-go-graceful-shutdown-provider-countedTZN",
    ]
    .concat();
    let error_closing = [
        &b"\x93C\x13java.lang.Throwable\x91\x0ddetailMessage\x60\x04boom"[..],
        b"H\x01k\x01v\x07Closing\x04trueZN",
    ]
    .concat();
    let not_closing = b"\x94\x02OKH\x07closing\x05false\x01k\x01vZN".to_vec();
    for (body, available) in [
        (result_closing, false),
        (error_closing, false),
        (not_closing, true),
    ] {
        let mut rig = Rig::new();
        let (invoker, _, mut peer) = rig.connected("").await;
        let served = async {
            let call = peer.call().await;
            peer.send(Frame::ok(call.id, &*body)).await;
        };
        let (reply, ()) = tokio::join!(hello(&invoker), served);
        assert_eq!(invoker.is_available(), available, "{}", body.escape_ascii());
        // Who asks us on behalf of others is not the one that is closing.
        let beside = match &reply {
            Ok(reply) => &reply.trailers,
            Err(status) => status.attachments(),
        };
        let beside: Vec<_> = beside.iter().map(|(name, _)| name).collect();
        assert_eq!(beside, ["k"], "{}", body.escape_ascii());
    }
}

#[tokio::test(start_paused = true)]
async fn other_connections_take_the_calls_of_one_that_is_read_only() {
    let mut rig = Rig::new();
    let invoker = rig.invoker("connections=2");
    let (mut one, mut other) = (rig.accept().await, rig.accept().await);
    one.send(Frame::event(1, "R")).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(invoker.is_available());
    for _ in 0..3 {
        let served = async {
            let call = other.call().await;
            other.send(Frame::ok(call.id, DONE)).await;
        };
        assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_asks_without_reading_answers_is_read_no_further() {
    let mut rig = Rig::with_buffer(1_000);
    let (_invoker, _connection, mut peer) = rig.connected("heartbeat=0").await;
    let asking = async {
        for id in 0..1_000_000 {
            peer.send_bytes(&Frame::heartbeat(id).encode()).await;
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(5), asking).await;
    assert!(asked.is_err(), "it was read to the end");
    let mut answers = 0;
    while tokio::time::timeout(Duration::from_secs(1), peer.frame_or_end())
        .await
        .is_ok_and(|frame| frame.is_some())
    {
        answers += 1;
    }
    assert!((3_000..10_000).contains(&answers), "{answers} answers");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_talks_and_never_reads_is_given_up() {
    let mut rig = Rig::with_buffer(1_000);
    let (invoker, _connection, mut peer) = rig.connected("heartbeat=1000").await;
    let start = Instant::now();
    let mut large = invocation(&invoker, SAY_HELLO);
    let bytes = Bytes::from(vec![b'x'; 10_000]);
    large.body = Body::Unary(Payload::encoded(Codec::Hessian2, bytes));
    let talking = async {
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            peer.send_bytes(&Frame::event(1, "N").encode()).await;
        }
    };
    let reply = tokio::select! {
        reply = invoker.invoke(large) => reply,
        () = talking => unreachable!("it talks without end"),
    };
    assert_eq!(start.elapsed().as_secs(), 3);
    let parts = ["took nothing of what it was sent within 3s"];
    assert_failed(reply, Code::Unavailable, Retry::Ambiguous, &parts);
}
