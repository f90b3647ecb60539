//! The providers of one group.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    cluster::{Candidates, Directory, Node, NodeList},
    explain::Step,
    invocation::Invocation,
    status::Status,
    url::Url,
};
use tokio::sync::watch;

/// The group that a call is for. It goes with the invocation, so that one cluster serves the calls of all groups.
#[derive(Debug, Clone)]
pub(super) struct Group(pub(super) Arc<str>);

/// The group that a provider is in; empty when it is in none.
pub(super) fn group_of(node: &Node) -> &str {
    node.url.param("group").unwrap_or_default()
}

/// A directory that lists the providers of the [`Group`] of the call, and all for a call without one.
pub(super) struct Grouped(Arc<dyn Directory>);

impl Grouped {
    pub(super) fn new(directory: Arc<dyn Directory>) -> Self {
        Self(directory)
    }
}

#[async_trait]
impl Directory for Grouped {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        let mut candidates = self.0.list(invocation)?;
        let Some(Group(group)) = invocation.extensions.get() else {
            return Ok(candidates);
        };
        candidates.retain(|node| *group_of(node) == **group);
        if candidates.is_empty() {
            let text = format!(
                "no provider available for {}: {} lists none in the group `{group}` any more",
                invocation.service,
                self.origin()
            );
            return Err(Status::unavailable(text).not_processed());
        }
        Ok(candidates)
    }

    fn nodes(&self) -> Arc<NodeList> {
        self.0.nodes()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.0.why_unavailable()
    }

    fn explain(&self, call: &Invocation) -> Vec<Step> {
        self.0.explain(call)
    }

    fn consumer_url(&self) -> &Url {
        self.0.consumer_url()
    }

    fn origin(&self) -> String {
        self.0.origin()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        self.0.availability()
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
