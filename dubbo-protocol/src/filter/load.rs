use std::{
    fs,
    sync::Arc,
    thread::available_parallelism,
    time::{Duration, SystemTime},
};

use dubbo_core::{
    extension,
    filter::{Filter, Next},
    invocation::Invocation,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Calling;

/// Says with the answer how busy the machine is, to callers who ask with `lb_adaptive`: the load balance `adaptive` of Dubbo
/// Java and this one (`docs/spec/cluster.md` §3.9). Where the system does not tell its load, callers hear nothing.
struct Load {
    read: fn() -> Option<f64>,
    /// What was read last, and when.
    last: Mutex<Option<(Instant, Option<f64>)>>,
}

impl Load {
    fn new(read: fn() -> Option<f64>) -> Self {
        Self {
            read,
            last: Mutex::default(),
        }
    }

    /// The system's load in percent of its processors, at most a second old.
    fn percent(&self) -> Option<f64> {
        let now = Instant::now();
        let mut last = self.last.lock();
        if let Some((at, percent)) = *last
            && now.saturating_duration_since(at) < FRESH
        {
            return percent;
        }
        let percent = (self.read)();
        *last = Some((now, percent));
        percent
    }

    fn answer(&self) -> Option<String> {
        let percent = self.percent()?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let millis = now.unwrap_or_default().as_millis();
        Some(format!("curTime:{millis},load:{percent:.2}"))
    }
}

impl Filter for Load {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        if invocation.attachments.get(KEY).is_none_or(str::is_empty) {
            return next.run(invocation);
        }
        Box::pin(async move {
            let mut result = next.run(invocation).await;
            if let Ok(reply) = &mut result
                && let Some(answer) = self.answer()
            {
                reply.trailers.insert(KEY, answer);
            }
            result
        })
    }
}

/// The average of the last minute, where the kernel shows it as a file.
fn system_load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    percent(&text, available_parallelism().ok()?.get())
}

fn percent(loadavg: &str, processors: usize) -> Option<f64> {
    let runnable: f64 = loadavg.split_whitespace().next()?.parse().ok()?;
    let processors = u32::try_from(processors).ok()?;
    Some(runnable * 100.0 / f64::from(processors))
}

extension!(dyn Filter, "adaptive-load", |_cx| Ok(Arc::new(Load::new(
    system_load
))));

/// The question and the answer have one key.
const KEY: &str = "lb_adaptive";

/// Reading is a system call.
const FRESH: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::filter::tests::rig::{Provider, invocation};

    #[tokio::test(start_paused = true)]
    async fn who_asks_hears_how_busy_the_machine_is() {
        static READ: AtomicU32 = AtomicU32::new(0);
        let provider = Provider::echoing();
        let load =
            Load::new(|| Some(f64::from(READ.fetch_add(1, Ordering::Relaxed)) * 100.0 + 50.0));
        let chain = provider.behind(vec![Arc::new(load)]);
        let answer = async |question: &'static str| {
            let mut call = invocation();
            call.attachments.insert(KEY, question);
            let reply = chain.invoke(call).await.expect("works");
            let answer = reply.trailers.get(KEY)?;
            let (time, load) = answer.split_once(",load:").expect("both");
            let millis = time.strip_prefix("curTime:").map(str::parse::<u64>);
            assert!(matches!(millis, Some(Ok(1_600_000_000_000..))), "{answer}");
            Some(load.to_owned())
        };
        assert_eq!(answer("").await, None);
        assert_eq!(READ.load(Ordering::Relaxed), 0, "nobody asked");
        assert_eq!(answer("mem,load").await.as_deref(), Some("50.00"));
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(answer("mem,load").await.as_deref(), Some("50.00"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(answer("mem,load").await.as_deref(), Some("150.00"));
    }

    #[tokio::test]
    async fn nothing_is_said_where_the_system_does_not_tell_and_to_who_does_not_ask() {
        let provider = Provider::echoing();
        let chain = provider.behind(vec![Arc::new(Load::new(|| None))]);
        let mut call = invocation();
        call.attachments.insert(KEY, "mem,load");
        let reply = chain.invoke(call).await.expect("works");
        assert_eq!(reply.trailers.get(KEY), None);
        let reply = provider.through("adaptive-load", "").await.expect("works");
        assert_eq!(reply.trailers.get(KEY), None);
    }

    #[test]
    fn the_load_is_a_part_of_the_processors() {
        for (text, processors, want) in [
            ("0.50 0.40 0.30 1/234 5678\n", 4, Some(12.5)),
            ("8 1 1", 2, Some(400.0)),
            ("", 4, None),
            ("much", 4, None),
        ] {
            assert_eq!(percent(text, processors), want, "{text:?}");
        }
    }
}
