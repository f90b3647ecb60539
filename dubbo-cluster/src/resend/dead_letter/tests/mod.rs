//! Dead letters in memory: what they hold, and what can be done with them.

mod encoding;
mod lists;
mod options;
mod replays;

use std::sync::Arc;

use dubbo_core::{
    invoker::Invoker,
    service::ServiceKey,
    status::{Code, Status},
};

use super::*;
use crate::{
    resend::queue::Priority,
    testing::{Fixed, Scripted, asking, invocation_of, join, service},
};

/// A letter about a call of `method`.
pub(super) fn letter(method: &str, reason: Reason) -> DeadLetter {
    let mut call = invocation_of(method);
    call.attachments.insert("tenant", "a");
    let status = Status::unavailable("refused");
    Lost::new(call, reason, status).letter().expect("unary")
}

/// Letters with room for many.
pub(super) fn letters() -> DeadLetters {
    let letters = DeadLetters::default();
    letters.add("memory", Arc::new(MemoryStore::new(10_000)));
    letters
}

/// Has calls of `a.B` go to `provider`, as long as the result is held.
pub(super) fn refer(letters: &DeadLetters, provider: &Arc<Scripted>) -> Arc<dyn Invoker> {
    let directory = Fixed::of(&[Arc::clone(provider)]);
    let invoker = join(&crate::cluster::Failsafe, directory, asking(&[]));
    letters.refer(&ServiceKey::new("a.B"), &service(), &invoker);
    invoker
}

#[test]
fn a_letter_holds_the_call_but_not_its_attempts_and_makes_it_once_more() {
    let mut call = invocation_of("First");
    for (name, value) in [
        ("Tenant", "a"),
        ("dubbo-request-id", "r-1"),
        ("dubbo-idempotency-key", "k-1"),
        ("dubbo-retry-pool", "gray"),
        ("dubbo-attempt", "3"),
        ("dubbo-attempt-cause", "refused"),
        ("grpc-previous-rpc-attempts", "2"),
        ("retries", "7"),
        ("timeout", "3000"),
        ("_TO", "100"),
    ] {
        call.attachments.insert(name, value);
    }
    let mut lost = Lost::new(call, Reason::Exhausted, Status::aborted("conflict"));
    "orders".clone_into(&mut lost.policy);
    lost.priority = Priority::new(9);
    let letter = lost.letter().expect("unary");
    assert_eq!(letter.request_id, "r-1");
    assert_eq!(letter.idempotency_key.as_deref(), Some("k-1"));
    assert_eq!((&*letter.pool, &*letter.policy), ("gray", "orders"));
    assert_eq!(
        (letter.code, letter.reason),
        (Code::Aborted, Reason::Exhausted)
    );
    let method = letter.method_in(&service()).expect("the service has it");
    let again = letter.call(method);
    let mut names: Vec<_> = again
        .attachments
        .iter()
        .map(|(name, _)| name.into_owned())
        .collect();
    names.sort_unstable();
    let want = [
        "Tenant",
        "dubbo-idempotency-key",
        "dubbo-request-id",
        "dubbo-retry-pool",
    ];
    assert_eq!(names, want);
    assert_eq!(again.service.interface(), "a.B");
    assert_eq!(again.method.name(), "First");
}

#[test]
fn a_stream_cannot_become_a_letter() {
    let call = invocation_of("Upload");
    let error = Lost::new(call, Reason::Exhausted, Status::unavailable("x")).letter();
    let text = error.expect_err("it is gone").to_string();
    assert_eq!(text, "its requests are a stream, which is gone once sent");
}

#[test]
fn ids_are_read_back_and_rise_with_time() {
    let id = LetterId::new();
    let text = id.to_string();
    assert_eq!(text.parse(), Ok(id));
    assert_eq!(text.replace('-', "").parse(), Ok(id));
    let earlier = LetterId::of_number(id.number() - (1 << 80));
    assert!(earlier < id && earlier.to_string() < text);
    for bad in ["", "x", "123", "g0000000000000000000000000000000"] {
        assert!(bad.parse::<LetterId>().is_err(), "{bad}");
    }
}
