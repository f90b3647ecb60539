//! What each key of `ejections`, `recoveries` and `weights` changes, beside the same document without it.

use dubbo_core::cluster::{Node, NodeWeight};
use futures_util::future::join_all;
use tokio::time::advance;

use super::*;
use crate::{
    loadbalance::Clock,
    resend::Switches,
    testing::{asking_by, service},
};

/// A key of a section, and what else stands there.
struct Keys<'k> {
    section: &'k str,
    beside: &'k str,
    key: &'k str,
}

impl Keys<'_> {
    /// The documents without and with the key.
    fn documents(&self) -> [String; 2] {
        let Self {
            section,
            beside,
            key,
        } = self;
        let of = |own: &str| {
            let sections = ["ejections", "recoveries", "weights"].map(|name| {
                let own = if name == *section { own } else { "" };
                format!("{name}: {{own: {{{own}}}}}")
            });
            format!(
                "policies: {{p: {{max-attempts: 1, per-attempt-timeout: 1m, ejection: own, recovery: {}, weights: {}}}}}\n{}",
                if *section == "recoveries" {
                    "own"
                } else {
                    "none"
                },
                if *section == "weights" { "own" } else { "none" },
                sections.join("\n")
            )
        };
        let both = if beside.is_empty() {
            (*key).to_owned()
        } else {
            format!("{beside}, {key}")
        };
        [of(beside), of(&both)]
    }
}

fn ejections<'k>(beside: &'k str, key: &'k str) -> Keys<'k> {
    Keys {
        section: "ejections",
        beside,
        key,
    }
}

/// Makes `rounds` calls for each provider, one after the other; how many came to the last one.
async fn rounds(rig: &Rig, rounds: usize) -> usize {
    let before = last(rig);
    for _ in 0..rounds * rig.providers.len() {
        let _ = rig.invoker.invoke(invocation()).await;
    }
    last(rig) - before
}

/// Makes so many calls at a time; how many came to the last provider.
async fn burst(rig: &Rig, calls: usize) -> usize {
    let before = last(rig);
    join_all((0..calls).map(|_| rig.invoker.invoke(invocation()))).await;
    last(rig) - before
}

/// How many calls have come to the last provider.
fn last(rig: &Rig) -> usize {
    rig.providers.last().expect("there is one").calls().len()
}

/// Providers of which all work but those with a script, which stand last.
fn among(working: u16, scripts: &[Vec<Answer>]) -> Vec<Arc<Scripted>> {
    let all = (0..working).map(|_| Vec::new()).chain(scripts.to_vec());
    (1..)
        .zip(all)
        .map(|(port, script)| Scripted::with(port, script))
        .collect()
}

fn failing() -> Vec<Answer> {
    vec![broken()]
}

/// Every second call fails, and never two in a row.
fn half() -> Vec<Answer> {
    let pair = [Answer::After(Duration::ZERO), broken()];
    pair.into_iter().cycle().take(1_000).collect()
}

#[tokio::test(start_paused = true)]
async fn consecutive_failures_say_how_many_take_a_provider_out() {
    let keys = ejections("", "consecutive-failures: 3");
    for (document, want) in keys.documents().iter().zip([5, 3]) {
        let rig = Rig::new(document, &among(1, &[failing()]));
        assert_eq!(rounds(&rig, 20).await, want, "{document}");
    }
}

