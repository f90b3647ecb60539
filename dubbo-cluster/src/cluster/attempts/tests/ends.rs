//! What becomes of a call that is given up, that is hedged, or that a breaker stops.

use dubbo_core::extension::Extensions;

use super::*;
use crate::{
    resend::dead_letter::{DeadLetters, Filter, Page, Reason},
    testing::invocation,
};

/// The reasons of the calls that were kept.
async fn kept(extensions: &Extensions) -> Vec<Reason> {
    let letters = extensions.shared::<DeadLetters>();
    letters.settled().await;
    let listing = letters.list(&Filter::default(), Page::default()).await;
    let letters = listing.expect("in memory").letters;
    letters.iter().map(|letter| letter.reason).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_is_kept_for_the_reasons_that_a_policy_names() {
    let of = |on: &str, more: &str| {
        format!(
            "
budgets: {{ none-left: {{ ratio: 0, min-per-sec: 0 }} }}
policies: {{ all: {{ dead-letter: {{ on: [{on}] }}, backoff: {{ kind: none }} {more} }} }}
"
        )
    };
    for (document, answer, want) in [
        (of("exhausted", ""), unsent(), vec![Reason::Exhausted]),
        (of("budget", ""), unsent(), vec![]),
        (
            of("budget", ", budget: none-left"),
            unsent(),
            vec![Reason::Budget],
        ),
        (
            of("non-retryable", ""),
            broken(),
            vec![Reason::NonRetryable],
        ),
        (
            of("non-retryable", ""),
            Answer::Fail(Status::business("no")),
            vec![Reason::NonRetryable],
        ),
        (
            of("exhausted", ""),
            Answer::Fail(Status::business("no")),
            vec![],
        ),
    ] {
        let config = asking(&[]);
        let resend = Resend::clone(&config.extensions.shared());
        let extensions = config.extensions.clone();
        let document = PolicyDocument::parse("test.yaml", &document).expect("no mistakes");
        resend.set_policies(document.clone());
        let invoker = join(&Failover, Fixed::of(&providers(3, &answer)), config);
        invoker.invoke(invocation()).await.expect_err("fails");
        assert_eq!(kept(&extensions).await, want, "{document:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_attempt_of_an_idempotent_call_gets_company() {
    let document = "
policies: { all: { max-attempts: 3, hedge: { enabled: true, max-attempts: 2, delay: 20ms } } }
";
    for (params, want, counts) in [
        (&[("idempotent", "true")][..], 30, [1, 1]),
        (&[], 300, [1, 0]),
    ] {
        let all = [
            Scripted::with(1, [Answer::After(millis(300))]),
            Scripted::with(2, [Answer::After(millis(10))]),
        ];
        let rig = Rig::of(&Failover, document, &all, params);
        let start = Instant::now();
        rig.invoker.invoke(invocation()).await.expect("answers");
        assert_eq!(start.elapsed().as_millis(), want, "{params:?}");
        let made = rig.providers.iter().map(|provider| provider.calls().len());
        assert!(made.eq(counts), "{params:?}");
        let hedge = all[1].calls();
        let said = hedge
            .first()
            .and_then(|got| got.attachments.get("dubbo-attempt").map(str::to_owned));
        assert_eq!(said, (counts[1] == 1).then(|| "2".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedged_call_whose_attempts_fail_is_tried_again_and_a_switch_ends_hedging() {
    let document = "
policies: { all: { max-attempts: 3, backoff: { kind: none }, hedge: { enabled: true, delay: 20ms } } }
";
    let params = &[("idempotent", "true")];
    let rig = Rig::of(&Failover, document, &providers(3, &broken()), params);
    let status = rig.fails().await;
    assert_eq!(told(&status).made, 3, "two at first, then one: {status}");

    let slow = [
        Scripted::with(1, [Answer::After(millis(300))]),
        Scripted::at(2),
    ];
    let rig = Rig::of(&Failover, document, &slow, params);
    let off = crate::resend::Switches::parse("x", "hedge.enabled: false");
    rig.resend.set_switches(off.expect("no mistakes"));
    rig.invoker.invoke(invocation()).await.expect("answers");
    assert_eq!(slow[1].calls().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn cluster_t35_a_breaker_stops_calls_and_lets_a_probe_through_that_is_not_tried_again() {
    let document = "
breakers: { quick: { min-calls: 5, half-open-permits: 1 } }
policies: { all: { breaker: quick, idempotency: assume, budget: none, backoff: { kind: none } } }
";
    let rig = Rig::new(document, &providers(1, &broken()));
    for _ in 0..10 {
        rig.fails().await;
    }
    let made = rig.made();
    assert!(made < 10, "{made}: the breaker has opened");
    let stopped = rig.fails().await;
    assert_eq!(rig.made(), made, "no attempt");
    assert!(
        stopped
            .message()
            .contains("calls of First of a.B are stopped"),
        "{stopped}"
    );
    assert!(
        stopped.is_not_processed() && stopped.pushback().is_some(),
        "{stopped:?}"
    );
    tokio::time::advance(Duration::from_secs(7)).await;
    let probe = rig.fails().await;
    assert_eq!(rig.made(), made + 1, "{probe}");
    assert!(
        probe.message().contains("finds out whether it may close"),
        "{probe}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_provider_whose_breaker_is_open_is_passed_over() {
    let document = "
breakers: { quick: { min-calls: 5 } }
policies: { all: { breaker: quick, idempotency: assume, backoff: { kind: none } } }
";
    let all = [
        Scripted::with(1, [broken()]),
        Scripted::at(2),
        Scripted::at(3),
    ];
    let rig = Rig::new(document, &all);
    for _ in 0..60 {
        rig.invoker
            .invoke(invocation())
            .await
            .expect("another answers");
    }
    let failing = all[0].calls().len();
    assert!(
        (5..=12).contains(&failing),
        "{failing} calls until its breaker opened"
    );
    for _ in 0..30 {
        rig.invoker
            .invoke(invocation())
            .await
            .expect("another answers");
    }
    assert_eq!(all[0].calls().len(), failing);
}
