//! `failsafe`: a failed call is told in the log, and its caller goes on as if it had worked. For what is not worth failing
//! for.

use std::sync::Arc;

use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::Status,
    url::Key,
};

use super::{
    attempt::Reference,
    ignored,
    joined::{Joined, Manner, choose, once},
};
use crate::resend::{Class, dead_letter::Replaying};

/// Makes one attempt. When it fails the caller gets an empty answer: null, a message with nothing set, the end of a stream.
/// Its attachment [`dubbo-ignored`](super::IGNORED) says that and why.
///
/// `docs/spec/cluster.md` §2.3. An error of the application is the caller's, for it is an answer; so is that nobody is there
/// to be called, unless the reference has the parameter `compat.go-failsafe-empty=true`. A result that cannot be null, such
/// as a class without `Option` around it, cannot be empty either: then the caller gets an error that says so.
#[derive(Debug)]
pub struct Failsafe;

impl Cluster for Failsafe {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        let without_provider = config.url.get(&GO_EMPTY)?;
        Ok(Joined::over(
            directory,
            config,
            Suppress { without_provider },
        ))
    }
}

struct Suppress {
    /// Whether a call that nobody could take counts as one that failed.
    without_provider: bool,
}

impl Manner for Suppress {
    const CLUSTER: &'static str = NAME;

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        let (service, method) = (Arc::clone(&invocation.service), invocation.method.clone());
        let is_replay = invocation.extensions.get::<Replaying>().is_some();
        let result = match choose(reference, &mut invocation) {
            Ok((node, candidates)) => once(reference, &node, candidates, invocation).await,
            Err(status) if !self.without_provider => return Err(status),
            Err(status) => Err(status),
        };
        match result {
            Err(status) if !is_replay && is_suppressed(&status) => {
                tracing::warn!(
                    %service, method = method.name(), error = %status, "a call failed, and its caller goes on without"
                );
                metrics::counter!(
                    "dubbo_failsafe_suppressed_total",
                    "service" => service.to_string(), "method" => method.name().to_owned()
                )
                .increment(1);
                Ok(ignored::reply(&method, NAME, "the call failed", &status))
            }
            answer => answer,
        }
    }
}

fn is_suppressed(status: &Status) -> bool {
    Class::of(status, false) != Class::Business
}

dubbo_core::extension!(dyn Cluster, "failsafe", |_cx| Ok(Arc::new(Failsafe)));

const NAME: &str = "failsafe";

const GO_EMPTY: Key<bool> = Key {
    name: "compat.go-failsafe-empty",
    default: || false,
};

#[cfg(test)]
mod tests;
