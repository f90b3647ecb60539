use dubbo_core::{cluster::NodeState, service::MethodRef};
use tokio::time::advance;

use super::*;
use crate::testing::service;

fn method(name: &str) -> MethodRef {
    service()
        .find(name)
        .expect("tests name methods that are there")
}

fn guards() -> Guards {
    Guards {
        breaker: Some(BreakerOptions::default()),
        ..Guards::default()
    }
}

fn health(group: &HealthGroup) -> NodeState {
    let state = NodeState::default();
    state
        .health(|| Health::new(group, "10.0.0.1:1"))
        .expect("the first");
    state
}

/// One call; whether it was let through.
fn call(state: &NodeState, guards: &Guards, failed: bool) -> Result<bool, Refusal> {
    let health = state.health(|| unreachable!("it has one")).expect("ours");
    let health: &Health = health;
    let permit = health.enter(&method("First"), guards, Instant::now())?;
    let is_probe = permit.is_probe();
    permit.settle(failed, Duration::ZERO, None);
    Ok(is_probe)
}

fn fail(state: &NodeState, guards: &Guards, times: u32) {
    for _ in 0..times {
        call(state, guards, true).expect("is let through");
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t37_an_open_breaker_keeps_its_provider_from_being_chosen_and_other_methods_free() {
    let group = HealthGroup::new("a.B");
    let (state, guards) = (health(&group), guards());
    fail(&state, &guards, 19);
    assert!(state.admits(&method("First")));
    fail(&state, &guards, 1);
    assert!(!state.admits(&method("First")) && state.admits(&method("Second")));
    let why = state.why_not(&method("First")).expect("there is a reason");
    assert!(why.starts_with("the breaker is open for another "), "{why}");
    assert!(call(&state, &guards, false).is_err());

    advance(Duration::from_secs(7)).await;
    assert!(
        state.admits(&method("First")),
        "it lets some through to see"
    );
    for _ in 0..10 {
        assert_eq!(call(&state, &guards, false), Ok(true), "a probe");
    }
    assert_eq!(call(&state, &guards, false), Ok(false), "closed");
}

#[tokio::test(start_paused = true)]
async fn probes_are_given_back_when_their_callers_give_up() {
    let group = HealthGroup::new("a.B");
    let (state, mut guards) = (health(&group), guards());
    guards.recovery = Some(RecoveryOptions::default());
    fail(&state, &guards, 20);
    advance(Duration::from_secs(7)).await;
    let health: &Health = state.health(|| unreachable!("it has one")).expect("ours");
    let first = method("First");
    let enter = || health.enter(&first, &guards, Instant::now());
    let (one, two) = (enter().expect("one"), enter().expect("two"));
    assert!(enter().is_err() && !state.admits(&first), "two at a time");
    assert_eq!(
        state.why_not(&first).as_deref(),
        Some("the breaker is half-open")
    );
    drop((one, two));
    assert!(state.admits(&first));
    assert!(enter().is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_was_out_comes_back_with_two_calls_at_a_time() {
    let group = HealthGroup::new("a.B");
    group.listed(10);
    let (state, mut guards) = (health(&group), Guards::default());
    guards.ejection = Some(EjectionOptions::default());
    guards.recovery = Some(RecoveryOptions::default());
    fail(&state, &guards, 5);
    let first = method("First");
    assert_eq!(
        state.why_not(&first).as_deref(),
        Some("it is taken out for another 30.0s")
    );
    advance(Duration::from_secs(30)).await;
    let health: &Health = state.health(|| unreachable!("it has one")).expect("ours");
    let enter = || health.enter(&first, &guards, Instant::now());
    let (_one, _two) = (enter().expect("one"), enter().expect("two"));
    let refused = Refusal::Recovering { allowance: 2 };
    assert_eq!(enter().err(), Some(refused.clone()));
    assert_eq!(state.why_not(&first), Some(refused.to_string()));
}

#[tokio::test(start_paused = true)]
async fn switches_decide_before_anything_that_was_seen() {
    let group = HealthGroup::new("a.B");
    let (state, guards) = (health(&group), guards());
    fail(&state, &guards, 20);
    for (forced, want) in [
        (Forced::Closed, Ok(false)),
        (Forced::Open, Err(Refusal::Forced)),
    ] {
        group.force(forced);
        assert_eq!(group.forced(), forced);
        assert_eq!(state.admits(&method("First")), want.is_ok());
        assert_eq!(call(&state, &guards, false), want);
    }
    group.force(Forced::No);
    assert!(!state.admits(&method("First")));
}

#[tokio::test(start_paused = true)]
async fn cluster_t39_when_most_are_out_all_are_called() {
    let group = HealthGroup::new("a.B");
    let states: Vec<_> = (0..10).map(|_| health(&group)).collect();
    let guards = Guards {
        ejection: Some(EjectionOptions {
            max_ejection_percent: 100,
            ..EjectionOptions::default()
        }),
        ..Guards::default()
    };
    let admitted = || {
        let first = method("First");
        states.iter().filter(|state| state.admits(&first)).count()
    };
    for (out, want) in [(1, 9), (5, 5), (6, 10)] {
        for state in &states[..out] {
            while !group.panics() && call(state, &guards, true).is_ok() {}
        }
        assert_eq!(admitted(), want, "{out} of 10 are out");
    }
    assert!(call(&states[0], &guards, false).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_score_follows_what_a_provider_does() {
    let group = HealthGroup::new("a.B");
    let (state, mut guards) = (health(&group), Guards::default());
    guards.weights = Some(WeightOptions::default());
    let health: &Health = state.health(|| unreachable!("it has one")).expect("ours");
    let mut last = None;
    for n in 0..60 {
        let permit = health.enter(&method("First"), &guards, Instant::now());
        let permit = permit.expect("nothing keeps it out");
        last = permit.settle(false, Duration::from_secs(2), None).or(last);
        if n % 20 == 19 {
            advance(Duration::from_secs(10)).await;
        }
    }
    let score = last.expect("two windows have ended").part();
    assert!((0.6..0.75).contains(&score), "{score}");
}

#[tokio::test(start_paused = true)]
async fn the_breaker_of_a_service_refuses_before_anybody_is_chosen() {
    let options = BreakerOptions::default();
    let breaker = ServiceBreaker::new("a.B.First", &options);
    let attempt = |failed: &[bool]| {
        let mut permit = breaker.enter(&options)?;
        for &failed in failed {
            permit.settle(failed, Duration::ZERO, None, &options);
        }
        Ok::<_, Refusal>(permit.is_probe())
    };
    for _ in 0..6 {
        attempt(&[true, true, true]).expect("closed");
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
    let few = BreakerOptions {
        min_calls: 18,
        ..options
    };
    assert!(breaker.retry_weight(&few) < 0.11 && breaker.retry_weight(&options) > 0.99);
    attempt(&[true, true]).expect("closed until the twentieth attempt");
    assert_eq!(breaker.state(), BreakerState::Open);
    assert!(attempt(&[]).is_err());
    advance(Duration::from_secs(7)).await;
    for _ in 0..10 {
        attempt(&[false]).expect("to see");
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
}
