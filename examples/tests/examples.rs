//! Every example runs and prints what it is there to show.

mod programs;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use dubbo_test::peer::h2::Client;
use programs::{Serving, program};

fn run(path: &str, args: &[&str]) -> String {
    programs::run(program(path, args, &[]))
}

#[test]
fn quickstart_prints_its_greetings_and_serves_others_until_told_to_stop() {
    let text = run(env!("CARGO_BIN_EXE_quickstart"), &["--exit"]);
    let want = "Hello, Dubbo!\n  Hello, Dubbo (1 of 3)!\n  Hello, Dubbo (2 of 3)!\n  Hello, Dubbo (3 of 3)!\n";
    assert_eq!(text, want);

    // The same port again, now to try what it says to try.
    let provider = Serving::start(
        program(env!("CARGO_BIN_EXE_quickstart"), &[], &[]),
        "Try, in another terminal:",
    );
    let text = run(env!("CARGO_BIN_EXE_direct"), &["tri://127.0.0.1:50051"]);
    assert_eq!(text, "Hello, direct!\n");
    provider.stop();
}

#[test]
fn a_consumer_in_another_process_finds_the_provider_at_its_address() {
    let provider = Serving::start(
        program(env!("CARGO_BIN_EXE_greeter-provider"), &[], &[]),
        "serving",
    );
    let text = run(env!("CARGO_BIN_EXE_greeter-consumer"), &[]);
    assert_eq!(text, "Hello, Ada!\nHello, Grace!\nHello, Radia!\n");
    provider.stop();
}

