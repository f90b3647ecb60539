//! A consumer that looks for its providers in a registry, and tells how its calls fare.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Write as _,
    path::PathBuf,
    time::Duration,
};

use crate::{
    failure::Failure,
    interop::{
        build::Program,
        lines::{Sighting, State},
        peer::{Heard, Peer},
    },
    process::Stopwatch,
};

/// Such a consumer, at work.
#[derive(Debug)]
pub(super) struct Observer {
    peer: Peer,
    /// What it said last of each contract.
    last: BTreeMap<String, Sighting>,
    /// How many calls of each contract failed before the first one that was answered.
    before: BTreeMap<String, u64>,
    /// The first error after that.
    lost: Option<String>,
    /// Where all that it says is kept.
    record: File,
}

/// How the calls of a consumer went in all.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) calls: u64,
    /// How many failed after a first one had been answered.
    pub(super) failed: u64,
    /// The first error of those.
    pub(super) error: Option<String>,
}

impl Observer {
    /// Starts `program` with `args`. What it says is kept beside its log.
    pub(super) fn start(program: &Program, args: &[String], log: PathBuf) -> Result<Self, Failure> {
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
            before: BTreeMap::new(),
            lost: None,
            record,
        })
    }

    /// Waits until the provider `name` answers the calls of every contract, and tells how long that took.
    pub(super) fn await_answers(
        &mut self,
        name: &str,
        limit: Duration,
    ) -> Result<Duration, Failure> {
        self.wait(limit, &format!("be answered by `{name}`"), |state| {
            *state == State::Answered(name.to_owned())
        })
    }

    /// Waits until the calls of every contract fail because there is nobody to call.
    pub(super) fn await_nobody(&mut self, limit: Duration) -> Result<Duration, Failure> {
        self.wait(
            limit,
            "find no provider, and say so",
            |state| matches!(state, State::Failed(error) if says_nobody(error)),
        )
    }

    /// Listens for that long.
    pub(super) fn listen(&mut self, time: Duration) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        while let Some(rest) = time.checked_sub(watch.elapsed()) {
            self.hear(rest)?;
        }
        Ok(())
    }

    /// Ends it.
    pub(super) fn finish(mut self) -> Result<Totals, Failure> {
        self.peer.end_input();
        self.wait(END_LIMIT, "end", |state| *state == State::Over)?;
        let mut totals = Totals {
            error: self.lost.take(),
            ..Totals::default()
        };
        for (contract, sighting) in &self.last {
            totals.calls += sighting.calls;
            let before = self.before.get(contract).copied();
            totals.failed += sighting.failed - before.unwrap_or(sighting.failed);
        }
        let failure = self.peer.failure("did not end well");
        if self.peer.finish(END_LIMIT)?.success() {
            Ok(totals)
        } else {
            Err(failure)
        }
    }

    fn wait(
        &mut self,
        limit: Duration,
        what: &str,
        wanted: impl Fn(&State) -> bool,
    ) -> Result<Duration, Failure> {
        let watch = Stopwatch::start();
        loop {
            let reached = |contract: &str| {
                self.last
                    .get(contract)
                    .is_some_and(|sighting| wanted(&sighting.state))
            };
            let missing: BTreeSet<_> = CONTRACTS.into_iter().filter(|c| !reached(c)).collect();
            if missing.is_empty() {
                return Ok(watch.elapsed());
            }
            let rest = limit.saturating_sub(watch.elapsed());
            if rest.is_zero() {
                let states: Vec<_> = missing.into_iter().map(|c| self.describe(c)).collect();
                return Err(self.peer.failure(&format!(
                    "should {what} within {} s:\n    {}",
                    limit.as_secs(),
                    states.join("\n    ")
                )));
            }
            self.hear(rest)?;
        }
    }

    fn hear(&mut self, limit: Duration) -> Result<(), Failure> {
        let line = match self.peer.next(limit) {
            Heard::Line(line) => line,
            Heard::Silence => return Ok(()),
            Heard::End => return Err(self.peer.failure("ended too early")),
        };
        // Whether it can be kept does not decide how the cell went.
        let _ = writeln!(self.record, "{line}");
        let sighting = Sighting::parse(&line).ok_or_else(|| {
            self.peer
                .failure(&format!("printed what is no sighting: {line}"))
        })?;
        match &sighting.state {
            State::Answered(_) => {
                self.before
                    .entry(sighting.contract.clone())
                    .or_insert(sighting.failed);
            }
            State::Failed(error) if self.before.contains_key(&sighting.contract) => {
                let lost = || format!("{}: {}", sighting.contract, beginning(error));
                self.lost.get_or_insert_with(lost);
            }
            State::Failed(_) | State::Over => {}
        }
        self.last.insert(sighting.contract.clone(), sighting);
        Ok(())
    }

    fn describe(&self, contract: &str) -> String {
        let state = match self.last.get(contract).map(|sighting| &sighting.state) {
            None => "said nothing".to_owned(),
            Some(State::Over) => "is over".to_owned(),
            Some(State::Answered(name)) => format!("is answered by `{name}`"),
            Some(State::Failed(error)) => format!("fails: {}", beginning(error)),
        };
        format!("{contract} {state}")
    }
}

/// Whether an error says that there is nobody to call: each implementation has words of its own for it.
fn says_nobody(error: &str) -> bool {
    let error = error.to_lowercase();
    error.contains("no provider available")
}

fn beginning(text: &str) -> &str {
    text.char_indices()
        .nth(ERROR_CHARS)
        .map_or(text, |(end, _)| &text[..end])
}

/// What a consumer calls.
const CONTRACTS: [&str; 2] = ["tri/greeter", "dubbo/user"];
/// Java's messages are long.
const ERROR_CHARS: usize = 400;
const END_LIMIT: Duration = Duration::from_secs(30);
