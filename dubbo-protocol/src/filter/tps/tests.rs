use std::sync::Barrier;

use dubbo_core::status::Code;

use super::*;
use crate::filter::tests::rig::{Provider, invocation_of};

const ALL: [Strategy; 3] = [Strategy::Fixed, Strategy::Gcra, Strategy::Sliding];

fn rate(calls: u64) -> Rate {
    let interval = Duration::from_secs(1);
    Rate { calls, interval }
}

/// How many of `calls` are taken, `millis` after the start.
fn taken(window: &Window, rate: Rate, start: Instant, millis: u64, calls: usize) -> usize {
    let now = start + Duration::from_millis(millis);
    (0..calls)
        .filter(|_| window.admit(rate, now).is_ok())
        .count()
}

#[test]
fn cluster_t12_windows_open_and_slide_and_gcra_is_steady() {
    let start = Instant::now();
    let fixed = Window::new(Strategy::Fixed);
    // The window opens at 0, with a call that the limit does not count among those below.
    assert_eq!(taken(&fixed, rate(6), start, 0, 1), 1);
    assert_eq!(taken(&fixed, rate(6), start, 999, 6), 5);
    assert_eq!(taken(&fixed, rate(5), start, 1001, 6), 5);

    let sliding = Window::new(Strategy::Sliding);
    assert_eq!(taken(&sliding, rate(5), start, 999, 6), 5);
    assert_eq!(taken(&sliding, rate(5), start, 1001, 5), 0);
    assert_eq!(taken(&sliding, rate(5), start, 1999, 5), 0);
    assert_eq!(taken(&sliding, rate(5), start, 2000, 6), 5);

    let gcra = Window::new(Strategy::Gcra);
    assert_eq!(taken(&gcra, rate(5), start, 0, 9), 5, "the burst");
    let steady = (1..=10_000).filter(|millis| taken(&gcra, rate(5), start, *millis, 3) > 0);
    let want: Vec<u64> = (1..=50).map(|nth| nth * 200).collect();
    assert_eq!(steady.collect::<Vec<_>>(), want);
}

#[test]
fn cluster_t12_many_threads_at_one_instant_get_exactly_the_rate() {
    let now = Instant::now();
    for strategy in ALL {
        let window = Window::new(strategy);
        let barrier = Barrier::new(16);
        let counted = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        (0..10_000)
                            .filter(|_| window.admit(rate(5), now).is_ok())
                            .count()
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"))
                .sum::<usize>()
        });
        assert_eq!(counted, 5, "{strategy}");
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t12_a_refusal_has_a_code_and_a_time_and_is_never_an_empty_success() {
    for strategy in ALL {
        let provider = Provider::echoing();
        let params = format!(
            "tps.limiter=default&tps.limit.rate=2&tps.limit.interval=1000&tps.limit.strategy={strategy}"
        );
        let chain = provider.chain("tps", &params);
        for _ in 0..2 {
            chain
                .invoke(invocation_of("Greet"))
                .await
                .expect("there is room");
        }
        let refusal = chain
            .invoke(invocation_of("Greet"))
            .await
            .expect_err("no room");
        assert_eq!(refusal.code(), Code::ResourceExhausted, "{strategy}");
        assert!(refusal.is_not_processed());
        let wait = refusal.pushback().expect("it says when");
        assert!(!wait.is_zero());
        assert_eq!(refusal.attachments().get("dubbo-reject"), Some("limit"));
        tokio::time::advance(wait).await;
        chain
            .invoke(invocation_of("Greet"))
            .await
            .expect("there is room again");
    }
}

#[tokio::test]
async fn go_s_empty_answer_can_be_had_back() {
    let provider = Provider::echoing();
    let limits = "tps.limiter=default&tps.limit.rate=0&tps.limit.interval=1000";
    let chain = provider.chain("tps", &format!("{limits}&compat.go-empty-reject=true"));
    let reply = chain
        .invoke(invocation_of("Greet"))
        .await
        .expect("as if it had worked");
    assert!(matches!(reply.body, dubbo_core::invocation::Body::Unary(_)));
    assert_eq!(provider.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_is_taken_under_another_rate() {
    for (strategy, params) in ALL.iter().flat_map(|strategy| {
        [
            ("tps.limit.rate=5", "tps.limit.rate=7"),
            ("tps.limit.rate=5", "tps.limit.rate=2"),
        ]
        .map(|params| (strategy, params))
    }) {
        let provider = Provider::echoing();
        let chain = |rate: &str| {
            let params = format!(
                "tps.limiter=default&tps.limit.interval=1000&{rate}&tps.limit.strategy={strategy}"
            );
            provider.chain("tps", &params)
        };
        let old = chain(params.0);
        for _ in 0..5 {
            old.invoke(invocation_of("Greet"))
                .await
                .expect("there is room");
        }
        let new = chain(params.1);
        drop(old);
        let mut more = 0;
        for _ in 0..10 {
            more += usize::from(new.invoke(invocation_of("Greet")).await.is_ok());
        }
        let want = if params.1.ends_with('7') { 2 } else { 0 };
        assert_eq!(more, want, "{strategy}: {params:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn both_spellings_limit_by_method_or_service() {
    for (params, greet, find) in [
        (
            "tps.limiter=default&tps.limit.rate=3&tps.limit.interval=1000",
            3,
            0,
        ),
        (
            "tps.limiter=Method-Service&tps.limit.rate=3&tps.limit.interval=1000&methods.Greet.tps.limit.rate=1",
            1,
            3,
        ),
        (
            "tps.limiter=default&tps.limit.rate=3&methods.Greet.tps.limit.interval=1000",
            3,
            4,
        ),
        ("tps=2", 2, 0),
        ("tps=2&tps.interval=1000&Find.tps=1", 2, 1),
        // Not switched on, or no limit.
        ("tps.limit.rate=1&tps.limit.interval=1000", 4, 4),
        (
            "tps.limiter=default&tps.limit.rate=-1&tps.limit.interval=1000",
            4,
            4,
        ),
        (
            "tps.limiter=default&tps.limit.rate=1&tps.limit.interval=0",
            4,
            4,
        ),
        ("tps=-1", 4, 4),
        ("", 4, 4),
    ] {
        let provider = Provider::echoing();
        let chain = provider.chain("tps", params);
        let mut taken = [0, 0];
        for (counted, method) in taken.iter_mut().zip(["Greet", "Find"]) {
            for _ in 0..4 {
                *counted += usize::from(chain.invoke(invocation_of(method)).await.is_ok());
            }
        }
        assert_eq!(taken, [greet, find], "{params}");
    }
}

#[test]
fn what_cannot_be_a_limit_is_an_error_of_the_start() {
    let provider = Provider::echoing();
    for (params, want) in [
        (
            "tps.limiter=polaris-limit",
            "there are: default, method-service",
        ),
        ("tps.limiter=default&tps.limit.rate=x", "tps.limit.rate"),
        (
            "tps.limiter=default&methods.Greet.tps.limit.interval=1s",
            "tps.limit.interval",
        ),
        (
            "tps=1&tps.limit.strategy=leaky",
            "no `tps.limit.strategy` is called `leaky`",
        ),
        (
            "tps=1&tps.limit.rejected.handler=me",
            "no rejected handler is called `me`",
        ),
    ] {
        let error = provider.try_chain("tps", params).err().expect("refused");
        assert!(error.to_string().contains(want), "{params}: {error}");
    }
}
