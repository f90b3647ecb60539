//! Which ways calls took through the routers, for those who look at a running program.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use dubbo_core::{
    cluster::{Candidates, Node},
    invocation::Invocation,
    service::ServiceKey,
};
use parking_lot::Mutex;

use super::call;

/// Records, for the services that it is told, what each router left to a call and who got it (`docs/spec/config.md` §6.2):
/// one for an instance, which all of its references [share](dubbo_core::extension::Extensions::shared).
///
/// It keeps the newest [`KEPT`](Self::KEPT) calls of each of up to [`SERVICES`](Self::SERVICES) services. Of one call it
/// keeps up to 24 steps, and of each list the names of up to 8 providers: all in all less than 20 MB, even if every name is
/// as long as may be. While nothing is recorded a call looks at one flag, takes no lock and allocates nothing.
#[derive(Debug, Default)]
pub struct RouterSnapshots {
    /// Whether any service is recorded.
    is_on: AtomicBool,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    /// Whether services are recorded that nobody named.
    everything: bool,
    named: BTreeSet<ServiceKey>,
    /// Of each service the oldest call first.
    calls: BTreeMap<ServiceKey, VecDeque<Trail>>,
    /// How many calls there have been.
    count: u64,
}

/// The way of one call, from the lists of providers that it saw to those who got it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RouterSnapshot {
    /// When the call began.
    pub at: SystemTime,
    /// The service that the reference asks for.
    pub service: ServiceKey,
    /// The method; of a generic call the one that it asks for.
    pub method: String,
    /// What happened, in order. A call that is tried again is listed, routed and sent again.
    pub steps: Vec<RouterStep>,
    /// How many steps came after those.
    pub more: usize,
    number: u64,
}

/// A step on the way of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterStep {
    /// An attempt was sent to this provider.
    Chosen(String),
    /// These were there before any router.
    Listed(Providers),
    /// A router was run: one that has a rule.
    Routed {
        /// What the router is called.
        router: String,
        /// How many providers it had to choose from: those that the step before left.
        of: usize,
        /// Those that it left.
        left: Providers,
        /// Whether it panicked, which changes nothing.
        panicked: bool,
    },
}

/// Some providers: how many there are, and the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Providers {
    /// How many there are.
    pub count: usize,
    /// Protocols and addresses of the first of them.
    pub names: Vec<String>,
}

/// As many services are recorded as may be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} services are recorded at a time, and no more",
    RouterSnapshots::SERVICES
)]
#[non_exhaustive]
pub struct TooManyServices;

impl RouterSnapshots {
    /// How many calls of a service are kept.
    pub const KEPT: usize = 32;

    /// How many services are recorded at a time.
    pub const SERVICES: usize = 32;

    /// Records calls of `service` from now on.
    ///
    /// # Errors
    ///
    /// So many are recorded that there is no room for another one.
    pub fn enable(&self, service: &ServiceKey) -> Result<(), TooManyServices> {
        let mut book = self.book.lock();
        if book.named.len() >= Self::SERVICES && !book.named.contains(service) {
            return Err(TooManyServices);
        }
        book.named.insert(service.clone());
        self.switch(&book);
        Ok(())
    }

    /// Records calls of every service from now on: of those that are called first, if there are more than may be.
    pub fn enable_all(&self) {
        let mut book = self.book.lock();
        book.everything = true;
        self.switch(&book);
    }

    /// Records calls of `service` no longer, and forgets those that were: whether it was recorded by its name. Where every
    /// service is, it goes on being one of them.
    pub fn disable(&self, service: &ServiceKey) -> bool {
        let mut book = self.book.lock();
        let was_named = book.named.remove(service);
        if was_named {
            book.calls.remove(service);
        }
        self.switch(&book);
        was_named
    }

    /// Records nothing any more, and forgets all that was.
    pub fn disable_all(&self) {
        let mut book = self.book.lock();
        *book = Book {
            count: book.count,
            ..Book::default()
        };
        self.switch(&book);
    }

    /// Whether every service is recorded, and those that are by their names.
    pub fn enabled(&self) -> (bool, Vec<ServiceKey>) {
        let book = self.book.lock();
        (book.everything, book.named.iter().cloned().collect())
    }

