//! The examples about running programs: how one ends, what is asked of it, and what it tells of its calls.

mod programs;

use std::{fs, io};

use programs::{Serving, program};

#[test]
fn graceful_shutdown_loses_no_call_of_a_provider_that_is_told_to_stop() {
    let folder = format!("{}/graceful-shutdown", env!("CARGO_TARGET_TMPDIR"));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{folder}: {error}"),
        _ => {}
    }
    let address = format!("file://{folder}");
    let variables = [("DUBBO_REGISTRIES_LOCAL_ADDRESS", address.as_str())];
    let part = |name| {
        let path = env!("CARGO_BIN_EXE_graceful-shutdown");
        program(path, &[name], &variables)
    };
    let answer = |of: &Serving, name| format!("Hello, {name}, from process {}!", of.id());

    let mut one = Serving::start(part("provider"), "process ");
    let mut consumer = Serving::start(part("consumer"), "says SERVING");
    one.wait("a long call is in flight");
    let other = Serving::start(part("provider"), "process ");
    consumer.wait(&answer(&other, "you"));
    let (long, short) = (answer(&one, "patience"), answer(&one, "you"));
    let told = one.stop();
    let (_, told) = told.split_once("told to stop\n").expect(&told);
    assert_eq!(told, "the long call is done\nended\n");

    let said = consumer.end();
    for line in [
        &short,
        &long,
        "says NOT_SERVING\n",
        " other calls, and 0 of them failed\n",
    ] {
        assert!(said.contains(line), "{line:?} is not in:\n{said}");
    }
    // Before the long call was answered, its provider was called no more.
    let (first, _) = said.split_once(" says SERVING").expect(&said);
    let first = first.lines().last().expect(&said);
    let last = said.lines().rfind(|it| it.starts_with("providers: "));
    let is_called = format!("(\"{first}\", None)");
    assert!(!last.expect(&said).contains(&is_called), "{said}");
    other.stop();
}

#[test]
fn probe_says_no_with_the_reason_until_what_is_checked_is_there() {
    let mut serving = Serving::start(
        program(env!("CARGO_BIN_EXE_probe"), &["--serve"], &[]),
        "it serves:",
    );
    serving.wait("serving");
    let said = serving.stop();
    let mut seen = Vec::new();
    for line in said.lines() {
        match line.split_once(" -> ") {
            Some((asked, answer)) => {
                let (_, probe) = asked.rsplit_once('/').expect(line);
                seen.push(format!("{probe} {}", answer.trim_end()));
            }
            None => seen.push(line.to_owned()),
        }
    }
    let want = [
        "it serves:",
        "live 200 ok",
        "ready 503 probe database: no connection",
        "startup 503 probe cache: it is being filled",
        "the cache is filled:",
        "live 200 ok",
        "ready 503 probe database: no connection",
        "startup 200 ok",
        "the database is there:",
        "live 200 ok",
        "ready 200 ok",
        "startup 200 ok",
        "the database is gone:",
        "live 200 ok",
        "ready 503 probe database: no connection",
        "startup 200 ok",
        "the database is back:",
        "live 200 ok",
        "ready 200 ok",
        "startup 200 ok",
        "the worker hangs:",
        "live 503 probe worker: it hangs",
        "ready 200 ok",
        "startup 200 ok",
        "the worker works:",
        "live 200 ok",
        "ready 200 ok",
        "startup 200 ok",
        "serving",
        "it ends:",
        "live 200 ok",
        "ready 503 probe internal: it is shutting down",
        "startup 200 ok",
    ];
    assert_eq!(seen, want, "{said}");
}

#[cfg(feature = "prometheus")]
#[test]
fn prometheus_shows_and_pushes_the_numbers_of_both_sides() {
    let text = programs::run(program(env!("CARGO_BIN_EXE_prometheus"), &[], &[]));
    let (page, pushed) = text
        .split_once("pushed to /metrics/job/examples\n")
        .expect(&text);
    assert!(
        page.starts_with("business: nobody is greeted\ncurl http://127.0.0.1:"),
        "{text}"
    );
    for numbers in [page, pushed] {
        for number in [
            "dubbo_provider_requests_total 4",
            "dubbo_provider_requests_succeed_total 3",
            "dubbo_provider_requests_business_failed_total 1",
            "dubbo_consumer_requests_total 4",
            "dubbo_consumer_attempts_total 4",
        ] {
            let line = format!("  {number}\n");
            assert!(numbers.contains(&line), "{number} is not in:\n{text}");
        }
        let longest = numbers
            .split_once("dubbo_provider_rt_milliseconds_p99 ")
            .expect(&text)
            .1;
        let millis = longest.lines().next().and_then(|it| it.parse::<f64>().ok());
        assert!(millis.is_some_and(|it| it > 0.0), "{text}");
    }
}

/// What a span says, wherever it was sent.
#[cfg(feature = "otel")]
#[derive(Debug)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
    kind: String,
}

#[cfg(feature = "otel")]
#[test]
fn tracing_prints_one_trace_over_both_protocols() {
    let text = programs::run(program(env!("CARGO_BIN_EXE_tracing"), &[], &[]));
    let (greeting, spans): (Vec<_>, _) = text.lines().partition(|line| !line.starts_with('{'));
    assert_eq!(greeting, ["Hello, Ada!"], "{text}");
    let spans: Vec<serde_json::Value> = (spans.into_iter())
        .map(|line: &str| serde_json::from_str(line).expect(line))
        .collect();
    let text = |span: &serde_json::Value, name: &str| span[name].as_str().expect(name).to_owned();
    let spans = spans.iter().map(|span| Span {
        trace: text(span, "trace_id"),
        id: text(span, "span_id"),
        parent: text(span, "parent_span_id"),
        name: text(span, "name"),
        kind: text(span, "kind"),
    });
    is_one_trace(spans.collect());
}

