//! `retrySame`: a failed call is tried again on the same provider, after a pause that grows.

use std::sync::Arc;

use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invoker::Invoker,
};

use super::failover::TryAgain;
use crate::resend::policy::Target;

/// Tries a call up to `retries` times more on the provider that failed it: for providers whose answer depends on what they
/// keep, such as a session or a cache.
///
/// `docs/spec/cluster.md` §2.1, §7.13. It is [`Failover`](super::Failover) that stays: before each further attempt it waits
/// 50–99 ms, 100–149 ms, 200–249 ms, … up to 1 s, and takes a retry from the budget (`dubbo.retry.budget`, else `default`),
/// for a provider that fails is hurt by being asked again. It ends when the provider's breaker is not closed. A provider
/// that is not listed any more is replaced by another one. A policy (`dubbo.retry`) that is for the call counts instead,
/// and its `target`, if it has one.
#[derive(Debug)]
pub struct RetrySame;

impl Cluster for RetrySame {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        Ok(TryAgain::join(directory, config, Target::Same))
    }
}

dubbo_core::extension!(dyn Cluster, "retrySame" | "retry-same", |_cx| Ok(Arc::new(
    RetrySame
)));
