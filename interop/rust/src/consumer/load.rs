//! Calls one after the other, counted while providers and rules change.

use std::{collections::BTreeMap, time::Duration};

use dubbo::{Instance, Status};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

/// A contract that is called for as long as `over` is open.
pub(super) struct Load<'a> {
    pub(super) contract: &'static str,
    pub(super) interface: &'static str,
    pub(super) every: Duration,
    pub(super) instance: &'a Instance,
    pub(super) over: watch::Receiver<()>,
}

impl Load<'_> {
    /// Calls, and prints a few times a second how the calls went so far. They count from the first one that is answered:
    /// until then the provider may not be there.
    pub(super) async fn run(mut self, call: impl AsyncFn() -> Result<String, Status>) {
        let mut tick = interval(self.every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut say = interval(SAY_EVERY);
        let mut counted = Counted::default();
        loop {
            tokio::select! {
                _ = self.over.changed() => break,
                _ = say.tick() => self.say("progress", &counted),
                _ = tick.tick() => counted.add(call().await),
            }
        }
        self.say("totals", &counted);
    }

    fn say(&self, event: &str, counted: &Counted) {
        let mut line = json!({
            "event": event, "contract": self.contract, "calls": counted.calls, "failed": counted.failed,
            "error": counted.error, "by": counted.by,
        });
        let status = self.instance.migration_status();
        let mut references = status.references.into_iter();
        if let Some(reference) =
            references.find(|reference| reference.service.interface() == self.interface)
        {
            line["step"] = reference.step.to_string().into();
            line["refused"] = reference.refused.map_or(Value::Null, Value::String);
            line["ways"] = json!({
                "application": reference.application_calls, "interface": reference.interface_calls,
            });
        }
        println!("{line}");
    }
}

/// How calls went so far.
#[derive(Debug, Default)]
struct Counted {
    calls: u64,
    failed: u64,
    /// The first one.
    error: Option<String>,
    /// How many each provider has answered.
    by: BTreeMap<String, u64>,
}

impl Counted {
    fn add(&mut self, outcome: Result<String, Status>) {
        match outcome {
            Ok(answer) => {
                let by = answer.split_once(" from ").map_or("", |(_, name)| name);
                *self.by.entry(by.to_owned()).or_default() += 1;
            }
            Err(_) if self.calls == 0 => return,
            Err(status) => {
                self.failed += 1;
                self.error
                    .get_or_insert_with(|| status.message().to_owned());
            }
        }
        self.calls += 1;
    }
}

const SAY_EVERY: Duration = Duration::from_millis(250);
