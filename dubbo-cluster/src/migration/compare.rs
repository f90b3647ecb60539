//! Whether one path can take the place of the other.

use std::{collections::BTreeSet, str::FromStr};

use super::{Path, evidence::Evidence, traffic::Failures};

/// What is compared beside the number of addresses. All must agree that a path can be changed to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comparators {
    /// `methods`: the new path has every method that the old one has.
    pub methods: bool,
    /// `protocols`: the new path has every protocol that the old one has.
    pub protocols: bool,
    /// `errors`: of the last 1000 calls, no more than one in a hundred more fails on the new path than on the old one.
    /// Errors of the business are none.
    pub errors: bool,
}

impl FromStr for Comparators {
    type Err = UnknownComparator;

    /// Names with commas between them.
    fn from_str(text: &str) -> Result<Self, UnknownComparator> {
        let mut comparators = Self::default();
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            match name.to_ascii_lowercase().as_str() {
                "methods" => comparators.methods = true,
                "protocols" => comparators.protocols = true,
                "errors" => comparators.errors = true,
                _ => return Err(UnknownComparator(name.to_owned())),
            }
        }
        Ok(comparators)
    }
}

/// A text that names nothing to compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is nothing to compare in a migration; there are `methods`, `protocols` and `errors`, and addresses always"
)]
pub struct UnknownComparator(String);

/// Two paths side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison<'c> {
    /// The path to change to.
    pub(super) to: Path,
    pub(super) new: &'c Evidence,
    pub(super) old: &'c Evidence,
    pub(super) threshold: f64,
    pub(super) comparators: Comparators,
    pub(super) new_failures: Failures,
    pub(super) old_failures: Failures,
}

/// What comes of comparing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdict {
    /// Whether the new path can take the place of the old one.
    pub(super) passes: bool,
    /// Whether it is so far from that that one should go back.
    pub(super) fails: bool,
    /// In one sentence.
    pub(super) why: String,
}

impl Comparison<'_> {
    pub(super) fn verdict(&self) -> Verdict {
        let by_addresses = self.addresses();
        if !by_addresses.passes {
            return by_addresses;
        }
        let Some(why) = self
            .methods()
            .or_else(|| self.protocols())
            .or_else(|| self.errors())
        else {
            return by_addresses;
        };
        Verdict {
            passes: false,
            fails: true,
            why,
        }
    }

    /// The service that is worst off decides. Nobody is changed to who has no address, whatever the threshold.
    fn addresses(&self) -> Verdict {
        let (to, from) = (self.to, self.to.other());
        if self.new.addresses == 0 {
            let why = format!("by {to} no address");
            return Verdict {
                passes: false,
                fails: true,
                why,
            };
        }
        let worst = self.old.services.iter().map(|(key, old)| {
            let new = self.new.services.get(key).map_or(0, |new| new.addresses);
            (share(new, old.addresses), new, old.addresses, key)
        });
        let worst = worst.min_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let Some((ratio, new, old, key)) = worst else {
            let why = format!("by {from} no address");
            return Verdict {
                passes: true,
                fails: false,
                why,
            };
        };
        let passes = new > 0 && ratio >= self.threshold;
        let of = if self.old.services.len() > 1 {
            format!(" of {key}")
        } else {
            String::new()
        };
        let sign = if ratio >= self.threshold { "≥" } else { "<" };
        Verdict {
            passes,
            fails: new == 0 || self.threshold - ratio > HYSTERESIS,
            why: format!(
                "by {to} {}{of}, by {from} {old}: {ratio:.2} {sign} {}",
                counted(new),
                self.threshold
            ),
        }
    }

    fn methods(&self) -> Option<String> {
        self.lacks(self.comparators.methods, "the method", |offer| {
            &offer.methods
        })
    }

    fn protocols(&self) -> Option<String> {
        self.lacks(self.comparators.protocols, "the protocol", |offer| {
            &offer.protocols
        })
    }

    /// What the new path lacks that the old one has.
    fn lacks(
        &self,
        is_compared: bool,
        what: &str,
        of: impl Fn(&super::evidence::Offer) -> &BTreeSet<String>,
    ) -> Option<String> {
        if !is_compared {
            return None;
        }
        self.old.services.iter().find_map(|(key, old)| {
            let new = self.new.services.get(key).map(&of);
            let missing = of(old)
                .iter()
                .find(|name| !new.is_some_and(|new| new.contains(*name)))?;
            Some(format!(
                "by {} {key} lacks {what} {missing}, which it has by {}",
                self.to,
                self.to.other()
            ))
        })
    }

    fn errors(&self) -> Option<String> {
        if !self.comparators.errors || self.new_failures.calls < ENOUGH_CALLS {
            return None;
        }
        let (new, old) = (self.new_failures.ratio(), self.old_failures.ratio());
        (new > old + MORE_FAILURES).then(|| {
            format!(
                "by {} {:.1} % of {} calls fail, and by {} {:.1} % of {}",
                self.to,
                new * 100.0,
                self.new_failures.calls,
                self.to.other(),
                old * 100.0,
                self.old_failures.calls,
            )
        })
    }
}

