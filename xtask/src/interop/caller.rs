//! A consumer under load, and how its calls go.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Write as _,
    path::PathBuf,
    time::Duration,
};

use crate::{failure::Failure, process::Stopwatch};

use super::{
    build::Program,
    lines::{Loss, Progress},
    peer::{Heard, Peer},
};

/// Such a consumer, at work.
#[derive(Debug)]
pub(crate) struct Caller {
    peer: Peer,
    last: BTreeMap<String, Progress>,
    /// The calls that failed, where it tells of each.
    losses: Vec<Loss>,
    /// Where all that it says is kept.
    record: File,
}

/// All that a consumer has said, once it has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// How the calls of each contract went in all.
    pub(crate) totals: BTreeMap<String, Progress>,
    /// The calls that failed, where it tells of each.
    pub(crate) losses: Vec<Loss>,
}

/// What became of the calls of all contracts in some time, or since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    /// How many went by the application and by the interface, where the consumer can tell.
    pub(crate) ways: Option<(u64, u64)>,
    /// How many each provider has answered.
    pub(crate) by: BTreeMap<String, u64>,
    /// The errors of each contract, and how often each came; only the first one, and not how often, where the consumer
    /// does not tell.
    pub(crate) errors: BTreeMap<String, Option<u64>>,
}

impl Caller {
    /// Starts `program` with `args`. What it says is kept beside its log.
    pub(crate) fn start(program: &Program, args: &[String], log: PathBuf) -> Result<Self, Failure> {
        let record = log.with_extension("jsonl");
        let peer = Peer::start(program, args, log)?;
        let record = File::create(&record).map_err(|e| {
            Failure::new(
                format!("cannot write {}: {e}", record.display()),
                "look at the rights of that file",
            )
        })?;
        Ok(Self {
            peer,
            last: BTreeMap::new(),
            losses: Vec::new(),
            record,
        })
    }

    /// Waits until it is so of every contract that `wanted` says.
    pub(crate) fn until(
        &mut self,
        what: &str,
        wanted: impl Fn(&Progress) -> bool,
    ) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        while self.last.len() < CONTRACTS || !self.last.values().all(&wanted) {
            let rest = LIMIT.saturating_sub(watch.elapsed());
            if rest.is_zero() {
                let said: Vec<_> = self.last.values().map(|it| format!("{it:?}")).collect();
                return Err(self.peer.failure(&format!(
                    "should {what} within {} s:\n    {}",
                    LIMIT.as_secs(),
                    said.join("\n    ")
                )));
            }
            self.hear(rest)?;
        }
        Ok(())
    }

    /// Waits until calls of every contract were answered by each of these providers.
    pub(crate) fn until_answered_by(&mut self, names: &[&str]) -> Result<(), Failure> {
        let what = format!("be answered by {}", names.join(" and "));
        self.until(&what, |progress| {
            names.iter().all(|name| progress.by.contains_key(*name))
        })
    }

    /// Waits until no call goes by the interface for a second.
    pub(crate) fn until_by_application_alone(&mut self) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        loop {
            let count = self.watch(Duration::from_secs(1))?;
            if matches!(count.ways, Some((1.., 0))) {
                return Ok(());
            }
            if watch.elapsed() > LIMIT {
                let problem = format!("should call by the application alone: {count}");
                return Err(self.peer.failure(&problem));
            }
        }
    }

    /// What becomes of the calls in that time.
    pub(crate) fn watch(&mut self, time: Duration) -> Result<Count, Failure> {
        let before = self.count();
        let watch = Stopwatch::start();
        while let Some(rest) = time.checked_sub(watch.elapsed()) {
            self.hear(rest)?;
        }
        Ok(self.count().since(&before))
    }

    /// What became of the calls since the start.
    pub(crate) fn count(&self) -> Count {
        Count::of(self.last.values())
    }

    /// Waits until it has said of every contract how a call went that came after all that it has said so far.
    pub(crate) fn catch_up(&mut self) -> Result<(), Failure> {
        while self.hear(Duration::ZERO)? {}
        let before: BTreeMap<_, _> = self
            .last
            .iter()
            .map(|(contract, progress)| (contract.clone(), progress.calls))
            .collect();
        self.until("go on calling", |progress| {
            before
                .get(&progress.contract)
                .is_none_or(|calls| progress.calls > *calls)
        })
    }

    /// How many of the calls of `contract` this provider has answered.
    pub(crate) fn heard(&self, contract: &str, provider: &str) -> u64 {
        let progress = self.last.get(contract);
        progress
            .and_then(|it| it.by.get(provider))
            .map_or(0, |n| *n)
    }

    /// Ends it, and gives what became of all calls.
    pub(crate) fn finish(self) -> Result<Count, Failure> {
        let ended = self.end()?;
        Ok(Count::of(ended.totals.values()))
    }

    /// Ends it, and gives all that it has said.
    pub(crate) fn end(mut self) -> Result<Ended, Failure> {
        self.peer.end_input();
        self.until("end", |progress| progress.over)?;
        let failure = self.peer.failure("did not end well");
        if !self.peer.finish(LIMIT)?.success() {
            return Err(failure);
        }
        Ok(Ended {
            totals: self.last,
            losses: self.losses,
        })
    }

    /// A failure of this consumer.
    pub(crate) fn failure(&self, problem: &str) -> Failure {
        self.peer.failure(problem)
    }

    /// Whether it said anything in that time.
    fn hear(&mut self, limit: Duration) -> Result<bool, Failure> {
        let line = match self.peer.next(limit) {
            Heard::Line(line) => line,
            Heard::Silence => return Ok(false),
            Heard::End => return Err(self.peer.failure("ended too early")),
        };
        // Whether it can be kept does not decide how the scenario went.
        let _ = writeln!(self.record, "{line}");
        let mut progress = Progress::parse(&line).ok_or_else(|| {
            let problem = format!("printed what is no progress: {line}");
            self.peer.failure(&problem)
        })?;
        self.losses.append(&mut progress.losses);
        self.last.insert(progress.contract.clone(), progress);
        Ok(true)
    }
}

