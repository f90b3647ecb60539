//! Routers in their order, each over what the one before left.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use dubbo_core::{
    cluster::{Candidates, Router},
    invocation::Invocation,
    url::Url,
};

/// The routers of one reference.
///
/// `docs/spec/cluster.md` §1.5: in rising priority, equal ones by name. A router that panics changes nothing.
#[derive(Clone, Default)]
pub struct RouterChain {
    routers: Arc<[(String, Arc<dyn Router>)]>,
}

impl RouterChain {
    /// Runs `routers`, each with the name that it is configured by.
    pub fn new(routers: impl IntoIterator<Item = (String, Arc<dyn Router>)>) -> Self {
        let mut routers: Vec<_> = routers.into_iter().collect();
        routers
            .sort_by(|(a, first), (b, second)| (first.priority(), a).cmp(&(second.priority(), b)));
        Self {
            routers: routers.into(),
        }
    }

    /// Narrows `candidates` for one call; stops at the router that leaves none, and names it.
    pub fn route(
        &self,
        candidates: &mut Candidates,
        consumer: &Url,
        invocation: &Invocation,
    ) -> Result<(), Emptied<'_>> {
        for (name, router) in &*self.routers {
            let before = candidates.len();
            let input = candidates.clone();
            let route = AssertUnwindSafe(|| router.route(candidates, consumer, invocation));
            if catch_unwind(route).is_err() {
                tracing::error!(router = %name, "a router panicked; its input is used as it was");
                *candidates = input;
            }
            if candidates.is_empty() && before > 0 {
                return Err(Emptied {
                    router: name,
                    before,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RouterChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.routers.iter().map(|(name, _)| name))
            .finish()
    }
}

/// A router that left no provider for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("router `{router}` left none of {before} for this call")]
pub struct Emptied<'a> {
    router: &'a str,
    before: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{candidates, consumer, invocation, ports, weighted};

    /// Keeps the ports it is told to, and panics when told none.
    struct Keep(i32, &'static [u16]);

    impl Router for Keep {
        fn priority(&self) -> i32 {
            self.0
        }

        fn route(&self, candidates: &mut Candidates, _consumer: &Url, _invocation: &Invocation) {
            candidates.retain(|node| {
                let port = node.invoker.url().port().expect("has a port");
                assert!(!self.1.is_empty(), "a broken router");
                self.1.contains(&port)
            });
        }
    }

    fn route(routers: &[(&str, i32, &'static [u16])]) -> Result<Vec<u16>, String> {
        let chain = RouterChain::new(routers.iter().map(|&(name, priority, ports)| {
            let router: Arc<dyn Router> = Arc::new(Keep(priority, ports));
            (name.to_owned(), router)
        }));
        let mut candidates = candidates(&weighted(&[1, 1, 1]));
        chain
            .route(&mut candidates, &consumer(), &invocation())
            .map_err(|emptied| emptied.to_string())?;
        Ok(ports(&candidates))
    }

    #[test]
    fn each_router_narrows_what_the_one_before_left() {
        assert_eq!(route(&[]), Ok(vec![1, 2, 3]));
        assert_eq!(route(&[("a", 0, &[1, 2]), ("b", 0, &[2, 3])]), Ok(vec![2]));
    }

    #[test]
    fn the_first_in_order_that_leaves_none_is_named() {
        for (routers, first) in [
            ([("late", 2, &[9][..]), ("early", 1, &[8])], "early"),
            ([("b", 0, &[9]), ("a", 0, &[8])], "a"),
        ] {
            let want = format!("router `{first}` left none of 3 for this call");
            assert_eq!(route(&routers), Err(want));
        }
    }

    #[test]
    fn a_router_that_panics_changes_nothing() {
        assert_eq!(route(&[("a", 0, &[]), ("b", 1, &[3])]), Ok(vec![3]));
    }
}
