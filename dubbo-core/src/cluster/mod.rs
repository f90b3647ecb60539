//! Choosing among providers: directories list them, routers and load balancers narrow the list, clusters try.

mod candidates;
mod config;
mod list;
mod merger;
mod mock;
mod node;
mod record;
mod state;
mod timing;

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;

pub use self::{
    candidates::{Candidates, CandidatesKey, Weights},
    config::{ClusterConfig, MethodConfig, PerMethod},
    list::NodeList,
    merger::{Merger, MessageMerger},
    mock::Mock,
    node::{Node, NodeId, NodeWeight},
    record::Recent,
    state::{Active, MethodState, NodeHealth, NodeState, Score},
    timing::Timing,
};
use crate::{
    explain::Step,
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::Status,
    url::Url,
};

/// Turns a directory of providers into one invoker, with a policy for failed calls.
///
/// One value serves one reference. What has to outlive a change of its options, such as calls that wait to be sent again,
/// belongs to this value and not to the invokers it makes.
pub trait Cluster: Send + Sync + 'static {
    /// The invoker of the reference for the providers in `directory`. It is made once for each registry that is asked, and
    /// again with another `config` when a rule changes the options; calls under way stay with the one they began with.
    ///
    /// # Errors
    ///
    /// An option that it cannot use: which, and why.
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError>;
}

/// Knows the providers of one reference, now.
#[async_trait]
pub trait Directory: Send + Sync + 'static {
    /// The providers that may serve `invocation`, routing rules applied.
    ///
    /// # Errors
    ///
    /// There is none; the status says why.
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status>;

    /// All providers, before routing.
    fn nodes(&self) -> Arc<NodeList>;

    /// Why no provider can be called now: nobody is listed, or nobody who is listed is available, each with its
    /// [reason](Invoker::why_unavailable). `None` when there is one.
    fn why_unavailable(&self) -> Option<String>;

    /// How its providers were found, step by step: from the question of the consumer, and what each router leaves for
    /// `call`, to those that can be called.
    fn explain(&self, call: &Invocation) -> Vec<Step>;

    /// The consumer's URL.
    fn consumer_url(&self) -> &Url;

    /// Who names the providers, for messages: `registry memory://local`.
    fn origin(&self) -> String;

    /// Whether any provider is available, as it changes.
    fn availability(&self) -> watch::Receiver<bool>;

    /// Ends its subscription and closes its invokers. Calls after this find no provider.
    ///
    /// # Cancel safety
    ///
    /// What was begun goes on when the future is dropped; another call waits for the rest.
    async fn close(&self);
}

/// Narrows a list of providers for one call. It runs on every call and must not block. One value serves one reference.
pub trait Router: Send + Sync + 'static {
    /// Routers run in rising order; equal ones by name.
    fn priority(&self) -> i32 {
        0
    }

    /// Whether it lets every call go anywhere now, as a router does that has no rule: then it is not run. It is asked on
    /// every call.
    fn is_idle(&self) -> bool {
        false
    }

    /// Keeps the providers that `invocation` may go to.
    fn route(&self, candidates: &mut Candidates, consumer: &Url, invocation: &Invocation);

    /// What [`route`](Self::route) does with `candidates` for `invocation`, for messages: the rule that it follows, where
    /// that came from, and what in it decides. `None`: it follows no rule.
    fn explain(
        &self,
        candidates: &Candidates,
        consumer: &Url,
        invocation: &Invocation,
    ) -> Option<String> {
        let _ = (candidates, consumer, invocation);
        None
    }

    /// Hears of each new list before calls see it, not on the way of a call: here a router learns whose rules it has to
    /// follow. It must not block.
    fn listed(&self, nodes: &Arc<NodeList>) {
        let _ = nodes;
    }
}

/// Chooses one provider. It runs on every attempt and must not block. One value serves one reference, or one method of
/// it that asks for another algorithm.
pub trait LoadBalance: Send + Sync + 'static {
    /// The position in `candidates` of the one to call; `None` only when there are none.
    fn select(&self, candidates: &Candidates, invocation: &Invocation) -> Option<usize>;

    /// The position in `candidates` of the one to call among those that are `wanted`; `None` only when none is.
    ///
    /// By default it picks among a narrowed list, which asks every candidate. An algorithm that can do with fewer questions
    /// says so here, and comes to the same shares.
    fn select_where(
        &self,
        candidates: &Candidates,
        invocation: &Invocation,
        wanted: &dyn Fn(&Node) -> bool,
    ) -> Option<usize> {
        let narrowed = candidates.narrowed(wanted);
        let picked = self.select(&narrowed, invocation)?;
        candidates.position_in(&narrowed, picked)
    }

    /// Comes before each attempt at `node` that it was asked to choose for, so that the request can carry a question to the
    /// provider. `invocation` is that of this attempt alone.
    fn before(&self, node: &Node, invocation: &mut Invocation) {
        let _ = (node, invocation);
    }

    /// Comes after each attempt that ended, with what `node` answered. `method` is what was seen of the method there, with
    /// this attempt.
    fn after(&self, node: &Node, method: &MethodState, result: &RpcResult) {
        let _ = (node, method, result);
    }
}