#[test]
fn streaming_shows_all_three_kinds() {
    let text = run(env!("CARGO_BIN_EXE_streaming"), &[]);
    for line in [
        "Hello, server stream (3 of 3)!",
        "Hello, Ada, Grace!",
        "Hello, pong!",
        "end of stream: true",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn health_is_watched_while_one_provider_follows_another() {
    let text = run(env!("CARGO_BIN_EXE_health"), &[]);
    let want = "now: SERVING\nnobody: Some(NotFound)\nwatched: SERVING\nHello, early bird!\n\
                watched: NOT_SERVING\nHello, latecomer!\nthe watch ends: Some(Unavailable)\nagain: SERVING\n";
    assert_eq!(text, want);
}

#[test]
fn reflection_lists_services_and_describes_one() {
    let text = run(env!("CARGO_BIN_EXE_reflection"), &[]);
    for line in [
        "com.example.UserService\ngreet.Greeter\ngrpc.health.v1.Health\n\
         grpc.reflection.v1.ServerReflection\ngrpc.reflection.v1alpha.ServerReflection\n",
        "message GreetRequest: name\n",
        "service Greeter\n  Greet(.greet.GreetRequest) -> .greet.GreetResponse\n",
        "  GreetEach(stream .greet.GreetRequest) -> stream .greet.GreetResponse\n",
        "the service `com.example.UserService` is not described by a proto file\nend: true\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn context_shows_what_travels_beside_a_message() {
    let text = run(env!("CARGO_BIN_EXE_context"), &[]);
    for line in [
        "provider: greet.Greeter/Greet for acme, bounded: true",
        "Hello, acme!",
        "header served-by: Some(\"attentive\")",
        "trailer cost: Some(\"7\")",
        "trailer sent: Some(\"1\")",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn errors_shows_codes_details_and_what_is_retried() {
    let text = run(env!("CARGO_BIN_EXE_errors"), &[]);
    for line in [
        "\"\": invalid_argument: a name is needed",
        "detail: GreetRequest { name: \"\" }",
        "\"rude\": business: we do not greet the rude",
        "\"Nemo\": not_found: nobody is called Nemo",
        "2 of 2 attempts failed",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn filter_custom_sees_a_call_on_both_sides() {
    let text = run(env!("CARGO_BIN_EXE_filter-custom"), &[]);
    let want = "provider: greet.Greeter/Greet worked\nconsumer: greet.Greeter/Greet worked\nHello, filter!\n";
    assert_eq!(text, want);
}

#[test]
fn tls_renews_a_certificate_while_calls_run() {
    let text = run(env!("CARGO_BIN_EXE_tls"), &[]);
    let lines: Vec<&str> = text.lines().collect();
    let want = [
        "ssl-enabled: Some(\"true\")",
        "Hello, Ada!",
        "without TLS: Some(Unavailable)",
        "too early: Some(Unavailable)",
        "Hello, newcomer!",
    ];
    assert_eq!(lines[..5], want, "{text}");
    let (calls, rest) = lines[5].split_once(' ').expect("a number");
    assert!(calls.parse::<u32>().expect("a number") > 0, "{text}");
    assert_eq!(rest, "calls meanwhile, and none of them failed");
}

#[test]
fn http_json_answers_plain_http_by_its_service_and_by_its_router() {
    let text = run(env!("CARGO_BIN_EXE_http-json"), &[]);
    for line in [
        "curl -i -H 'origin: http://localhost:3000' http://127.0.0.1:50056/shop/7",
        "{\"greeting\":\"Hello, Dubbo!\"}",
        "access-control-allow-origin: http://localhost:3000",
        "x-shop: open",
        "item 7 of the shop",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn retry_tries_again_what_may_work_and_tells_the_story_of_what_does_not() {
    let text = run(env!("CARGO_BIN_EXE_retry"), &[]);
    for line in [
        "patient: 3 attempts: Hello, patient!",
        "rude: 1 attempts: business: we do not greet the rude",
        "unlucky: 4 attempts: unavailable: never in the mood (calling Greet of greet.Greeter: 4 of 4 attempts failed: ",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn failback_makes_a_call_again_when_its_provider_is_there() {
    let text = run(env!("CARGO_BIN_EXE_failback"), &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with(
            "answered at once; failback: the call failed and is made again later: unavailable"
        ),
        "{text}"
    );
    assert_eq!(
        lines[1..],
        ["the provider is there now", "the call came: failback"]
    );
}

#[test]
fn forking_takes_the_first_answer_and_stops_the_others() {
    let text = run(env!("CARGO_BIN_EXE_forking"), &[]);
    let want = "Hello, forking, from quick!\nslow was told to stop\nslower was told to stop\n";
    assert_eq!(text, want);
}

#[test]
fn router_tag_keeps_traffic_apart() {
    let text = run(env!("CARGO_BIN_EXE_router-tag"), &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "gray: Hello, you, from gray!");
    let plain = ["plain", "late"].map(|name| format!("unknown: Hello, you, from {name}!"));
    assert!(plain.iter().any(|plain| plain == lines[1]), "{text}");
    let forced = "unknown, forced: unavailable: no provider available for greet.Greeter: router `tag` left none of 3";
    assert!(lines[2].starts_with(forced), "{text}");
    assert_eq!(lines[3], "blue, by a rule: Hello, you, from late!");
}

#[test]
fn router_condition_shows_rules_before_and_while_they_apply() {
    let text = run(env!("CARGO_BIN_EXE_router-condition"), &[]);
    let first = text.lines().next();
    assert_eq!(first, Some("Hello, vip-1, from Hangzhou!"));
    for line in [
        "dropped: `attachments[user]=vip* => region=sh`",
        "Hello, vip-1, from Shanghai!",
        "banned: unavailable: no provider available for greet.Greeter: router `condition-service` left none of 2",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn tps_limit_takes_two_and_refuses_the_third() {
    let text = run(env!("CARGO_BIN_EXE_tps-limit"), &[]);
    let want = "Hello, 1!\nHello, 2!\n3: resource_exhausted\n  certainly not done: true\n  says when to come again: true\n";
    assert_eq!(text, want);
}

#[test]
fn circuit_breaker_opens_refuses_looks_and_closes() {
    let text = run(env!("CARGO_BIN_EXE_circuit-breaker"), &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "of 10 calls 4 were sent");
    let refused =
        "refused: unavailable: calls of Greet of greet.Greeter are stopped: the breaker is open";
    assert!(lines[1].starts_with(refused), "{text}");
    assert_eq!(lines[2..], ["later: Hello, you!", "closed again"]);
}

#[test]
fn compression_weighs_a_call_without_and_with_each() {
    let text = run(env!("CARGO_BIN_EXE_compression"), &[]);
    let weights: Vec<(&str, u64)> = text
        .lines()
        .map(|line| {
            let (name, rest) = line.split_once(": ").expect(line);
            let (bytes, _) = rest.split_once(' ').expect(line);
            (name, bytes.parse().expect(line))
        })
        .collect();
    let names: Vec<_> = weights.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["plain", "gzip", "deflate", "zstd"]);
    let plain = weights[0].1;
    assert!(plain > 38_000, "{text}");
    assert!(
        weights[1..].iter().all(|(_, bytes)| bytes * 10 < plain),
        "{text}"
    );
}

#[test]
fn gateway_calls_saves_and_shows_what_it_could_not_save() {
    let mut gateway = Serving::start(
        program(env!("CARGO_BIN_EXE_gateway"), &[], &[]),
        "Try, in another terminal:",
    );
    let said = gateway.wait("/switches");
    let (_, rest) = said.split_once("http://").expect("an address");
    let (address, _) = rest.split_once('/').expect("a path");
    let get_user = "POST /com.example.UserService/getUser";
    let tag = "x-env-tag: gray\r\n";
    for (request, headers, body, status, wanted) in [
        (get_user, "", r#"["ada"]"#, "200", "\"name\":\"Ada\""),
        (
            get_user,
            "",
            r#"["nemo"]"#,
            "422",
            "com.example.NoSuchUserException: ",
        ),
        (get_user, "", "ada", "400", "not a JSON array"),
        (
            get_user,
            tag,
            r#"["lost"]"#,
            "503",
            "3 of 3 attempts failed",
        ),
        (
            "GET /dead-letters",
            "",
            "",
            "200",
            "getUser<td>exhausted<td>3<td>gray<td>services",
        ),
        ("POST /dead-letters/replay", "", "", "200", "0 of 1 worked"),
        ("POST /mend", "", "", "200", "mended"),
        ("POST /dead-letters/replay", "", "", "200", "1 of 1 worked"),
        ("GET /dead-letters", "", "", "200", "said\n</table>"),
        (
            "PUT /switches",
            "",
            "{retry.enabled: false}",
            "200",
            "switched",
        ),
        (
            "PUT /switches",
            "",
            "{retry.enabled: perhaps}",
            "400",
            "retry.enabled",
        ),
        ("GET /switches", "", "", "200", "retry_enabled: false"),
        ("GET /nothing", "", "", "404", "POST /INTERFACE/METHOD"),
    ] {
        let answer = http1(address, request, headers, body);
        let start = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&start), "{request} {body}: {answer}");
        assert!(
            answer.contains(wanted),
            "{request} {body}: {wanted:?} is not in {answer}"
        );
    }
}

/// The whole answer to one request.
fn http1(address: &str, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("somebody listens");
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )
    .expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("is text");
    answer
}

#[test]
fn custom_extension_uses_plugins_of_a_third_party_by_name() {
    let text = run(env!("CARGO_BIN_EXE_custom-extension"), &[]);
    let want = "Hello, Ada, from cheap!\nHello, Grace, from cheap!\n\
                unavailable: We are sorry. Please call 555-0100. (nobody there)\n";
    assert_eq!(text, want);
}

#[test]
fn non_idl_shows_beans_lists_and_exceptions() {
    let text = run(env!("CARGO_BIN_EXE_non-idl"), &[]);
    for line in [
        "User { id: \"ada\", name: \"Ada\", age: 36, level: Admin, friend: None }",
        "2 users",
        "Ada is now Countess",
        "business: com.example.NoSuchUserException: no user nobody",
        "missing: Some(\"nobody\")",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn dubbo_protocol_calls_itself_over_the_classic_protocol() {
    let text = run(env!("CARGO_BIN_EXE_dubbo-protocol"), &["--exit"]);
    let want = "User { id: \"grace\", name: \"Grace\", age: 85, level: Member, friend: None }\n\
                missing: Some(\"nobody\")\n";
    assert_eq!(text, want);
}

#[test]
fn multi_protocol_serves_two_protocols_and_json_on_one_port() {
    let text = run(env!("CARGO_BIN_EXE_multi-protocol"), &[]);
    for line in [
        "com.example.UserService:1.0.0 at tri://0.0.0.0:20881",
        "com.example.UserService:1.0.0 at dubbo://0.0.0.0:20881",
        "greet.Greeter at tri://0.0.0.0:20881",
        "over-triple: Ada",
        "over-dubbo: Ada",
        "as JSON: {\"id\":\"ada\",\"name\":\"Ada\",\"age\":36,\"level\":\"ADMIN\",\"friend\":null}",
        "Hello, Dubbo!",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn generic_calls_without_types() {
    let text = run(env!("CARGO_BIN_EXE_generic"), &[]);
    for line in [
        "value: {\"class\": \"com.example.User\", \"id\": \"ada\"",
        "json: [{\"class\":\"com.example.User\",\"id\":\"ada\"",
        "typed: User { id: \"grace\"",
        "thrown: Some(\"com.example.NoSuchUserException\")",
        "echo: \"still there?\"",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn metadata_admin_shows_what_an_operator_sees() {
    let text = run(env!("CARGO_BIN_EXE_metadata-admin"), &[]);
    for line in [
        "inside: com.example.UserService:1.0.0:tri, greet.Greeter:tri under ",
        "outside: greet.Greeter:tri under ",
        "what is only inside: [\"com.example.UserService:1.0.0:tri\"]",
        "greet.Greeter in the report of inside: ",
        "outside has 127.0.0.1:",
        "outside has nobody any more",
        "the shop is closed: true",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
}

#[test]
fn migration_moves_a_consumer_from_interfaces_to_the_application_and_back() {
    let text = run(env!("CARGO_BIN_EXE_migration"), &[]);
    let rules: Vec<_> = text.split("rule: ").skip(1).collect();
    let lines = [
        ("FORCE_INTERFACE", "I(1)", "  0 calls by the application, "),
        ("APPLICATION_FIRST", "AF(I-1,A-1)", "1.00 ≥ 1\n"),
        ("FORCE_APPLICATION", "A(1)", ", 0 by the interface: "),
        ("FORCE_INTERFACE", "I(1)", "  0 calls by the application, "),
        ("APPLICATION_FIRST", "AF(I-1,A-1)", ", 0 by the interface: "),
    ];
    assert_eq!(rules.len(), lines.len(), "{text}");
    for (rule, (step, short, calls)) in rules.iter().zip(lines) {
        let status = format!("{step} in greet.Greeter at registry memory://local: {short}\n");
        assert!(rule.contains(&status), "{status} in {rule}");
        assert!(rule.contains(calls), "{calls} in {rule}");
        assert!(
            !rule.contains("  0 calls by the application, 0 by"),
            "{rule}"
        );
    }
    assert!(
        text.ends_with(" calls, and none of them failed\n"),
        "{text}"
    );
}

#[tokio::test]
async fn openapi_serves_documents_of_its_services() {
    let mut provider = Serving::start(
        program(env!("CARGO_BIN_EXE_openapi"), &[], &[]),
        "Try, in another terminal:",
    );
    let said = provider.wait("serving");
    let addresses: Vec<&str> = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("curl http://"))
        .collect();
    assert_eq!(addresses.len(), 4, "{said}");
    let want = [
        "\"title\": \"Greetings and users\"",
        "/greet.Greeter/Greet:",
        "/com.example.UserService/getUser:",
        "swagger-ui-bundle.js",
    ];
    for (address, want) in addresses.iter().zip(want) {
        let (host, path) = address.split_once('/').expect("a path");
        let mut client = Client::connect(host.parse().expect("an address")).await;
        let request = http::Request::get(format!("http://{host}/{path}"));
        let mut call = client.open(request.body(()).expect("legal"), true).await;
        assert_eq!(call.response().await.status, 200, "{address}");
        let page = String::from_utf8(call.body().await).expect("text");
        assert!(page.contains(want), "{want:?} is not in {address}:\n{page}");
    }
    provider.stop();
}
