//! When attempts are made, and on whom.

use super::*;
use crate::{
    cluster::{End, RetrySame},
    testing::invocation_of,
};

#[tokio::test(start_paused = true)]
async fn cluster_t19_a_policy_bounds_a_call_and_each_of_its_attempts() {
    let document = "
policies:
  all: { per-attempt-timeout: 400ms, total-timeout: 1s, idempotency: assume, backoff: { kind: none } }
";
    let rig = Rig::new(document, &providers(3, &Answer::Hang));
    let start = Instant::now();
    let status = rig.fails().await;
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(start.elapsed().as_millis(), 1_000);
    assert_eq!(rig.moments(start), [0, 400, 800]);
    let times = rig.providers.iter().flat_map(|provider| provider.calls());
    let times: Vec<_> = times.map(|got| got.time).collect();
    let want = [400, 400, 200].map(|time| Some(millis(time)));
    assert_eq!(times, want);
    assert_eq!(told(&status).made, 3);
}

#[tokio::test(start_paused = true)]
async fn cluster_t19_no_attempt_is_begun_with_less_time_than_a_policy_wants() {
    for (least, total, want) in [("10ms", 409, 1), ("10ms", 411, 2), ("100ms", 490, 1)] {
        let document = format!(
            "policies: {{ all: {{ min-attempt-budget: {least}, idempotency: assume, backoff: {{ kind: none }} }} }}"
        );
        let rig = Rig::new(&document, &providers(3, &Answer::Hang));
        let mut call = invocation();
        call.deadline = Some(Instant::now() + millis(total));
        let status = rig.fails_with(call).await;
        assert_eq!(rig.made(), want, "{least} of {total}");
        assert_eq!(told(&status).end, End::Deadline);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_deadline_a_strict_call_has_the_time_of_its_attempts() {
    let document =
        "policies: { all: { idempotency: assume, backoff: { kind: fixed, base: 300ms } } }";
    let rig = Rig::new(document, &providers(1, &Answer::Hang));
    let start = Instant::now();
    rig.fails().await;
    // Three times 400 ms: after another pause, too little of them would be left.
    assert_eq!(start.elapsed().as_millis(), 1_100);
    assert_eq!(rig.moments(start), [0, 700]);

    let one = Scripted::at(1);
    let rig = Rig::new(document, &[Arc::clone(&one)]);
    let streamed = rig.invoker.invoke(invocation_of("Download")).await;
    streamed.expect("answers");
    assert_eq!(
        one.calls()[0].time,
        None,
        "a stream has a limit only when its caller says so"
    );
}

#[tokio::test(start_paused = true)]
async fn waits_follow_the_backoff_and_are_told() {
    let backoff = "{ kind: exp, base: 100ms, cap: 250ms, multiplier: 2 }";
    for (backoff, count, want) in [
        (backoff.to_owned(), 1, [0, 100, 300, 550]),
        (
            backoff.replace('}', ", first-other-node-delay: 30ms }"),
            4,
            [0, 30, 230, 480],
        ),
        (
            backoff.replace('}', ", first-other-node-delay: 30ms }"),
            1,
            [0, 100, 300, 550],
        ),
        ("{ kind: none }".to_owned(), 2, [0, 0, 0, 0]),
    ] {
        let document = format!("policies: {{ all: {{ max-attempts: 4, backoff: {backoff} }} }}");
        let rig = Rig::new(&document, &providers(count, &unsent()));
        let start = Instant::now();
        let status = rig.fails().await;
        // With other providers, nothing is waited for before the first of them unless that is said.
        assert_eq!(rig.moments(start), want, "{backoff}, {count} providers");
        let waits: u128 = told(&status)
            .attempts
            .iter()
            .map(|attempt| attempt.waited.as_millis())
            .sum();
        assert_eq!(waits, want[3], "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_wait_knows_what_providers_took() {
    let document = "
policies:
  all: { max-attempts: 2, idempotency: assume, backoff: { kind: adaptive, cap: 1s, first-other-node-delay: 1h } }
";
    let script = [
        Answer::After(millis(100)),
        Answer::After(millis(100)),
        broken(),
    ];
    let one = Scripted::with(1, script);
    let rig = Rig::new(document, &[one]);
    for _ in 0..2 {
        rig.invoker.invoke(invocation()).await.expect("answers");
    }
    let start = Instant::now();
    let status = rig.fails().await;
    // 100 ms, varying by 37.5 ms, and a fifth of the attempts failed: (100 + 150)·1.8 ms, half of it by chance.
    let waited = told(&status).attempts[1].waited.as_millis();
    assert!((225..=450).contains(&waited), "{waited}");
    assert!(start.elapsed() >= millis(225));
}

#[tokio::test(start_paused = true)]
async fn cluster_t35_a_provider_that_refuses_says_how_long_to_wait() {
    let refusal = Status::resource_exhausted("full").with_origin(Origin::Remote);
    let refusal = Answer::Fail(refusal.with_pushback(millis(100)));
    for (policy, want) in [("honour", [0, 100, 200]), ("ignore", [0, 0, 0])] {
        let document =
            format!("policies: {{ all: {{ pushback: {policy}, backoff: {{ kind: none }} }} }}");
        let rig = Rig::new(&document, &providers(3, &refusal));
        let start = Instant::now();
        rig.fails().await;
        assert_eq!(rig.moments(start), want, "{policy}");
    }
    // A negative one over the wire is a status that is never tried again.
    let never = Status::resource_exhausted("full").with_origin(Origin::Remote);
    let rig = Rig::new("mode: strict", &providers(3, &Answer::Fail(never.done())));
    rig.fails().await;
    assert_eq!(rig.made(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_policy_says_who_is_asked_again() {
    for (target, want) in [
        ("other", [1, 1, 1, 1]),
        ("same", [4, 0, 0, 0]),
        ("same-then-other(1)", [2, 1, 1, 0]),
        ("same-then-other(2)", [3, 1, 0, 0]),
    ] {
        let document = format!(
            "policies: {{ all: {{ max-attempts: 4, target: {target}, backoff: {{ kind: none }} }} }}"
        );
        let rig = Rig::new(&document, &providers(4, &unsent()));
        rig.fails().await;
        let counts = rig.providers.iter().map(|provider| provider.calls().len());
        assert!(counts.eq(want), "{target}");
    }
}

#[tokio::test(start_paused = true)]
async fn retry_same_asks_the_same_provider_after_a_pause_that_grows() {
    let all = providers(3, &broken());
    let rig = Rig::of(&RetrySame, "mode: compat", &all, &[]);
    let start = Instant::now();
    let status = rig.fails().await;
    assert_eq!(all[0].calls().len(), 3);
    let moments = rig.moments(start);
    for ((before, after), (least, most)) in moments
        .iter()
        .zip(&moments[1..])
        .zip([(50, 100), (100, 150)])
    {
        let pause = after - before;
        assert!((least..=most).contains(&pause), "{moments:?}: {status}");
    }
}

#[tokio::test(start_paused = true)]
async fn retry_same_has_a_budget_without_being_told() {
    let all = providers(2, &broken());
    let rig = Rig::of(&RetrySame, "mode: compat", &all, &[]);
    let calls = (0..500).map(|_| rig.invoker.invoke(invocation()));
    let failed = futures_util::future::join_all(calls).await;
    assert!(failed.iter().all(Result::is_err));
    // A fifth of the calls, and what ten seconds give.
    let retries = rig.made() - 500;
    assert_eq!(retries, 200);
}

#[tokio::test(start_paused = true)]
async fn retry_same_goes_on_elsewhere_when_its_provider_is_gone() {
    let all = [Scripted::with(1, [broken()]), Scripted::at(2)];
    let rig = Rig::of(&RetrySame, "mode: compat", &all, &[]);
    let directory = Arc::clone(&rig.directory);
    let rest = Arc::clone(&all[1]);
    let leaving = async {
        tokio::time::sleep(millis(10)).await;
        directory.set(&[rest]);
    };
    let (answered, ()) = tokio::join!(rig.invoker.invoke(invocation()), leaving);
    answered.expect("the other one answers");
    assert_eq!((all[0].calls().len(), all[1].calls().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_strict_call_looks_once_more_for_somebody() {
    let rig = Rig::new("mode: strict", &[]);
    let (start, late) = (Instant::now(), Scripted::at(1));
    let arriving = async {
        tokio::time::sleep(millis(49)).await;
        rig.directory.set(&[Arc::clone(&late)]);
    };
    let (answered, ()) = tokio::join!(rig.invoker.invoke(invocation()), arriving);
    answered.expect("somebody came");
    assert_eq!(start.elapsed().as_millis(), 50);

    let rig = Rig::new("mode: strict", &[]);
    let start = Instant::now();
    let status = rig.fails().await;
    assert_eq!(status.message(), "nobody is there");
    assert_eq!(start.elapsed().as_millis(), 50, "and once only");
}