    /// Up to `most` calls, the newest first.
    pub fn recent(&self, most: usize) -> Vec<RouterSnapshot> {
        let book = self.book.lock();
        let calls = book.calls.values().flatten();
        let mut all: Vec<_> = calls.map(|trail| trail.0.lock().clone()).collect();
        drop(book);
        all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.number));
        all.truncate(most);
        all
    }

    /// Comes before the providers of a call of `service` are listed: gives the call something to record its way in, if that
    /// is asked for and it has not got it.
    pub(crate) fn begin(&self, service: &ServiceKey, call: &mut Invocation) {
        if self.is_on.load(Ordering::Relaxed) && Trail::of(call).is_none() {
            self.record(service, call);
        }
    }

    #[cold]
    fn record(&self, service: &ServiceKey, call: &mut Invocation) {
        let mut book = self.book.lock();
        let is_named = book.named.contains(service);
        let is_known = book.calls.contains_key(service);
        let has_room = is_known || book.calls.len() < Self::SERVICES;
        let is_wanted = is_named || (book.everything && has_room);
        if !is_wanted {
            return;
        }
        if !has_room {
            // Who is asked for by name comes before whoever is called.
            let Book { named, calls, .. } = &mut *book;
            let other = calls.keys().find(|known| !named.contains(*known)).cloned();
            if let Some(other) = other {
                calls.remove(&other);
            }
        }
        book.count += 1;
        let trail = Trail(Arc::new(Mutex::new(RouterSnapshot {
            at: SystemTime::now(),
            service: service.clone(),
            method: short(call::method(call)),
            steps: Vec::new(),
            more: 0,
            number: book.count,
        })));
        let calls = book.calls.entry(service.clone()).or_default();
        if calls.len() == Self::KEPT {
            calls.pop_front();
        }
        calls.push_back(trail.clone());
        call.extensions.insert(trail);
    }

    fn switch(&self, book: &Book) {
        let is_on = book.everything || !book.named.is_empty();
        self.is_on.store(is_on, Ordering::Relaxed);
    }
}

/// Where a call that is recorded notes its way. It goes with the call.
#[derive(Debug, Clone)]
pub(crate) struct Trail(Arc<Mutex<RouterSnapshot>>);

impl Trail {
    /// That of `call`, if it is recorded.
    pub(crate) fn of(call: &Invocation) -> Option<&Self> {
        call.extensions.get()
    }

    /// Notes whom routers may choose from.
    pub(super) fn listed(&self, candidates: &Candidates) {
        self.note(|| RouterStep::Listed(Providers::of(candidates)));
    }

    /// Notes what `router` has left of `of`.
    pub(super) fn routed(&self, router: &str, of: usize, left: &Candidates, panicked: bool) {
        self.note(|| RouterStep::Routed {
            router: short(router),
            of,
            left: Providers::of(left),
            panicked,
        });
    }

    /// Notes who is sent an attempt.
    pub(crate) fn chosen(&self, node: &Node) {
        self.note(|| RouterStep::Chosen(name(node)));
    }

    fn note(&self, step: impl FnOnce() -> RouterStep) {
        let mut snapshot = self.0.lock();
        if snapshot.steps.len() < STEPS {
            snapshot.steps.push(step());
        } else {
            snapshot.more += 1;
        }
    }
}

impl Providers {
    fn of(candidates: &Candidates) -> Self {
        Self {
            count: candidates.len(),
            names: candidates.iter().take(NAMES).map(name).collect(),
        }
    }
}

/// Without the time: how it is written is up to whoever shows it.
impl fmt::Display for RouterSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.service, self.method)?;
        if self.steps.is_empty() {
            write!(f, "\n  no provider was listed")?;
        }
        for step in &self.steps {
            write!(f, "\n  {step}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more steps"),
        }
    }
}

impl fmt::Display for RouterStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen(provider) => write!(f, "chosen: {provider}"),
            Self::Listed(providers) => write!(f, "listed {providers}"),
            Self::Routed {
                router,
                of,
                panicked: true,
                ..
            } => write!(f, "router `{router}` panicked and leaves all {of}"),
            Self::Routed {
                router, of, left, ..
            } => {
                write!(f, "router `{router}` leaves {} of {of}", left.count)?;
                left.names(f)
            }
        }
    }
}

impl Providers {
    fn names(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.names.join(", "))?;
        match self.count - self.names.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.count)?;
        self.names(f)
    }
}

