//! What bounds attempts: budgets, throttles and pools (`docs/spec/cluster.md` §7.6).

use futures_util::future::join_all;

use super::*;
use crate::{cluster::End, testing::invocation};

/// 10,000 calls in 10 seconds.
async fn ten_thousand_fail(rig: &Rig) -> usize {
    for _ in 0..10_000 {
        rig.fails().await;
        tokio::time::advance(millis(1)).await;
    }
    rig.made()
}

#[tokio::test(start_paused = true)]
async fn whatever_fails_attempts_stay_within_the_budget() {
    let strict = "policies: { all: { max-attempts: 3, backoff: { kind: none } } }";
    for document in [strict, "budget: default"] {
        let made = ten_thousand_fail(&Rig::new(document, &providers(3, &unsent()))).await;
        assert!(made <= 10_000 + 2_000 + 100, "{document}: {made} attempts");
        assert!(
            made >= 12_000,
            "{document}: {made} attempts, and the budget is used"
        );
    }
    let unbounded = "policies: { all: { max-attempts: 3, budget: none, backoff: { kind: none } } }";
    for document in [unbounded, "mode: compat"] {
        let made = ten_thousand_fail(&Rig::new(document, &providers(3, &unsent()))).await;
        assert_eq!(made, 30_000, "{document}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_budget_ends_with_its_own_error_and_says_so() {
    let document = "
budgets: { tight: { ratio: 0, min-per-sec: 1, window: 1s } }
policies: { all: { budget: tight, backoff: { kind: none } } }
";
    let rig = Rig::new(document, &providers(3, &unsent()));
    let first = rig.fails().await;
    assert_eq!(told(&first).made, 2, "one retry a second");
    let second = rig.fails().await;
    assert_eq!(told(&second).made, 1);
    assert_eq!(told(&second).end, End::Budget);
    assert_eq!(second.code(), Code::Unavailable);
    assert!(
        second.message().contains("the retry budget is exhausted"),
        "{second}"
    );
    tokio::time::advance(millis(1_000)).await;
    assert_eq!(told(&rig.fails().await).made, 2);
}

#[tokio::test(start_paused = true)]
async fn a_throttle_stops_retries_while_most_attempts_fail() {
    let document = "
budgets: { careful: { throttle: { tokens: 10, per-success: 0.5 } } }
policies: { all: { budget: careful, backoff: { kind: none } } }
";
    let failing = Answer::Fail(Status::unavailable("no").not_processed());
    let mut script = vec![failing; 10];
    script.push(Answer::After(millis(0)));
    let rig = Rig::new(document, &[Scripted::with(1, script)]);
    let mades: Vec<u32> = [
        told(&rig.fails().await).made,
        told(&rig.fails().await).made,
        told(&rig.fails().await).made,
    ]
    .to_vec();
    assert_eq!(
        mades,
        [3, 2, 1],
        "five of ten tokens are gone after five failures"
    );
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_does_not_say_for_how_long_needs_half_of_the_budget() {
    let document = "
budgets: { small: { ratio: 0, min-per-sec: 4, window: 1s } }
policies: { all: { budget: small, max-attempts: 10, backoff: { kind: none } } }
";
    let limited = fail(Code::ResourceExhausted, Origin::Remote);
    let rig = Rig::new(document, &providers(1, &limited));
    let status = rig.fails().await;
    assert_eq!(
        told(&status).made,
        4,
        "three of four, the last with just half left: {status}"
    );
    assert!(
        status
            .message()
            .contains("less than half of the retry budget"),
        "{status}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_pool_of_gray_traffic_refuses_at_once_and_leaves_others_alone() {
    let document = "
policies: { all: { idempotency: assume, budget: none, max-attempts: 2, backoff: { kind: fixed, base: 5s, first-other-node-delay: 5s } } }
pools: { gray: { concurrency: 200 } }
";
    let rig = Rig::new(
        document,
        &providers(2, &Answer::FailAfter(millis(1), Status::unavailable("no"))),
    );
    let gray = || {
        let mut call = invocation();
        call.attachments.insert("dubbo.tag", "gray");
        call.timeout = Some(Duration::from_mins(1));
        call
    };
    let start = Instant::now();
    let waiting = join_all((0..200).map(|_| rig.invoker.invoke(gray())));
    let other = async {
        tokio::time::sleep(millis(10)).await;
        let begun = Instant::now();
        let refused = rig.fails_with(gray()).await;
        assert!(
            begun.elapsed() <= millis(2),
            "an attempt of 1 ms, and at once"
        );
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(
            refused.pushback().is_some_and(|wait| wait >= millis(100)),
            "{refused:?}"
        );
        assert_eq!(told(&refused).end, End::PoolFull);
        assert!(
            refused
                .message()
                .contains("the retry pool `gray` is full, with 200 calls"),
            "{refused}"
        );

        let begun = Instant::now();
        let mut call = invocation();
        call.timeout = Some(Duration::from_mins(1));
        let common = rig.fails_with(call).await;
        assert_eq!(told(&common).made, 2, "the default pool has room");
        assert_eq!(
            begun.elapsed().as_millis(),
            5_002,
            "and its calls take as long as ever"
        );
    };
    let (all, ()) = tokio::join!(waiting, other);
    assert!(start.elapsed() < millis(5_020), "{:?}", start.elapsed());
    assert!(all.into_iter().all(|failed| failed.is_err()));
    let again = rig.fails_with(gray()).await;
    assert_eq!(told(&again).made, 2, "the room is given back");
}

#[tokio::test(start_paused = true)]
async fn a_full_default_pool_drops_the_retry_and_keeps_the_error() {
    let document = "
policies: { all: { max-attempts: 2, backoff: { kind: fixed, base: 5s, first-other-node-delay: 5s } } }
pools: { default: { concurrency: 1 } }
";
    let rig = Rig::new(document, &providers(2, &unsent()));
    let second = async {
        tokio::time::sleep(millis(10)).await;
        rig.fails().await
    };
    let mut patient = invocation();
    patient.timeout = Some(Duration::from_mins(1));
    let (_, dropped) = tokio::join!(rig.invoker.invoke(patient), second);
    assert_eq!(
        (dropped.code(), told(&dropped).made),
        (Code::Unavailable, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_pool_keeps_a_call_so_long() {
    let document = "
policies: { all: { max-attempts: 5, backoff: { kind: fixed, base: 400ms, first-other-node-delay: 400ms } } }
pools: { default: { ttl: 1s } }
";
    let rig = Rig::new(document, &providers(5, &unsent()));
    let status = rig.fails().await;
    assert_eq!(told(&status).made, 3, "at 0, 400 and 800 ms: {status}");
    assert_eq!(told(&status).end, End::Expired);
}

#[tokio::test(start_paused = true)]
async fn budgets_keep_what_they_have_counted_when_other_policies_change() {
    let document = |attempts: u32, ratio: &str| {
        format!(
            "
budgets: {{ tight: {{ ratio: {ratio}, min-per-sec: 1, window: 1s }} }}
policies: {{ all: {{ budget: tight, max-attempts: {attempts}, backoff: {{ kind: none }} }} }}
"
        )
    };
    let rig = Rig::new(&document(3, "0"), &providers(3, &unsent()));
    assert_eq!(told(&rig.fails().await).made, 2);
    let set = |text: &str| {
        let document = PolicyDocument::parse("x", text).expect("no mistakes");
        rig.resend.set_policies(document);
    };
    set(&document(4, "0"));
    assert_eq!(told(&rig.fails().await).made, 1, "spent is spent");
    set(&document(4, "0.1"));
    assert_eq!(told(&rig.fails().await).made, 2, "another budget");
}
