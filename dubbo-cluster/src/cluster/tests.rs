// Long because one table of scripted providers serves all that Dubbo's own rules say.
//! How failover and failfast behave, on scripted providers and a paused clock.

use std::{
    collections::HashMap,
    error::Error as _,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Candidates, ClusterConfig, Directory, MethodConfig, Node, NodeList},
    explain::Step,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::ServiceKey,
    status::{Code, Origin, Status},
    url::Url,
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use super::{FailedCall, Failfast, Failover};
use crate::{
    loadbalance::{Clock, RoundRobin},
    testing::{Answer, Fixed, Scripted, consumer, invocation, invocation_of, join, service, url},
};

const ATTEMPT: Duration = Duration::from_millis(400);

fn method(retries: i32) -> MethodConfig {
    MethodConfig {
        timeout: Some(ATTEMPT),
        retries: Some(retries),
        sticky: false,
        load_balance: Arc::new(RoundRobin::new(Clock::new(|| 0))),
    }
}

fn config(retries: i32, methods: &HashMap<String, MethodConfig>) -> Arc<ClusterConfig> {
    let key = ServiceKey::new("a.B");
    Arc::new(ClusterConfig::new(
        key,
        &service(),
        consumer(),
        method(retries),
        methods,
    ))
}

fn failover(retries: i32, providers: &[Arc<Scripted>]) -> Arc<dyn Invoker> {
    join(
        &Failover,
        Fixed::of(providers),
        config(retries, &HashMap::new()),
    )
}

fn failfast(providers: &[Arc<Scripted>]) -> Arc<dyn Invoker> {
    join(&Failfast, Fixed::of(providers), config(2, &HashMap::new()))
}

/// Providers at ports 1 to `N`, each of which gives the same answer for ever.
fn providers<const N: usize>(answer: &Answer) -> [Arc<Scripted>; N] {
    std::array::from_fn(|index| {
        let port = u16::try_from(index + 1).expect("few");
        Scripted::with(port, [answer.clone()])
    })
}

fn unavailable() -> Answer {
    Answer::Fail(Status::unavailable("refused").with_origin(Origin::Transport))
}

fn call_counts(providers: &[Arc<Scripted>]) -> Vec<usize> {
    providers
        .iter()
        .map(|provider| provider.calls().len())
        .collect()
}

