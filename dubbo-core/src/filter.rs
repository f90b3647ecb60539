//! Code that sees every call on its way: on the consumer once per attempt or once per call, on the provider once per
//! request.

use std::{fmt, pin::Pin, sync::Arc};

use async_trait::async_trait;

use crate::{
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    url::Url,
};

/// One filter. It may look at and change the call, await anything, answer by itself, or call [`Next::run`] and look
/// at what comes back.
///
/// ```
/// use dubbo_core::{filter::{Filter, Next}, invocation::{Invocation, RpcResult}};
///
/// struct Stamp;
///
/// #[async_trait::async_trait]
/// impl Filter for Stamp {
///     async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
///         invocation.attachments.insert("stamp", "1");
///         next.run(invocation).await
///     }
/// }
///
/// dubbo_core::extension!(dyn Filter, "stamp", |_cx| Ok(std::sync::Arc::new(Stamp)));
/// ```
#[async_trait]
pub trait Filter: Send + Sync + 'static {
    /// Handles `invocation`, usually by handing it to `next`.
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult;
}

/// A filter that sees a call of a consumer once, however many attempts it takes: it stands before the cluster, where
/// [`Filter`] stands before each provider.
///
/// A name in a consumer's list of filters means this kind, if there is one of that name, and [`Filter`], if there is one:
/// a name with both sees the call and each of its attempts.
///
/// ```
/// # use dubbo_core::{filter::{ClusterFilter, Filter, Next}, invocation::{Invocation, RpcResult}};
/// # struct Audit;
/// # #[async_trait::async_trait]
/// # impl Filter for Audit {
/// #     async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
/// #         next.run(invocation).await
/// #     }
/// # }
/// impl ClusterFilter for Audit {}
///
/// dubbo_core::extension!(dyn ClusterFilter, "audit", |_cx| Ok(std::sync::Arc::new(Audit)));
/// ```
pub trait ClusterFilter: Filter {}

/// The rest of a chain: the filters after this one and the invoker at the end.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    filters: &'a [Arc<dyn Filter>],
    end: &'a dyn Invoker,
}

impl<'a> Next<'a> {
    /// Hands the call on. Being `Copy`, a `Next` can be run again: a filter that repeats calls does so.
    pub fn run(
        self,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = RpcResult> + Send + 'a>> {
        match self.filters.split_first() {
            Some((filter, filters)) => filter.invoke(invocation, Self { filters, ..self }),
            None => self.end.invoke(invocation),
        }
    }

    /// The URL of the invoker at the end.
    pub fn url(&self) -> &'a Url {
        self.end.url()
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("filters", &self.filters.len())
            .field("end", self.end.url())
            .finish()
    }
}

/// An invoker behind filters, the first of which sees the call first.
pub struct Chain {
    filters: Box<[Arc<dyn Filter>]>,
    end: Arc<dyn Invoker>,
}

impl Chain {
    /// Puts `filters` before `end`. Without filters it is `end` itself.
    pub fn wrap(filters: Vec<Arc<dyn Filter>>, end: Arc<dyn Invoker>) -> Arc<dyn Invoker> {
        if filters.is_empty() {
            return end;
        }
        Arc::new(Self {
            filters: filters.into(),
            end,
        })
    }
}

impl Invoker for Chain {
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
        let next = Next {
            filters: &self.filters,
            end: &*self.end,
        };
        next.run(invocation)
    }

    fn close<'a, 'b>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>>
    where
        'a: 'b,
    {
        self.end.close()
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain")
            .field("filters", &self.filters.len())
            .field("end", self.end.url())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Passing;

    #[async_trait]
    impl Filter for Passing {
        async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
            next.run(invocation).await
        }
    }

    struct Gone(Url);

    #[async_trait]
    impl Invoker for Gone {
        fn url(&self) -> &Url {
            &self.0
        }

        fn is_available(&self) -> bool {
            false
        }

        fn is_connecting(&self) -> bool {
            true
        }

        fn why_unavailable(&self) -> Option<String> {
            Some("it is gone".to_owned())
        }

        fn in_flight(&self) -> usize {
            7
        }

        async fn invoke(&self, _invocation: Invocation) -> RpcResult {
            unreachable!("nobody calls it")
        }
    }

    #[test]
    fn filters_hide_nothing_of_the_invoker_behind_them() {
        let gone = Arc::new(Gone(Url::new("tri", "10.0.0.1")));
        let chain = Chain::wrap(vec![Arc::new(Passing)], gone);
        assert_eq!(chain.url().host(), "10.0.0.1");
        assert!(!chain.is_available() && chain.is_connecting());
        assert_eq!(chain.why_unavailable().as_deref(), Some("it is gone"));
        assert_eq!(chain.in_flight(), 7);
    }
}
