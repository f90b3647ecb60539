//! `failfast`: a failed call is the caller's at once. For methods that must not be repeated.

use std::sync::Arc;

use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
};

use super::{
    attempt::Reference,
    joined::{Joined, Manner, choose, once},
};

/// Makes one attempt, and tells what failed on whom ([`FailedCall`](super::FailedCall)). An answer of the application comes as it is.
///
/// `docs/spec/cluster.md` §2.2.
#[derive(Debug)]
pub struct Failfast;

impl Cluster for Failfast {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        Ok(Joined::over(directory, config, Once))
    }
}

struct Once;

impl Manner for Once {
    const CLUSTER: &'static str = "failfast";

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        let (node, candidates) = choose(reference, &mut invocation)?;
        once(reference, &node, candidates, invocation).await
    }
}

dubbo_core::extension!(dyn Cluster, "failfast", |_cx| Ok(Arc::new(Failfast)));
