//! What happened in a scenario.

use std::fmt;

use crate::{
    failure::Failure,
    interop::caller::{Caller, Count},
};

use super::dropped;

/// The steps of a scenario, and what became of the calls in each.
#[derive(Debug, Default)]
pub(super) struct Story {
    steps: Vec<(String, Count)>,
    /// What became of all calls.
    total: Count,
    /// How many of them dubbo-go has dropped itself.
    dropped: u64,
}

/// Which way calls have to go in a step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Application,
    Interface,
    /// Half of them, more or less.
    Both,
    /// The consumer cannot tell.
    Unknown,
}

impl Story {
    /// Adds a step, in which the calls have to go that way and be answered by exactly these providers, each at least once.
    pub(super) fn step(
        &mut self,
        caller: &mut Caller,
        name: &str,
        way: Way,
        providers: &[&str],
    ) -> Result<(), Failure> {
        let count = self.measure(caller, name)?;
        let mut problems = Vec::new();
        if !way.is_of(&count) {
            problems.push(format!("calls should go by {way}"));
        }
        if count.names() != providers.iter().copied().collect() {
            problems.push(format!(
                "calls should be answered by {}",
                providers.join(" and ")
            ));
        }
        if problems.is_empty() {
            return Ok(());
        }
        let problems = problems.join(", and ");
        Err(caller.failure(&format!("{name}: {problems}, and not so: {count}{self}")))
    }

    /// Adds a step that is not judged: what became of the calls in it.
    pub(super) fn measure(&mut self, caller: &mut Caller, name: &str) -> Result<Count, Failure> {
        let count = caller.watch(STEP)?;
        self.steps.push((name.to_owned(), count.clone()));
        Ok(count)
    }

    /// Adds calls that dubbo-go has dropped itself.
    pub(super) fn drops(&mut self, calls: u64) {
        self.dropped += calls;
    }

    /// Ends the consumer, none of whose calls may have failed but those that dubbo-go has dropped itself.
    pub(super) fn end(self, caller: Caller) -> Result<Self, Failure> {
        let story = self.end_measured(caller)?;
        if story.is_lossless() {
            return Ok(story);
        }
        Err(Failure::new(
            story.summary(),
            "see the logs in interop/migration of the target folder",
        ))
    }

    /// Ends the consumer, and judges nothing.
    pub(super) fn end_measured(mut self, caller: Caller) -> Result<Self, Failure> {
        self.total = caller.finish()?;
        Ok(self)
    }

    /// What became of all calls, with a line for each step.
    pub(super) fn summary(&self) -> String {
        let mut lines = vec![self.total.to_string()];
        if self.dropped > 0 {
            lines.push(format!("dubbo-go has dropped {} itself", self.dropped));
        }
        lines.extend(self.total.errors.iter().map(|(error, n)| match n {
            Some(n) => format!("{n} x {error}"),
            None => error.clone(),
        }));
        lines.join("\n    ") + &self.to_string()
    }

    fn is_lossless(&self) -> bool {
        let drops = format!("{}: {}", dropped::CONTRACT, dropped::ERROR);
        self.total.failed == self.dropped && self.total.errors.keys().all(|error| *error == drops)
    }
}

impl Way {
    fn is_of(self, count: &Count) -> bool {
        let Some((application, interface)) = count.ways else {
            return matches!(self, Self::Unknown);
        };
        let share = application * 100 / (application + interface).max(1);
        match self {
            Self::Application => application > 0 && interface == 0,
            Self::Interface => application == 0 && interface > 0,
            // Of some hundred calls.
            Self::Both => (35..=65).contains(&share),
            Self::Unknown => false,
        }
    }
}

/// A line for each step.
impl fmt::Display for Story {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, count) in &self.steps {
            write!(f, "\n    {name}: {count}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Application => "the application alone",
            Self::Interface => "the interface alone",
            Self::Both => "both, half and half",
            Self::Unknown => "whichever way",
        })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {} failed", self.calls, self.failed)?;
        if let Some((application, interface)) = self.ways {
            write!(
                f,
                "; {application} by application, {interface} by interface"
            )?;
        }
        let by: Vec<_> = self.by.iter().map(|(n, c)| format!("{n} {c}")).collect();
        write!(f, "; {}", by.join(", "))
    }
}

/// How long calls are counted in a step: long enough for some hundred.
const STEP: std::time::Duration = std::time::Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_dubbo_go_drops_are_no_loss_and_others_are() {
        let drops = format!("{}: {}", dropped::CONTRACT, dropped::ERROR);
        for (failed, dropped, errors, lossless) in [
            (0, 0, vec![], true),
            (2, 2, vec![&*drops], true),
            (2, 1, vec![&*drops], false),
            (1, 0, vec![&*drops], false),
            (1, 1, vec!["dubbo/user: no provider"], false),
            (2, 2, vec![&*drops, "tri/greeter: gone"], false),
        ] {
            let story = Story {
                total: Count {
                    failed,
                    errors: errors.iter().map(|&it| (it.to_owned(), None)).collect(),
                    ..Count::default()
                },
                dropped,
                ..Story::default()
            };
            assert_eq!(story.is_lossless(), lossless, "{story:?}");
        }
    }

    #[test]
    fn ways_are_told_apart_by_the_calls() {
        for (ways, is) in [
            (Some((9, 0)), [true, false, false, false]),
            (Some((0, 9)), [false, true, false, false]),
            (Some((4, 5)), [false, false, true, false]),
            (Some((1, 9)), [false; 4]),
            (Some((0, 0)), [false; 4]),
            (None, [false, false, false, true]),
        ] {
            let count = Count {
                ways,
                ..Count::default()
            };
            let all = [Way::Application, Way::Interface, Way::Both, Way::Unknown];
            assert_eq!(all.map(|way| way.is_of(&count)), is, "{ways:?}");
        }
    }
}