impl Count {
    fn of<'a>(contracts: impl Iterator<Item = &'a Progress>) -> Self {
        let mut count = Self::default();
        for progress in contracts {
            count.add(progress);
        }
        count
    }

    fn add(&mut self, progress: &Progress) {
        self.calls += progress.calls;
        self.failed += progress.failed;
        if let Some((application, interface)) = progress.ways {
            let (applications, interfaces) = self.ways.unwrap_or_default();
            self.ways = Some((applications + application, interfaces + interface));
        }
        for (name, calls) in &progress.by {
            *self.by.entry(name.clone()).or_default() += calls;
        }
        let counted = progress.errors.iter();
        let mut errors: Vec<_> = counted.map(|(error, n)| (error, Some(*n))).collect();
        if errors.is_empty() {
            errors.extend(progress.error.as_ref().map(|error| (error, None)));
        }
        for (error, n) in errors {
            let error = format!("{}: {error}", progress.contract);
            self.errors.insert(error, n);
        }
    }

    fn since(&self, before: &Self) -> Self {
        let less = |(application, interface)| {
            let (applications, interfaces) = before.ways.unwrap_or_default();
            (application - applications, interface - interfaces)
        };
        let by = self.by.iter().filter_map(|(name, calls)| {
            let more = calls - before.by.get(name).copied().unwrap_or(0);
            (more > 0).then(|| (name.clone(), more))
        });
        Self {
            calls: self.calls - before.calls,
            failed: self.failed - before.failed,
            ways: self.ways.map(less),
            by: by.collect(),
            errors: self.errors.clone(),
        }
    }

    /// Who has answered.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.by.keys().map(String::as_str).collect()
    }
}

/// How many contracts a consumer calls.
const CONTRACTS: usize = 2;
/// What works takes a few seconds; Dubbo Java, on a machine that is busy, may take half a minute.
const LIMIT: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn count(calls: u64, ways: (u64, u64), by: &[(&str, u64)]) -> Count {
        Count {
            calls,
            ways: Some(ways),
            by: by.iter().map(|&(name, n)| (name.to_owned(), n)).collect(),
            ..Count::default()
        }
    }

    #[test]
    fn counts_of_some_time_have_only_who_answered_then() {
        let before = count(5, (0, 5), &[("a", 5)]);
        let after = count(9, (3, 6), &[("a", 5), ("b", 4)]);
        assert_eq!(after.since(&before), count(4, (3, 1), &[("b", 4)]));
    }
}
