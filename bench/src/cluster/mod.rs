//! What it costs to choose a provider and to call it through everything that stands around a call, for lists of any length;
//! and whether picks wait for lists that change.
//!
//! The providers answer at once and are in this process, so that what is measured is the way to them and nothing else.

mod churn;
mod nobody;

use std::{alloc::System, sync::Arc, time::Duration};

use dubbo::{
    Instance,
    config::{ConsumerConfig, ReferenceConfig},
};
use dubbo_core::{
    call::{Client, Stub},
    invocation::{Body, Invocation},
    invoker::Invoker,
    payload::{Codec, Payload},
    protocol::Protocol,
    service::{ServiceDescriptor, ServiceKey},
};
use stats_alloc::{Region, StatsAlloc};
use tokio::runtime;

use self::nobody::Nobody;
use crate::clock::Clock;

mod pb {
    dubbo::include_proto!("dubbo.interop.v1");
}

/// A client that is called below its generated code.
struct Raw(Stub);

impl Client for Raw {
    fn descriptor() -> &'static Arc<ServiceDescriptor> {
        pb::GreeterClient::descriptor()
    }

    fn from_stub(stub: Stub) -> Self {
        Self(stub)
    }
}

/// One figure: the name and the number.
pub type Figure = (String, f64);

/// Measures it all. `heap` counts what is allocated.
///
/// # Panics
///
/// When a reference cannot be made or a call fails.
pub fn measure(heap: &StatsAlloc<System>) -> Vec<Figure> {
    let alone = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut figures = alone.block_on(calls(heap));
    figures.extend(churn::measure());
    figures
}

async fn calls(heap: &StatsAlloc<System>) -> Vec<Figure> {
    let mut figures = Vec::new();
    let bare: Arc<dyn Invoker> = Arc::new(Nobody::at("10.0.0.1:1".parse().expect("a URL")));
    figures.extend(cost("direct", &bare, heap).await);
    for &load_balance in LOAD_BALANCES {
        for count in LENGTHS {
            let (_instance, reference) = refer(count, load_balance).await;
            figures.extend(cost(&format!("{load_balance}.{count}"), &reference, heap).await);
        }
    }
    figures
}

/// A reference to `count` providers, with everything that stands around its calls by default.
async fn refer(count: usize, load_balance: &str) -> (Instance, Arc<dyn Invoker>) {
    let urls = (0..count).map(|n| {
        let (high, low) = (n / 250, n % 250 + 1);
        format!("nobody://10.0.{high}.{low}:20880")
    });
    let options = ReferenceConfig::new()
        .url(urls.collect::<Vec<_>>())
        .protocol("nobody")
        .loadbalance(load_balance);
    let instance = Instance::builder()
        .extension::<dyn Protocol>("nobody", |_cx| Ok(Arc::new(nobody::InProcess)))
        .consumer(ConsumerConfig::new())
        .build()
        .expect("a configuration");
    let Raw(stub) = instance.refer_with(options).await.expect("a reference");
    (instance, Arc::clone(stub.invoker()))
}

/// Nanoseconds and allocations of one call.
async fn cost(name: &str, invoker: &Arc<dyn Invoker>, heap: &StatsAlloc<System>) -> [Figure; 2] {
    let service = Arc::new(ServiceKey::new(Raw::descriptor().interface()));
    let method = Raw::descriptor().find("Ping").expect("it has one");
    let call = async || {
        let body = Body::Unary(Payload::encoded(Codec::Protobuf, bytes::Bytes::new()));
        let invocation = Invocation::new(Arc::clone(&service), method.clone(), body);
        invoker.invoke(invocation).await.expect("answers at once");
    };
    for _ in 0..CALLS / 10 {
        call().await;
    }
    let mut rounds = Vec::with_capacity(ROUNDS);
    let mut allocations = f64::INFINITY;
    for _ in 0..ROUNDS {
        let region = Region::new(heap);
        let clock = Clock::start();
        for _ in 0..CALLS {
            call().await;
        }
        rounds.push(clock.elapsed());
        let changed = region.change();
        let count = changed.allocations + changed.reallocations;
        allocations = allocations.min(number(count) / number(CALLS));
    }
    rounds.sort();
    let median = rounds[ROUNDS / 2];
    [
        (format!("ns.{name}"), per_call(median)),
        (format!("allocations.{name}"), allocations),
    ]
}

fn per_call(round: Duration) -> f64 {
    round.as_secs_f64() * 1e9 / number(CALLS)
}

/// As the figures are; those are smaller than 2^32.
fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

const LENGTHS: [usize; 3] = [3, 100, 10_000];
const CALLS: usize = 10_000;
const ROUNDS: usize = 5;

const LOAD_BALANCES: &[&str] = &[
    "random",
    "roundrobin",
    "leastactive",
    "consistenthashing",
    "p2c",
    "shortestresponse",
    "adaptive",
    "interleavedweightedroundrobin",
    "aliasmethod",
];
