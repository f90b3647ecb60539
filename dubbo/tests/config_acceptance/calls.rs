//! What a configuration makes of calls: filters, timeouts, retries and limits.

use std::{sync::Arc, time::Duration};

use dubbo::{Code, Filter, Instance, InstanceBuilder, Invocation, Next, RpcResult, Status};
use examples::greet::{GreeterClient, GreeterServer};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::rig::{
    answering, consume, greet, load, named, patience, provide, refusal, request, url_of,
};

/// Counts the calls that come by.
#[derive(Default)]
struct Audit(Mutex<usize>);

#[async_trait::async_trait]
impl Filter for Audit {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        *self.0.lock() += 1;
        next.run(invocation).await
    }
}

fn with(builder: InstanceBuilder, audit: &Arc<Audit>) -> InstanceBuilder {
    let audit = Arc::clone(audit);
    builder.extension::<dyn Filter>("audit", move |_| Ok(Arc::<Audit>::clone(&audit)))
}

#[tokio::test]
async fn config_a09_filters_stand_behind_those_that_are_built_in_unless_these_are_taken_out() {
    for (filter, want, audited) in [
        ("audit", Err(Code::PermissionDenied), 0),
        ("'-default,audit'", Ok("x".to_owned()), 1),
        ("'-token,audit'", Ok("x".to_owned()), 1),
    ] {
        let audit = Arc::<Audit>::default();
        let yaml = format!(
            "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, \
             provider: {{services: {{greet.Greeter: {{token: secret, filter: {filter}}}}}}}}}"
        );
        let provider = with(load(&yaml), &audit)
            .provide(named("x"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let greeter = consume(&url_of(&provider), "retries: 0").await;
        let answer = greet(&greeter).await.map_err(|status| status.code());
        assert_eq!(answer, want, "{filter}");
        assert_eq!(
            *audit.0.lock(),
            audited,
            "{filter}: the built-in ones come first"
        );
    }
    let provider = provide("", named("x")).await;
    for filter in ["'audit,-cshutdown'", "'default,audit'", "audit"] {
        let audit = Arc::<Audit>::default();
        let yaml = format!(
            "dubbo: {{consumer: {{references: {{GreeterClient: {{url: '{}', filter: {filter}}}}}}}}}",
            url_of(&provider)
        );
        let consumer = with(load(&yaml), &audit).build().expect("valid");
        let greeter: GreeterClient = consumer.refer().await.expect("refers");
        greet(&greeter).await.expect("answers");
        assert_eq!(*audit.0.lock(), 1, "{filter}");
    }
    for section in ["provider: {filter: adit}", "consumer: {filter: adit}"] {
        let error = with(load(&format!("dubbo: {{{section}}}")), &Arc::default()).build();
        let error = error.expect_err(section).to_string();
        assert!(error.contains("no filter is called `adit`"), "{error}");
        assert!(error.contains("did you mean `audit`?"), "{error}");
    }
}

/// A service that never answers.
struct Mute;

impl examples::greet::Greeter for Mute {
    async fn greet(
        &self,
        _: dubbo::Request<examples::greet::GreetRequest>,
    ) -> Result<dubbo::Response<examples::greet::GreetResponse>, Status> {
        std::future::pending().await
    }

    async fn greet_many(
        &self,
        _: dubbo::Request<examples::greet::GreetRequest>,
    ) -> Result<dubbo::Response<dubbo::Streaming<examples::greet::GreetResponse>>, Status> {
        std::future::pending().await
    }

    async fn greet_all(
        &self,
        _: dubbo::Request<dubbo::Streaming<examples::greet::GreetRequest>>,
    ) -> Result<dubbo::Response<examples::greet::GreetResponse>, Status> {
        std::future::pending().await
    }

    async fn greet_each(
        &self,
        _: dubbo::Request<dubbo::Streaming<examples::greet::GreetRequest>>,
    ) -> Result<dubbo::Response<dubbo::Streaming<examples::greet::GreetResponse>>, Status> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn config_a10_the_nearest_timeout_ends_a_call() {
    let provider = provide("", GreeterServer::new(Mute)).await;
    let url = url_of(&provider);
    let client = |options: &'static str| {
        let yaml = format!(
            "dubbo: {{consumer: {{request-timeout: 3s, references: {{GreeterClient: {{url: '{url}', retries: 0, {options}}}}}}}}}"
        );
        async move {
            let instance = load(&yaml).build().expect("valid");
            instance.refer::<GreeterClient>().await.expect("refers")
        }
    };
    let millis = Duration::from_millis;
    let method = client("timeout: 800ms, methods: [{name: Greet, timeout: 200ms}]").await;
    let reference = client("timeout: 800ms, methods: [{name: GreetMany, timeout: 200ms}]").await;
    let bare = client("timeout: 300").await;
    let ended = Mutex::new(Vec::new());
    let time = async |what: &'static str,
                      least: Duration,
                      greeter: &GreeterClient,
                      own: Option<Duration>| {
        let began = Instant::now();
        let call = greeter.greet(request());
        let call = match own {
            Some(own) => call.timeout(own),
            None => call,
        };
        let status = call.await.expect_err("nobody answers");
        assert_eq!(status.code(), Code::DeadlineExceeded, "{what}: {status}");
        let took = began.elapsed();
        assert!(took >= least && took < millis(3_000), "{what}: {took:?}");
        ended.lock().push(what);
    };
    tokio::join!(
        time("reference", millis(800), &reference, None),
        time("bare number", millis(300), &bare, None),
        time("method", millis(200), &method, None),
        time("call", millis(50), &method, Some(millis(50))),
    );
    assert_eq!(
        *ended.lock(),
        ["call", "method", "bare number", "reference"]
    );
}

/// A provider that counts its calls, and fails them with what `fails` says.
async fn counting(fails: Option<fn() -> Status>) -> (Instance, Arc<Mutex<usize>>) {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let service = answering(move |_| {
        *counted.lock() += 1;
        fails.map_or_else(|| Ok("alive".to_owned()), |status| Err(status()))
    });
    (provide("", service).await, calls)
}

#[tokio::test]
async fn config_a11_a_call_has_the_attempts_that_retries_allow_and_no_provider_twice() {
    let down = || Status::unavailable("down");
    let dead = [counting(Some(down)).await, counting(Some(down)).await];
    let (live, _) = counting(None).await;
    let urls = [url_of(&dead[0].0), url_of(&dead[1].0), url_of(&live)].join(";");
    let greeter = consume(&urls, "retries: 1, loadbalance: roundrobin").await;
    let attempts = || {
        dead.iter()
            .map(|(_, calls)| std::mem::take(&mut *calls.lock()))
            .collect::<Vec<_>>()
    };
    let mut outcomes = [0, 0, 0];
    for _ in 0..30 {
        let answer = greet(&greeter).await;
        match (answer, attempts().as_slice()) {
            (Ok(_), [0, 0]) => outcomes[0] += 1,
            (Ok(_), [1, 0] | [0, 1]) => outcomes[1] += 1,
            (Err(status), [1, 1]) => {
                assert_eq!(status.code(), Code::Unavailable);
                outcomes[2] += 1;
            }
            (answer, attempts) => panic!("{answer:?} after {attempts:?} at the dead"),
        }
    }
    assert!(
        outcomes[1] + outcomes[2] > 0,
        "no call met a dead one: {outcomes:?}"
    );

    let once = greeter.greet(request()).attach("retries", "0").await;
    assert_eq!(attempts().iter().sum::<usize>(), usize::from(once.is_err()));

    let (business, calls) = counting(Some(|| Status::business("sold out"))).await;
    let greeter = consume(&url_of(&business), "retries: 1").await;
    let status = greet(&greeter).await.expect_err("sold out");
    assert_eq!(
        (status.code(), *calls.lock()),
        (Code::Business, 1),
        "it is no failure to try again"
    );
}

#[tokio::test]
async fn config_a12_calls_beyond_a_limit_are_refused_of_the_service_and_of_a_method() {
    // A minute and not a second, so that none passes while the test runs.
    let limits = "provider: {services: {greet.Greeter: {tps.limiter: default, tps.limit.rate: 5, \
                  tps.limit.interval: 60000, tps.limit.strategy: fixedWindow, \
                  methods: [{name: GreetMany, tps.limit.rate: 1, tps.limit.interval: 60000}]}}}";
    let provider = provide(&format!(", {limits}"), named("x")).await;
    let greeter = consume(&url_of(&provider), "retries: 0").await;
    for call in 1..=7 {
        let answer = greet(&greeter).await.map_err(|status| status.code());
        let want = if call <= 5 {
            Ok("x".to_owned())
        } else {
            Err(Code::ResourceExhausted)
        };
        assert_eq!(answer, want, "call {call}");
    }
    for (call, is_served) in [(1, true), (2, false)] {
        let answer = greeter.greet_many(request()).await;
        let answer = match answer {
            Ok(answer) => answer.into_message().message().await.map(drop),
            Err(status) => Err(status),
        };
        assert_eq!(
            answer.is_ok(),
            is_served,
            "call {call} of the method: {answer:?}"
        );
    }
    let error = refusal("dubbo: {provider: {services: {S: {tps.limit.strategy: slowest}}}}");
    assert!(
        error.contains("dubbo.provider.services.S.tps.limit.strategy"),
        "{error}"
    );
}

/// §1.6: a bare number is milliseconds, zero is no limit, and neither is the same as nothing.
#[tokio::test]
async fn zero_and_bare_numbers_mean_what_they_say() {
    let provider = provide("", answering(|request| Ok(patience(request)))).await;
    for (options, want) in [
        ("timeout: 9000", "9"),
        ("timeout: 9s", "9"),
        ("timeout: 0", "for ever"),
        ("check: true", "3"),
    ] {
        let greeter = consume(&url_of(&provider), options).await;
        assert_eq!(greet(&greeter).await.expect("answers"), want, "{options}");
    }
    let error = refusal("dubbo: {protocols: {tri: {triple: {keep-alive-interval: abc}}}}");
    assert!(
        error.contains(
            "dubbo.yaml:1:57: dubbo.protocols.tri.triple.keep-alive-interval: expected a duration"
        ),
        "{error}"
    );
}
