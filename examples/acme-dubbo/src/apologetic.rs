use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, PerMethod},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::Status,
    url::{Key, Url},
};

/// Makes one attempt, and tells of one that failed in the words of the company.
///
/// Its parameter `acme.hotline`, of a method or of all, says whom to ask.
#[derive(Debug)]
pub struct Apologetic;

impl Cluster for Apologetic {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        // Read once: a call parses nothing.
        let hotlines = config.per_method(|method| config.url.get_for(method, &HOTLINE))?;
        Ok(Arc::new(Joined {
            directory,
            config,
            hotlines,
        }))
    }
}

struct Joined {
    directory: Arc<dyn Directory>,
    config: Arc<ClusterConfig>,
    hotlines: PerMethod<String>,
}

#[async_trait]
impl Invoker for Joined {
    fn url(&self) -> &Url {
        self.directory.consumer_url()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let method = invocation.method.clone();
        let candidates = self.directory.list(&invocation)?;
        let balance = &self.config.method(&method).load_balance;
        let chosen = balance.select(&candidates, &invocation);
        let chosen = chosen.and_then(|at| candidates.get(at));
        let node = chosen.ok_or_else(|| Status::unavailable("nobody to choose"))?;
        node.invoker.invoke(invocation).await.map_err(|status| {
            let hotline = self.hotlines.get(&method);
            let message = format!(
                "We are sorry. Please call {hotline}. ({})",
                status.message()
            );
            Status::new(status.code(), message).with_origin(status.origin())
        })
    }

    async fn close(&self) {
        self.directory.close().await;
    }
}

dubbo_core::extension!(dyn Cluster, "apologetic", |_context| Ok(Arc::new(
    Apologetic
)));

const HOTLINE: Key<String> = Key {
    name: "acme.hotline",
    default: || "our hotline".to_owned(),
};
