//! What is sent: byte for byte that of the specification, and that of Java.

use std::fmt::Write as _;

use super::*;

/// The frames of §22 begin with their own ids.
fn with_id(hex: &str, id: i64) -> String {
    format!("{}{id:016x}{}", &hex[..8], &hex[24..])
}

fn hex(frame: &Frame) -> String {
    let mut hex = String::new();
    for byte in frame.encode() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

const V_E: &str = "dabbc2000000000000000003000000db05322e302e321f6f72672e6170616368652e647562626f2e73616d706c652e\
    4772656574657205302e302e300873617948656c6c6f124c6a6176612f6c616e672f537472696e673b05776f726c644804706174681f\
    6f72672e6170616368652e647562626f2e73616d706c652e4772656574657209696e746572666163651f6f72672e6170616368652e64\
    7562626f2e73616d706c652e477265657465720776657273696f6e05302e302e300774696d656f757404333030301272656d6f74652e\
    6170706c69636174696f6e0d64656d6f2d636f6e73756d65725a";

#[tokio::test(start_paused = true)]
async fn a_request_is_that_of_the_specification() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("application=demo-consumer").await;
    let call = hello_within(&invoker, Duration::from_secs(3));
    let served = async {
        let call = peer.call().await;
        assert_eq!(hex(&call), with_id(V_E, call.id));
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(call, served).0), OK);
}

#[tokio::test(start_paused = true)]
async fn a_one_way_request_differs_in_its_flags_alone_and_ends_when_it_is_written() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("application=demo-consumer").await;
    // Java's callers say so for one call, our definitions for a method.
    for (method, attachment) in [(SAY_HELLO, Some("false")), (SHOUT, None)] {
        let mut call = invocation(&invoker, method);
        call.timeout = Some(Duration::from_secs(3));
        if let Some(value) = attachment {
            call.attachments.insert("return", value);
        }
        assert_eq!(result(invoker.invoke(call).await), b"N");
        assert_eq!(connection.table().len(), 0);
        let frame = peer.call().await;
        assert!(!frame.is_two_way(), "{frame:?}");
        // An answer that nobody expects hurts nobody.
        peer.send(Frame::ok(frame.id, DONE)).await;
    }
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
}

/// The strings of a body, as far as they are short: keys and values alike.
fn has(frame: &Frame, text: &str) -> bool {
    let len = u8::try_from(text.len()).expect("short");
    let value = [&[len], text.as_bytes()].concat();
    frame
        .body
        .windows(value.len())
        .any(|window| window == value)
}

