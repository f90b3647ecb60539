//! Who calls whom, over what.

use std::fmt;

/// An implementation of Dubbo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    Go,
    Java,
    Rust,
}

/// A protocol, by the name that its URLs begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Tri,
    Dubbo,
}

/// A consumer and a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) consumer: Party,
    pub(super) provider: Party,
}

/// Some of the routes and protocols: those that have what is named here.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ways {
    consumer: Option<Party>,
    provider: Option<Party>,
    protocol: Option<Protocol>,
}

/// All ways that begin at a consumer of `party`.
pub(super) fn from(party: Party) -> Ways {
    Ways {
        consumer: Some(party),
        ..Ways::default()
    }
}

/// All ways that lead to a provider of `party`.
pub(super) fn to(party: Party) -> Ways {
    Ways {
        provider: Some(party),
        ..Ways::default()
    }
}

impl Ways {
    /// Those of them that lead to a provider of `party`.
    pub(super) fn to(self, party: Party) -> Self {
        Self {
            provider: Some(party),
            ..self
        }
    }

    /// Those of them that use `protocol`.
    pub(super) fn over(self, protocol: Protocol) -> Self {
        Self {
            protocol: Some(protocol),
            ..self
        }
    }

    pub(super) fn include(self, route: Route, protocol: Protocol) -> bool {
        self.consumer.is_none_or(|party| party == route.consumer)
            && self.provider.is_none_or(|party| party == route.provider)
            && self.protocol.is_none_or(|wanted| wanted == protocol)
    }
}

impl Route {
    /// Its name in names of files.
    pub(super) fn slug(self) -> String {
        self.to_string().to_lowercase().replace('→', "-to-")
    }
}

impl Protocol {
    pub(super) const ALL: [Self; 2] = [Self::Tri, Self::Dubbo];

    /// A case as peers and reports name it.
    pub(super) fn label(self, case: &str) -> String {
        format!("{self}/{case}")
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Go => "Go",
            Self::Java => "Java",
            Self::Rust => "Rust",
        })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tri => "tri",
            Self::Dubbo => "dubbo",
        })
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.consumer, self.provider)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_include_what_they_do_not_exclude() {
        let route = Route {
            consumer: Party::Java,
            provider: Party::Rust,
        };
        let included = |ways: Ways| Protocol::ALL.map(|protocol| ways.include(route, protocol));
        assert_eq!(included(Ways::default()), [true, true]);
        assert_eq!(included(from(Party::Java)), [true, true]);
        assert_eq!(included(from(Party::Go)), [false, false]);
        assert_eq!(
            included(to(Party::Rust).over(Protocol::Dubbo)),
            [false, true]
        );
        assert_eq!(included(from(Party::Java).to(Party::Go)), [false, false]);
    }
}