#[tokio::test(start_paused = true)]
async fn ejection_times_say_when_a_provider_is_back() {
    // (key, how often it is out before, how long it is looked at, whether it is back: without the key, with it)
    for (key, times, seconds, want) in [
        ("base-ejection: 10s", 0, 15, [false, true]),
        ("max-ejection: 30s", 1, 45, [false, true]),
    ] {
        for (document, want) in ejections("", key).documents().iter().zip(want) {
            let rig = Rig::new(document, &among(1, &[failing()]));
            assert_eq!(rounds(&rig, 20).await, 5);
            for _ in 0..times {
                advance(Duration::from_secs(31)).await;
                assert_eq!(rounds(&rig, 20).await, 5, "{document}: back, and out again");
            }
            advance(Duration::from_secs(seconds)).await;
            let came = rounds(&rig, 1).await;
            assert_eq!(came > 0, want, "{document}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn max_ejection_percent_says_how_many_may_be_out() {
    let keys = ejections("", "max-ejection-percent: 50");
    for (document, want) in keys.documents().iter().zip([true, false]) {
        let rig = Rig::new(document, &among(2, &[failing(), failing()]));
        rounds(&rig, 20).await;
        assert_eq!(rounds(&rig, 5).await > 0, want, "{document}");
    }
}

#[tokio::test(start_paused = true)]
async fn panic_threshold_says_when_all_are_called() {
    let keys = ejections("max-ejection-percent: 75", "panic-threshold: 20");
    for (document, want) in keys.documents().iter().zip([true, false]) {
        let rig = Rig::new(document, &among(1, &[failing(), failing(), failing()]));
        rounds(&rig, 20).await;
        assert_eq!(rounds(&rig, 5).await > 0, want, "{document}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_of_a_comparison_says_who_is_compared_and_who_is_out() {
    const ALONE: &str = "success-rate-volume: 1000";
    const BY_PART: &str = "success-rate-volume: 1000, failure-percentage: 50";
    // (beside, key, whether the last of five, half of whose calls fail, is still called: without the key, with it)
    for (beside, key, want) in [
        ("", "hosts: 6", [false, true]),
        ("", "success-rate-volume: 101", [false, true]),
        ("", "success-rate-stdev-factor: 2.1", [false, true]),
        ("", "interval: 20s", [false, true]),
        (ALONE, "failure-percentage: 50", [true, false]),
        (BY_PART, "failure-percentage-volume: 101", [false, true]),
    ] {
        for (document, want) in ejections(beside, key).documents().iter().zip(want) {
            let rig = Rig::new(document, &among(4, &[half()]));
            assert_eq!(rounds(&rig, 100).await, 100);
            advance(Duration::from_secs(11)).await;
            rounds(&rig, 1).await;
            assert_eq!(rounds(&rig, 5).await > 0, want, "{document}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_key_of_a_recovery_says_how_many_calls_a_provider_carries_that_comes_back() {
    // (key, how long between two bursts, how many calls it carries in the third one: without the key, with it)
    for (key, seconds, want) in [
        ("initial: 4", 1, [2, 4]),
        ("window: 5s", 6, [2, 4]),
        // It has carried twenty at a time.
        ("cap: 10%", 31, [4, 2]),
    ] {
        let keys = Keys {
            section: "recoveries",
            beside: "",
            key,
        };
        for (document, want) in keys.documents().iter().zip(want) {
            let second = Answer::After(Duration::from_secs(1));
            let script = [vec![second.clone(); 20], vec![broken(); 5], vec![second]];
            let rig = Rig::new(document, &among(1, &[script.concat()]));
            assert_eq!(burst(&rig, 40).await, 20);
            assert_eq!(rounds(&rig, 20).await, 5, "it is out");
            advance(Duration::from_secs(31)).await;
            for _ in 0..2 {
                burst(&rig, 20).await;
                advance(Duration::from_secs(seconds)).await;
            }
            assert_eq!(burst(&rig, 20).await, want, "{document}");
        }
    }
}

/// How many of two hundred calls go to the slower one of two providers, once it is known.
async fn share_of_a_slow_one(rig: &Rig) -> usize {
    for _ in 0..20 {
        burst(rig, 100).await;
        advance(Duration::from_secs(11)).await;
    }
    burst(rig, 200).await
}

/// Two providers of weight 100, of which the last one takes a second for each call.
fn a_slow_one(document: &str) -> Rig {
    let began = Instant::now();
    let clock = Clock::new(move || began.elapsed().as_millis().try_into().unwrap_or(u64::MAX));
    let slow = vec![Answer::After(Duration::from_secs(1))];
    let config = asking_by(clock, &service(), &[]);
    let rig = Rig::by(&Failover, document, &among(1, &[slow]), config);
    let nodes = rig.providers.iter().cloned();
    rig.directory
        .set_nodes(nodes.map(|provider| Node::new(provider, NodeWeight::constant(100))));
    rig
}

#[tokio::test(start_paused = true)]
async fn each_key_of_weights_says_whether_a_slow_provider_gets_less() {
    for key in ["target-p99: 2s", "volume: 1000", "window: 1h"] {
        let keys = Keys {
            section: "weights",
            beside: "",
            key,
        };
        let [without, with] = keys.documents();
        let share = share_of_a_slow_one(&a_slow_one(&without)).await;
        assert!((50..80).contains(&share), "{share}: {without}");
        let share = share_of_a_slow_one(&a_slow_one(&with)).await;
        assert!((99..=101).contains(&share), "{share}: {with}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_switch_of_weights_gives_a_slow_provider_its_share_back_at_once() {
    let document = "policies: {p: {max-attempts: 1, per-attempt-timeout: 1m, weights: default}}";
    let rig = a_slow_one(document);
    let share = share_of_a_slow_one(&rig).await;
    assert!((50..80).contains(&share), "{share}");
    let switches = |on| Switches {
        weights_dynamic: on,
        ..Switches::default()
    };
    rig.resend.set_switches(switches(false));
    burst(&rig, 10).await;
    advance(Duration::from_secs(2)).await;
    let share = burst(&rig, 200).await;
    assert!((99..=101).contains(&share), "{share}");
    rig.resend.set_switches(switches(true));
    let share = share_of_a_slow_one(&rig).await;
    assert!((50..80).contains(&share), "{share}");
}
