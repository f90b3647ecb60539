//! `failfast`: a failed call is the caller's at once. For methods that must not be repeated.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::Retry,
    url::Url,
};
use tokio::time::Instant;

use super::{
    attempt::{self, Reference},
    failed::FailedCall,
};

/// Makes one attempt, and tells what failed on whom ([`FailedCall`]). An answer of the application comes as it is.
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
        Ok(Arc::new(FailfastInvoker(Reference::new(directory, config))))
    }
}

struct FailfastInvoker(Reference);

#[async_trait]
impl Invoker for FailfastInvoker {
    fn url(&self) -> &Url {
        self.0.directory.consumer_url()
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.0.directory.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    async fn invoke(&self, mut invocation: Invocation) -> RpcResult {
        attempt::let_others_run().await;
        let config = self.0.prepare(&mut invocation);
        let candidates = self.0.directory.list(&invocation)?;
        let node = self
            .0
            .choose(&candidates, &[], config, &invocation)?
            .ok_or_else(attempt::nobody_listed)?;
        let (service, method) = (Arc::clone(&invocation.service), invocation.method.clone());
        let started = Instant::now();
        let result = attempt::call(&self.0, &node, invocation).await;
        result.map_err(|status| {
            if status.retry() == Retry::Never {
                return status;
            }
            let mut failed = FailedCall::new(&service, method.name(), 1, self.url());
            failed.push(node.invoker.url(), started.elapsed(), status);
            failed.candidates = candidates.len();
            failed.origin = self.0.directory.origin();
            failed.into_status(None)
        })
    }

    async fn close(&self) {
        self.0.directory.close().await;
    }
}

impl fmt::Debug for FailfastInvoker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Failfast").field(self.url()).finish()
    }
}

dubbo_core::extension!(dyn Cluster, "failfast", |_cx| Ok(Arc::new(Failfast)));
