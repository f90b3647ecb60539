use std::{sync::Arc, time::Duration};

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::Invocation,
    service::ServiceKey,
    status::Status,
    url::{Key, Url},
};

use super::{
    ACCESS_KEY, SIGNATURE, TIMESTAMP, is_on,
    keys::{AccessKeyStorage, storage},
    replay::Seen,
    sign::now_millis,
    signature::Signature,
};
use crate::filter::{Calling, at_once, called, kept::Kept};

/// Lets in who signed the call, with a key that is known and not long ago.
///
/// `auth.max-skew`, by default 5 min, is how far the clocks of both may be apart; 0 does not look. `auth.nonce-cache`, by
/// default 0, is how many signatures are remembered, each of which is taken once. Two callers that share a key, or one of
/// another implementation, may sign two calls of one method in one millisecond alike, and the second is refused then.
struct Verify(Option<Verifier>);

struct Verifier {
    url: Url,
    service: ServiceKey,
    storage: Arc<dyn AccessKeyStorage>,
    max_skew: Duration,
    seen: Option<Arc<Seen>>,
}

impl Verify {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        if !is_on(cx.url)? {
            return Ok(Self(None));
        }
        let room = cx.url.get(&NONCE_CACHE)?;
        let seen = (room > 0).then(|| {
            let name = format!("{} {room}", cx.url.service_key());
            cx.shared::<Kept<Seen>>()
                .get(name, || Seen::with_room_for(room))
        });
        Ok(Self(Some(Verifier {
            service: cx.url.service_key(),
            url: cx.url.clone(),
            storage: storage(cx)?,
            max_skew: cx.url.get(&MAX_SKEW)?,
            seen,
        })))
    }
}

impl Verifier {
    /// What is wrong with the signature of `invocation`, if anything is.
    fn refuse(&self, invocation: &Invocation, now_millis: u64) -> Result<(), String> {
        let attachments = &invocation.attachments;
        let given = |name: &'static str| {
            let value = attachments.get(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("the attachment `{name}` of a signed call is missing"))
        };
        let (signature, timestamp) = (given(SIGNATURE)?, given(TIMESTAMP)?);
        let id = given(ACCESS_KEY)?;
        let key = self
            .storage
            .find(&self.url, Some(id))
            .ok_or("no such access key is known here")?;
        let method = invocation.method.name();
        let want = Signature::of(&self.service, method, key.secret(), timestamp);
        if !want.is(signature) {
            return Err("the signature is not that of this call".to_owned());
        }
        // Only now: what has no right signature learns nothing of clocks and of what came before.
        if !self.max_skew.is_zero() {
            let signed: u64 = timestamp
                .parse()
                .map_err(|_| "its time is no number of milliseconds".to_owned())?;
            let apart = Duration::from_millis(signed.abs_diff(now_millis));
            if apart > self.max_skew {
                let most = self.max_skew;
                return Err(format!(
                    "it was signed {apart:?} away from now, and `auth.max-skew` is {most:?}"
                ));
            }
        }
        let is_new = |seen: &Arc<Seen>| seen.is_new(want.bytes());
        if self.seen.as_ref().is_some_and(|seen| !is_new(seen)) {
            return Err("it has come before".to_owned());
        }
        Ok(())
    }
}

impl Filter for Verify {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let Some(verifier) = &self.0 else {
            return next.run(invocation);
        };
        match verifier.refuse(&invocation, now_millis()) {
            Ok(()) => next.run(invocation),
            Err(why) => {
                let text = format!("{}: {why}", called(&invocation));
                at_once(Err(Status::unauthenticated(text)))
            }
        }
    }
}

extension!(dyn Filter, "auth" | "providerauth", |cx| Ok(Arc::new(
    Verify::read(cx)?
)));

const MAX_SKEW: Key<Duration> = Key {
    name: "auth.max-skew",
    default: || Duration::from_mins(5),
};

const NONCE_CACHE: Key<usize> = Key {
    name: "auth.nonce-cache",
    default: || 0,
};
