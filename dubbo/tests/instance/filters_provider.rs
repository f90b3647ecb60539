//! What the built-in filters of a provider do, from the keys of its configuration to the wire.

use std::time::Duration;

use dubbo::{Code, Instance, Status, spi::registry::Registry};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::sync::mpsc;

use super::{
    probe::Probe,
    rig::{answering, consume, desk, greet, load, named, provide, reference, request, url_of},
};

/// Starts a provider whose service says what attachments it got, with these options.
async fn telling(options: &str) -> Instance {
    let service = answering(|request| {
        let mut names: Vec<String> = request
            .attachments()
            .iter()
            .map(|(name, _)| name.into_owned())
            .collect();
        names.sort();
        Ok(names.join(" "))
    });
    provide(&format!(", provider: {{{options}}}"), service).await
}

async fn client(provider: &Instance, options: &str) -> GreeterClient {
    consume(&url_of(provider), &format!("retries: 0, {options}")).await
}

#[tokio::test]
async fn applications_see_what_applications_sent() {
    let provider = telling("").await;
    let consumer = client(&provider, "").await;
    let call = consumer
        .greet(request("you"))
        .attach("userId", "7")
        .attach("interface", "x")
        .attach("Token", "t")
        .attach("dubbo.tag", "gray");
    let seen = call.await.expect("answers").into_message().greeting;
    let seen: Vec<&str> = seen.split(' ').collect();
    assert!(seen.contains(&"userId"), "{seen:?}");
    assert!(
        !seen
            .iter()
            .any(|name| ["interface", "token", "dubbo.tag"].contains(name)),
        "{seen:?}"
    );

    let provider = telling("filter: '-context'").await;
    let consumer = client(&provider, "").await;
    let call = consumer.greet(request("you")).attach("interface", "x");
    let seen = call.await.expect("answers").into_message().greeting;
    assert!(seen.contains("interface"), "{seen}");
}

#[tokio::test]
async fn a_countdown_of_a_caller_ends_its_call() {
    let (service, mut calls) = desk();
    let provider = provide("", service).await;
    let consumer = client(&provider, "timeout: 1m").await;
    let call = consumer.greet(request("you")).attach("_TO", "50");
    let status = call.await.expect_err("nobody answers");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("countdown"), "{status}");
    assert_eq!(calls.next().await.name, "you");
}

