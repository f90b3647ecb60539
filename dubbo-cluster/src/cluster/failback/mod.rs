//! `failback`: a failed call is made again later, and its caller goes on as if it had worked. For notices that must arrive
//! some time.

mod options;
mod replays;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, PerMethod},
    extension::{BoxError, Extensions},
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::CallKind,
    status::Retry,
    url::Url,
};
use tokio::time::Instant;

use self::{
    options::Options,
    replays::{NothingDone, Replays, Task},
};
use super::{
    attempt::{self, Reference},
    ignored,
};
use crate::resend::{
    dead_letter::{DeadLetters, Drains as _, Replaying},
    idempotency,
    policy::Idempotency,
    reference::POLICY,
};

/// Makes one attempt. When it fails the caller gets an empty answer whose attachment [`dubbo-ignored`](super::IGNORED) says
/// so, and the call is made again later: first after about 1 s, then after half as long again each time, 60 s at most, and
/// each time more or less half of that by chance, so that calls that failed together do not come back together.
///
/// `docs/spec/cluster.md` §2.4. What is configured, for all methods or for one:
///
/// - `retries`: how often it is made again; 3, 0 for not at all, below 0 for endlessly often. A call's own attachment
///   `retries` counts more, and is not sent.
/// - `failbacktasks`: how many calls of the reference may wait or be under way; 100. One more is given up at once.
/// - `failback.rate`, `failback.burst`: how many are made again in a second on average, and at once, for the whole
///   reference; any number, and 10.
/// - `failback.priority`: who goes first when the rate holds several back, from 1 to 10; 5.
/// - `failback.ttl`: how long it is worth making again; for ever.
/// - `outcome`, `dead-letter.on`, `dead-letter.store` and others: what becomes of those that are given up
///   ([`LostOptions`](crate::resend::dead_letter::LostOptions)).
///
/// A call that nobody is there to take is made again, too. The list of providers is read anew each time, and the one that has
/// just failed comes last. Nothing of the caller's context, its deadline and its end, counts for a call that is made
/// again. An answer of the application and a fault of the caller are the caller's at once, for they would be the same again.
/// Calls with a stream cannot wait; their errors are the caller's, too.
///
/// A policy of the method says more: one that is `strict` how long to wait (`backoff`), each from which `budget` attempts are
/// taken and what becomes of calls that are given up. While the budget is used up, or the switch `retry.enabled` is off,
/// calls wait on.
///
/// One value serves one reference: what waits stays when its options change.
pub struct Failback {
    extensions: Extensions,
    replays: Arc<Replays>,
}

impl Failback {
    fn new(extensions: &Extensions, letters: DeadLetters, chance: fastrand::Rng) -> Self {
        let replays = Arc::new(Replays::new(letters, chance));
        replays.letters().drains(&replays);
        Self {
            extensions: extensions.clone(),
            replays,
        }
    }
}

impl Cluster for Failback {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        let letters = self.replays.letters();
        let options = config.per_method(|method| {
            Options::of(&config.url, method, &self.extensions, letters).map(Arc::new)
        })?;
        self.replays.set_pace(options::pace(&config.url)?);
        Ok(Arc::new(FailbackInvoker {
            reference: Arc::new(Reference::new(directory, config)),
            options,
            replays: Arc::clone(&self.replays),
        }))
    }
}

struct FailbackInvoker {
    reference: Arc<Reference>,
    options: PerMethod<Arc<Options>>,
    replays: Arc<Replays>,
}

#[async_trait]
impl Invoker for FailbackInvoker {
    fn url(&self) -> &Url {
        self.reference.directory.consumer_url()
    }

    fn is_available(&self) -> bool {
        self.reference.is_available()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.reference.directory.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.reference.in_flight()
    }

    async fn invoke(&self, mut invocation: Invocation) -> RpcResult {
        attempt::let_others_run().await;
        // A call that names its policy names it again when it is made again.
        let named = invocation.attachments.get(POLICY).map(str::to_owned);
        let policy = self.reference.policies.of(&mut invocation);
        if policy.options().idempotency == Idempotency::Keyed {
            idempotency::ensure_key(&mut invocation.attachments);
        }
        if let Some(budget) = replays::budget(&policy, &invocation) {
            budget.called(Instant::now());
        }
        let configured = self.reference.prepare(&mut invocation).retries;
        let own = options::take_retries(&mut invocation);
        let waits = invocation.method.kind() == CallKind::Unary
            && invocation.extensions.get::<Replaying>().is_none();
        let mut again = if waits { invocation.try_clone() } else { None };
        if let (Some(again), Some(named)) = (&mut again, named) {
            again.attachments.insert(POLICY, named);
        }
        let failed = replays::attempt(&self.reference, invocation, None).await;
        let (failure, again) = match (failed, again) {
            (Ok(reply), _) => return Ok(reply),
            (Err(failure), Some(again)) if failure.status.retry() != Retry::Never => {
                (failure, again)
            }
            (Err(failure), _) => return Err(failure.status),
        };
        let (method, status) = (again.method.clone(), failure.status.clone());
        let options = Arc::clone(self.options.get(&method));
        let allowed = options::replays_of(own.or_else(|| configured.map(i64::from)));
        let task = Task::new(
            &self.replays,
            &self.reference,
            again,
            options,
            allowed,
            failure,
        );
        match self.replays.add(task) {
            Ok(instead) => Ok(ignored::reply(&method, NAME, instead, &status)),
            Err(NothingDone) => Err(status),
        }
    }

    async fn close(&self) {
        self.replays.drain(Instant::now()).await;
        self.reference.directory.close().await;
    }
}

impl fmt::Debug for Failback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failback").finish_non_exhaustive()
    }
}

impl fmt::Debug for FailbackInvoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failback").field(self.url()).finish()
    }
}

dubbo_core::extension!(dyn Cluster, "failback", |cx| {
    let letters = DeadLetters::clone(&cx.shared());
    Ok(Arc::new(Failback::new(
        cx.extensions,
        letters,
        fastrand::Rng::new(),
    )))
});

const NAME: &str = "failback";
