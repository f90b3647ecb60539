//! Documents as they are written: every key, every mistake.

use std::{sync::Arc, time::Duration};

use dubbo_core::status::Code;

use super::*;
use crate::resend::{
    backoff::{Backoff, BackoffKind},
    budget::BudgetOptions,
    dead_letter::Reason,
    health::{BreakerOptions, EjectionOptions, RecoveryOptions, WeightOptions, WindowKind},
    pool::{OnFull, PoolOptions},
    throttle::ThrottleOptions,
};

fn parse(text: &str) -> PolicyDocument {
    PolicyDocument::parse("test.yaml", text).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// The options of the policy `p`.
fn policy(text: &str) -> PolicyOptions {
    let document = parse(&format!("policies: {{ p: {{ {text} }} }}"));
    document.policies["p"].options.clone()
}

#[test]
fn a_policy_says_everything_that_the_specification_names() {
    let document = parse(EVERYTHING);
    assert_eq!(document.mode, Mode::Compat);
    assert_eq!(document.budget.as_deref(), Some("tight"));
    let named = &document.policies["payment"];
    assert_eq!(named.matching.service, Some(Glob::new("com.x.Pay")));
    assert_eq!(named.matching.methods, [Glob::new("query*")]);
    let options = &named.options;
    assert_eq!(options.max_attempts, Some(3));
    assert_eq!(options.target, Some(Target::SameThenOther(2)));
    assert_eq!(
        options.per_attempt_timeout,
        Some(Duration::from_millis(800))
    );
    assert_eq!(options.total_timeout, Some(Duration::from_secs(2)));
    assert_eq!(options.min_attempt_budget, Duration::from_millis(20));
    assert_eq!(options.idempotency, Idempotency::Assume);
    let codes = [
        Code::Unavailable,
        Code::DeadlineExceeded,
        Code::ResourceExhausted,
    ];
    assert_eq!(
        options.retry_on,
        RetryOn {
            codes: Some(codes.to_vec()),
            business: Business::Named(vec!["com.x.Busy".to_owned()]),
            not_sent: NotSent::Never,
        }
    );
    assert_eq!(
        options.backoff,
        Some(Backoff {
            kind: BackoffKind::Decorrelated,
            base: Duration::from_millis(30),
            cap: Duration::from_millis(300),
            multiplier: 3.0,
            randomization: 0.2,
            first_other_node_delay: Some(Duration::from_millis(5)),
        })
    );
    assert!(!options.honours_pushback);
    assert_eq!(options.budget.as_deref(), Some("tight"));
    let hedge = HedgeOptions::new(3, Some(Duration::from_millis(40)));
    assert_eq!(options.hedge, hedge.ok());
}

#[test]
fn a_policy_names_what_looks_after_providers_and_what_becomes_of_calls() {
    let document = parse(EVERYTHING);
    let options = &document.policies["payment"].options;
    let breaker = BreakerOptions {
        window: WindowKind::Time {
            length: Duration::from_secs(5),
            buckets: 5,
        },
        min_calls: 3,
        failure_rate: 0.25,
        slow_call_duration: Some(Duration::from_secs(1)),
        slow_call_rate: 0.9,
        open_wait: Duration::from_secs(1),
        max_open_wait: Duration::from_secs(4),
        half_open_permits: 2,
    };
    let recovery = RecoveryOptions {
        initial: 1,
        window: Duration::from_mins(1),
        cap: 0.2,
    };
    assert_eq!(
        options.guards,
        Guards {
            breaker: Some(breaker),
            ejection: Some(EjectionOptions::default()),
            recovery: Some(recovery),
            weights: Some(WeightOptions::default()),
        }
    );
    let lost = options.lost.as_ref().expect("is said");
    let on = [Reason::Budget, Reason::Exhausted, Reason::QueueFull];
    assert!(on.into_iter().all(|reason| lost.on.contains(reason)));
    assert!(!lost.on.contains(Reason::Expired));
    assert_eq!(
        (lost.store.as_deref(), lost.outcome.as_deref()),
        (Some("memory"), Some("hold"))
    );
    assert_eq!(lost.compensate_method.as_deref(), Some("cancel"));
}

#[test]
fn budgets_and_pools_are_shared_by_name() {
    let document = parse(EVERYTHING);
    assert_eq!(
        document.budgets["tight"],
        BudgetOptions {
            ratio: 0.1,
            min_per_sec: 2,
            window: Duration::from_secs(5),
            throttle: Some(ThrottleOptions {
                tokens: 4,
                per_success: 0.5
            }),
        }
    );
    assert_eq!(
        document.pools["gray"],
        PoolOptions {
            tags: vec![Glob::new("gray*"), Glob::new("beta")],
            concurrency: 7,
            ttl: Duration::from_secs(9),
            on_full: OnFull::Drop,
        }
    );
    let kept = document.dead_letter.expect("is said");
    assert_eq!(kept.capacity, Some(7));
}

#[test]
fn a_policy_without_a_word_is_what_strict_is() {
    assert_eq!(policy(""), PolicyOptions::default());
    let strict = PolicyOptions::default();
    assert_eq!(strict.budget.as_deref(), Some("default"));
    assert_eq!(strict.idempotency, Idempotency::Declared);
    assert!(strict.honours_pushback && strict.guards.is_empty() && strict.hedge.is_none());
    assert_eq!(parse(""), PolicyDocument::default());
    assert_eq!(parse("mode: Strict").mode, Mode::Strict);
    assert_eq!(policy("budget: none").budget, None);
    assert_eq!(policy("breaker: none").guards, Guards::default());
    assert_eq!(policy("hedge: { delay: 5ms }").hedge, None, "not enabled");
    let same = policy("target: same, backoff: { base: 70ms }");
    assert_eq!(
        same.backoff.map(|backoff| (backoff.kind, backoff.base)),
        Some((BackoffKind::Additive, Duration::from_millis(70)))
    );
    let fixed = policy("backoff: { kind: fixed }").backoff;
    assert_eq!(
        fixed.map(|backoff| backoff.base),
        Some(Duration::from_secs(5))
    );
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let text = "
mode: strickt
policies:
  pay:
    match: { servce: com.x.Pay }
    max-attempts: 0
    target: same-then-other(0)
    retry-on: { codes: [not-found, unavailible] }
    backoff: { kind: exp, base: 2s, cap: 1s }
    budget: tigth
    breaker: quick
    recovery: default
    total-timeout: 0ms
    hedge: { enabled: true, max-attempts: 9 }
  again:
    target: same
    budget: none
budgets:
  tight: { ratio: -1, window: 1ms }
";
    let problems = PolicyDocument::parse("shop.resend", text).expect_err("many mistakes");
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for (place, part) in [
        ("shop.resend:2:7: mode: ", "`compat` or `strict`"),
        (
            "shop.resend:5:14: policies.pay.match.servce: ",
            "did you mean `service`?",
        ),
        (
            "shop.resend:6:19: policies.pay.max-attempts: ",
            "from 1 to 1000",
        ),
        (
            "shop.resend:7:13: policies.pay.target: ",
            "same-then-other(n)",
        ),
        ("shop.resend:8:", "`not-found` is never tried again"),
        ("shop.resend:8:", "did you mean `unavailable`?"),
        ("shop.resend:9:", "1s is less than `base`, 2s"),
        (
            "shop.resend:10:5: policies.pay.budget: ",
            "did you mean `tight`?",
        ),
        (
            "shop.resend:11:5: policies.pay.breaker: ",
            "`breakers` has no `quick`",
        ),
        (
            "shop.resend:13:5: policies.pay.total-timeout: ",
            "no attempt would be made",
        ),
        ("shop.resend:14:", "from 2 to 5"),
        (
            "shop.resend:17:5: policies.again.budget: ",
            "needs a budget",
        ),
        ("shop.resend:19:", "a number from 0 to 10"),
        ("shop.resend:19:", "is not within 100ms to 10m"),
    ] {
        assert!(
            told.iter()
                .any(|line| line.starts_with(place) && line.contains(part)),
            "{place:?} {part:?} in {told:#?}"
        );
    }
    assert_eq!(told.len(), 14, "{told:#?}");
}

#[test]
fn what_cannot_be_together_is_refused() {
    for (text, part) in [
        ("{ mode: strict, budget: default }", "is for mode `compat`"),
        (
            "policies: { p: { recovery: default } }",
            "comes after a breaker or an ejection",
        ),
        (
            "breakers: { b: { count: 5, window: 1s } }",
            "is beside `window` or `buckets`",
        ),
        (
            "breakers: { b: { open-wait: 5s, max-open-wait: 1s } }",
            "is less than `open-wait`",
        ),
        (
            "ejections: { e: { base-ejection: 5s, max-ejection: 1s } }",
            "is less than `base-ejection`",
        ),
        ("weights: { w: { target-p99: 0 } }", "nobody is as fast"),
        (
            "policies: { p: { hedge: { enabled: true, delay: 0 } } }",
            "a hedge of no delay",
        ),
    ] {
        let problems = PolicyDocument::parse("x", text).expect_err(text);
        let told = problems
            .iter()
            .any(|problem| problem.message.contains(part));
        assert!(told, "{text}: {problems:#?}");
    }
}

#[test]
fn names_are_shared_texts() {
    let document = parse("policies: { p: {} }");
    let name: &Arc<str> = document.policies.keys().next().expect("one");
    assert_eq!(&**name, "p");
}

/// Every key that a document or a rule of switches may have stands in a table of `docs/resilience.md`.
#[test]
fn every_key_is_on_the_page_about_resilience() {
    let page = include_str!("../../../../docs/resilience.md");
    let sources = [
        include_str!("read.rs"),
        include_str!("guards.rs"),
        include_str!("matching.rs"),
        include_str!("retry_on.rs"),
        include_str!("../backoff.rs"),
        include_str!("../budget.rs"),
        include_str!("../throttle.rs"),
        include_str!("../pool.rs"),
        include_str!("../switches.rs"),
        include_str!("../dead_letter/options.rs"),
        include_str!("../dead_letter/lost.rs"),
    ];
    let mut keys: Vec<&str> = sources
        .iter()
        .flat_map(|source| read_keys(source))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    for key in [
        "mode",
        "first-other-node-delay",
        "per-success",
        "gray.percent",
        "sync",
    ] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    for key in keys {
        let named = format!("`{key}`");
        assert!(
            rows.iter().any(|row| row.contains(&named)),
            "{named} is in no table"
        );
    }
}

/// The keys that a reader asks a section for: the text that begins such a question.
fn read_keys(source: &str) -> Vec<&str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let questions = [
        ".bool(",
        ".choice(",
        ".duration(",
        ".entries(",
        ".integer(",
        ".list(",
        ".node(",
        ".parse(",
        ".section(",
        ".string(",
        "part(s,",
        "positive(s,",
        "chosen(s,",
        "reference(s,",
    ];
    let asked = questions.iter().flat_map(|question| {
        let after = code.split(question).skip(1).map(str::trim_start);
        after.filter_map(|text| text.strip_prefix('"')?.split('"').next())
    });
    asked.collect()
}

