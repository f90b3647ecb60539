//! What every [`LoadBalance`] does.
//!
//! [`load_balance_suite!`](crate::load_balance_suite!) makes each function a test.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    cluster::{Candidates, LoadBalance, Node, NodeList, NodeWeight},
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};
use parking_lot::RwLock;
use tokio::time::Instant;

/// What the suite runs on.
pub struct Balance {
    /// A new one, which nobody has asked yet.
    pub load_balance: Arc<dyn LoadBalance>,
    /// Whether providers of weight 0 are left alone while others have a weight.
    pub is_weighted: bool,
}

impl fmt::Debug for Balance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balance")
            .field("is_weighted", &self.is_weighted)
            .finish_non_exhaustive()
    }
}

/// Runs the suite on a [`Balance`]: each function is a test of its own, with a value of its own.
#[macro_export]
macro_rules! load_balance_suite {
    ($balance:expr) => {
        $crate::load_balance_suite! { @each $balance;
            a_pick_is_one_of_the_list_however_long_it_is,
            calls_that_begin_and_end_on_many_threads_leave_nothing_behind,
            everybody_is_picked,
            nobody_is_picked_only_where_nobody_is,
            one_without_weight_is_picked_only_where_nobody_has_one,
            only_those_who_are_wanted_are_picked,
            shares_stay_even_on_many_threads_while_the_list_changes,
        }
    };
    (@each $balance:expr; $($name:ident,)*) => {
        $(#[test]
        fn $name() {
            $crate::suite::load_balance::$name(&$balance);
        })*
    };
}

/// Lists of every length, whole and in part.
pub fn a_pick_is_one_of_the_list_however_long_it_is(balance: &Balance) {
    for length in [1, 2, 3, 16, 17, 48, 49, 1_000, 10_000] {
        let all = candidates((0..length).map(|at| (at, 1 + u32::from(at) % 3)));
        let half = all.narrowed(|node| node.url.port().is_some_and(|port| port % 2 == 0));
        for number in 0..20 {
            for candidates in [&all, &half] {
                let picked = balance.load_balance.select(candidates, &call(number));
                let is_there = picked.is_some_and(|at| at < candidates.len());
                assert!(is_there, "{picked:?} of {}", candidates.len());
            }
        }
    }
}

/// An empty list has no pick, and a list of one has that one.
pub fn nobody_is_picked_only_where_nobody_is(balance: &Balance) {
    let pick = |candidates: &Candidates| balance.load_balance.select(candidates, &call(1));
    assert_eq!(pick(&candidates([])), None);
    for weight in [0, 1, u32::MAX] {
        assert_eq!(pick(&candidates([(1, weight)])), Some(0), "weight {weight}");
    }
    let all = candidates((0..100).map(|at| (at, 1)));
    let picked = balance
        .load_balance
        .select_where(&all, &call(1), &|_| false);
    assert_eq!(picked, None, "nobody is wanted");
}

/// However few are wanted, one of them is picked, in whole lists and in parts.
pub fn only_those_who_are_wanted_are_picked(balance: &Balance) {
    for length in [1_u16, 2, 5, 16, 40, 100, 2_000] {
        let all = candidates((0..length).map(|at| (at, 1 + u32::from(at) % 3)));
        let most = all.narrowed(|node| node.url.port() != Some(0));
        for every in [1_u16, 2, 7, 97, 1_999] {
            let wanted = |node: &Node| {
                let port = node.url.port();
                port.is_some_and(|port| port % every == every - 1)
            };
            for candidates in [&all, &most] {
                let is_there = candidates.iter().any(wanted);
                for number in 0..5 {
                    let picked =
                        balance
                            .load_balance
                            .select_where(candidates, &call(number), &wanted);
                    let node = picked.and_then(|at| candidates.get(at));
                    assert_eq!(
                        node.map(wanted),
                        is_there.then_some(true),
                        "1 in {every} of {length}: {picked:?}"
                    );
                }
            }
        }
    }
}

/// Where nobody has a weight, somebody is picked all the same.
pub fn one_without_weight_is_picked_only_where_nobody_has_one(balance: &Balance) {
    for length in [3_u16, 16, 20, 200] {
        let mixed = candidates((0..length).map(|at| (at, u32::from(at) % 3)));
        let without = candidates((0..length).map(|at| (at, 0)));
        for number in 0..200 {
            let pick = |candidates| balance.load_balance.select(candidates, &call(number));
            assert!(pick(&without).is_some(), "of {length} without weight");
            let node = pick(&mixed).and_then(|at| mixed.get(at));
            let weight = node.map(|node| node.weight.base);
            if balance.is_weighted {
                assert!(weight > Some(0), "of {length}");
            }
        }
    }
}

