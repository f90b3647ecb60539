//! What a provider says of its end in its answers: `closing: true` (`docs/spec/cluster.md` §6.7).

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use dubbo_core::{
    attachments::Attachments,
    invocation::RpcResult,
    url::{Key, Url, UrlError},
};
use tokio::time::Instant;

use crate::{endpoint::Link, reject::CLOSING};

/// Whether the provider has said that it is about to end. New calls should go elsewhere then, for a while: until the
/// connection on which it was said is gone, because what comes after it may be another process, and no longer than
/// `closing-invoker-expire-time`.
#[derive(Debug)]
pub(super) struct Departure {
    lasts: Duration,
    said: ArcSwapOption<Said>,
}

#[derive(Debug)]
struct Said {
    on: Weak<dyn Send + Sync>,
    until: Instant,
}

impl Departure {
    pub(super) fn read(url: &Url) -> Result<Self, UrlError> {
        Ok(Self {
            lasts: url.get(&EXPIRE_TIME)?,
            said: ArcSwapOption::empty(),
        })
    }

    /// Whether new calls should go elsewhere.
    pub(super) fn is_near(&self) -> bool {
        let said = self.said.load();
        said.as_ref()
            .is_some_and(|said| Instant::now() < said.until && said.on.strong_count() > 0)
    }

    /// Reads `result`, which came on `connection`. What is said there is of this provider alone, and does not stay among
    /// what an application may pass on.
    pub(super) fn hear<L: Link>(&self, mut result: RpcResult, connection: &Arc<L>) -> RpcResult {
        let is_said = match &mut result {
            Ok(reply) => take(&mut reply.headers) | take(&mut reply.trailers),
            Err(status) => take(status.attachments_mut()),
        };
        if is_said && let Some(until) = Instant::now().checked_add(self.lasts) {
            let on: Weak<L> = Arc::downgrade(connection);
            self.said.store(Some(Arc::new(Said { on, until })));
        }
        result
    }
}

/// Takes out the flag; whether it was there, alone or among others.
fn take(attachments: &mut Attachments) -> bool {
    let is_said = attachments.all(CLOSING).any(|value| value == "true");
    if is_said {
        attachments.remove(CLOSING);
    }
    is_said
}

const EXPIRE_TIME: Key<Duration> = Key {
    name: "closing-invoker-expire-time",
    default: || Duration::from_secs(30),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_heard_alone_and_in_a_list_and_does_not_stay() {
        for (values, want) in [
            (&["true"][..], true),
            (&["false", "true"], true),
            (&["false"], false),
            (&[], false),
        ] {
            let mut all: Attachments = values.iter().map(|value| ("Closing", *value)).collect();
            all.append("kept", "1");
            assert_eq!(take(&mut all), want, "{values:?}");
            assert_eq!(all.contains(CLOSING), !want && !values.is_empty());
            assert!(all.contains("kept"));
        }
    }
}
