//! Routers in their order, each over what the one before left.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use dubbo_core::{
    cluster::{Candidates, NodeList, Router},
    explain::Step,
    extension::{ExtensionError, Extensions},
    invocation::Invocation,
    url::Url,
};

use super::{names, snapshots::Trail};

/// The routers of one directory.
///
/// `docs/spec/cluster.md` §1.5: in rising priority, equal ones by name. A router that panics changes nothing, and one that
/// is [idle](Router::is_idle) is not run.
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

    /// The routers of a reference that asks as `consumer`: [those of every chain](super::defaults), without and with those
    /// that its parameter `router` names. A router is made for one directory, so each takes a chain of its own.
    ///
    /// # Errors
    ///
    /// The parameter names a router that is not linked, or one that refuses to be made.
    pub fn of(extensions: &Extensions, consumer: &Url) -> Result<Self, ExtensionError> {
        let made = names::chosen(extensions, consumer)?
            .into_iter()
            .map(|name| {
                let router = extensions.create::<dyn Router>(name, consumer)?;
                Ok((name.to_owned(), router))
            });
        Ok(Self::new(made.collect::<Result<Vec<_>, ExtensionError>>()?))
    }

    /// Tells the routers of the next list, before calls see it.
    pub fn listed(&self, nodes: &Arc<NodeList>) {
        for (name, router) in &*self.routers {
            let listed = AssertUnwindSafe(|| router.listed(nodes));
            if catch_unwind(listed).is_err() {
                failed(name, "a router panicked when it was told of the providers");
            }
        }
    }

    /// Narrows `candidates` for one call; stops at the router that leaves none, and names it.
    ///
    /// # Errors
    ///
    /// None is left, and what the router says about that.
    pub fn route(
        &self,
        candidates: &mut Candidates,
        consumer: &Url,
        invocation: &Invocation,
    ) -> Result<(), Emptied<'_>> {
        let trail = Trail::of(invocation);
        if let Some(trail) = trail {
            trail.listed(candidates);
        }
        for (name, router) in &*self.routers {
            if router.is_idle() {
                continue;
            }
            let before = candidates.clone();
            let route = AssertUnwindSafe(|| router.route(candidates, consumer, invocation));
            let panicked = catch_unwind(route).is_err();
            if panicked {
                failed(name, "a router panicked; its input is used as it was");
                *candidates = before.clone();
            }
            if let Some(trail) = trail {
                trail.routed(name, before.len(), candidates, panicked);
            }
            if candidates.is_empty() && !before.is_empty() {
                return Err(Emptied {
                    router: name,
                    before: before.len(),
                    why: said(name, &**router, &before, consumer, invocation),
                });
            }
        }
        Ok(())
    }

    /// Narrows `candidates` as [`route`](Self::route) does, and tells what each router that has something to say leaves of
    /// them for `invocation`, and why. Where a router chooses by chance, another call may go another way.
    pub fn explain(
        &self,
        candidates: &mut Candidates,
        consumer: &Url,
        invocation: &Invocation,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for (name, router) in &*self.routers {
            if candidates.is_empty() {
                break;
            }
            if router.is_idle() {
                continue;
            }
            let before = candidates.clone();
            let route = AssertUnwindSafe(|| router.route(candidates, consumer, invocation));
            if catch_unwind(route).is_err() {
                *candidates = before;
                let evidence = format!("`{name}` panicked, which changes nothing");
                steps.push(Step::leaving("router", evidence, candidates.len()));
                continue;
            }
            let why = said(name, &**router, &before, consumer, invocation);
            let (left, of) = (candidates.len(), before.len());
            if why.is_none() && left == of {
                continue;
            }
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let evidence = format!("`{name}` leaves {left} of {of}{why}");
            steps.push(Step::leaving("router", evidence, left));
        }
        steps
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emptied<'a> {
    router: &'a str,
    before: usize,
    why: Option<String>,
}

impl fmt::Display for Emptied<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            router,
            before,
            why,
        } = self;
        write!(f, "router `{router}` left none of {before} for this call")?;
        match why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Emptied<'_> {}