/// Nobody is left out while all are alike.
pub fn everybody_is_picked(balance: &Balance) {
    for length in [2_u16, 10, 60] {
        let all = candidates((0..length).map(|at| (at, 1)));
        let mut picks = vec![0; all.len()];
        for number in 0..u32::from(length) * 100 {
            let picked = balance.load_balance.select(&all, &call(number));
            picks[picked.expect("somebody")] += 1;
        }
        assert!(picks.iter().all(|&count| count > 0), "{picks:?}");
    }
}

/// Four that stay and one that comes and goes: those that stay have equal shares to 5 %.
pub fn shares_stay_even_on_many_threads_while_the_list_changes(balance: &Balance) {
    let nodes: Vec<Node> = (0..5).map(|at| node(at, 10)).collect();
    let lists = [4, 5].map(|count| {
        let list: NodeList = nodes[..count].iter().cloned().collect();
        Candidates::all(Arc::new(list))
    });
    let now = RwLock::new(lists[0].clone());
    let picks: [AtomicU32; 5] = Default::default();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let mut turn = 0;
            while !done.load(Ordering::Relaxed) {
                turn += 1;
                *now.write() = lists[turn % 2].clone();
                std::thread::yield_now();
            }
        });
        let calling: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (now, picks) = (&now, &picks);
                scope.spawn(move || {
                    for number in 0..PICKS {
                        let candidates = now.read().clone();
                        let call = call(thread * PICKS + number);
                        let picked = balance.load_balance.select(&candidates, &call);
                        picks[picked.expect("four at least")].fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for thread in calling {
            thread.join().expect("no panic");
        }
        done.store(true, Ordering::Relaxed);
        changing.join().expect("no panic");
    });
    let picks = picks.map(AtomicU32::into_inner);
    let stay = &picks[..4];
    let mean = stay.iter().sum::<u32>() / 4;
    assert!(
        stay.iter().all(|count| count.abs_diff(mean) <= mean / 20),
        "{picks:?}"
    );
}

/// Attempts that begin, are heard of and end on many threads: all are counted out again.
pub fn calls_that_begin_and_end_on_many_threads_leave_nothing_behind(balance: &Balance) {
    let all = candidates((0..6).map(|at| (at, 1)));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let all = &all;
            scope.spawn(move || {
                for number in 0..200 {
                    let mut call = call(thread * 1_000 + number);
                    let method = call.method.clone();
                    let picked = balance.load_balance.select(all, &call);
                    let node = picked.and_then(|at| all.get(at)).expect("six");
                    let state = node.state.method(&method);
                    let _active = state.begin();
                    balance.load_balance.before(node, &mut call);
                    let result = Err(Status::unavailable("a test"));
                    state.finished(number % 3 > 0, Duration::from_millis(1), Instant::now());
                    balance.load_balance.after(node, state, &result);
                }
            });
        }
    });
    let active: u32 = all.iter().map(|node| node.state.active()).sum();
    assert_eq!(active, 0);
}

/// How many providers of a list of this length are asked for one pick, on average, when three of four are wanted.
pub fn questions(balance: &Balance, length: u16) -> usize {
    let all = candidates((0..length).map(|at| (at, 1)));
    let asked = AtomicU32::new(0);
    let wanted = |node: &Node| {
        asked.fetch_add(1, Ordering::Relaxed);
        node.url.port().is_some_and(|port| port % 4 > 0)
    };
    for number in 0..QUESTIONED {
        let picked = balance
            .load_balance
            .select_where(&all, &call(number), &wanted);
        assert!(picked.is_some(), "three of four are wanted");
    }
    asked.into_inner().div_ceil(QUESTIONED) as usize
}

/// Providers at these ports, each with its weight.
fn candidates(providers: impl IntoIterator<Item = (u16, u32)>) -> Candidates {
    let nodes = providers.into_iter();
    let list: NodeList = nodes.map(|(port, weight)| node(port, weight)).collect();
    Candidates::all(Arc::new(list))
}

fn node(port: u16, weight: u32) -> Node {
    let url = Url::new("tri", "10.0.0.1").with_port(port);
    Node::new(Arc::new(Silent(url)), NodeWeight::constant(weight))
}

/// A call that differs from others in its argument.
fn call(number: u32) -> Invocation {
    let method = MethodDescriptor::new("Get", CallKind::Unary);
    let service = Arc::new(ServiceDescriptor::new("a.B", vec![method]));
    let method = service.find("Get").expect("is there");
    let argument = Bytes::copy_from_slice(&number.to_le_bytes());
    let body = Body::Unary(Payload::encoded(Codec::Protobuf, argument));
    Invocation::new(Arc::new(ServiceKey::new("a.B")), method, body)
}

/// Nobody calls it.
struct Silent(Url);

#[async_trait]
impl Invoker for Silent {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn invoke(&self, _: Invocation) -> RpcResult {
        Err(Status::unavailable("nobody calls it"))
    }
}

const THREADS: u32 = 32;
const PICKS: u32 = 1_000;
const QUESTIONED: u32 = 200;
