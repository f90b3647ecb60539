//! What operators switch while calls run (`docs/spec/cluster.md` §7.11).

use std::sync::Arc;

use arc_swap::ArcSwap;
use dubbo_core::{
    attachments::Attachments,
    yaml::{ProblemKind, Section},
};

use super::{health::Forced, pool};
use crate::rules::{self, RuleError};

/// What operators switch while calls run. As long as nobody says anything, everything goes as policies say.
///
/// ```
/// use dubbo_cluster::resend::Switches;
///
/// let switches = Switches::parse("shop.switches", "{ retry.enabled: false, gray.percent: 5 }");
/// assert!(!switches.expect("no mistakes").retry_enabled);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Switches {
    /// `retry.enabled`: whether any call is tried again, whatever its policy says; true.
    pub retry_enabled: bool,
    /// `retry.max-attempts-override`: no call has more attempts than this, the first one included.
    pub max_attempts_override: Option<u32>,
    /// `hedge.enabled`: whether calls are hedged where policies say so; true.
    pub hedge_enabled: bool,
    /// `breaker.force-open`, `breaker.force-closed`: whether all breakers stop every call, or none.
    pub breaker: Forced,
    /// `gray.percent`: so many of a hundred calls without a colour become gray.
    pub gray_percent: f64,
    /// `weights.dynamic`: whether weights follow what is seen of providers where policies say so; true.
    pub weights_dynamic: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            retry_enabled: true,
            max_attempts_override: None,
            hedge_enabled: true,
            breaker: Forced::No,
            gray_percent: 0.0,
            weights_dynamic: true,
        }
    }
}

impl Switches {
    /// Reads a text; `source` is what messages call it.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn parse(source: &str, text: &str) -> Result<Self, RuleError> {
        rules::read(source, text, Self::read)
    }

    fn read(s: &mut Section<'_, '_>) -> Self {
        let default = Self::default();
        let open = s.bool("breaker.force-open").unwrap_or(false);
        let closed = s.bool("breaker.force-closed").unwrap_or(false);
        if open && closed {
            let message = "is on beside `breaker.force-open`: calls pass, or they do not";
            s.error("breaker.force-closed", ProblemKind::Conflict, message);
        }
        let percent = s.parse("gray.percent", "a number from 0 to 100", |text| {
            let percent: f64 = text.trim_end_matches('%').trim_end().parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(percent)
        });
        Self {
            retry_enabled: s.bool("retry.enabled").unwrap_or(default.retry_enabled),
            max_attempts_override: s.integer("retry.max-attempts-override", 1..=1_000),
            hedge_enabled: s.bool("hedge.enabled").unwrap_or(default.hedge_enabled),
            breaker: match (open, closed) {
                (true, _) => Forced::Open,
                (false, true) => Forced::Closed,
                (false, false) => Forced::No,
            },
            gray_percent: percent.unwrap_or(default.gray_percent),
            weights_dynamic: s.bool("weights.dynamic").unwrap_or(default.weights_dynamic),
        }
    }

    /// Makes the call with `attachments` gray, if it has no colour and it is its turn.
    pub(crate) fn colour(&self, attachments: &mut Attachments) {
        if self.gray_percent > 0.0
            && pool::tag(attachments).is_none()
            && fastrand::f64() * 100.0 < self.gray_percent
        {
            attachments.insert(pool::TAG, pool::GRAY_POOL);
        }
    }
}

/// The switches of one instance: those from code count, then those of the rule, then everything as policies say.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// Whole, so that nobody sees half of a change.
    current: ArcSwap<Switches>,
    said: parking_lot::Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    code: Option<Switches>,
    rule: Option<Arc<Switches>>,
}

impl Board {
    pub(super) fn current(&self) -> Switches {
        **self.current.load()
    }

    pub(super) fn set(&self, switches: Option<Switches>) {
        self.change(|said| said.code = switches);
    }

    pub(super) fn set_rule(&self, switches: Option<Arc<Switches>>) {
        self.change(|said| said.rule = switches);
    }

    fn change(&self, change: impl FnOnce(&mut Said)) {
        let mut said = self.said.lock();
        change(&mut said);
        let next = said.code.or_else(|| said.rule.as_deref().copied());
        let next = next.unwrap_or_default();
        let last = self.current.swap(Arc::new(next));
        if *last != next {
            tracing::info!(switches = ?next, "switches have changed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_is_read_and_every_mistake_told() {
        let text = "
retry.enabled: false
retry.max-attempts-override: 2
hedge.enabled: false
breaker.force-open: true
gray.percent: 12.5
weights.dynamic: false
";
        let switches = Switches::parse("shop.switches", text).expect("no mistakes");
        let want = Switches {
            retry_enabled: false,
            max_attempts_override: Some(2),
            hedge_enabled: false,
            breaker: Forced::Open,
            gray_percent: 12.5,
            weights_dynamic: false,
        };
        assert_eq!(switches, want);
        assert_eq!(
            Switches::parse("shop.switches", "").expect("nothing"),
            Switches::default()
        );
        let forced = Switches::parse("x", "breaker.force-closed: true").expect("no mistakes");
        assert_eq!(forced.breaker, Forced::Closed);
        let text = "{ breaker.force-open: true, breaker.force-closed: true, gray.percent: 101 }";
        let error = Switches::parse("x", text).expect_err("two mistakes");
        assert_eq!(error.problems.len(), 2, "{error}");
    }

    #[test]
    fn code_counts_more_than_the_rule_and_the_rule_more_than_nothing() {
        let board = Board::default();
        let of = |max| Switches {
            max_attempts_override: Some(max),
            ..Switches::default()
        };
        board.set_rule(Some(Arc::new(of(2))));
        assert_eq!(board.current().max_attempts_override, Some(2));
        board.set(Some(of(3)));
        assert_eq!(board.current().max_attempts_override, Some(3));
        board.set_rule(None);
        board.set(None);
        assert_eq!(board.current(), Switches::default());
    }

    #[test]
    fn a_part_of_the_calls_without_a_colour_becomes_gray() {
        fastrand::seed(42);
        let switches = Switches {
            gray_percent: 20.0,
            ..Switches::default()
        };
        let gray = |tag: Option<&'static str>| {
            let mut attachments = Attachments::new();
            if let Some(tag) = tag {
                attachments.insert("dubbo.tag", tag);
            }
            switches.colour(&mut attachments);
            attachments.get("dubbo.tag") == Some("gray")
        };
        let count = (0..10_000).filter(|_| gray(None)).count();
        assert!(
            (1_840..=2_160).contains(&count),
            "{count}: 4σ around a fifth"
        );
        assert!((0..1_000).all(|_| !gray(Some("blue"))));
    }
}
