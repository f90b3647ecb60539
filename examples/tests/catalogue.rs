//! The examples that stand for samples of dubbo-go, whose list is in `docs/from-dubbo-go.md`: each prints what it is there to
//! show.

#[allow(dead_code, reason = "these examples end by themselves")]
mod programs;

use programs::program;

fn run(path: &str) -> String {
    programs::run(program(path, &[], &[]))
}

#[test]
fn router_static_goes_by_rules_of_the_file_and_of_code() {
    let text = run(env!("CARGO_BIN_EXE_router-static"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Hello, vip-1, from Hangzhou!");
    assert_eq!(lines[1], "Hello, gray, from Shanghai!");
    assert!(lines[2].starts_with("vip-2: unavailable: "), "{text}");
    assert_eq!(lines[3..], ["Hello, anybody, from Beijing!"]);
}

#[cfg(feature = "script")]
#[test]
fn router_script_chooses_by_the_caller() {
    let text = run(env!("CARGO_BIN_EXE_router-script"));
    let want = "Hello, ada, from Hangzhou!\nHello, grace, from Shanghai!\n";
    assert_eq!(text, want);
}

#[test]
fn async_waits_for_several_for_one_later_and_for_none() {
    let text = run(env!("CARGO_BIN_EXE_async"));
    let want = "one is there, and the other is there\nboth in the time of one: true\nmeanwhile\n\
                later: by itself is there\nsent without waiting: true\nprovider: one-way is there\n";
    assert_eq!(text, want);
}

#[test]
fn timeout_is_of_the_service_the_method_or_the_call_and_stops_both_sides() {
    let text = run(env!("CARGO_BIN_EXE_timeout"));
    for (what, method, time) in [
        ("of the service", "walk", "600ms"),
        ("of the method", "climb", "300ms"),
        ("of the call", "climb", "100ms"),
        ("until then", "walk", ""), // what is left of 200 ms
    ] {
        let line = text.lines().find(|line| line.starts_with(what));
        let line = line.unwrap_or_else(|| panic!("{what} is not in\n{text}"));
        assert!(line.contains(": deadline_exceeded: "), "{line}");
        assert!(line.contains(&format!("/{method} at ")), "{line}");
        assert!(
            line.contains(&format!(": no answer within {time}")),
            "{line}"
        );
    }
    let began = text.matches(" within Some(").count();
    let stopped = text.matches(" is stopped\n").count();
    assert_eq!((began, stopped), (4, 4), "{text}");
}

#[test]
fn token_lets_in_who_knows_it() {
    let text = run(env!("CARGO_BIN_EXE_token"));
    let lines: Vec<&str> = text.lines().collect();
    let said = [
        "Hello, by the registry!",
        "a stranger: permission_denied: ",
        "a guest: permission_denied: ",
        "Hello, a friend!",
    ];
    assert_eq!(lines.len(), said.len(), "{text}");
    for (line, said) in lines.iter().zip(said) {
        assert!(line.starts_with(said), "{line} is not {said}");
    }
    assert!(lines[1].contains("none came"), "{text}");
    assert!(lines[2].contains("not the one of the service"), "{text}");
}

#[test]
fn pb_json_sends_json_where_it_is_told_to() {
    let text = run(env!("CARGO_BIN_EXE_pb-json"));
    let want = "31 bytes of json: {\\\"name\\\":\\\"as-the-provider-says\\\"}\nHello, as-the-provider-says!\n\
                10 bytes of protobuf: \\n\\u{8}as-usual\nHello, as-usual!\n";
    assert_eq!(text, want);
}

#[cfg(feature = "grpc")]
#[test]
fn grpc_calls_and_is_called_by_a_peer_that_knows_no_dubbo() {
    let text = run(env!("CARGO_BIN_EXE_grpc"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "Hello, tonic!",
            "tonic got InvalidArgument: a name is needed",
            "Hello, Dubbo of acme!",
        ]
    );
    let refused = "we got invalid_argument: tonic needs a name";
    assert!(lines[3].starts_with(refused), "{text}");
}
