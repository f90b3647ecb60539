//! Filters that are exchanged while calls run.

use std::{fmt, pin::Pin, sync::Arc};

use arc_swap::ArcSwapOption;
use dubbo_core::{
    extension::ExtensionError,
    filter::{Chain, Filter},
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    url::Url,
};
use parking_lot::Mutex;
use tokio::task::JoinSet;

/// A service, or the clusters of a reference, behind filters that rules may exchange. Calls that have begun stay with those
/// that they began with.
pub(in crate::instance) struct LiveChain {
    end: Arc<dyn Invoker>,
    /// With the filters that the configuration asks for.
    first: Arc<dyn Invoker>,
    /// With those that rules ask for. Few ever have some, and only these pay for them.
    exchanged: ArcSwapOption<Arc<dyn Invoker>>,
    /// What exchanges them, if it shall end with this.
    tasks: Mutex<JoinSet<()>>,
}

/// Makes filters for a URL.
pub(in crate::instance) type MakeFilters =
    dyn Fn(&Url) -> Result<Vec<Arc<dyn Filter>>, ExtensionError> + Send + Sync;

impl LiveChain {
    pub(in crate::instance) fn new(
        filters: Vec<Arc<dyn Filter>>,
        end: Arc<dyn Invoker>,
    ) -> Arc<Self> {
        Arc::new(Self {
            first: Chain::wrap(filters, Arc::clone(&end)),
            end,
            exchanged: ArcSwapOption::empty(),
            tasks: Mutex::default(),
        })
    }

    /// Has calls that begin from now on go through `filters`.
    pub(super) fn exchange(&self, filters: Vec<Arc<dyn Filter>>) {
        let chain = Chain::wrap(filters, Arc::clone(&self.end));
        self.exchanged.store(Some(Arc::new(chain)));
    }

    /// Runs `task` until this is closed or dropped.
    pub(super) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.lock().spawn(task);
    }
}

impl Invoker for LiveChain {
    fn url(&self) -> &Url {
        self.end.url()
    }

    fn is_available(&self) -> bool {
        self.end.is_available()
    }

    fn is_connecting(&self) -> bool {
        self.end.is_connecting()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.end.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.end.in_flight()
    }

    // By hand, because async_trait would box the future once more.
    fn invoke<'a, 'b>(
        &'a self,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = RpcResult> + Send + 'b>>
    where
        'a: 'b,
    {
        match self.exchanged.load_full() {
            None => self.first.invoke(invocation),
            Some(chain) => Box::pin(async move { chain.invoke(invocation).await }),
        }
    }

    fn close<'a, 'b>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>>
    where
        'a: 'b,
    {
        Box::pin(async {
            self.end.close().await;
            self.tasks.lock().abort_all();
        })
    }
}

impl fmt::Debug for LiveChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveChain").field(self.url()).finish()
    }
}
