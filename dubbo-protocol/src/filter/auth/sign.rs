use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::Invocation,
    service::ServiceKey,
};

use super::{
    ACCESS_KEY, CONSUMER, SIGNATURE, TIMESTAMP, is_on,
    keys::{AccessKey, storage},
    signature::{Alphabet, Signature},
};
use crate::filter::Calling;

/// Signs each attempt, so that each has its own time. The alphabet is that of the provider's implementation.
struct Sign(Option<Signer>);

struct Signer {
    key: AccessKey,
    /// As both sides have it in their URLs: a caller may have asked for any group.
    service: ServiceKey,
    alphabet: Alphabet,
    application: String,
    /// The time of the last signature: no two have the same, so that a provider can tell one from a copy.
    last: AtomicU64,
}

impl Sign {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        if !is_on(cx.url)? {
            return Ok(Self(None));
        }
        let key = storage(cx)?.find(cx.url, None).ok_or(
            "`auth` is `true`, and there is no key to sign with: set `.accessKeyId` and `.secretAccessKey` among the \
             parameters, or another `accessKey.storage`",
        )?;
        let is_go = |release: &str| release.starts_with("dubbo-golang");
        let is_go = cx.url.param("release").is_some_and(is_go);
        Ok(Self(Some(Signer {
            key,
            service: cx.url.service_key(),
            alphabet: if is_go {
                Alphabet::UrlSafe
            } else {
                Alphabet::Standard
            },
            application: cx.url.param("application").unwrap_or_default().to_owned(),
            last: AtomicU64::new(0),
        })))
    }
}

impl Signer {
    fn sign(&self, invocation: &mut Invocation, now_millis: u64) {
        let later = |last: u64| Some(now_millis.max(last + 1));
        let last = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, later)
            .unwrap_or_else(|last| last);
        let timestamp = now_millis.max(last + 1).to_string();
        let method = invocation.method.name();
        let signature = Signature::of(&self.service, method, self.key.secret(), &timestamp);
        let signature = signature.written_in(self.alphabet);
        let attachments = &mut invocation.attachments;
        attachments.insert(SIGNATURE, signature);
        attachments.insert(TIMESTAMP, timestamp);
        attachments.insert(ACCESS_KEY, self.key.id().to_owned());
        attachments.insert(CONSUMER, self.application.clone());
    }
}

impl Filter for Sign {
    fn invoke<'a, 'n, 'c>(&'a self, mut invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        if let Some(signer) = &self.0 {
            signer.sign(&mut invocation, now_millis());
        }
        next.run(invocation)
    }
}

/// Now, in milliseconds since the epoch.
pub(super) fn now_millis() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

extension!(dyn Filter, "sign" | "consumersign", |cx| Ok(Arc::new(
    Sign::read(cx)?
)));