/// The ports and codes of the attempts that `status` tells of.
fn story(status: &Status) -> Vec<(u16, Code)> {
    let failed: &FailedCall = status
        .source()
        .expect("a story")
        .downcast_ref()
        .expect("a failed call");
    failed
        .attempts
        .iter()
        .map(|attempt| {
            (
                attempt.node.port().expect("has a port"),
                attempt.status.code(),
            )
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn cluster_t15_every_attempt_goes_to_another_provider_without_a_pause() {
    let all = providers::<3>(&unavailable());
    let start = Instant::now();
    let status = failover(2, &all)
        .invoke(invocation())
        .await
        .expect_err("all fail");
    assert_eq!(call_counts(&all), [1, 1, 1]);
    assert_eq!(start.elapsed(), Duration::ZERO);
    let codes = [Code::Unavailable; 3];
    assert_eq!(
        story(&status),
        [1, 2, 3].into_iter().zip(codes).collect::<Vec<_>>()
    );
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.origin(), Origin::Transport);
    let text = status.message();
    for part in [
        "calling First of a.B: 3 of 3 attempts failed: tri://10.0.0.1:1 unavailable after 0µs, tri://10.0.0.1:2",
        "; 3 candidates from a test)",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(text.starts_with("refused ("), "{text}");
}

#[tokio::test(start_paused = true)]
async fn cluster_t15_with_fewer_providers_than_attempts_an_available_one_is_tried_again() {
    let two = providers::<2>(&unavailable());
    let status = failover(2, &two)
        .invoke(invocation())
        .await
        .expect_err("all fail");
    assert_eq!(call_counts(&two).iter().sum::<usize>(), 3);
    assert_eq!(story(&status).len(), 3);

    let [lone] = providers::<1>(&unavailable());
    lone.set_available(false);
    let status = failover(2, &[Arc::clone(&lone)])
        .invoke(invocation())
        .await
        .expect_err("fails");
    assert_eq!(
        lone.calls().len(),
        1,
        "unavailable, and has failed the call already"
    );
    assert!(
        status
            .message()
            .contains("each provider has failed it and none is available"),
        "{status}"
    );
    assert_eq!(status.code(), Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn cluster_t18_the_number_of_attempts_comes_from_the_call_then_the_method_then_the_reference()
{
    let methods = HashMap::from([("First".to_owned(), method(1))]);
    for (name, attachment, want) in [
        ("Second", None, 4),
        ("First", None, 2),
        ("First", Some("0"), 1),
        ("First", Some(" 2 "), 3),
        ("First", Some("-1"), 1),
        ("First", Some("abc"), 2),
        ("First", Some(""), 2),
    ] {
        let all = providers::<5>(&unavailable());
        let cluster = join(&Failover, Fixed::of(&all), config(3, &methods));
        let mut invocation = invocation_of(name);
        if let Some(retries) = attachment {
            invocation.attachments.insert("retries", retries);
        }
        cluster.invoke(invocation).await.expect_err("all fail");
        assert_eq!(
            call_counts(&all).iter().sum::<usize>(),
            want,
            "{name} {attachment:?}"
        );
        let number = attachment.is_some_and(|text| text.trim().parse::<i64>().is_ok());
        let want = attachment.filter(|_| !number);
        for got in all.iter().flat_map(|provider| provider.calls()) {
            assert_eq!(got.retries.as_deref(), want, "what is a number is not sent");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_errors_that_another_provider_may_not_give_are_tried_again() {
    let remote = |code| Status::new(code, "x").with_origin(Origin::Remote);
    for (status, attempts) in [
        (Status::business("no"), 1),
        (Status::unknown("boom").with_origin(Origin::Business), 1),
        (remote(Code::Business), 1),
        (remote(Code::InvalidArgument), 1),
        (remote(Code::NotFound), 1),
        (remote(Code::Unimplemented), 1),
        (remote(Code::Canceled), 1),
        (remote(Code::Unknown), 3),
        (remote(Code::Internal), 3),
        (remote(Code::DeadlineExceeded), 3),
        (remote(Code::ResourceExhausted), 3),
        (remote(Code::Canceled).not_processed(), 3),
    ] {
        let all = providers::<3>(&Answer::Fail(status.clone()));
        let got = failover(2, &all)
            .invoke(invocation())
            .await
            .expect_err("all fail");
        assert_eq!(
            call_counts(&all).iter().sum::<usize>(),
            attempts,
            "{status:?}"
        );
        assert_eq!(got.code(), status.code());
        if attempts == 1 {
            assert_eq!(got.message(), status.message(), "an answer comes as it is");
            assert!(got.source().is_none());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_ends_the_attempts() {
    let all = [
        Scripted::with(1, [unavailable()]),
        Scripted::at(2),
        Scripted::at(3),
    ];
    failover(2, &all)
        .invoke(invocation())
        .await
        .expect("the second answers");
    assert_eq!(call_counts(&all), [1, 1, 0]);

    let refusal = Answer::Fail(Status::business("no such user"));
    let all = [
        Scripted::with(1, [unavailable()]),
        Scripted::with(2, [refusal]),
    ];
    let status = failover(2, &all)
        .invoke(invocation())
        .await
        .expect_err("refused");
    assert_eq!(status.message(), "no such user");
    assert_eq!(call_counts(&all), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn cluster_t19_the_deadline_bounds_all_attempts_together() {
    let all = providers::<3>(&Answer::Hang);
    let start = Instant::now();
    let mut invocation = invocation();
    invocation.deadline = Some(start + Duration::from_secs(1));
    let status = failover(2, &all)
        .invoke(invocation)
        .await
        .expect_err("all hang");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(start.elapsed().as_millis(), 1_000);
    let got: Vec<_> = all
        .iter()
        .flat_map(|provider| provider.calls())
        .map(|got| {
            (
                got.at.duration_since(start).as_millis(),
                got.time.map(|t| t.as_millis()),
            )
        })
        .collect();
    assert_eq!(got, [(0, Some(400)), (400, Some(400)), (800, Some(200))]);
}

#[tokio::test(start_paused = true)]
async fn cluster_t19_no_attempt_starts_when_its_time_is_nearly_up() {
    for (time, attempts) in [(409, 1), (411, 2), (0, 0)] {
        let all = providers::<3>(&Answer::Hang);
        let mut invocation = invocation();
        invocation.deadline = Some(Instant::now() + Duration::from_millis(time));
        let status = failover(2, &all)
            .invoke(invocation)
            .await
            .expect_err("all hang");
        assert_eq!(
            call_counts(&all).iter().sum::<usize>(),
            attempts,
            "{time} ms"
        );
        assert_eq!(status.code(), Code::DeadlineExceeded);
        let why = if attempts == 0 {
            "its deadline passed before the first attempt"
        } else {
            "the caller's deadline leaves no time for it"
        };
        assert!(status.message().contains(why), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn unary_calls_get_the_configured_timeout_and_streams_only_the_callers() {
    let own = Duration::from_millis(50);
    for (method, asked, want) in [
        ("First", None, Some(ATTEMPT)),
        ("First", Some(own), Some(own)),
        ("Download", None, None),
        ("Download", Some(own), Some(own)),
        ("Upload", None, None),
    ] {
        let one = Scripted::at(1);
        let mut invocation = invocation_of(method);
        invocation.timeout = asked;
        failover(2, &[Arc::clone(&one)])
            .invoke(invocation)
            .await
            .expect("answers");
        assert_eq!(one.calls()[0].time, want, "{method} {asked:?}");
        let one = Scripted::at(1);
        let mut invocation = invocation_of(method);
        invocation.timeout = asked;
        failfast(&[Arc::clone(&one)])
            .invoke(invocation)
            .await
            .expect("answers");
        assert_eq!(one.calls()[0].time, want, "failfast: {method} {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_requests_has_one_attempt_and_the_error_says_so() {
    let refused = Answer::Fail(Status::unavailable("GOAWAY").not_processed());
    let all = providers::<3>(&refused);
    let status = failover(2, &all)
        .invoke(invocation_of("Upload"))
        .await
        .expect_err("fails");
    assert_eq!(call_counts(&all), [1, 0, 0]);
    assert!(
        status
            .message()
            .contains("requests are a stream, which cannot be sent twice"),
        "{status}"
    );
    assert!(
        status.is_not_processed(),
        "the caller may send it again itself"
    );

    let all = providers::<3>(&refused);
    failover(2, &all)
        .invoke(invocation_of("Download"))
        .await
        .expect_err("fails");
    assert_eq!(
        call_counts(&all),
        [1, 1, 1],
        "one request can be sent again"
    );
}

#[tokio::test(start_paused = true)]
async fn what_does_not_keep_to_the_deadline_is_ended() {
    let all = providers::<2>(&Answer::Deaf);
    let start = Instant::now();
    let status = failover(1, &all)
        .invoke(invocation())
        .await
        .expect_err("never answers");
    assert_eq!(start.elapsed().as_millis(), 2 * (400 + 10));
    assert_eq!(
        story(&status),
        [(1, Code::DeadlineExceeded), (2, Code::DeadlineExceeded)]
    );
    assert!(
        status
            .message()
            .contains("does not keep to the deadline (calling First"),
        "{status}"
    );
}

/// Lists other providers each time it is asked.
struct Changing {
    lists: Mutex<Vec<Vec<Arc<Scripted>>>>,
    inner: Arc<Fixed>,
}

#[async_trait]
impl Directory for Changing {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        let mut lists = self.lists.lock();
        if !lists.is_empty() {
            self.inner.set(&lists.remove(0));
        }
        self.inner.list(invocation)
    }

    fn nodes(&self) -> Arc<NodeList> {
        self.inner.nodes()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.inner.why_unavailable()
    }

    fn explain(&self, _: &Invocation) -> Vec<Step> {
        Vec::new()
    }

    fn consumer_url(&self) -> &Url {
        self.inner.consumer_url()
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        self.inner.availability()
    }

    async fn close(&self) {}
}

#[tokio::test(start_paused = true)]
async fn cluster_t17_the_list_is_read_anew_for_each_attempt() {
    let [a, b] = providers::<2>(&unavailable());
    let c = Scripted::at(3);
    let directory = |lists: Vec<Vec<Arc<Scripted>>>| {
        Arc::new(Changing {
            lists: Mutex::new(lists),
            inner: Fixed::of(&[]),
        })
    };
    let lists = vec![vec![Arc::clone(&a), Arc::clone(&b)], vec![Arc::clone(&c)]];
    join(&Failover, directory(lists), config(2, &HashMap::new()))
        .invoke(invocation())
        .await
        .expect("the newcomer answers");
    assert_eq!(call_counts(&[a.clone(), b, c]), [1, 0, 1]);

    let emptied = directory(vec![vec![a], vec![]]);
    let status = join(&Failover, emptied, config(2, &HashMap::new()))
        .invoke(invocation())
        .await
        .expect_err("all left");
    assert_eq!(story(&status), [(1, Code::Unavailable)]);
    let want = "nobody is there (calling First of a.B: 1 of 3 attempts failed: ";
    assert!(status.message().starts_with(want), "{status}");
    assert!(
        !status.is_not_processed(),
        "the first attempt may have been done"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_provider_the_directorys_own_words_are_the_error() {
    for cluster in [failover(2, &[]), failfast(&[])] {
        let status = cluster.invoke(invocation()).await.expect_err("nobody");
        assert_eq!(status.message(), "nobody is there");
        assert!(status.is_not_processed() && !cluster.is_available());
    }
}

#[tokio::test(start_paused = true)]
async fn failfast_makes_one_attempt_even_on_an_unavailable_provider_and_says_where() {
    let all = providers::<2>(&unavailable());
    for provider in &all {
        provider.set_available(false);
    }
    let cluster = failfast(&all);
    assert!(!cluster.is_available());
    let status = cluster.invoke(invocation()).await.expect_err("fails");
    assert_eq!(call_counts(&all), [1, 0]);
    assert_eq!(story(&status), [(1, Code::Unavailable)]);
    assert_eq!(
        status.message(),
        "refused (calling First of a.B: 1 of 1 attempts failed: tri://10.0.0.1:1 unavailable after 0µs; \
         2 candidates from a test)"
    );

    let refused = Status::business("no").with_detail(&7_i64);
    let all = providers::<1>(&Answer::Fail(refused));
    let status = failfast(&all)
        .invoke(invocation())
        .await
        .expect_err("refused");
    assert_eq!((status.message(), status.detail::<i64>()), ("no", Some(7)));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_stops_trying() {
    let all = providers::<3>(&Answer::Hang);
    let cluster = failover(2, &all);
    let gone = tokio::time::timeout(Duration::from_millis(500), cluster.invoke(invocation())).await;
    assert!(gone.is_err());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(call_counts(&all), [1, 1, 0]);
    assert_eq!(cluster.in_flight(), 0);
}

/// Marks what it sees: no attempt may see the mark of another.
struct Marking(Url, AtomicUsize);

#[async_trait]
impl Invoker for Marking {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, mut invocation: Invocation) -> RpcResult {
        assert!(
            !invocation.attachments.contains("mark"),
            "seen in a later attempt"
        );
        assert!(invocation.extensions.get::<&str>().is_none());
        invocation.attachments.insert("mark", "1");
        invocation.extensions.insert("mark");
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Err(Status::unavailable("no"))
    }
}

#[tokio::test]
async fn cluster_t36_attempts_do_not_see_what_filters_of_earlier_ones_attached() {
    let marking = Arc::new(Marking(url(1), AtomicUsize::new(0)));
    let directory = Fixed::of(&[]);
    directory.set_nodes([Node::new(
        Arc::clone(&marking) as _,
        dubbo_core::cluster::NodeWeight::constant(1),
    )]);
    let cluster = join(&Failover, directory, config(2, &HashMap::new()));
    cluster.invoke(invocation()).await.expect_err("fails");
    assert_eq!(marking.1.load(std::sync::atomic::Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn random_scripts_never_break_the_rules_of_failover() {
    let mut random = fastrand::Rng::with_seed(42);
    for round in 0..300 {
        let count = random.u16(1..6);
        let retries = random.u16(0..5);
        let all: Vec<_> = (1..=count)
            .map(|port| {
                let answer = match random.u8(0..4) {
                    0 => Answer::After(Duration::from_millis(random.u64(0..300))),
                    1 => unavailable(),
                    2 => Answer::Fail(Status::business("no")),
                    _ => Answer::Hang,
                };
                let provider = Scripted::with(port, [answer]);
                provider.set_available(random.u8(0..4) > 0);
                provider
            })
            .collect();
        let start = Instant::now();
        let total = Duration::from_millis(random.u64(1..2_000));
        let mut invocation = invocation();
        invocation.deadline = Some(start + total);
        let result = failover(retries.into(), &all).invoke(invocation).await;

        let counts = call_counts(&all);
        let made: usize = counts.iter().sum();
        let context = format!("round {round}: {counts:?}, {retries} retries, {result:?}");
        assert!((1..=usize::from(retries) + 1).contains(&made), "{context}");
        assert!(
            start.elapsed() <= total + Duration::from_millis(1),
            "{context}"
        );
        let spread = counts.iter().filter(|&&count| count > 0).count();
        let available = all
            .iter()
            .filter(|provider| provider.is_available())
            .count();
        assert!(
            spread >= made.min(available),
            "nobody twice while another is available: {context}"
        );
    }
}

#[tokio::test]
async fn calls_that_fail_at_once_leave_time_for_others() {
    let soon = Duration::from_millis(50);
    let mut stubborn = invocation();
    stubborn.attachments.insert("retries", "4000000000");
    let call = failover(2, &providers::<2>(&unavailable()));
    let ended = tokio::time::timeout(soon, call.invoke(stubborn)).await;
    ended.expect_err("no attempt works, and billions are allowed");

    let [failing] = providers::<1>(&unavailable());
    for cluster in [
        failover(0, &[Arc::clone(&failing)]),
        failover(0, &[]),
        failfast(&[failing]),
        failfast(&[]),
    ] {
        let tries = async { while cluster.invoke(invocation()).await.is_err() {} };
        let ended = tokio::time::timeout(soon, tries).await;
        ended.expect_err("no call works");
    }
}