const EVERYTHING: &str = r#"
mode: compat
budget: tight
policies:
  payment:
    match: { service: "com.x.Pay", methods: ["query*"], tag: "*" }
    max-attempts: 3
    target: same-then-other(2)
    per-attempt-timeout: 800ms
    total-timeout: 2s
    min-attempt-budget: 20ms
    idempotency: assume
    retry-on: { codes: [unavailable, deadline-exceeded, resource-exhausted], biz: [com.x.Busy], not-sent: never }
    backoff: { kind: decorrelated, base: 30ms, cap: 300ms, multiplier: 3, randomization: 0.2, first-other-node-delay: 5ms }
    pushback: ignore
    budget: tight
    hedge: { enabled: true, max-attempts: 3, delay: 40ms }
    breaker: quick
    ejection: default
    recovery: slow
    weights: default
    dead-letter: { on: [exhausted, queue-full, budget], store: memory }
    outcome: hold
    compensate: { service: com.x.Undo, method: cancel }
budgets:
  tight: { ratio: 0.1, min-per-sec: 2, window: 5s, throttle: { tokens: 4, per-success: 0.5 } }
pools:
  gray: { tags: [gray*, beta], concurrency: 7, ttl: 9s, on-full: drop }
breakers:
  quick: { window: 5s, buckets: 5, min-calls: 3, failure-rate: 25%, slow-call-duration: 1s, slow-call-rate: 0.9, open-wait: 1s, max-open-wait: 4s, half-open-permits: 2 }
  counting: { count: 50 }
recoveries:
  slow: { initial: 1, window: 1m, cap: 20% }
dead-letter: { store: memory, capacity: 7 }
"#;