#[tokio::test]
async fn cluster_t40_only_the_exact_token_is_let_in_and_consumers_learn_it_from_the_registry() {
    let provider = telling("token: S3cret").await;
    for (token, want) in [
        (Some("S3cret"), Ok(())),
        (
            Some("s3cret"),
            Err("the token is not the one of the service"),
        ),
        (None, Err("a token is needed, and none came")),
    ] {
        let params = token.map(|token| format!("params: {{token: {token}}}"));
        let consumer = client(&provider, &params.unwrap_or_default()).await;
        match (greet(&consumer, "").await, want) {
            (Ok(seen), Ok(())) => assert_eq!(seen, "user-agent", "the handler does not see it"),
            (Err(status), Err(want)) => {
                assert_eq!(status.code(), Code::PermissionDenied);
                assert!(status.message().contains(want), "{status}");
            }
            (got, want) => panic!("{token:?}: {got:?} instead of {want:?}"),
        }
    }

    for token in ["s3cret", "true"] {
        let probe = Probe::new();
        let yaml = format!(
            "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, registries: {{r: {{protocol: probe, address: h}}}}, \
             provider: {{token: {token}}}}}"
        );
        let provider = load(&yaml)
            .extension::<dyn Registry>("probe", probe.plugin())
            .provide(named("in"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let registered = probe.asked("register");
        let told = registered[0].param("token").expect("it is told");
        assert_ne!(told, "true", "it is made up");
        assert!(
            token == "true" && told.len() == 32 || told == token,
            "{told}"
        );
        let consumer = load("dubbo: {registries: {r: {protocol: probe, address: h}}}")
            .extension::<dyn Registry>("probe", probe.plugin())
            .build()
            .expect("valid");
        let greeter: GreeterClient = consumer.refer().await.expect("refers");
        assert_eq!(greet(&greeter, "").await.expect("it knows it"), "in");
    }
}

#[tokio::test]
async fn signed_calls_are_let_in_and_secrets_are_told_to_nobody() {
    let keys = ".accessKeyId: ak, .secretAccessKey: s3cret";
    let probe = Probe::new();
    let yaml = format!(
        "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, registries: {{r: {{protocol: probe, address: h}}}}, \
         provider: {{auth: true, params: {{{keys}}}}}}}"
    );
    let provider = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("in"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");

    let stranger = client(&provider, "").await;
    let refused = greet(&stranger, "").await.expect_err("it is not signed");
    assert_eq!(refused.code(), Code::Unauthenticated);
    let other = ".accessKeyId: ak, .secretAccessKey: other";
    let other = client(&provider, &format!("params: {{auth: 'true', {other}}}")).await;
    let refused = greet(&other, "").await.expect_err("it has another secret");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert!(!refused.message().contains("s3cret"), "{refused}");

    let consumer = load(&format!(
        "dubbo: {{registries: {{r: {{protocol: probe, address: h}}}}, \
         consumer: {{references: {{GreeterClient: {{params: {{auth: 'true', {keys}}}}}}}}}}}"
    ))
    .extension::<dyn Registry>("probe", probe.plugin())
    .build()
    .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("refers");
    assert_eq!(greet(&greeter, "").await.expect("it is signed"), "in");
    let told = probe.asked("register");
    assert!(
        told.iter().any(|url| url.protocol() == "consumer"),
        "{told:?}"
    );
    for url in told {
        let text = url.to_string();
        assert!(
            !text.contains("s3cret") && !text.contains("accessKey"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn cluster_t12_calls_beyond_the_rate_are_refused_with_a_time_over_the_wire() {
    let limits = "tps.limiter: default, tps.limit.rate: 100, tps.limit.interval: 60000, \
                  methods: [{name: Greet, tps.limit.rate: 2}]";
    let provider = telling(&format!("services: {{greet.Greeter: {{{limits}}}}}")).await;
    let consumer = client(&provider, "").await;
    for _ in 0..2 {
        greet(&consumer, "").await.expect("there is room");
    }
    let refused = greet(&consumer, "").await.expect_err("there is no room");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.is_not_processed(), "{refused:?}");
    assert!(refused.pushback().is_some_and(|wait| wait > Duration::ZERO));
    assert!(!refused.attachments().contains("dubbo-reject"));
    consumer
        .greet_many(request(""))
        .await
        .expect("another method has its own");
}

#[tokio::test]
async fn so_many_calls_are_served_at_once() {
    let (service, mut calls) = desk();
    let provider = provide(", provider: {execute.limit: 1}", service).await;
    let consumer = client(&provider, "timeout: 1m").await;
    let first = tokio::spawn({
        let consumer = consumer.clone();
        async move { greet(&consumer, "one").await }
    });
    let waiting = calls.next().await;
    let refused = greet(&consumer, "two").await.expect_err("one is served");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().contains("execute.limit"), "{refused}");
    waiting.answer("done");
    assert_eq!(first.await.expect("no panic").expect("works"), "done");
    let second = tokio::spawn(async move { greet(&consumer, "three").await });
    calls.next().await.answer("done");
    second.await.expect("no panic").expect("works");
}

#[tokio::test]
async fn an_access_log_has_a_line_for_each_call() {
    let path =
        std::env::temp_dir().join(format!("dubbo-instance-access-{}.log", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let options = format!(
        "accesslog: '{}', params: {{accesslog.allow-file: 'true'}}",
        path.display()
    );
    let provider = telling(&options).await;
    let consumer = client(&provider, "").await;
    greet(&consumer, "").await.expect("works");
    let line = soon("a line", async {
        loop {
            let written = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some(line) = written.lines().next() {
                return line.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(
        line.contains(" -> 127.0.0.1:") && line.contains(" - greet.Greeter Greet() ok "),
        "{line}"
    );
}

#[tokio::test]
async fn cluster_t14_who_asks_an_adaptive_provider_is_told_how_much_room_is_left() {
    let provider = telling("adaptive-service: true").await;
    let consumer = client(&provider, "").await;
    let call = consumer
        .greet(request(""))
        .attach("adaptive-service.enabled", "1");
    let response = call.await.expect("there is room");
    let told = |name: &str| response.trailers().get(name);
    assert_eq!(told("adaptive-service.remaining"), Some("50"));
    assert_eq!(told("adaptive-service.inflight"), Some("0"));
    let silent = consumer.greet(request("")).await.expect("there is room");
    assert!(!silent.trailers().contains("adaptive-service.remaining"));
}

#[tokio::test]
async fn a_panic_is_told_only_where_a_filter_says_so() {
    for (options, code, message) in [
        ("", Code::Internal, "the handler panicked"),
        ("filter: exception", Code::Business, "panic: lost it"),
    ] {
        let service = answering(|_| -> Result<String, Status> { panic!("lost it") });
        let provider = provide(&format!(", provider: {{{options}}}"), service).await;
        let consumer = client(&provider, "").await;
        let status = greet(&consumer, "").await.expect_err("it panics");
        assert_eq!(
            (status.code(), status.message()),
            (code, message),
            "{options}"
        );
    }
}

#[tokio::test]
async fn the_list_of_dubbo_go_is_a_list_here() {
    let list = "filter: [echo, token, accesslog, tps, generic_service, execute, pshutdown]";
    let provider = telling(list).await;
    let consumer = client(&provider, "filter: cshutdown").await;
    greet(&consumer, "").await.expect("works");
}

#[tokio::test]
async fn cluster_t40_a_provider_that_ends_finishes_what_it_began_and_is_called_no_more() {
    let (service, mut calls) = desk();
    let ends = provide(
        ", shutdown: {step-timeout: 1m, offline-request-window-timeout: 0s}",
        service,
    )
    .await;
    let stays = provide("", named("stays")).await;
    let yaml = reference(
        &format!("{};{}", url_of(&ends), url_of(&stays)),
        "retries: 0, loadbalance: roundrobin, timeout: 1m",
    );
    let consumer = super::rig::consume_with(&yaml).await;
    let (holds, mut held) = mpsc::unbounded_channel();
    let desk = tokio::spawn(async move {
        loop {
            let call = calls.next().await;
            if call.name == "hold" {
                holds.send(call).expect("the test takes it");
            } else {
                call.answer("ends");
            }
        }
    });
    let mut running = Vec::new();
    for _ in 0..20 {
        let consumer = consumer.clone();
        running.push(tokio::spawn(async move { greet(&consumer, "hold").await }));
    }
    let mut begun = Vec::new();
    for _ in 0..10 {
        begun.push(held.recv().await.expect("the desk is there"));
    }
    let ending = tokio::spawn({
        let ends = ends.clone();
        async move { ends.shutdown(Duration::from_mins(1)).await }
    });
    soon("word of the end", async {
        let mut elsewhere = 0;
        while elsewhere < 4 {
            match &*greet(&consumer, "").await.expect("none is lost") {
                "stays" => elsewhere += 1,
                _ => elsewhere = 0,
            }
        }
    })
    .await;
    for _ in 0..20 {
        assert_eq!(greet(&consumer, "").await.expect("goes elsewhere"), "stays");
    }
    for call in begun {
        call.answer("held");
    }
    let mut answers = Vec::new();
    for call in running {
        answers.push(call.await.expect("no panic").expect("none is lost"));
    }
    assert_eq!(
        answers.iter().filter(|answer| *answer == "held").count(),
        10
    );
    soon("the end", ending).await.expect("no panic");
    desk.abort();
}
