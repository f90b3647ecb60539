//! One provider that fails beside one that is healthy: no caller notices.

use std::{sync::atomic::Ordering, time::Duration};

use dubbo_test::soon;
use futures_util::future::join_all;

use super::{
    nodes::{Failing, Fault},
    rig::{BOTH, Consumer, Healthy, SERVED, over, provide, tasks, tasks_are},
};

#[test]
fn a_provider_that_is_killed_under_each_call_costs_no_call() {
    nobody_notices(&BOTH, Fault::Killed, &REPEATED);
}

#[test]
fn a_provider_that_takes_leave_costs_no_call_not_even_one_that_may_not_be_repeated() {
    nobody_notices(&BOTH, Fault::Leaves, &REPEATED);
    // READONLY says nothing of the call that it follows.
    nobody_notices(&["tri"], Fault::Leaves, &[NOT_BEGUN]);
}

#[test]
fn a_port_that_refuses_costs_no_call_not_even_one_that_may_not_be_repeated() {
    nobody_notices(&BOTH, Fault::Refuses, &[COMPAT, STRICT, NOT_BEGUN]);
}

#[test]
fn a_provider_that_never_says_a_word_costs_no_call() {
    nobody_notices(&BOTH, Fault::Silent, &REPEATED);
}

#[test]
fn an_address_that_swallows_everything_costs_no_call() {
    nobody_notices(&BOTH, Fault::BlackHole, &REPEATED);
}

#[test]
fn a_provider_that_answers_too_late_costs_no_call() {
    nobody_notices(&BOTH, Fault::Slow, &REPEATED);
}

#[test]
fn a_provider_that_comes_and_goes_costs_no_call() {
    nobody_notices(&BOTH, Fault::Flaps, &REPEATED);
}

/// Options of a reference and the section `retry`.
type Mode = (&'static str, &'static str);

const COMPAT: Mode = ("", "");
const STRICT: Mode = ("params: {idempotent: 'true'}, ", "mode: strict");
/// Where calls may be repeated.
const REPEATED: [Mode; 2] = [COMPAT, STRICT];
/// Where only calls are tried again that were certainly not begun.
const NOT_BEGUN: Mode = ("", "mode: strict");

fn nobody_notices(protocols: &[&'static str], fault: Fault, modes: &[Mode]) {
    over(protocols, async |protocol| {
        let began = tasks().await;
        let failing = Failing::start(fault, protocol).await;
        let healthy = Healthy::default();
        let (provider, address) = provide(protocol, healthy.clone()).await;
        let before = tasks().await;
        // One that is back in between may answer.
        if fault != Fault::Flaps {
            let alone = Consumer::of(&failing.url, "retries: 0, timeout: 500ms", "").await;
            alone.ask().await.expect_err("it fails");
            alone.end(before).await;
        }
        let urls = format!("{};{protocol}://{address}", failing.url);
        for mode in modes {
            let name = format!("{fault:?} over {protocol}, {mode:?}");
            soon(
                &name,
                calls(fault, &failing, &healthy, &urls, *mode, before),
            )
            .await;
        }
        failing.end().await;
        provider.shutdown(Duration::ZERO).await;
        drop(provider);
        soon("the end of all tasks", tasks_are(began)).await;
    });
}

/// Calls one that fails and one that is healthy, until the one has failed often enough.
async fn calls(
    fault: Fault,
    failing: &Failing,
    healthy: &Healthy,
    urls: &str,
    (options, retry): Mode,
    before: usize,
) {
    let options = format!("{options}timeout: {}ms", TIMEOUT.as_millis());
    let consumer = Consumer::of(urls, &options, retry).await;
    let met = || failing.met.load(Ordering::Relaxed);
    let (first, served) = (met(), healthy.0.load(Ordering::Relaxed));
    let enough = |waves: usize| {
        waves >= if fault.takes_long() { 1 } else { 10 }
            && (!fault.is_counted() || met() >= first + 3)
    };
    let mut waves = 0;
    while !enough(waves) {
        waves += 1;
        for answer in join_all((0..CALLS).map(|_| consumer.ask())).await {
            match answer {
                Ok(answer) => assert_eq!(answer, SERVED),
                Err(status) => panic!("{fault:?}, {options}, {retry}, wave {waves}: {status}"),
            }
        }
    }
    assert!(healthy.0.load(Ordering::Relaxed) > served);
    consumer.end(before).await;
}

/// How many calls are made at a time.
const CALLS: usize = 8;
/// How long an attempt may take: much longer than a healthy provider needs on a machine that has much else to do.
const TIMEOUT: Duration = Duration::from_secs(2);
