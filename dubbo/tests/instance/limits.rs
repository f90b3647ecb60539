//! How large messages may be.

use dubbo::{Code, Request};
use examples::greet::GreetRequest;

use super::rig::{answering, consume, load, request, url_of};

/// Answers with a text of the length that is asked for, or tells the length of the name.
fn sized(request: &Request<GreetRequest>) -> String {
    let name = &request.message().name;
    match name.parse() {
        Ok(length) => "x".repeat(length),
        Err(_) => name.len().to_string(),
    }
}

/// What a call with `length` letters comes to, and one whose answer has them.
async fn outcomes(protocol: &str, reference: &str, length: usize) -> [Result<(), Code>; 2] {
    let yaml = format!("dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0, {protocol}}}}}}}");
    let provider = load(&yaml)
        .provide(answering(|request| Ok(sized(request))))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = consume(&url_of(&provider), reference).await;
    let mut outcomes = [Ok(()), Ok(())];
    for (outcome, name) in outcomes
        .iter_mut()
        .zip(["x".repeat(length), length.to_string()])
    {
        let call = consumer.greet(request(&name)).attach("retries", "0");
        *outcome = call.await.map(drop).map_err(|status| status.code());
    }
    outcomes
}

#[tokio::test]
async fn messages_over_a_limit_are_refused_by_whoever_set_it() {
    const OVER: Result<(), Code> = Err(Code::ResourceExhausted);
    const MIB: usize = 1 << 20;
    for (protocol, reference, length, want) in [
        ("", "", 3 * MIB, [Ok(()), Ok(())]),
        // What a consumer takes is limited as well.
        ("", "", 5 * MIB, [OVER, OVER]),
        (
            "",
            "params: {max-call-recv-msg-size: 8mib}",
            5 * MIB,
            [OVER, Ok(())],
        ),
        (
            "triple: {max-server-recv-msg-size: 8mib}",
            "",
            5 * MIB,
            [Ok(()), OVER],
        ),
        ("max-server-recv-msg-size: 1kb", "", 1_000, [OVER, Ok(())]),
        (
            "triple: {max-server-recv-msg-size: 1010}",
            "",
            1_000,
            [Ok(()), Ok(())],
        ),
        (
            "triple: {max-server-send-msg-size: 1000}",
            "",
            1_000,
            [Ok(()), OVER],
        ),
        ("max-server-send-msg-size: 1000", "", 1_000, [Ok(()), OVER]),
        (
            "max-server-send-msg-size: 1, triple: {max-server-send-msg-size: 1kib}",
            "",
            1_000,
            [Ok(()); 2],
        ),
        (
            "",
            "params: {max-call-send-msg-size: '1000'}",
            1_000,
            [OVER, Ok(())],
        ),
    ] {
        let got = outcomes(protocol, reference, length).await;
        assert_eq!(got, want, "{protocol} {reference} {length}");
    }
}
