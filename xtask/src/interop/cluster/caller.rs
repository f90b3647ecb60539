//! Our consumer, configured as a user's program is, which makes the calls that it is asked for.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    interop::{
        build::Program,
        lines::Account,
        peer::{Heard, Peer},
        route::Protocol,
    },
    process::Stopwatch,
};

/// Such a consumer, at work.
#[derive(Debug)]
pub(in crate::interop) struct Caller {
    peer: Peer,
}

/// Some calls of one kind, as a line of JSON.
#[derive(Debug, Clone)]
pub(in crate::interop) struct Wish(Value);

impl Caller {
    /// Starts `program` with `config`, which is kept beside its log.
    pub(in crate::interop) fn start(
        program: &Program,
        config: &Value,
        log: PathBuf,
    ) -> Result<Self, Failure> {
        let file = log.with_extension("yaml");
        // JSON is YAML.
        fs::write(&file, format!("{config:#}\n")).map_err(|e| {
            Failure::new(
                format!("cannot write {}: {e}", file.display()),
                "look at the rights of that file",
            )
        })?;
        let args = [format!("--config={}", file.display())];
        let peer = Peer::start(program, &args, log)?;
        peer.await_notice(LIMIT, |notice| notice.event == "ready")?;
        Ok(Self { peer })
    }

    /// Has it make these calls, and says what became of them.
    pub(in crate::interop) fn make(&mut self, wish: &Wish) -> Result<Account, Failure> {
        self.begin(wish)?;
        self.hear()
    }

    /// Has it make these calls. They are under way when this is over.
    pub(super) fn begin(&mut self, wish: &Wish) -> Result<(), Failure> {
        self.peer.say(&wish.0.to_string())
    }

    /// What became of the calls that were begun.
    pub(super) fn hear(&self) -> Result<Account, Failure> {
        match self.peer.next(LIMIT) {
            Heard::Line(line) => Account::parse(&line).ok_or_else(|| {
                let problem = format!("printed what is no account: {line}");
                self.peer.failure(&problem)
            }),
            Heard::End => Err(self.peer.failure("ended too early")),
            Heard::Silence => Err(self.peer.failure("did not come to an end with its calls")),
        }
    }

    /// Makes calls over both protocols until each of these providers has answered over both: until then not all may be
    /// registered, and the first call of a program takes longest.
    pub(super) fn until_answered_by(&mut self, wish: &Wish, names: &[&str]) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        for protocol in Protocol::ALL {
            let wish = wish.clone().calls(20).over(protocol);
            let mut answered = BTreeMap::new();
            let mut last = Account::default();
            while !names.iter().all(|name| answered.contains_key(*name)) {
                if watch.elapsed() > LIMIT {
                    return Err(self.peer.failure(&format!(
                        "should be answered over {protocol} by {}: {last:?}",
                        names.join(" and ")
                    )));
                }
                last = self.make(&wish)?;
                answered.append(&mut last.by);
            }
        }
        Ok(())
    }
}

impl Wish {
    /// Calls that say who answers: one, over Triple, unless changed.
    pub(super) fn hello() -> Self {
        Self(json!({"protocol": "tri", "method": "hello", "calls": 1, "at_once": 1}))
    }

    /// Calls that say what came with them.
    pub(in crate::interop) fn attachments() -> Self {
        Self::hello().with("method", "attachments")
    }

    /// Calls that are answered after `time`.
    pub(super) fn sleep(time: Duration) -> Self {
        Self::hello()
            .with("method", "sleep")
            .with("sleep", millis(time))
    }

    pub(in crate::interop) fn over(self, protocol: Protocol) -> Self {
        self.with("protocol", protocol.to_string())
    }

    pub(super) fn calls(self, calls: u64) -> Self {
        self.with("calls", calls)
    }

    /// As many calls as there is time for, instead of some number.
    pub(super) fn during(self, time: Duration) -> Self {
        self.with("calls", Value::Null).with("millis", millis(time))
    }

    pub(super) fn at_once(self, calls: u64) -> Self {
        self.with("at_once", calls)
    }

    pub(in crate::interop) fn attach(mut self, name: &str, value: &str) -> Self {
        self.0["attach"][name] = value.into();
        self
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0[name] = value.into();
        self
    }
}

impl Account {
    /// What is wrong with it unless every call was answered, by these providers and nobody else.
    pub(super) fn problems(&self, what: &str, names: &[&str]) -> Vec<String> {
        let mut problems = self.failures(what);
        let answered: Vec<_> = self.by.keys().map(String::as_str).collect();
        if answered != names {
            problems.push(format!(
                "{what}: should be answered by {names:?} alone, and was by {:?}",
                self.by
            ));
        }
        problems
    }

    /// What is wrong with it unless every call was answered.
    pub(in crate::interop) fn failures(&self, what: &str) -> Vec<String> {
        let mut problems: Vec<_> = self
            .errors
            .iter()
            .map(|(error, n)| format!("{what}: {n} of {} calls failed: {error}", self.calls))
            .collect();
        if self.calls == 0 {
            problems.push(format!("{what}: no call was made"));
        }
        problems
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What works takes a few seconds.
const LIMIT: Duration = Duration::from_secs(40);
