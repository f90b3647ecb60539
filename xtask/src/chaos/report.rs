//! What became of the calls of a play.

use std::{collections::BTreeMap, fmt};

use crate::interop::parts::{Ended, Loss, Party};

use super::{
    chronicle::Chronicle,
    field::Role,
    verdict::{self, Verdict},
};

/// What became of the calls of all consumers.
#[derive(Debug)]
pub(super) struct Report {
    chronicle: Chronicle,
    /// How many providers there have been.
    providers: usize,
    consumers: Vec<Account>,
}

/// What became of the calls of a consumer.
#[derive(Debug)]
struct Account {
    role: Role,
    calls: u64,
    retried: u64,
    /// The longest time without an answer for each contract, in milliseconds.
    gaps: BTreeMap<String, u64>,
    /// How many providers have answered.
    answered_by: usize,
    failed: Vec<(Loss, Verdict)>,
}

impl Report {
    pub(super) fn new(chronicle: Chronicle, providers: usize) -> Self {
        Self {
            chronicle,
            providers,
            consumers: Vec::new(),
        }
    }

    /// Adds a consumer that has ended.
    pub(super) fn add(&mut self, role: Role, ended: &Ended) {
        let totals = || ended.totals.values();
        let mut names: Vec<_> = totals().flat_map(|total| total.by.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let judge = |loss: &Loss| (loss.clone(), verdict::judge(role, loss, &self.chronicle));
        let account = Account {
            role,
            calls: totals().map(|total| total.calls).sum(),
            retried: totals().map(|total| total.retried).sum(),
            gaps: totals()
                .map(|total| (total.contract.clone(), total.worst_gap))
                .collect(),
            answered_by: names.len(),
            failed: ended.losses.iter().map(judge).collect(),
        };
        self.consumers.push(account);
    }

    pub(super) fn calls(&self) -> u64 {
        self.consumers.iter().map(|account| account.calls).sum()
    }

    /// How many calls failed although none was allowed to.
    pub(super) fn lost(&self) -> usize {
        let lost = |account: &Account| account.count(|verdict| verdict == Verdict::Lost);
        self.consumers.iter().map(lost).sum()
    }

    /// Whether any call of a consumer of `party` has failed.
    pub(super) fn fails_in(&self, party: Party) -> bool {
        let mut accounts = self.consumers.iter();
        accounts.any(|account| account.role.party() == party && !account.failed.is_empty())
    }
}

impl Account {
    fn count(&self, is: impl Fn(Verdict) -> bool) -> usize {
        self.failed
            .iter()
            .filter(|(_, verdict)| is(*verdict))
            .count()
    }

    /// The calls that were lost, those with the same error together.
    fn lost(&self) -> Vec<Alike<'_>> {
        let mut groups: BTreeMap<_, Alike<'_>> = BTreeMap::new();
        let lost = self.failed.iter().filter(|(_, it)| *it == Verdict::Lost);
        for (loss, _) in lost {
            let key = (&loss.contract, without_numbers(&loss.error));
            let alike = groups.entry(key).or_insert(Alike {
                first: loss,
                calls: 0,
            });
            alike.calls += 1;
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_unstable_by_key(|alike| alike.first.begun);
        groups
    }

    /// The reasons for which it has lost calls by itself, and how many.
    fn reasons(&self) -> BTreeMap<&'static str, usize> {
        let mut reasons = BTreeMap::new();
        for (_, verdict) in &self.failed {
            if let Verdict::Theirs(reason) = verdict {
                *reasons.entry(*reason).or_default() += 1;
            }
        }
        reasons
    }
}

/// Calls that were lost in the same way.
struct Alike<'a> {
    first: &'a Loss,
    calls: usize,
}

impl Alike<'_> {
    fn told(&self, chronicle: &Chronicle) -> String {
        let Self { first, calls } = self;
        let error: String = first.error.chars().take(ERROR_CHARS).collect();
        format!(
            "LOST {calls} of {}; the first began {}, and failed after {} ms: {error}",
            first.contract,
            chronicle.place(first.begun),
            first.ended.saturating_sub(first.begun)
        )
    }
}

/// Errors differ by ports, times and counts.
fn without_numbers(error: &str) -> String {
    let numbers = |c: char| c.is_ascii_digit();
    error
        .split(numbers)
        .filter(|part| !part.is_empty())
        .collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, account) in self.consumers.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(
                f,
                "  {}: {} calls, {} failed, {} retries, worst gap",
                account.role,
                account.calls,
                account.failed.len(),
                account.retried
            )?;
            for (contract, millis) in &account.gaps {
                write!(f, " {millis} ms ({contract})")?;
            }
            let (by, of) = (account.answered_by, self.providers);
            write!(f, ", answered by {by} of {of} providers")?;
            let allowed = account.count(|verdict| verdict == Verdict::Allowed);
            if allowed > 0 {
                write!(
                    f,
                    "\n    {allowed} were under way to a provider that was killed, and may not be repeated"
                )?;
            }
            for (reason, calls) in account.reasons() {
                write!(f, "\n    {calls} not counted: {reason}")?;
            }
            for alike in account.lost() {
                write!(f, "\n    {}", alike.told(&self.chronicle))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "consumer in Rust",
            Self::RustOnce => "consumer in Rust that repeats nothing",
            Self::Go => "consumer in Go",
        })
    }
}

/// The story of a call that was tried often is long.
const ERROR_CHARS: usize = 1200;

#[cfg(test)]
mod tests {
    use super::*;

    fn loss(begun: u64, error: &str) -> Loss {
        Loss {
            contract: "tri/greeter".to_owned(),
            begun,
            ended: begun + 3,
            error: error.to_owned(),
        }
    }

    #[test]
    fn what_was_lost_is_told_once_for_each_error_and_counted_in_full() {
        let mut report = Report::new(Chronicle::default(), 3);
        let mut ended = Ended {
            totals: BTreeMap::new(),
            losses: vec![
                loss(9, "no answer from 127.0.0.1:20001"),
                loss(5, "no connection"),
                loss(11, "no answer from 127.0.0.1:20003"),
            ],
        };
        report.add(Role::Rust, &ended);
        assert_eq!((report.lost(), report.fails_in(Party::Go)), (3, false));
        let text = report.to_string();
        assert!(text.contains("3 failed"), "{text}");
        let first = text.find("LOST 1 of tri/greeter").expect(&text);
        let then = text.find("LOST 2 of tri/greeter").expect(&text);
        assert!(first < then && text.contains("127.0.0.1:20001"), "{text}");

        ended.losses.truncate(1);
        report.add(Role::Go, &ended);
        assert!(report.fails_in(Party::Go));
    }
}
