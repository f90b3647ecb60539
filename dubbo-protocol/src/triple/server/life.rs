//! How long a connection lives whose server goes on (`docs/spec/triple.md` §9.5).

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::bounds::Bounds;

/// How long one connection lives.
#[derive(Debug)]
pub(super) struct Life {
    age: Option<Duration>,
    idle: Option<Duration>,
    first: Option<Duration>,
}

/// Why a connection is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It is as old as it may become.
    Aged,
    /// It had no calls for too long.
    Idle,
    /// It has not said what it wants.
    Mute,
}

/// How many calls a connection has had. Clones count together.
#[derive(Debug, Clone, Default)]
pub(super) struct Started(Arc<AtomicUsize>);

impl Life {
    /// That of a connection which begins now. `chance`, from 0 to 1, spreads the ends of those that began together over a
    /// fifth of their age.
    pub(super) fn of(bounds: &Bounds, chance: f64) -> Self {
        Self {
            age: bounds.age.map(|age| age.mul_f64(0.9 + 0.2 * chance)),
            idle: bounds.idle,
            first: None,
        }
    }

    /// The same, over unless the first call begins within `time`.
    pub(super) fn first_within(mut self, time: Duration) -> Self {
        self.first = Some(time);
        self
    }

    /// Waits until it is over, which may be never. `calls` are those under way.
    pub(super) async fn over(self, calls: &TaskTracker, started: &Started) -> End {
        let aged = async {
            match self.age {
                Some(age) => sleep(age).await,
                None => std::future::pending().await,
            }
        };
        let mute = async {
            if let Some(time) = self.first {
                sleep(time).await;
                if started.all() == 0 {
                    return;
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = aged => End::Aged,
            () = quiet(self.idle, calls, started) => End::Idle,
            () = mute => End::Mute,
        }
    }
}

impl Started {
    /// Counts one more.
    pub(super) fn one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn all(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aged => "it is as old as `max-connection-age` lets it become",
            Self::Idle => "it had no calls for as long as `max-connection-idle` says",
            Self::Mute => "its first request was not there within `handshake-timeout`",
        })
    }
}

/// Waits until there were no calls for `idle`, or a quarter longer: looking four times costs calls nothing.
async fn quiet(idle: Option<Duration>, calls: &TaskTracker, started: &Started) {
    let Some(idle) = idle else {
        return std::future::pending().await;
    };
    let mut seen = started.all();
    let mut looks = 0;
    while looks < LOOKS {
        sleep(idle / LOOKS).await;
        let now = started.all();
        looks = if calls.is_empty() && now == seen {
            looks + 1
        } else {
            0
        };
        seen = now;
    }
}

const LOOKS: u32 = 4;

#[cfg(test)]
mod tests {
    use dubbo_core::url::Url;
    use tokio::time::Instant;

    use super::*;

    fn bounds(key: &str, value: &str) -> Bounds {
        let url = Url::new("tri", "h").with_param(key.to_owned(), value);
        Bounds::read(&url).expect("sound")
    }

    #[tokio::test(start_paused = true)]
    async fn ages_differ_by_a_tenth_either_way() {
        let bounds = bounds(".max-connection-age", "100s");
        for (chance, want) in [(0.0, 90), (0.5, 100), (1.0, 110)] {
            let start = Instant::now();
            let life = Life::of(&bounds, chance);
            let end = life.over(&TaskTracker::new(), &Started::default()).await;
            assert_eq!((end, start.elapsed().as_secs()), (End::Aged, want));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_after_its_last_call_and_not_before() {
        let bounds = bounds(".max-connection-idle", "8s");
        let (calls, started) = (TaskTracker::new(), Started::default());
        let start = Instant::now();
        let call = {
            let (calls, started) = (calls.clone(), started.clone());
            async move {
                // One short call, and one that takes longer than a connection may be idle.
                sleep(Duration::from_secs(5)).await;
                started.one();
                sleep(Duration::from_secs(5)).await;
                let token = calls.token();
                started.one();
                sleep(Duration::from_secs(20)).await;
                drop(token);
            }
        };
        let life = Life::of(&bounds, 0.5);
        let (end, ()) = tokio::join!(life.over(&calls, &started), call);
        assert_eq!(end, End::Idle);
        let quiet_for = start.elapsed().saturating_sub(Duration::from_secs(30));
        let allowed = Duration::from_secs(8)..=Duration::from_secs(10);
        assert!(allowed.contains(&quiet_for), "{quiet_for:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_may_have_to_begin_in_time() {
        let bounds = bounds(".handshake-timeout", "5s");
        let life = || Life::of(&bounds, 0.5).first_within(bounds.handshake);
        let (calls, started) = (TaskTracker::new(), Started::default());
        let start = Instant::now();
        assert_eq!(life().over(&calls, &started).await, End::Mute);
        assert_eq!(start.elapsed(), bounds.handshake);
        started.one();
        let over = life().over(&calls, &started);
        let hour = tokio::time::timeout(Duration::from_hours(1), over).await;
        hour.expect_err("it began");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_lives_for_ever_unless_something_is_set() {
        let url = Url::new("tri", "h");
        let life = Life::of(&Bounds::read(&url).expect("defaults"), 0.5);
        let (calls, started) = (TaskTracker::new(), Started::default());
        let over = life.over(&calls, &started);
        let year = Duration::from_hours(24 * 365);
        tokio::time::timeout(year, over).await.expect_err("never");
    }
}
