//! Picks while lists change: eight threads call, and a registry says something new a thousand times a second.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use dubbo_cluster::{directory::DynamicDirectory, loadbalance::Random, router::RouterChain};
use dubbo_core::{
    call::Client as _,
    cluster::{Directory as _, LoadBalance as _},
    invocation::{Body, Invocation},
    invoker::Invoker,
    payload::{Codec, Payload},
    registry::RegistrySnapshot,
    service::ServiceKey,
    subscription::{Subscription, Update},
    url::Url,
};
use tokio::{runtime, sync::watch, time::interval};

use super::{Figure, nobody::Nobody, number, pb};
use crate::clock::Clock;

/// Once with a list that stays, once with one that changes; the slowest of a thousand picks each.
pub(super) fn measure() -> Vec<Figure> {
    let (still, slowest_still) = picks(None);
    let (changing, slowest_changing) = picks(Some(PACE));
    vec![
        ("picks_per_second.still".to_owned(), still),
        ("picks_per_second.changing".to_owned(), changing),
        ("p999_us_of_a_pick.still".to_owned(), slowest_still),
        ("p999_us_of_a_pick.changing".to_owned(), slowest_changing),
    ]
}

fn picks(pace: Option<Duration>) -> (f64, f64) {
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let (say, heard) = watch::channel(Update::new(0, Ok(snapshot(0))));
    let subscription = Subscription::new(heard, || {});
    let directory = runtime.block_on(DynamicDirectory::follow(
        Url::new("consumer", "10.0.0.9").with_path("a.B"),
        &Url::new("memory", "local"),
        subscription,
        RouterChain::default(),
        |url| {
            let invoker: Arc<dyn Invoker> = Arc::new(Nobody::at(url));
            std::future::ready(Ok(invoker))
        },
    ));
    let ended = Arc::new(AtomicBool::new(false));
    if let Some(pace) = pace {
        let ended = Arc::clone(&ended);
        runtime.spawn(async move {
            let mut pace = interval(pace);
            let mut change = 0;
            while !ended.load(Ordering::Relaxed) {
                pace.tick().await;
                change += 1;
                say.send_replace(Update::new(change.into(), Ok(snapshot(change))));
            }
        });
    }
    let mut took: Vec<Duration> = thread::scope(|scope| {
        let pickers: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| pick(&directory)))
            .collect();
        let took = pickers.into_iter().map(thread::ScopedJoinHandle::join);
        took.flat_map(|took| took.expect("picks")).collect()
    });
    ended.store(true, Ordering::Relaxed);
    took.sort_unstable();
    let p999 = took[took.len() * 999 / 1_000];
    let all: Duration = took.iter().sum();
    let per_second = number(took.len()) / (all.as_secs_f64() / number(THREADS));
    (per_second, p999.as_secs_f64() * 1e6)
}

/// How long each of some picks took.
fn pick(directory: &DynamicDirectory) -> Vec<Duration> {
    let service = Arc::new(ServiceKey::new("a.B"));
    let method = pb::GreeterClient::descriptor()
        .find("Ping")
        .expect("it has one");
    let body = Body::Unary(Payload::encoded(Codec::Protobuf, bytes::Bytes::new()));
    let invocation = Invocation::new(service, method, body);
    let random = Random::new();
    (0..PICKS)
        .map(|_| {
            let clock = Clock::start();
            let candidates = directory.list(&invocation).expect("a hundred");
            random.select(&candidates, &invocation).expect("one");
            clock.elapsed()
        })
        .collect()
}

/// A hundred providers, of which one is another one with each change.
fn snapshot(change: u32) -> RegistrySnapshot {
    let providers = (0..PROVIDERS).map(|n| {
        let generation = (change + PROVIDERS - 1 - n) / PROVIDERS;
        Url::new("nobody", format!("10.0.0.{n}"))
            .with_port(20_880)
            .with_path("a.B")
            .with_param("timestamp", format!("170000000{generation:04}"))
    });
    RegistrySnapshot::of_providers(providers.collect::<Vec<_>>())
}

const THREADS: usize = 8;
const PICKS: usize = 200_000;
const PROVIDERS: u32 = 100;
const PACE: Duration = Duration::from_millis(1);
