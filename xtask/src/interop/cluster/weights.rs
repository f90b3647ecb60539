//! Shares of calls by weights, and of a provider that warms up: `docs/spec/cluster.md` §3.1.

use std::time::Duration;

use serde_json::json;

use crate::{
    failure::Failure,
    interop::{
        lines::Account,
        registry::Level,
        route::{Party, Protocol},
    },
    process::{self, Stopwatch},
};

use super::{
    caller::Wish,
    findings::Findings,
    scene::{Peers, Role, Scene},
};

pub(super) const ROWS: [&str; 4] = [
    "weight-random-interface",
    "weight-roundrobin-interface",
    "weight-random-application",
    "weight-roundrobin-application",
];
pub(super) const ROWS_OF_WARM_UP: [&str; 1] = ["warm-up"];

/// Weights that travel with an interface, and with an application.
pub(super) fn play(peers: &Peers, party: Party, findings: &mut Findings) -> Result<(), Failure> {
    play_at(Level::Interface, peers, party, findings)?;
    play_at(Level::Application, peers, party, findings)
}

/// Two providers with weights 1 and 3.
fn play_at(
    level: Level,
    peers: &Peers,
    party: Party,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let scene = Scene::start_at(level, peers, "weights", party)?;
    let role = |name, weight| Role {
        weight: Some(weight),
        ..Role::new(party, name)
    };
    let _providers = scene.providers([role("one", 1), role("three", 3)])?;
    let hello = Wish::hello().calls(CALLS).at_once(8);
    for (row, balance, tolerance) in [
        ("weight-random", "random", 4.0 * deviation(CALLS, 0.25)),
        ("weight-roundrobin", "roundrobin", 0.0),
    ] {
        let mut caller = scene.caller(balance, &json!({"loadbalance": balance}), &json!({}))?;
        caller.until_answered_by(&Wish::hello(), &["one", "three"])?;
        for protocol in Protocol::ALL {
            let account = caller.make(&hello.clone().over(protocol))?;
            let what = format!("over {protocol}");
            let mut problems = account.problems(&what, &["one", "three"]);
            let off = share(&account, "one").mul_add(count(CALLS), -count(CALLS) * 0.25);
            if off.abs() > tolerance {
                problems.push(format!("{what}: not 1 to 3: {:?}", account.by));
            }
            findings.add(&format!("{row}-{level}"), problems);
        }
    }
    Ok(())
}

/// A provider that is there for long, and one that has just begun.
pub(super) fn play_warm_up(
    peers: &Peers,
    party: Party,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let scene = Scene::start(peers, "warm-up", party)?;
    let _old = scene.providers([Role::new(party, "old")])?;
    let mut caller = scene.caller("caller", &json!({}), &json!({}))?;
    caller.until_answered_by(&Wish::hello(), &["old"])?;
    let since_begin = Stopwatch::start();
    let new = Role {
        warm_up: WARM_UP.as_secs(),
        ..Role::new(party, "new")
    };
    let _new = scene.providers([new])?;
    caller.until_answered_by(&Wish::hello(), &["old", "new"])?;
    let since_answer = Stopwatch::start();
    let mut shares = Vec::new();
    let mut problems = Vec::new();
    for pause in [Duration::ZERO, BETWEEN] {
        let waiting = Stopwatch::start();
        while waiting.elapsed() < pause {
            process::pause();
        }
        // Weights are looked at once a second, and dubbo-go cuts the time of its start to seconds.
        let youngest = since_answer.elapsed().saturating_sub(SECOND);
        let account = caller.make(&Wish::hello().calls(CALLS).at_once(8))?;
        let oldest = since_begin.elapsed() + SECOND;
        problems.extend(account.problems("a call", &["new", "old"]));
        let is = share(&account, "new");
        let (least, most) = (warm_share(youngest), warm_share(oldest));
        let within = |expected: f64| 4.0 * deviation(CALLS, expected) / count(CALLS);
        if is < least - within(least) || is > most + within(most) {
            problems.push(format!(
                "a provider that is {youngest:?} to {oldest:?} old, of {WARM_UP:?}, should get {least:.3} to {most:.3} \
                 of the calls, and gets {is:.3}"
            ));
        }
        shares.push(is);
    }
    if !shares.is_sorted_by(|one, next| one < next) {
        problems.push(format!("its share should grow, and goes {shares:?}"));
    }
    findings.add("warm-up", problems);
    Ok(())
}

/// The share of one that is so old, beside another that has its whole weight.
fn warm_share(age: Duration) -> f64 {
    let weight = (age.as_secs_f64() / WARM_UP.as_secs_f64()).clamp(0.01, 1.0);
    weight / (weight + 1.0)
}

fn share(account: &Account, name: &str) -> f64 {
    let calls = account.by.get(name).copied().unwrap_or_default();
    count(calls) / count(account.calls.max(1))
}

/// How far the count of what has this chance strays.
fn deviation(calls: u64, chance: f64) -> f64 {
    (count(calls) * chance * (1.0 - chance)).sqrt()
}

/// No count here is too large to be exact.
fn count(calls: u64) -> f64 {
    u32::try_from(calls).map_or(f64::INFINITY, f64::from)
}

/// So many that four standard deviations tell 1 to 3 from 1 to 2.
const CALLS: u64 = 4_000;
/// Read in seconds by the one and in milliseconds by the other it would be over at once, or never begin.
const WARM_UP: Duration = Duration::from_secs(20);
/// So long that the share has grown by more than chance.
const BETWEEN: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_warms_up_gets_a_growing_share() {
        let shares = [0, 5, 10, 20, 60].map(|age| warm_share(Duration::from_secs(age)));
        assert!(shares[0] < 0.011, "{shares:?}");
        assert!((shares[1] - 0.2).abs() < 1e-9, "{shares:?}");
        assert!((shares[3] - 0.5).abs() < 1e-9, "{shares:?}");
        assert!((shares[4] - 0.5).abs() < 1e-9, "{shares:?}");
    }
}