#[tokio::test(start_paused = true)]
async fn group_version_token_and_path_are_those_of_the_provider_s_url() {
    let mut rig = Rig::new();
    let url: Url =
        "dubbo://peer:1/ctx/com.foo.Bar?interface=com.foo.Bar&group=g1&version=1.2.3&token=t0"
            .parse()
            .expect("a good URL");
    let invoker = rig.client.invoker(&url, &GREETER, 1).expect("a good URL");
    let mut call = invocation(&invoker, SAY_HELLO);
    call.attachments.insert("city", "上海");
    call.attachments.insert("TraceId", "abc");
    call.attachments.insert("Path", "elsewhere");
    call.attachments.insert("timeout", "7");
    let mut peer = rig.accept().await;
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
        call
    };
    let (reply, frame) = tokio::join!(invoker.invoke(call), served);
    result(reply);
    assert!(
        frame
            .body
            .starts_with(b"\x052.0.2\x0bcom.foo.Bar\x051.2.3\x08sayHello")
    );
    for text in [
        "path",
        "ctx/com.foo.Bar",
        "interface",
        "group",
        "g1",
        "version",
        "token",
        "t0",
        "TraceId",
        "abc",
    ] {
        assert!(has(&frame, text), "{text} in {frame:?}");
    }
    let city = "\x02上海".as_bytes();
    assert!(frame.body.windows(city.len()).any(|window| window == city));
    // What the protocol says is not for callers to change, and without a deadline there is no timeout.
    assert!(!has(&frame, "elsewhere"), "{frame:?}");
    assert!(!has(&frame, "remote.application"), "{frame:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_may_choose_another_group_and_version() {
    let mut rig = Rig::new();
    let (invoker, _, mut peer) = rig.connected("group=g1&version=1.0").await;
    let mut call = invocation(&invoker, SAY_HELLO);
    let key = invoker.url().service_key();
    call.service = Arc::new(key.with_group("g2").with_version("2.0"));
    let served = async {
        let call = peer.call().await;
        peer.send(Frame::ok(call.id, DONE)).await;
        call
    };
    let (reply, frame) = tokio::join!(invoker.invoke(call), served);
    result(reply);
    for (text, there) in [("g2", true), ("2.0", true), ("g1", false), ("1.0", false)] {
        assert_eq!(has(&frame, text), there, "{text} in {frame:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_timeout_is_what_is_left_when_the_request_is_written_and_never_zero() {
    let mut rig = Rig::new();
    *rig.connector.refuses.lock() = false;
    let invoker = rig.invoker("");
    let mut peer = rig.accept().await;
    for (timeout, wire) in [
        (1_000_000, "1"),
        (999_999_999, "1000"),
        (2_500_000_000, "2500"),
    ] {
        let call = hello_within(&invoker, Duration::from_nanos(timeout));
        let served = async {
            let call = peer.call().await;
            peer.send(Frame::ok(call.id, DONE)).await;
            call
        };
        let (_, frame) = tokio::join!(call, served);
        assert!(has(&frame, "timeout") && has(&frame, wire), "{frame:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_is_refused_before_anything_is() {
    let mut rig = Rig::new();
    let (invoker, connection, mut peer) = rig.connected("payload=1000").await;
    let mut large = invocation(&invoker, SAY_HELLO);
    let bytes = Bytes::from(vec![b'x'; 1_000]);
    large.body = Body::Unary(Payload::encoded(Codec::Hessian2, bytes));
    let mut laden = invocation(&invoker, SAY_HELLO);
    laden.attachments.insert("big", "x".repeat(70_000));
    let mut crowded = invocation(&invoker, SAY_HELLO);
    for n in 0..1_100 {
        crowded.attachments.insert(format!("k{n}"), "v");
    }
    let mut json = invocation(&invoker, SAY_HELLO);
    json.body = Body::Unary(Payload::encoded(Codec::Json, Bytes::from_static(b"{}")));
    let mut late = invocation(&invoker, SAY_HELLO);
    late.deadline = Some(Instant::now());
    let place = "org.apache.dubbo.sample.Greeter/sayHello at peer:1: ";
    for (call, code, retry, parts) in [
        (
            large,
            Code::OutOfRange,
            Retry::Never,
            &[
                place,
                "over the limit of 1000",
                "set `payload` in the `params` of the reference",
            ][..],
        ),
        (
            laden,
            Code::InvalidArgument,
            Retry::Never,
            &[
                place,
                "over the limit of 1024 with 65536",
                "`big` with 70000 bytes",
            ],
        ),
        (
            crowded,
            Code::InvalidArgument,
            Retry::Never,
            &[place, "1103 attachments"],
        ),
        (
            json,
            Code::InvalidArgument,
            Retry::Never,
            &[place, "json", "hessian2"],
        ),
        (
            late,
            Code::DeadlineExceeded,
            Retry::Safe,
            &[place, "over before it began"],
        ),
        (
            invocation(&invoker, MANY),
            Code::Unimplemented,
            Retry::Never,
            &["no streams", "`tri`"],
        ),
    ] {
        assert_failed(invoker.invoke(call).await, code, retry, parts);
        assert_eq!(connection.table().len(), 0);
    }
    let served = async {
        let call = peer.frame().await;
        assert!(has(&call, "world"), "the first that came: {call:?}");
        peer.send(Frame::ok(call.id, DONE)).await;
    };
    assert_eq!(result(tokio::join!(hello(&invoker), served).0), OK);
}

#[tokio::test]
async fn services_of_proto_files_and_bad_urls_are_refused_when_they_are_referred_to() {
    let rig = Rig::new();
    let proto = Arc::new(ServiceDescriptor::new(
        "greet.Greeter",
        vec![MethodDescriptor::new("Greet", CallKind::Unary)],
    ));
    let error = rig
        .client
        .invoker(&url(""), &proto, 1)
        .expect_err("no IDL here");
    assert!(
        error
            .to_string()
            .contains("`greet.Greeter` is a service of a proto file"),
        "{error}"
    );
    let bad = rig.client.invoker(&url("payload=much"), &GREETER, 1);
    assert!(bad.expect_err("no number").to_string().contains("payload"));
    assert_eq!(rig.client.shut_down(Instant::now()).await, 0);
    let ended = rig.client.refer(&url(""), &GREETER, 1);
    assert!(matches!(ended, Err(ProtocolError::ShutDown)));
}
