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
            let lost = account.failed.iter().filter(|(_, it)| *it == Verdict::Lost);
            for (loss, _) in lost.take(SHOWN) {
                write!(
                    f,
                    "\n    LOST {}, begun {}, failed after {} ms: {}",
                    loss.contract,
                    self.chronicle.place(loss.begun),
                    loss.ended.saturating_sub(loss.begun),
                    loss.error
                )?;
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

/// How many calls are shown each.
const SHOWN: usize = 20;
