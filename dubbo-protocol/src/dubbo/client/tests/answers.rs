//! What is made of answers, good and bad.

use dubbo_core::status::Origin;
use dubbo_hessian2::java::Throwable;

use super::*;
use crate::java::thrown;

/// What a call comes to when its answer is `frame`, but for the id.
async fn answered(frame: impl FnOnce(i64) -> Frame) -> RpcResult {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("payload=9000").await;
    let served = async {
        let call = peer.call().await;
        peer.send(frame(call.id)).await;
    };
    let (reply, ()) = tokio::join!(hello(&invoker), served);
    assert_eq!(connection.table().len(), 0);
    reply
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pairs = digits.chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).expect("hex");
        u8::from_str_radix(pair, 16).expect("hex")
    });
    pairs.collect()
}

#[tokio::test(start_paused = true)]
async fn every_type_of_result_is_read() {
    // §22, what dubbo-go writes, and what §24 asks for.
    for (name, body, value) in [
        (
            "V-H",
            "940b68656c6c6f20776f726c644805647562626f05322e302e325a",
            "0b68656c6c6f20776f726c64",
        ),
        (
            "V-I",
            "910b68656c6c6f20776f726c64",
            "0b68656c6c6f20776f726c64",
        ),
        ("V-J", "954805647562626f05322e302e325a", "4e"),
        ("V-K", "92", "4e"),
        (
            "V-R",
            "940568656c6c6f4805647562626f05322e302e325a4e",
            "0568656c6c6f",
        ),
        ("V-S", "924e", "4e"),
        (
            "a typed map",
            "94024f4b4d116a6176612e7574696c2e486173684d617005647562626f05322e302e325a",
            "024f4b",
        ),
        ("a null map", "954e", "4e"),
        ("no map", "94024f4b", "024f4b"),
        ("an empty map", "94024f4b485a", "024f4b"),
        ("bytes behind", "91024f4b4e4e4e", "024f4b"),
        (
            "a value left out by dubbo-go",
            "944805647562626f05322e302e325a4e",
            "4805647562626f05322e302e325a",
        ),
    ] {
        let reply = answered(|id| Frame::ok(id, bytes(body))).await.expect(name);
        // The version of the protocol is for nobody else.
        assert!(reply.trailers.is_empty(), "{name}: {:?}", reply.trailers);
        assert_eq!(result(Ok(reply)), bytes(value), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn attachments_of_any_type_come_with_the_reply() {
    // ok=true, n=3, city=上海, list=[a, b], TraceId=abc; dubbo-go sends values that are no strings.
    let body = "92 026f6b 54 016e 93 0463697479 02e4b88ae6b5b7 046c697374 7a 0161 0162 075472616365496403616263 5a";
    let body = body.replacen("92", "95 48", 1);
    let reply = answered(|id| Frame::ok(id, bytes(&body)))
        .await
        .expect("it worked");
    let text = |name: &str| reply.trailers.get(name).map(str::to_owned);
    for (name, want) in [
        ("ok", "true"),
        ("n", "3"),
        ("city", "上海"),
        ("TraceId", "abc"),
        ("list", "a"),
    ] {
        assert_eq!(text(name).as_deref(), Some(want), "{name}");
    }
    assert_eq!(reply.trailers.all("list").collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn an_exception_is_the_application_s_own_error_with_class_and_message() {
    // V-L, with attachments; V-W, a plain error of dubbo-go.
    let runtime = "93431a6a6176612e6c616e672e52756e74696d65457863657074696f6e940d64657461696c4d657373616765056361757365\
        0a737461636b54726163651473757070726573736564457863657074696f6e736004626f6f6d5190701c5b6a6176612e6c616e672e5374\
        61636b5472616365456c656d656e74701f6a6176612e7574696c2e436f6c6c656374696f6e7324456d7074794c6973744805647562626f\
        05322e302e325a";
    let go = "9043136a6176612e6c616e672e5468726f7761626c65951073657269616c56657273696f6e5549440d64657461696c4d657373616765\
        14737570707265737365644578\
        63657074696f6e730a737461636b547261636505636175736560e004626f6f6d4e561c5b6a6176612e6c616e672e537461636b54726163\
        65456c656d656e74904e4e";
    for (body, class) in [
        (runtime, "java.lang.RuntimeException"),
        (go, "java.lang.Throwable"),
    ] {
        let reply = answered(|id| Frame::ok(id, bytes(body))).await;
        let status = assert_failed(reply, Code::Business, Retry::Never, &["boom"]);
        assert_eq!(status.origin(), Origin::Business);
        assert_eq!(thrown(&status).map(Throwable::class), Some(class));
        assert!(status.attachments().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_says_what_the_provider_says_and_what_may_be_done_about_it() {
    for (status, code, retry) in [
        (25, Code::OutOfRange, Retry::Never),
        (31, Code::DeadlineExceeded, Retry::Ambiguous),
        (40, Code::InvalidArgument, Retry::Never),
        (50, Code::DataLoss, Retry::Never),
        (60, Code::Unimplemented, Retry::Never),
        (70, Code::Internal, Retry::Ambiguous),
        (80, Code::Internal, Retry::Ambiguous),
        (90, Code::DataLoss, Retry::Never),
        (100, Code::ResourceExhausted, Retry::Safe),
        (77, Code::Unknown, Retry::Ambiguous),
    ] {
        for (body, text) in [
            (&b"\x03why"[..], "why"),
            (b"\x03whyNNN", "why"),
            (b"N", "no reason"),
            (b"", "cannot be read"),
            (b"\x91", "cannot be read"),
        ] {
            let reply = answered(|id| Frame::new(0, status, id, body)).await;
            let place = "org.apache.dubbo.sample.Greeter/sayHello at peer:1: ";
            let status_text = status.to_string();
            let failed = assert_failed(reply, code, retry, &[place, text, &status_text]);
            assert_eq!(failed.origin(), Origin::Remote);
        }
        // The serialization matters only where there is a result.
        let reply = answered(|id| Frame {
            flags: 0x17,
            ..Frame::new(0, status, id, "\x03why")
        })
        .await;
        assert_failed(reply, code, retry, &["why"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_an_error_that_says_so() {
    for (frame, parts) in [
        (Frame::ok(0, &b"\x96N"[..]), &["of type 6"][..]),
        (Frame::ok(0, &b"\x8f"[..]), &["of type -1"]),
        (Frame::ok(0, ""), &["the type of the response"]),
        (Frame::ok(0, &b"\x91"[..]), &["the result"]),
        (Frame::ok(0, &b"\x91\x05OK"[..]), &["the result"]),
        (Frame::ok(0, &b"\x93\x04boom"[..]), &["the exception"]),
        (Frame::ok(0, &b"\x94\x02OK\x02no"[..]), &["the attachments"]),
        (Frame::ok(0, nested(200)), &["the result"]),
        (Frame::ok(0, beside(1_025)), &["more than 1024 attachments"]),
        (
            Frame {
                flags: 0x17,
                ..Frame::ok(0, DONE)
            },
            &["serialization 23", "2 (hessian2)"],
        ),
    ] {
        let reply = answered(|id| Frame {
            id,
            ..frame.clone()
        })
        .await;
        // The call was done: nothing else would come of another.
        let status = assert_failed(reply, Code::DataLoss, Retry::Never, parts);
        assert_eq!(status.origin(), Origin::Transport);
        assert!(status.message().contains("sayHello at peer:1"), "{status}");
    }
}

/// A result of so many lists, each in the next.
fn nested(depth: usize) -> Vec<u8> {
    [&b"\x91"[..], &b"\x79".repeat(depth), b"N"].concat()
}

/// A result with so many attachments.
fn beside(count: usize) -> Vec<u8> {
    let entries = b"\x01k\x01v".repeat(count);
    [&b"\x94\x02OKH"[..], &entries, b"Z"].concat()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_fails_its_call_and_no_other() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("payload=2000").await;
    let served = async {
        let (one, other) = (peer.call().await, peer.call().await);
        peer.send(Frame::ok(one.id, vec![b'x'; 2_001])).await;
        peer.send(Frame::ok(other.id, DONE)).await;
    };
    let (one, other, ()) = tokio::join!(hello(&invoker), hello(&invoker), served);
    let parts = [
        "2001 bytes",
        "limit of 2000",
        "set `payload` in the `params` of the reference",
        "sayHello at peer:1",
    ];
    assert_failed(one, Code::OutOfRange, Retry::Never, &parts);
    assert_eq!(result(other), OK);
    assert_eq!(connection.table().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn answers_come_in_any_order_and_in_any_pieces() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("").await;
    let calls: Vec<_> = (0..5).map(|_| hello(&invoker)).collect();
    let served = async {
        let mut ids = Vec::new();
        for _ in 0..5 {
            ids.push(peer.call().await.id);
        }
        let answers = ids.iter().enumerate().rev();
        let bytes: Vec<u8> = answers
            .flat_map(|(index, id)| {
                let digit = b'0' + u8::try_from(index).expect("small");
                Frame::ok(*id, [0x91, 1, digit]).encode()
            })
            .collect();
        for byte in bytes {
            peer.send_bytes(&[byte]).await;
            tokio::task::yield_now().await;
        }
    };
    let (replies, ()) = tokio::join!(futures_util::future::join_all(calls), served);
    let results: Vec<_> = replies.into_iter().map(result).collect();
    assert_eq!(results, [b"\x010", b"\x011", b"\x012", b"\x013", b"\x014"]);
}

#[tokio::test(start_paused = true)]
async fn late_double_and_unknown_answers_are_ignored_and_late_ones_counted() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("").await;
    let late = hello_within(&invoker, Duration::from_millis(50)).await;
    let parts = ["no answer within 50ms", "sayHello at peer:1"];
    assert_failed(late, Code::DeadlineExceeded, Retry::Ambiguous, &parts);
    assert_eq!(connection.table().len(), 0);
    let expired = peer.call().await;
    let served = async {
        let call = peer.call().await;
        assert_ne!(call.id, expired.id);
        for id in [expired.id, 0, -1, i64::MIN, i64::MAX, call.id + (7 << 20)] {
            peer.send(Frame::ok(id, &b"\x91\x03not"[..])).await;
        }
        // dubbo-go answers heartbeats that nobody sent.
        peer.send(Frame::answer(&Frame::heartbeat(99), 20, *b"NN"))
            .await;
        peer.send(Frame::ok(call.id, DONE)).await;
        peer.send(Frame::ok(call.id, &b"\x91\x03not"[..])).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(connection.late_replies(), 2);
}