/// The collector is a program of ours: both kinds of OTLP come to one port.
#[cfg(feature = "otel")]
#[tokio::test]
async fn tracing_sends_the_same_to_a_collector_over_http_and_grpc() {
    use std::collections::BTreeSet;

    use axum::{Router, body::Bytes, http::Uri};
    use dubbo::{Instance, config::ProtocolConfig};
    use opentelemetry_proto::tonic::{
        collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value,
    };
    use prost::Message as _;

    let (sender, mut received) = tokio::sync::mpsc::channel(64);
    let take = async move |uri: Uri, body: Bytes| {
        sender.send((uri, body)).await.expect("the test reads it");
        let grpc = [("content-type", "application/grpc"), ("grpc-status", "0")];
        (grpc, Bytes::from_static(&[0; 5]))
    };
    let collector = Instance::builder()
        .protocol("tri", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .http("/", Router::new().fallback(take))
        .build()
        .expect("sound");
    collector.start().await.expect("started");
    let address = collector.mounted()[0].address();

    for (exporter, path, envelope) in [
        ("otlp-http", "/v1/traces", 0),
        (
            "otlp-grpc",
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            5,
        ),
    ] {
        let endpoint = address.clone();
        let running = tokio::task::spawn_blocking(move || {
            let variables = [
                ("DUBBO_OTEL_TRACING_EXPORTER", exporter),
                ("DUBBO_OTEL_TRACING_ENDPOINT", &endpoint),
                ("DUBBO_OTEL_TRACING_INSECURE", "true"),
            ];
            programs::run(program(env!("CARGO_BIN_EXE_tracing"), &[], &variables))
        });
        let text = running.await.expect("a good end");
        assert_eq!(text, "Hello, Ada!\n", "{exporter}");

        let (mut spans, mut programs) = (Vec::new(), BTreeSet::new());
        while let Ok((uri, body)) = received.try_recv() {
            assert_eq!(uri.path(), path);
            let request = ExportTraceServiceRequest::decode(body.slice(envelope..)).expect("OTLP");
            for of_program in request.resource_spans {
                let attributes = of_program.resource.expect("a resource").attributes;
                let name = attributes.into_iter().find(|it| it.key == "service.name");
                let Some(Value::StringValue(name)) = name.and_then(|it| it.value?.value) else {
                    panic!("a span has no program");
                };
                programs.insert(name);
                let sent = of_program.scope_spans.into_iter();
                spans.extend(sent.flat_map(|scope| scope.spans).map(|span| Span {
                    trace: hex(&span.trace_id),
                    kind: format!("{:?}", span.kind()).to_lowercase(),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    name: span.name,
                }));
            }
        }
        let programs: Vec<_> = programs.iter().map(String::as_str).collect();
        assert_eq!(programs, ["greeter", "shop", "users"], "{exporter}");
        is_one_trace(spans);
    }
    collector.shutdown(std::time::Duration::ZERO).await;
}

#[cfg(feature = "otel")]
fn hex(id: &[u8]) -> String {
    id.iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Each span is below the one before it, from the call of the shop to the answer of the users.
#[cfg(feature = "otel")]
fn is_one_trace(mut spans: Vec<Span>) {
    assert_eq!(spans.len(), 6, "{spans:?}");
    let trace = spans[0].trace.clone();
    assert!(spans.iter().all(|span| span.trace == trace), "{spans:?}");
    let is_root = |span: &Span| span.parent.chars().all(|digit| digit == '0');
    let mut parent = spans
        .iter()
        .find(|span| is_root(span))
        .expect("a root")
        .parent
        .clone();
    for name in ["Greet", "getUser"] {
        for kind in ["internal", "client", "server"] {
            let next = spans.iter().position(|span| span.parent == parent);
            let next = next.unwrap_or_else(|| panic!("{kind} of {name} is not in {spans:?}"));
            let next = spans.swap_remove(next);
            assert_eq!((&*next.name, &*next.kind), (name, kind));
            parent = next.id;
        }
    }
}

#[test]
fn logger_writes_what_its_level_lets_through_and_puts_full_files_aside() {
    let folder = format!("{}/logger", env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(&folder).expect("room");
    let text = programs::run(program(
        env!("CARGO_BIN_EXE_logger"),
        &[],
        &[("TMPDIR", &folder)],
    ));
    let (files, lines): (Vec<_>, Vec<_>) = text.lines().partition(|it| it.starts_with("file "));
    assert_eq!(files.len(), 2, "{text}");
    assert!(files.contains(&"file shop.log"), "{text}");
    let is_aside = |name: &&str| name.starts_with("file shop-2");
    assert!(files.iter().any(is_aside), "{text}");

    let lines: Vec<serde_json::Value> = (lines.iter())
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let said = |line: &serde_json::Value| format!("{} {}", line["level"], line["msg"]);
    let said: Vec<_> = lines.iter().map(said).collect();
    let want = [
        r#""INFO" "somebody is greeted""#,
        r#""DEBUG" "of interest now""#,
        r#""WARN" "the shop closes""#,
    ];
    assert_eq!(said, want, "{text}");
    assert_eq!(lines[0]["guest"], "Ada");
    assert_eq!(lines[0]["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert!(lines[1].get("trace_id").is_none(), "{text}");
}
