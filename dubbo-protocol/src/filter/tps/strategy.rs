use std::{fmt, str::FromStr};

/// How calls are counted: `tps.limit.strategy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// `fixed`, also `fixedWindow`, `threadSafeFixedWindow` and `default`: so many in each window, the next of which opens
    /// with the first call after the end of the last. Twice as many can come around that moment.
    Fixed,
    /// `gcra`, what is done when nothing is said: so many at first, then one in each part of the interval.
    Gcra,
    /// `sliding`, also `slidingWindow`: so many in any interval. It remembers the time of each call in the last one.
    Sliding,
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    /// Reads a name in any case.
    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let known = NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        known
            .map(|(_, strategy)| *strategy)
            .ok_or_else(|| UnknownStrategy(text.to_owned()))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fixed => "fixed",
            Self::Gcra => "gcra",
            Self::Sliding => "sliding",
        })
    }
}

/// A name that is no [`Strategy`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no `tps.limit.strategy` is called `{0}`; there are: default, fixed, fixedWindow, gcra, sliding, slidingWindow, \
     threadSafeFixedWindow"
)]
pub struct UnknownStrategy(String);

const NAMES: [(&str, Strategy); 7] = [
    ("default", Strategy::Fixed),
    ("fixed", Strategy::Fixed),
    ("fixedWindow", Strategy::Fixed),
    ("gcra", Strategy::Gcra),
    ("sliding", Strategy::Sliding),
    ("slidingWindow", Strategy::Sliding),
    ("threadSafeFixedWindow", Strategy::Fixed),
];
