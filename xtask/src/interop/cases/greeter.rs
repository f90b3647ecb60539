//! Calls, streams and errors of the protobuf service.

use serde_json::{Value, json};

use super::{Case, case};
use crate::interop::{
    expect::{ends, ends_saying, fails, gives},
    route::{
        Party::{Go, GrpcGo, Grpcio, Java},
        Who::Grpc,
        from, to,
    },
};

pub(super) fn cases() -> Vec<Case> {
    [calls(), streams(), errors()]
        .into_iter()
        .flatten()
        .collect()
}

fn calls() -> Vec<Case> {
    vec![
        case("greet", gives("hello dubbo")),
        case("greet_empty", gives("hello ")),
        case("greet_unicode", gives("hello é 中文 😀")),
        case("echo_all", gives("equal")),
        case("echo_zero", gives("equal")),
        case(
            "big_2m",
            gives(json!({"received": 2 << 20, "as_asked": true})),
        ),
        case("big_request_over", ends(8)).peer(
            to(Java),
            gives(json!({"received": 5 << 20, "as_asked": true})),
            "Dubbo Java takes 8 MiB, not 4",
        ),
        case("big_response_over", ends(8)).peer(
            from(Java),
            gives(json!({"received": 1, "as_asked": true})),
            "Dubbo Java takes 8 MiB, not 4",
        ),
    ]
}

fn streams() -> Vec<Case> {
    let asked = "stream failed as asked";
    let numbers: Vec<_> = (0..500).map(|n| n.to_string()).collect();
    let two = json!(["hello dubbo #0", "hello dubbo #1"]);
    vec![
        case(
            "server_stream",
            gives(json!([
                "hello dubbo #0",
                "hello dubbo #1",
                "hello dubbo #2"
            ])),
        ),
        case("server_stream_none", gives(json!([]))),
        case(
            "server_stream_fail_first",
            fails(9, asked).after(two.clone()),
        )
        .also(to(Java), ends_saying(9, asked).after(two), NAMED),
        case(
            "server_stream_many",
            gives(json!({"count": 2000, "last": "hello dubbo #1999"})),
        ),
        case(
            "client_stream",
            gives(json!({"greeting": "hello a,b,c", "seq": 3})),
        ),
        case(
            "client_stream_none",
            gives(json!({"greeting": "hello ", "seq": 0})),
        )
        .without(from(Java), SENDS_FIRST),
        case("client_stream_fail", fails(7, asked)).also(to(Java), ends_saying(7, asked), NAMED),
        case(
            "client_stream_many",
            gives(json!({"greeting": format!("hello {}", numbers.join(",")), "seq": 500})),
        ),
        case("bidi", gives(json!(["hello a", "hello b", "hello c"]))),
        case("bidi_none", gives(json!([]))).without(from(Java), SENDS_FIRST),
        case("bidi_fail", fails(7, asked).after(json!(["hello a"]))).also(
            to(Java),
            ends_saying(7, asked).after(json!(["hello a"])),
            NAMED,
        ),
        case(
            "bidi_many",
            gives(json!({"count": 500, "last": "hello 499"})),
        ),
    ]
}

fn errors() -> Vec<Case> {
    let text = "50% + é\n\t中 end ";
    let plain = |name: &str, text: &'static str| {
        case(name, fails(17, text))
            .also(to(Java), fails(2, text), NO_17)
            .also(from(Java), fails(2, text), NO_17)
            .also(from(Grpc), fails(2, text), GRPC_NO_17)
            .also(to(GrpcGo), fails(2, text), GRPC_NO_17)
            .also(to(Grpcio), ends_saying(2, text), GRPCIO_WORDS)
    };
    let mut cases = vec![
        plain("fail_plain", "boom"),
        plain("fail_plain_percent", text).peer(
            to(Java),
            fails(2, "50% + é \t? end "),
            "Dubbo Java sends text as Latin-1, unescaped",
        ),
        plain("fail_plain_empty", ""),
        case("fail_panic", ends(13))
            .peer(
                to(Java),
                fails(2, "panicked"),
                "any Throwable is an error of the application for Dubbo Java",
            )
            .peer(
                to(Grpcio),
                ends_saying(2, "panicked"),
                "any exception is an error of the application for grpcio",
            ),
    ];
    // Every code of the protocol, and one that it does not know.
    let codes = || (1..=17).chain([99]);
    cases.extend(codes().map(|code| error_code("fail_code", code, &[])));
    let detail = |value: Value| json!({"type": "dubbo.interop.v1.FailDetail", "value": value});
    let details = [
        detail(json!({"text": "one"})),
        detail(json!({"text": "two", "index": 1})),
    ];
    cases.extend(codes().map(|code| error_code("fail_details", code, &details)));
    cases
}

fn error_code(kind: &str, code: u64, details: &[Value]) -> Case {
    let asked = "status as asked";
    let known = code < 17;
    let mut case = case(
        format!("{kind}_{code:02}"),
        fails(code, asked).details(details.to_vec()),
    );
    case = if !known {
        case.also(from(Java), fails(2, asked), NO_17)
            .also(
                from(Grpc),
                fails(2, asked).details(details.to_vec()),
                GRPC_NO_17,
            )
            .without(to(Grpcio), "grpcio gives no code that gRPC does not know")
            .peer(
                to(Java),
                ends_saying(2, "Can not find status for code"),
                NO_17,
            )
    } else if details.is_empty() {
        case.also(to(Java), ends_saying(code, asked), NAMED)
    } else {
        case.peer(to(Java), ends_saying(code, asked), JAVA_STRIPS)
            .peer(from(Java), fails(code, asked), JAVA_STRIPS)
    };
    if code != 17 && !details.is_empty() {
        case = case.peer(to(Go), fails(code, asked), STRIPPED);
    }
    case
}

const GRPC_NO_17: &str = "gRPC knows the codes up to 16: an error of the application is 2";
const GRPCIO_WORDS: &str = "grpcio puts words of its own before the text of an exception";
const NAMED: &str = "Dubbo Java begins the text with the name of the code";
const SENDS_FIRST: &str = "Dubbo Java opens the call when it sends the first message";
const STRIPPED: &str = "dubbo-go keeps details with code 17 only";
const JAVA_STRIPS: &str = "Dubbo Java has no details";
const NO_17: &str = "Dubbo Java knows the codes up to 16: an error of the application is 2";
