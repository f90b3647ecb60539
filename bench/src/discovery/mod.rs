//! What application-level discovery costs a consumer: 20 applications with 500 instances each, which have 10 revisions,
//! one interface of each application followed, through the memory registry.
//!
//! The consumer has a thread of its own, so that its processor time is told apart from that of the registry and of the
//! instances, and it is all that is new on the heap once these are there.

mod consumer;
mod estate;

use std::{thread, time::Duration};

use tokio::{runtime, sync::mpsc, time::interval};

use self::{consumer::Following, estate::Estate};
use crate::clock::Clock;

/// Measures it all. `heap` says how many bytes are in use.
///
/// # Panics
///
/// When the consumer does not come to know what it should.
pub fn measure(heap: &(dyn Fn() -> usize + Sync)) -> Vec<(&'static str, f64)> {
    let instances = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let estate = instances.block_on(Estate::register());
    thread::scope(|scope| {
        let consumer = thread::Builder::new().name("consumer".to_owned());
        consumer
            .spawn_scoped(scope, || {
                let alone = runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                alone.block_on(follow(&instances, &estate, heap))
            })
            .expect("a thread")
            .join()
            .expect("it is measured")
    })
}

async fn follow(
    instances: &runtime::Runtime,
    estate: &Estate,
    heap: &(dyn Fn() -> usize + Sync),
) -> Vec<(&'static str, f64)> {
    let before = heap();
    let (mut following, first_snapshot) = Following::start(estate).await;
    let per_instance = number(heap() - before) / number(INSTANCES);

    let (changes, mut wanted) = mpsc::unbounded_channel();
    let told = estate.clone();
    instances.spawn(async move {
        while let Some(change) = wanted.recv().await {
            told.change(change).await;
        }
    });

    // One after the other, each waited for.
    let (cpu, clock) = (cpu_nanos(), Clock::start());
    for change in 0..LONE {
        changes.send(change).expect("it is followed");
        following.changed(change % APPLICATIONS).await;
    }
    let per_lone_change = micros(cpu_nanos() - cpu) / number(LONE);
    let elapsed = clock.elapsed().as_secs_f64() * 1000.0 / number(LONE);

    // As they come. The pace is kept on the other thread: it is none of the consumer's work.
    let paced = estate.clone();
    let cpu = cpu_nanos();
    instances.spawn(async move {
        let mut pace = interval(PACE);
        for change in LONE..LONE + CHANGES {
            pace.tick().await;
            paced.change(change).await;
        }
    });
    following.until(LONE + CHANGES).await;
    let per_change = micros(cpu_nanos() - cpu) / number(CHANGES);

    // All of one application, as fast as they can be made.
    for change in 0..BURST {
        changes
            .send((LONE + CHANGES) + change * APPLICATIONS)
            .expect("it is followed");
    }
    let (snapshots, swaps) = following.burst((LONE + CHANGES) % APPLICATIONS).await;
    let with_nodes = number(heap() - before) / number(INSTANCES);
    vec![
        ("first_snapshot_ms", first_snapshot.as_secs_f64() * 1000.0),
        ("cpu_us_per_change", per_change),
        ("bytes_per_instance", per_instance),
        ("metadata_fetches", f64::from(following.fetches())),
        ("burst_of_100.snapshots", f64::from(snapshots)),
        ("burst_of_100.directory_swaps", f64::from(swaps)),
        ("bytes_per_instance.with_directory", with_nodes),
        ("cpu_us_per_lone_change", per_lone_change),
        ("ms_until_a_lone_change_is_there", elapsed),
    ]
}

/// As the figures are; those are smaller than 2^32.
fn number(count: impl TryInto<u32>) -> f64 {
    f64::from(count.try_into().unwrap_or(u32::MAX))
}

fn micros(nanos: u64) -> f64 {
    number(nanos / 100) / 10.0
}

/// How long this thread has run on a processor.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanos = text.split_whitespace().next().and_then(|n| n.parse().ok());
    nanos.expect("it is a number")
}

const APPLICATIONS: usize = 20;
const PER_APPLICATION: usize = 500;
const INSTANCES: usize = APPLICATIONS * PER_APPLICATION;
const REVISIONS: usize = 10;
/// A multiple of the number of applications, as is that below.
const CHANGES: usize = 1000;
/// Between one and the next.
const PACE: Duration = Duration::from_millis(1);
const LONE: usize = 200;
const BURST: usize = 100;
