//! What operators switch while calls run (`docs/spec/cluster.md` §7.11).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::{
    cluster::End,
    resend::{Switches, health::Forced},
    rules::{RuleBook, key},
};

fn switched(text: &str) -> Switches {
    Switches::parse("test", text).expect("no mistakes")
}

#[tokio::test(start_paused = true)]
async fn retries_are_switched_off_and_on_for_every_mode() {
    for document in ["mode: compat", "mode: strict"] {
        let rig = Rig::new(document, &providers(3, &unsent()));
        rig.resend.set_switches(switched("retry.enabled: false"));
        rig.fails().await;
        assert_eq!(rig.made(), 1, "{document}");
        rig.resend.set_switches(None);
        rig.fails().await;
        assert_eq!(rig.made(), 4, "{document}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_hears_of_a_switch() {
    let document = "policies: { all: { max-attempts: 5, backoff: { kind: none } } }";
    let failing = Answer::FailAfter(millis(10), Status::unavailable("no").not_processed());
    let rig = Rig::new(document, &providers(5, &failing));
    let switching = async {
        tokio::time::sleep(millis(15)).await;
        rig.resend.set_switches(switched("retry.enabled: false"));
    };
    let (status, ()) = tokio::join!(rig.fails(), switching);
    assert_eq!(told(&status).made, 2);
    assert_eq!(told(&status).end, End::Switched);
}

#[tokio::test(start_paused = true)]
async fn no_call_has_more_attempts_than_a_switch_says() {
    let document = "policies: { all: { max-attempts: 5, backoff: { kind: none } } }";
    for (switch, want) in [(2, 2), (9, 5)] {
        let rig = Rig::new(document, &providers(9, &unsent()));
        rig.resend
            .set_switches(switched(&format!("retry.max-attempts-override: {switch}")));
        let status = rig.fails().await;
        assert_eq!((told(&status).made, told(&status).allowed), (want, want));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_become_gray_as_a_switch_says() {
    let one = Scripted::at(1);
    let rig = Rig::new("mode: compat", &[Arc::clone(&one)]);
    rig.resend.set_switches(switched("gray.percent: 100"));
    rig.invoker.invoke(invocation()).await.expect("answers");
    rig.resend.set_switches(switched("gray.percent: 0"));
    rig.invoker.invoke(invocation()).await.expect("answers");
    let tags = one
        .calls()
        .into_iter()
        .map(|got| got.attachments.get("dubbo.tag").map(str::to_owned));
    assert_eq!(tags.collect::<Vec<_>>(), [Some("gray".to_owned()), None]);
}

#[tokio::test(start_paused = true)]
async fn breakers_are_forced_open_and_closed() {
    let document = "policies: { all: { breaker: default } }";
    let one = Scripted::at(1);
    let rig = Rig::new(document, &[Arc::clone(&one)]);
    rig.resend
        .set_switches(switched("breaker.force-open: true"));
    assert_eq!(rig.resend.switches().breaker, Forced::Open);
    let status = rig.fails().await;
    assert_eq!(one.calls().len(), 0);
    assert!(status.message().contains("breaker.force-open"), "{status}");
    assert!(status.is_not_processed());
    rig.resend.set_switches(None);
    rig.invoker.invoke(invocation()).await.expect("answers");
}

#[tokio::test(start_paused = true)]
async fn forced_closed_no_breaker_stops_a_call_or_its_retries() {
    let document = "
policies: { all: { breaker: own, max-attempts: 2, backoff: { kind: none }, budget: none } }
breakers: { own: { min-calls: 4, open-wait: 1m } }";
    let rig = Rig::new(document, &providers(2, &unsent()));
    for _ in 0..10 {
        rig.fails().await;
    }
    let before = rig.made();
    rig.fails().await;
    assert_eq!(rig.made(), before, "the breaker of the method is open");
    let closed = switched("breaker.force-closed: true");
    rig.resend.set_switches(closed);
    for call in 1..=3 {
        let status = rig.fails().await;
        assert_eq!(rig.made(), before + 2 * call, "{status}");
    }
    rig.resend.set_switches(None);
    rig.fails().await;
    assert_eq!(rig.made(), before + 6, "it is as open as it was");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_switch_is_seen_by_all_threads_within_fifty_milliseconds_and_whole() {
    let rig = Rig::new("mode: strict", &providers(3, &unsent()));
    let both = switched("{ retry.enabled: false, retry.max-attempts-override: 7 }");
    let (is_done, torn) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let resend = rig.resend.clone();
    let readers = (0..4).map(|_| {
        let (resend, is_done, torn) = (resend.clone(), Arc::clone(&is_done), Arc::clone(&torn));
        std::thread::spawn(move || {
            while !is_done.load(Ordering::Acquire) {
                let seen = resend.switches();
                if seen.retry_enabled != seen.max_attempts_override.is_none() {
                    torn.fetch_add(1, Ordering::Relaxed);
                }
            }
            resend.switches().retry_enabled
        })
    });
    let readers: Vec<_> = readers.collect();
    for _ in 0..1_000 {
        resend.set_switches(both);
        resend.set_switches(None);
    }
    let flipped = Instant::now();
    resend.set_switches(both);
    is_done.store(true, Ordering::Release);
    for reader in readers {
        assert!(!reader.join().expect("no panic"), "sees the last one");
    }
    assert!(flipped.elapsed() < millis(50), "{:?}", flipped.elapsed());
    assert_eq!(torn.load(Ordering::Relaxed), 0);
    assert_eq!(told(&rig.fails().await).made, 1);
}

#[tokio::test(start_paused = true)]
async fn rules_say_policies_and_switches_and_a_bad_one_changes_nothing() {
    let rig = Rig::new("mode: compat", &providers(6, &unsent()));
    rig.resend.set_policies(None);
    let book = RuleBook::default();
    let following = rig.resend.follow(&book, "shop");
    let running = tokio::spawn(following.run());
    let made = async || {
        tokio::task::yield_now().await;
        tokio::time::sleep(millis(1)).await;
        told(&rig.fails().await).made
    };
    assert_eq!(made().await, 3, "Dubbo's own rules");
    let (policies, switches) = (key::resend("shop"), key::switches("shop"));
    assert_eq!((&*policies, &*switches), ("shop.resend", "shop.switches"));
    book.put(
        &policies,
        Some("policies: { all: { max-attempts: 5, backoff: { kind: none } } }"),
    );
    assert_eq!(made().await, 5);
    book.put(
        &policies,
        Some("policies: { all: { max-attempts: 0, backoff: { kind: nun } } }"),
    );
    assert_eq!(made().await, 5, "the last good one stays");
    book.put(&switches, Some("retry.enabled: false"));
    assert_eq!(made().await, 1);
    book.put(&switches, None);
    book.put(&policies, None);
    assert_eq!(made().await, 3);
    running.abort();
}
