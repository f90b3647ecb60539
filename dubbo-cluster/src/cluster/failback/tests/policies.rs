//! What policies say of calls that are made again later.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{AGES, Estate, down, times, unavailable};
use crate::{
    resend::{PolicyDocument, Resend, Switches},
    testing::{Answer, Fixed, Scripted, invocation},
};

/// A reference to `provider`, in an instance whose policies are `document`.
fn estate(provider: &Arc<Scripted>, document: &str) -> (Estate, Resend) {
    let estate = Estate::of(Fixed::of(&[Arc::clone(provider)]));
    let resend = Resend::clone(&estate.extensions.shared());
    let document = PolicyDocument::parse("test.yaml", document);
    resend.set_policies(document.expect("no mistakes"));
    (estate, resend)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_names_its_policy_has_it_each_time() {
    let document = "
policies:
  quick: { match: { service: other }, backoff: { kind: fixed, base: 100ms }, budget: none }";
    let provider = down();
    let (estate, _) = estate(&provider, document);
    let reference = estate.join(Some(3), &[]);
    let start = Instant::now();
    let mut call = invocation();
    call.attachments.insert("dubbo-retry-policy", "quick");
    reference.invoke(call).await.expect("goes on");
    sleep(AGES).await;
    let made: Vec<_> = times(&provider, start)
        .into_iter()
        .map(|seconds| (seconds * 10.0).round() / 10.0)
        .collect();
    assert_eq!(made, [0.0, 0.1, 0.2, 0.3]);
    let named = |got: &crate::testing::Got| got.attachments.contains("dubbo-retry-policy");
    assert!(!provider.calls().iter().any(named), "it is not sent");
    let letters = estate.letters().await;
    assert_eq!(letters[0].policy, "quick");
}

#[tokio::test(start_paused = true)]
async fn a_call_brings_its_part_of_the_budget_and_a_switch_that_is_off_takes_none_of_it() {
    let document = "
policies: { all: { backoff: { kind: fixed, base: 1s }, budget: own } }
budgets: { own: { ratio: 1, min-per-sec: 0, window: 10m } }";
    let provider = Scripted::with(1, [unavailable(), Answer::After(Duration::ZERO)]);
    let (estate, resend) = estate(&provider, document);
    let reference = estate.join(Some(3), &[]);
    let off = Switches {
        retry_enabled: false,
        ..Switches::default()
    };
    resend.set_switches(off);
    reference.invoke(invocation()).await.expect("goes on");
    sleep(Duration::from_secs(30)).await;
    assert_eq!(provider.calls().len(), 1);
    resend.set_switches(None);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        provider.calls().len(),
        2,
        "the one that the call has brought"
    );
}
