//! Many calls that fail together do not come back together (`docs/spec/cluster.md` §2.4, §9 T22, T23).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use fastrand::Rng;
use tokio::time::{Instant, sleep};

use super::{Estate, down};
use crate::testing::{Fixed, invocation};

/// So many calls fail within 30 ms.
const CALLS: u32 = 100;

/// A second, and a tenth of it.
const BUCKETS: [u64; 2] = [1_000, 100];

/// When attempts were made after the first ones, in milliseconds.
type Times = Vec<u64>;

/// What the scheduler makes of the calls, by `options`, until `end`: which call was made again when.
async fn storm(
    seed: u64,
    retries: i32,
    options: &[(&str, &str)],
    end: Duration,
) -> Vec<(u32, u64)> {
    let provider = down();
    let estate = Estate::seeded(Fixed::of(&[Arc::clone(&provider)]), seed);
    let reference = estate.join(Some(retries), options);
    let start = Instant::now();
    for call in 1..=CALLS {
        let mut made = invocation();
        made.attachments
            .insert("dubbo-request-id", call.to_string());
        reference.invoke(made).await.expect("goes on");
        if call % 10 == 0 {
            sleep(Duration::from_millis(3)).await;
        }
    }
    sleep(end).await;
    let calls = provider.calls();
    let replays = calls.iter().skip(CALLS as usize);
    replays
        .map(|got| {
            let id = got.attachments.get("dubbo-request-id");
            let id = id.and_then(|id| id.parse().ok()).expect("a number");
            let millis = (got.at - start).as_millis();
            (id, u64::try_from(millis).expect("soon"))
        })
        .collect()
}

fn times(attempts: &[(u32, u64)]) -> Times {
    attempts.iter().map(|(_, time)| *time).collect()
}

/// The model of Dubbo Java: each call 5 s after it has failed, by a wheel that ticks each second.
fn every_five_seconds() -> Times {
    let failed = (0..u64::from(CALLS)).map(|call| call * 30 / u64::from(CALLS));
    failed
        .flat_map(|at| (1..=3).map(move |replay| at + replay * 5_000))
        .collect()
}

/// The model of dubbo-go 3.3.2: waits as ours, but in one queue whose head alone is looked at, each second.
fn one_queue_with_a_tick(seed: u64) -> Times {
    struct Waiting {
        middle: f64,
        due: f64,
        replays: u32,
    }
    let mut chance = Rng::with_seed(seed);
    let mut wait = |middle: f64| middle * (0.5 + chance.f64());
    let mut queue: std::collections::VecDeque<Waiting> = (0..CALLS)
        .map(|call| Waiting {
            middle: 1_000.0,
            due: f64::from(call) * 0.3 + wait(1_000.0),
            replays: 0,
        })
        .collect();
    let mut times = Times::new();
    let mut now = 0_u32;
    while !queue.is_empty() {
        now += 1_000;
        while let Some(mut head) = queue.pop_front_if(|head| head.due <= f64::from(now)) {
            times.push(u64::from(now));
            head.replays += 1;
            if head.replays < 3 {
                head.middle = (head.middle * 1.5).min(60_000.0);
                head.due = f64::from(now) + wait(head.middle);
                queue.push_back(head);
            }
        }
    }
    times
}

/// The most attempts in one bucket of so many milliseconds.
fn most(times: &[u64], bucket: u64) -> u32 {
    let mut counts = BTreeMap::<u64, u32>::new();
    for time in times {
        *counts.entry(time / bucket).or_default() += 1;
    }
    counts.into_values().max().unwrap_or_default()
}

/// How many seeds have which maximum.
#[derive(Default)]
struct Histogram(BTreeMap<u32, u32>);

impl Histogram {
    fn note(&mut self, most: u32) {
        *self.0.entry(most).or_default() += 1;
    }

    fn mean(&self) -> f64 {
        let (sum, count) = self.0.iter().fold((0, 0), |(sum, count), (most, seeds)| {
            (sum + most * seeds, count + seeds)
        });
        f64::from(sum) / f64::from(count)
    }

    fn range(&self) -> (u32, u32) {
        let least = self.0.keys().next().copied();
        let most = self.0.keys().next_back().copied();
        (least.unwrap_or_default(), most.unwrap_or_default())
    }

    fn print(&self, what: &str) {
        let (least, most) = self.range();
        println!("{what}: mean {:.1}, {least} to {most}", self.mean());
        let widest = self.0.values().max().copied().unwrap_or(1);
        for (most, seeds) in &self.0 {
            let bar = "#".repeat((seeds * 50).div_ceil(widest) as usize);
            println!("  {most:>3} {seeds:>3} {bar}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t22_calls_that_failed_together_do_not_come_back_together() {
    let mut ours = [Histogram::default(), Histogram::default()];
    let mut queues = [Histogram::default(), Histogram::default()];
    for seed in 0..300 {
        let times = times(&storm(seed, 3, &[], Duration::from_mins(1)).await);
        assert_eq!(times.len(), 300, "seed {seed}");
        let early = times.iter().filter(|time| **time < 1_000).count();
        assert!((30..=70).contains(&early), "seed {seed}: {early}");
        let queue = one_queue_with_a_tick(seed);
        assert_eq!(queue.len(), 300);
        for (at, bucket) in BUCKETS.into_iter().enumerate() {
            ours[at].note(most(&times, bucket));
            queues[at].note(most(&queue, bucket));
        }
    }
    let fixed = every_five_seconds();
    for (at, bucket) in BUCKETS.into_iter().enumerate() {
        println!("most replays in any {bucket} ms, 300 seeds");
        println!("every 5 s: {}", most(&fixed, bucket));
        queues[at].print("one queue, head only, tick of 1 s");
        ours[at].print("by due time");
    }
    assert_eq!(most(&fixed, 1_000), 100);
    let mean = queues[0].mean();
    assert!((98.0..=100.0).contains(&mean), "{mean}");
    let (least, _) = queues[0].range();
    assert!(least >= 90, "{least}");
    assert!(ours[0].range().1 <= 90, "{:?}", ours[0].range());
    assert!(ours[1].range().1 <= 30, "{:?}", ours[1].range());
    let mean = ours[0].mean();
    assert!((65.0..=77.0).contains(&mean), "{mean}");
    let mean = ours[1].mean();
    assert!((13.0..=18.0).contains(&mean), "{mean}");
}

#[tokio::test(start_paused = true)]
async fn cluster_t23_a_budget_bounds_what_comes_back() {
    let budget = [("failback.rate", "20"), ("failback.burst", "10")];
    for seed in 0..20 {
        let end = Duration::from_mins(1);
        let attempts = storm(seed, -1, &budget, end).await;
        let most = most(&times(&attempts), 1_000);
        assert!(most <= 30, "seed {seed}: {most}");
        let made = attempts.len();
        assert!(made > 600, "seed {seed}: of the budget {made} are used");
        for call in 1..=CALLS {
            let own = attempts.iter().filter(|(id, _)| *id == call);
            let mut own: Vec<f64> = own
                .map(|(_, time)| Duration::from_millis(*time).as_secs_f64())
                .collect();
            own.insert(0, 0.0);
            own.push(end.as_secs_f64());
            let mut middle = 1.0_f64;
            for pair in own.windows(2) {
                let held_back = pair[1] - pair[0] - middle * 1.5;
                assert!(
                    held_back < 30.0,
                    "seed {seed}: call {call} is starved: {own:?}"
                );
                middle = (middle * 1.5).min(60.0);
            }
        }
    }
}
