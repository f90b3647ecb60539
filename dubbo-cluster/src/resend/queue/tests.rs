//! The queue on a paused clock.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::*;

const UNBOUND: Pace = Pace {
    concurrency: usize::MAX,
    rate: None,
};

/// Items that have run, and when, in milliseconds after the start.
#[derive(Clone)]
struct Ran {
    start: Instant,
    items: Arc<Mutex<Vec<(&'static str, u128)>>>,
}

impl Ran {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            items: Arc::default(),
        }
    }

    fn note(&self, item: &'static str) {
        let at = self.start.elapsed().as_millis();
        self.items.lock().push((item, at));
    }

    fn names(&self) -> Vec<&'static str> {
        self.items.lock().iter().map(|(name, _)| *name).collect()
    }
}

/// A queue whose items take this long.
fn queue(pace: Pace, takes: Duration) -> (DelayQueue<&'static str>, Ran) {
    let ran = Ran::new();
    let notes = ran.clone();
    let queue = DelayQueue::new(pace, move |item| {
        let ran = notes.clone();
        async move {
            ran.note(item);
            sleep(takes).await;
            Turn::Done
        }
    });
    (queue, ran)
}

fn entry<T>(item: T, after: Duration) -> Entry<T> {
    Entry {
        item,
        due: Instant::now() + after,
        priority: Priority::default(),
        group: fastrand::u64(..),
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t24_what_is_due_later_holds_up_nothing() {
    let (queue, ran) = queue(UNBOUND, Duration::ZERO);
    queue
        .push(entry("a", Duration::from_mins(1)), 10)
        .expect("room");
    queue
        .push(entry("b", Duration::from_secs(1)), 10)
        .expect("room");
    queue.settled().await;
    let ran = ran.items.lock().clone();
    let [("b", b), ("a", a)] = ran[..] else {
        panic!("{ran:?}");
    };
    assert!((1_000..=1_005).contains(&b), "{b}");
    assert!((60_000..=60_005).contains(&a), "{a}");
}

#[tokio::test(start_paused = true)]
async fn a_hanging_item_holds_up_nothing() {
    let (queue, ran) = queue(UNBOUND, Duration::from_mins(10));
    for (item, after) in [("a", 1), ("b", 2), ("c", 3)] {
        queue
            .push(entry(item, Duration::from_secs(after)), 10)
            .expect("room");
    }
    sleep(Duration::from_secs(4)).await;
    assert_eq!(ran.names(), ["a", "b", "c"]);
    assert_eq!(queue.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn nothing_ticks_while_nothing_is_due() {
    let start = Instant::now();
    let (queue, _) = queue(UNBOUND, Duration::ZERO);
    queue
        .push(entry("a", Duration::from_hours(1)), 10)
        .expect("room");
    let before = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    queue.settled().await;
    // A paused clock goes from timer to timer: a tick would have been seen by the driver.
    assert_eq!(start.elapsed().as_secs(), 3_600);
    tokio::task::yield_now().await;
    let after = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert!(
        after < before,
        "no task stays when nothing waits: {before}, {after}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_urgent_go_first_and_waiting_makes_urgent() {
    let one_at_a_time = Pace {
        concurrency: 1,
        rate: None,
    };
    let (queue, ran) = queue(one_at_a_time, Duration::from_secs(1));
    queue
        .push(entry("first", Duration::ZERO), 10)
        .expect("room");
    sleep(Duration::from_millis(100)).await;
    for (item, priority) in [("log", 3), ("payment", 9), ("usual", 5)] {
        let entry = Entry {
            priority: Priority::new(priority),
            ..entry(item, Duration::ZERO)
        };
        queue.push(entry, 10).expect("room");
    }
    queue.settled().await;
    assert_eq!(ran.names(), ["first", "payment", "usual", "log"]);

    // What can wait has waited for 91 s, and is more urgent than the most urgent now.
    let (queue, ran) = self::queue(one_at_a_time, Duration::from_secs(91));
    queue
        .push(entry("first", Duration::ZERO), 10)
        .expect("room");
    sleep(Duration::from_millis(1)).await;
    let least = Entry {
        priority: Priority::new(1),
        ..entry("least", Duration::ZERO)
    };
    queue.push(least, 10).expect("room");
    let most = Entry {
        priority: Priority::new(10),
        ..entry("most", Duration::from_millis(90_500))
    };
    queue.push(most, 10).expect("room");
    queue.settled().await;
    assert_eq!(ran.names(), ["first", "least", "most"]);
}

#[tokio::test(start_paused = true)]
async fn the_least_urgent_are_not_starved_by_the_most_urgent() {
    let number = |number| NonZeroU32::new(number).expect("not zero");
    let pace = Pace {
        concurrency: usize::MAX,
        rate: Some(Rate {
            per_second: number(1),
            burst: number(1),
        }),
    };
    let (queue, ran) = queue(pace, Duration::ZERO);
    let with = |item, priority, after| Entry {
        priority: Priority::new(priority),
        ..entry(item, Duration::from_secs(after))
    };
    queue.push(with("least", 1, 0), 1_000).expect("room");
    for second in 0..200 {
        // More come than the rate lets through.
        for _ in 0..2 {
            queue.push(with("most", 10, second), 1_000).expect("room");
        }
    }
    queue.settled().await;
    let ran = ran.items.lock().clone();
    let (_, at) = ran
        .iter()
        .find(|(item, _)| *item == "least")
        .expect("it ran");
    // Those that became due within its 90 s go before it, twice as many as the rate lets through.
    assert!((90_000..=181_000).contains(at), "{at}");
}

#[tokio::test(start_paused = true)]
async fn a_group_goes_one_after_the_other_and_others_pass() {
    let ran = Ran::new();
    let notes = ran.clone();
    let turns = Arc::new(AtomicUsize::new(0));
    let queue = DelayQueue::new(UNBOUND, move |item: &'static str| {
        let (ran, turns) = (notes.clone(), Arc::clone(&turns));
        async move {
            ran.note(item);
            if item == "a1" && turns.fetch_add(1, Ordering::Relaxed) < 2 {
                return Turn::Again(Instant::now() + Duration::from_secs(10));
            }
            Turn::Done
        }
    });
    let of = |item, group, after| Entry {
        group: group_of(group),
        ..entry(item, Duration::from_secs(after))
    };
    queue.push(of("a1", "a", 5), 10).expect("room");
    queue.push(of("a2", "a", 1), 10).expect("room");
    queue.push(of("a3", "a", 2), 10).expect("room");
    queue.push(of("b", "b", 6), 10).expect("room");
    queue.settled().await;
    assert_eq!(ran.names(), ["a1", "b", "a1", "a1", "a2", "a3"]);
}

#[test]
fn a_group_is_the_same_for_ever() {
    for (id, want) in [
        ("", 0xcbf2_9ce4_8422_2325),
        ("a", 0xaf63_dc4c_8601_ec8c),
        ("foobar", 0x8594_4171_f739_67e8),
    ] {
        assert_eq!(group_of(id), want, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn room_is_for_what_waits_and_what_runs() {
    let (queue, _) = queue(UNBOUND, Duration::from_secs(1));
    queue.push(entry("runs", Duration::ZERO), 2).expect("room");
    queue
        .push(entry("waits", Duration::from_mins(1)), 2)
        .expect("room");
    sleep(Duration::from_millis(1)).await;
    let Err(Full(item)) = queue.push(entry("more", Duration::ZERO), 2) else {
        panic!("there is no room");
    };
    assert_eq!(item, "more");
    sleep(Duration::from_secs(1)).await;
    queue
        .push(entry("more", Duration::ZERO), 2)
        .expect("one has run");
}

#[tokio::test(start_paused = true)]
async fn a_drain_gives_each_a_last_turn_and_returns_the_rest() {
    for (takes, want) in [(0, &[][..]), (500, &[]), (5_000, &["a", "b"])] {
        let (queue, ran) = queue(UNBOUND, Duration::from_millis(takes));
        queue
            .push(entry("a", Duration::from_mins(1)), 10)
            .expect("room");
        queue
            .push(entry("b", Duration::from_mins(2)), 10)
            .expect("room");
        let start = Instant::now();
        let left = queue.drain(start + Duration::from_secs(1)).await;
        assert_eq!(ran.names(), ["a", "b"], "{takes}");
        assert_eq!(left, want, "{takes}");
        assert!(start.elapsed() <= Duration::from_secs(1));
        assert!(
            queue.push(entry("c", Duration::ZERO), 10).is_err(),
            "closed"
        );
        assert!(queue.is_empty());
    }
    let queue = DelayQueue::new(UNBOUND, |_: &'static str| async {
        Turn::Again(Instant::now())
    });
    queue
        .push(entry("stubborn", Duration::from_mins(1)), 10)
        .expect("room");
    let left = queue.drain(Instant::now() + Duration::from_secs(1)).await;
    assert_eq!(left, ["stubborn"]);
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_its_item_alone() {
    let ran = Ran::new();
    let notes = ran.clone();
    let queue = DelayQueue::new(UNBOUND, move |item: &'static str| {
        let ran = notes.clone();
        async move {
            assert!(item != "broken", "as the test wants it");
            ran.note(item);
            Turn::Done
        }
    });
    queue
        .push(entry("broken", Duration::ZERO), 10)
        .expect("room");
    queue
        .push(entry("sound", Duration::from_secs(1)), 10)
        .expect("room");
    queue.settled().await;
    assert_eq!(ran.names(), ["sound"]);
}

#[test]
fn items_wait_for_another_runtime_when_theirs_ends() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder
            .enable_time()
            .start_paused(true)
            .build()
            .expect("builds")
    };
    let (queue, ran) = runtime().block_on(async { queue(UNBOUND, Duration::ZERO) });
    runtime().block_on(async {
        queue
            .push(entry("kept", Duration::from_secs(1)), 10)
            .expect("room");
        tokio::task::yield_now().await;
    });
    assert_eq!(queue.len(), 1);
    runtime().block_on(async {
        queue.push(entry("next", Duration::ZERO), 10).expect("room");
        let settled = tokio::time::timeout(Duration::from_hours(1), queue.settled());
        settled.await.expect("both run");
    });
    let mut names = ran.names();
    names.sort_unstable();
    assert_eq!(names, ["kept", "next"]);
}
