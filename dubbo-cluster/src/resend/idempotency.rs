//! By what providers know a call that they get again (`docs/spec/cluster.md` §7.3, §7.4).

use std::time::{Duration, SystemTime};

use dubbo_core::attachments::Attachments;
use fastrand::Rng;

/// Gives `attachments` a key of this call, if it has none: it is made once, where the call begins, and is the same on every
/// attempt and replay.
pub(crate) fn ensure_key(attachments: &mut Attachments) {
    ensure(attachments, IDEMPOTENCY_KEY);
}

/// Gives `attachments` the id of this call, if it has none; the same as for the key.
pub(crate) fn ensure_id(attachments: &mut Attachments) {
    ensure(attachments, REQUEST_ID);
}

fn ensure(attachments: &mut Attachments, name: &'static str) {
    if !attachments.contains(name) {
        attachments.append(name, fresh());
    }
}

/// A new id that sorts by the time: a UUID of version 7 (RFC 9562 §5.7).
pub(crate) fn fresh() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    uuid(since.unwrap_or(Duration::ZERO), &mut Rng::new())
}

fn uuid(since_epoch: Duration, random: &mut Rng) -> String {
    let millis = since_epoch.as_millis() & ((1 << 48) - 1);
    let chance = random.u128(..);
    let version = 0x7 << 76;
    let variant = 0b10 << 62;
    let free = (0xfff << 64) | ((1 << 62) - 1);
    let all = millis << 80 | version | variant | chance & free;
    // Once for each call with a policy: one allocation, and no formatter.
    let mut text = String::with_capacity(36);
    for digit in 0..32_u32 {
        if [8, 12, 16, 20].contains(&digit) {
            text.push('-');
        }
        let nibble = (all >> (124 - 4 * digit) & 0xf) as usize;
        text.push(char::from(b"0123456789abcdef"[nibble]));
    }
    text
}

/// The attachment with the id of a call.
pub(crate) const REQUEST_ID: &str = "dubbo-request-id";

/// The attachment with the key of a call, by which providers do it once.
pub(crate) const IDEMPOTENCY_KEY: &str = "dubbo-idempotency-key";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_uuid_of_version_7_that_begins_with_the_time() {
        let at = Duration::from_secs(1_645_557_742);
        let mut random = Rng::with_seed(42);
        for _ in 0..100 {
            let id = uuid(at, &mut random);
            assert_eq!(id.len(), 36);
            assert!(id.starts_with("017f22e2-79b0-7"), "{id}");
            assert!(
                matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'),
                "{id}"
            );
        }
        assert_ne!(uuid(at, &mut random), uuid(at, &mut random));
        assert!(uuid(at, &mut random) < uuid(at * 2, &mut random));
    }

    #[test]
    fn a_call_keeps_the_key_that_it_came_with() {
        let mut attachments = Attachments::new();
        attachments.insert("Dubbo-Idempotency-Key", "mine");
        ensure_key(&mut attachments);
        ensure_id(&mut attachments);
        assert_eq!(attachments.get(IDEMPOTENCY_KEY), Some("mine"));
        let id = attachments.get(REQUEST_ID).map(str::to_owned);
        ensure_id(&mut attachments);
        assert_eq!(attachments.get(REQUEST_ID).map(str::to_owned), id);
    }
}