fn counted(addresses: usize) -> String {
    match addresses {
        0 => "no address".to_owned(),
        1 => "1 address".to_owned(),
        more => format!("{more} addresses"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 addresses")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// One goes back when the ratio is more than 0.1 below the threshold; 0.8 - 0.7 is a little more than that in binary.
const HYSTERESIS: f64 = 0.1 + 1e-9;

/// So many more of the calls may fail: one in a hundred.
const MORE_FAILURES: f64 = 0.01;

/// Before that many calls, a failure says little.
const ENOUGH_CALLS: usize = 100;

#[cfg(test)]
mod tests {
    use dubbo_core::service::ServiceKey;

    use super::{super::evidence::Offer, *};

    fn offers(text: &str) -> Evidence {
        let mut evidence = Evidence::default();
        for part in text.split_whitespace() {
            let mut words = part.split('/');
            let mut word = || words.next().unwrap_or_default();
            let (service, count) = (word(), word());
            let addresses = count.parse().expect("a count");
            let set = |text: &str| {
                let words = text.split(',').filter(|word| !word.is_empty());
                words.map(str::to_owned).collect()
            };
            let offer = Offer {
                addresses,
                methods: set(word()),
                protocols: set(word()),
            };
            evidence.services.insert(ServiceKey::new(service), offer);
            evidence.addresses += addresses;
        }
        evidence
    }

    fn verdict(
        new: &str,
        old: &str,
        threshold: f64,
        comparators: &str,
        failures: [(usize, usize); 2],
    ) -> Verdict {
        let [new_failures, old_failures] =
            failures.map(|(failed, calls)| Failures { failed, calls });
        Comparison {
            to: Path::Application,
            new: &offers(new),
            old: &offers(old),
            threshold,
            comparators: comparators.parse().expect("known"),
            new_failures,
            old_failures,
        }
        .verdict()
    }

    #[test]
    fn metadata_a25_addresses_are_compared_service_by_service() {
        for (new, old, threshold, passes, fails, why) in [
            (
                "a/4",
                "a/10",
                0.5,
                false,
                false,
                "by application 4 addresses, by interface 10: 0.40 < 0.5",
            ),
            ("a/5", "a/10", 0.5, true, false, "0.50 ≥ 0.5"),
            ("a/3", "a/10", 0.5, false, true, "0.30 < 0.5"),
            ("a/7", "a/10", 0.8, false, false, "0.70 < 0.8"),
            ("a/69", "a/100", 0.8, false, true, "0.69 < 0.8"),
            ("a/4", "a/5", 0.8, true, false, "0.80 ≥ 0.8"),
            ("", "a/1", 0.0, false, true, "by application no address"),
            ("", "", 0.0, false, true, "by application no address"),
            ("a/1", "", 0.9, true, false, "by interface no address"),
            ("a/1", "a/100", 0.0, true, false, "0.01 ≥ 0"),
            (
                "a/9 b/1",
                "a/9 b/9",
                0.5,
                false,
                true,
                "1 address of b, by interface 9",
            ),
            (
                "a/9",
                "a/9 b/1",
                0.0,
                false,
                true,
                "no address of b, by interface 1",
            ),
            ("a/2", "a/1", 1.0, true, false, "2.00 ≥ 1"),
        ] {
            let got = verdict(new, old, threshold, "", [(0, 0); 2]);
            assert_eq!((got.passes, got.fails), (passes, fails), "{new} over {old}");
            assert!(got.why.contains(why), "{why} in {}", got.why);
        }
    }

    #[test]
    fn metadata_a25_more_is_compared_when_it_is_asked_for() {
        let none = [(0, 0); 2];
        for (comparators, new, old, failures, want) in [
            (
                "",
                "a/1/x/tri",
                "a/1/x,y/tri,dubbo",
                [(100, 100), (0, 100)],
                None,
            ),
            (
                "methods",
                "a/1/x",
                "a/1/x,y",
                none,
                Some("a lacks the method y"),
            ),
            ("methods", "a/1/x,y,z", "a/1/x,y", none, None),
            (
                "protocols",
                "a/1//tri",
                "a/1//dubbo,tri",
                none,
                Some("the protocol dubbo"),
            ),
            ("Protocols, methods", "a/1/x/tri", "a/1/x/tri", none, None),
            ("errors", "a/1", "a/1", [(99, 99), (0, 1000)], None),
            ("errors", "a/1", "a/1", [(20, 1000), (10, 1000)], None),
            (
                "errors",
                "a/1",
                "a/1",
                [(21, 1000), (10, 1000)],
                Some("by application 2.1 % of 1000 calls fail, and by interface 1.0 % of 1000"),
            ),
            (
                "errors",
                "a/1",
                "a/1",
                [(2, 100), (0, 0)],
                Some("2.0 % of 100"),
            ),
        ] {
            let got = verdict(new, old, 0.0, comparators, failures);
            assert_eq!(got.passes, want.is_none(), "{comparators}: {}", got.why);
            assert_eq!(got.fails, want.is_some());
            assert!(got.why.contains(want.unwrap_or_default()), "{}", got.why);
        }
        let error = "methods,x".parse::<Comparators>().expect_err("unknown");
        assert!(error.to_string().starts_with("`x` is nothing"), "{error}");
    }
}
