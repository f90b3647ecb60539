//! What a provider tells the runner.

use std::time::Duration;

use dubbo::Attachments;
use serde_json::json;
use tokio::time::Instant;

use crate::CASE_KEY;

/// What the provider tells the runner.
#[derive(Debug)]
pub struct Notice {
    event: &'static str,
    case: String,
    method: &'static str,
    age: Duration,
    answered: Option<u64>,
}

impl Notice {
    /// It can be called now.
    pub fn ready() -> Self {
        Self::of_itself("ready")
    }

    /// It has ended, and has answered so many calls of `hello` in its life.
    pub fn left(answered: u64) -> Self {
        Self {
            answered: Some(answered),
            ..Self::of_itself("left")
        }
    }

    fn of_itself(event: &'static str) -> Self {
        Self {
            event,
            case: String::new(),
            method: "",
            age: Duration::ZERO,
            answered: None,
        }
    }

    /// Prints it as a line.
    pub fn print(&self) {
        let line = json!({
            "event": self.event,
            "case": self.case,
            "method": self.method,
            "millis": u64::try_from(self.age.as_millis()).unwrap_or(u64::MAX),
            "answered": self.answered,
        });
        println!("{line}");
    }
}

/// A call that waits. Unless it is [`done`](Self::done), its end is noticed as cut short: a handler whose call is
/// cancelled or out of time is dropped where it stands.
#[derive(Debug)]
pub(crate) struct Held {
    case: String,
    method: &'static str,
    start: Instant,
    done: bool,
}

impl Held {
    pub(crate) fn new(attachments: &Attachments, method: &'static str) -> Self {
        let held = Self {
            case: case_of(attachments),
            method,
            start: Instant::now(),
            done: false,
        };
        held.notice("held").print();
        held
    }

    pub(crate) fn done(mut self) {
        self.done = true;
    }

    fn notice(&self, event: &'static str) -> Notice {
        Notice {
            event,
            case: self.case.clone(),
            method: self.method,
            age: self.start.elapsed(),
            answered: None,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.done {
            self.notice("cut_short").print();
        }
    }
}

/// The case that a call belongs to.
pub(crate) fn case_of(attachments: &Attachments) -> String {
    attachments.get(CASE_KEY).unwrap_or_default().to_owned()
}