fn name(node: &Node) -> String {
    short(&node.invoker.url().origin())
}

/// The beginning of a text that somebody else made up.
fn short(text: &str) -> String {
    let ends = 0..=text.len().min(LONGEST);
    let end = ends.rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or_default()].to_owned()
}

/// How many steps of a call are kept.
const STEPS: usize = 24;

/// How many providers of a list are named.
const NAMES: usize = 8;

/// How long a name may be, in bytes.
const LONGEST: usize = 96;

#[cfg(test)]
mod tests {
    use dubbo_core::{
        cluster::{Directory, Router},
        invoker::Invoker,
        url::Url,
    };

    use super::*;
    use crate::{
        cluster::Failover,
        directory::StaticDirectory,
        router::RouterChain,
        testing::{Answer, Scripted, asking, consumer, invocation, invocation_of, join, url},
    };

    /// Leaves those at these ports; panics where there are none.
    struct Keep(&'static [u16]);

    impl Router for Keep {
        fn route(&self, candidates: &mut Candidates, _consumer: &Url, _invocation: &Invocation) {
            assert!(!self.0.is_empty(), "a broken router");
            let is_kept = |port| self.0.contains(&port);
            candidates.retain(|node| node.invoker.url().port().is_some_and(is_kept));
        }
    }

    /// A reference to providers at the ports 1, 2, …, as many as there are scripts, through these routers.
    async fn refer(
        scripts: &[&[Answer]],
        routers: &[(&str, &'static [u16])],
    ) -> (Arc<dyn Invoker>, Arc<RouterSnapshots>) {
        let made = (1..).zip(scripts).map(|(port, script)| {
            let invoker: Arc<dyn Invoker> = Scripted::of(url(port), script.to_vec());
            (port, invoker)
        });
        let made: BTreeMap<u16, Arc<dyn Invoker>> = made.collect();
        let urls: Vec<Url> = made.keys().copied().map(url).collect();
        let routers = routers.iter().map(|&(name, ports)| {
            let router: Arc<dyn Router> = Arc::new(Keep(ports));
            (name.to_owned(), router)
        });
        let routers = RouterChain::new(routers);
        let refer = move |url: Url| {
            let invoker = url.port().and_then(|port| made.get(&port)).cloned();
            std::future::ready(Ok(invoker.expect("it is one of them")))
        };
        let directory = StaticDirectory::refer(consumer(), &urls, routers, refer).await;
        let directory: Arc<dyn Directory> = Arc::new(directory.expect("refers"));
        let config = asking(&[("retries", "1")]);
        let snapshots = config.extensions.shared();
        (join(&Failover, directory, config), snapshots)
    }

    fn key(text: &str) -> ServiceKey {
        text.parse().expect("a service key")
    }

    fn told(snapshots: &RouterSnapshots) -> Vec<String> {
        let recent = snapshots.recent(usize::MAX);
        recent.iter().map(ToString::to_string).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_tells_what_each_router_left_and_who_got_it() {
        let down = Answer::Fail(dubbo_core::status::Status::unavailable("down"));
        for (scripts, routers, want) in [
            (
                &[&[][..], &[], &[]][..],
                &[][..],
                "a.B First\n  listed 3: tri://10.0.0.1:1, tri://10.0.0.1:2, tri://10.0.0.1:3\n  chosen: tri://10.0.0.1:1",
            ),
            (
                &[&[], &[], &[]],
                &[("a", &[2, 3][..]), ("b", &[]), ("c", &[1, 3])],
                "a.B First\n  listed 3: tri://10.0.0.1:1, tri://10.0.0.1:2, tri://10.0.0.1:3\n  \
                 router `a` leaves 2 of 3: tri://10.0.0.1:2, tri://10.0.0.1:3\n  \
                 router `b` panicked and leaves all 2\n  \
                 router `c` leaves 1 of 2: tri://10.0.0.1:3\n  chosen: tri://10.0.0.1:3",
            ),
            (
                &[&[]],
                &[("nobody", &[9])],
                "a.B First\n  listed 1: tri://10.0.0.1:1\n  router `nobody` leaves 0 of 1",
            ),
            (
                &[std::slice::from_ref(&down), &[]],
                &[],
                "a.B First\n  listed 2: tri://10.0.0.1:1, tri://10.0.0.1:2\n  chosen: tri://10.0.0.1:1\n  \
                 listed 2: tri://10.0.0.1:1, tri://10.0.0.1:2\n  chosen: tri://10.0.0.1:2",
            ),
            (&[], &[], "a.B First\n  no provider was listed"),
        ] {
            let (cluster, snapshots) = refer(scripts, routers).await;
            snapshots.enable(&key("a.B")).expect("room");
            let _ = cluster.invoke(invocation()).await;
            assert_eq!(told(&snapshots), [want]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_named_services_are_kept_the_newest_first_until_they_are_not_to_be() {
        let (cluster, snapshots) = refer(&[&[]], &[]).await;
        snapshots.enable(&key("g/a.B")).expect("room");
        cluster.invoke(invocation()).await.expect("answers");
        assert!(told(&snapshots).is_empty(), "that is another service");
        snapshots.enable_all();
        for method in ["First", "Second"] {
            let answer = cluster.invoke(invocation_of(method)).await;
            answer.expect("answers");
        }
        let methods = |most| {
            let recent = snapshots.recent(most);
            recent.into_iter().map(|one| one.method).collect::<Vec<_>>()
        };
        assert_eq!(methods(9), ["Second", "First"]);
        assert_eq!(methods(1), ["Second"]);
        assert_eq!(snapshots.enabled(), (true, vec![key("g/a.B")]));
        assert!(!snapshots.disable(&key("a.B")), "nobody named it");
        assert!(snapshots.disable(&key("g/a.B")));
        assert_eq!(methods(9).len(), 2, "all are recorded still");
        snapshots.disable_all();
        assert_eq!(snapshots.enabled(), (false, Vec::new()));
        assert_eq!(methods(9), [""; 0]);
        snapshots.enable(&key("a.B")).expect("room");
        cluster.invoke(invocation()).await.expect("answers");
        assert!(snapshots.disable(&key("a.B")));
        assert_eq!(methods(9), [""; 0]);
        let mut call = invocation();
        snapshots.begin(&key("a.B"), &mut call);
        assert!(Trail::of(&call).is_none() && call.extensions.is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded_in_every_way() {
        let snapshots = RouterSnapshots::default();
        snapshots.enable_all();
        let service = |number: usize| ServiceKey::new(format!("a.B{number}"));
        let call = |number| {
            let mut call = invocation();
            snapshots.begin(&service(number), &mut call);
            Trail::of(&call).cloned()
        };
        for number in 0..100 {
            let recorded = call(number).is_some();
            assert_eq!(recorded, number < RouterSnapshots::SERVICES, "{number}");
        }
        for number in 100..200 {
            let enabled = snapshots.enable(&service(number));
            assert_eq!(enabled.is_ok(), number < 100 + RouterSnapshots::SERVICES);
        }
        for _ in 0..100 {
            // One that is named takes the place of one that is not.
            assert!(call(100).is_some());
        }
        let recent = snapshots.recent(usize::MAX);
        let of_100 = recent.iter().filter(|one| one.service == service(100));
        assert_eq!(of_100.count(), RouterSnapshots::KEPT);
        let services: BTreeSet<_> = recent.iter().map(|one| &one.service).collect();
        assert_eq!(services.len(), RouterSnapshots::SERVICES);

        let trail = call(100).expect("it is named");
        let nodes = (1..=100).map(|port| {
            let url = url(port).with_host("h".repeat(1_000));
            let weight = dubbo_core::cluster::NodeWeight::constant(1);
            Node::new(Scripted::of(url, []), weight)
        });
        let many = Candidates::all(Arc::new(nodes.collect()));
        for _ in 0..100 {
            trail.listed(&many);
        }
        let snapshot = snapshots.recent(1).remove(0);
        assert_eq!((snapshot.steps.len(), snapshot.more), (STEPS, 100 - STEPS));
        let RouterStep::Listed(providers) = &snapshot.steps[0] else {
            panic!("it is listed: {snapshot}");
        };
        assert_eq!((providers.count, providers.names.len()), (100, NAMES));
        assert!(providers.names.iter().all(|name| name.len() == LONGEST));
        assert!(
            snapshot
                .to_string()
                .ends_with(" and 92 more\n  and 76 more steps")
        );
    }
}