/// Counts a failure of the router `name`, which changed nothing.
pub(super) fn count_error(name: &str) {
    metrics::counter!("dubbo_router_error_total", "router" => name.to_owned()).increment(1);
}

fn failed(name: &str, what: &str) {
    count_error(name);
    tracing::error!(router = %name, "{what}");
}

/// What `router` says about `candidates`. It may be broken.
fn said(
    name: &str,
    router: &dyn Router,
    candidates: &Candidates,
    consumer: &Url,
    invocation: &Invocation,
) -> Option<String> {
    let explain = AssertUnwindSafe(|| router.explain(candidates, consumer, invocation));
    catch_unwind(explain).unwrap_or_else(|_| {
        failed(name, "a router panicked when it was asked for its reasons");
        None
    })
}

#[cfg(test)]
mod tests {
    use dubbo_test::metrics::Numbers;

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

        fn explain(&self, _: &Candidates, _: &Url, _: &Invocation) -> Option<String> {
            (self.0 > 0).then(|| format!("{:?} stay", self.1))
        }
    }

    /// Says that it has nothing to do.
    struct Idle;

    impl Router for Idle {
        fn is_idle(&self) -> bool {
            true
        }

        fn route(&self, candidates: &mut Candidates, _consumer: &Url, _invocation: &Invocation) {
            candidates.retain(|_| false);
        }
    }

    fn chain(routers: &[(&str, i32, &'static [u16])]) -> RouterChain {
        RouterChain::new(routers.iter().map(|&(name, priority, ports)| {
            let router: Arc<dyn Router> = Arc::new(Keep(priority, ports));
            (name.to_owned(), router)
        }))
    }

    fn route(routers: &[(&str, i32, &'static [u16])]) -> Result<Vec<u16>, String> {
        let chain = chain(routers);
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
    fn the_first_in_order_that_leaves_none_is_named_with_what_it_says() {
        for (routers, first) in [
            (
                [("late", 2, &[9][..]), ("early", 1, &[8])],
                "`early` left none of 3 for this call: [8] stay",
            ),
            (
                [("b", 0, &[9]), ("a", 0, &[8])],
                "`a` left none of 3 for this call",
            ),
        ] {
            assert_eq!(route(&routers), Err(format!("router {first}")));
        }
    }

    #[test]
    fn a_router_that_panics_changes_nothing_and_is_counted() {
        let numbers = Numbers::default();
        let broken: &[(&str, i32, &[u16])] = &[("a", 0, &[]), ("b", 1, &[3])];
        metrics::with_local_recorder(&numbers, || {
            for _ in 0..2 {
                assert_eq!(route(broken), Ok(vec![3]));
            }
        });
        let counted: Vec<_> = numbers.all().into_iter().collect();
        assert_eq!(
            counted,
            [("dubbo_router_error_total{router=a}".to_owned(), 2.0)]
        );
    }

    #[test]
    fn one_that_is_idle_is_not_run() {
        let chain = RouterChain::new([("idle".to_owned(), Arc::new(Idle) as Arc<dyn Router>)]);
        let mut candidates = candidates(&weighted(&[1, 1]));
        let routed = chain.route(&mut candidates, &consumer(), &invocation());
        assert_eq!((routed, candidates.len()), (Ok(()), 2));
        let steps = chain.explain(&mut candidates, &consumer(), &invocation());
        assert!(steps.is_empty());
    }

    #[test]
    fn what_each_left_is_told_up_to_the_one_that_left_none() {
        let chain = chain(&[
            ("a", 1, &[1, 2]),
            ("b", 2, &[]),
            ("c", 3, &[9]),
            ("d", 4, &[1]),
        ]);
        let mut candidates = candidates(&weighted(&[1, 1, 1]));
        let steps = chain.explain(&mut candidates, &consumer(), &invocation());
        let steps: Vec<_> = steps.iter().map(ToString::to_string).collect();
        assert_eq!(
            steps,
            [
                "router: `a` leaves 2 of 3: [1, 2] stay -> 2",
                "router: `b` panicked, which changes nothing -> 2",
                "router: `c` leaves 0 of 2: [9] stay -> 0",
            ]
        );
    }
}
