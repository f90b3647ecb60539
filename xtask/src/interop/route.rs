//! Who calls whom, over what.

use std::fmt;

/// An implementation of Dubbo, or one of gRPC that knows nothing of Dubbo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Party {
    Go,
    GrpcGo,
    Grpcio,
    Java,
    Rust,
}

/// One of the parties, or some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Those that know gRPC alone.
    Grpc,
    One(Party),
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
    consumer: Option<Who>,
    provider: Option<Who>,
    protocol: Option<Protocol>,
}

/// All ways that begin at a consumer of `who`.
pub(super) fn from(who: impl Into<Who>) -> Ways {
    Ways {
        consumer: Some(who.into()),
        ..Ways::default()
    }
}

/// All ways that lead to a provider of `who`.
pub(super) fn to(who: impl Into<Who>) -> Ways {
    Ways {
        provider: Some(who.into()),
        ..Ways::default()
    }
}

impl Ways {
    /// Those of them that lead to a provider of `who`.
    pub(super) fn to(self, who: impl Into<Who>) -> Self {
        Self {
            provider: Some(who.into()),
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
        self.consumer.is_none_or(|who| who.has(route.consumer))
            && self.provider.is_none_or(|who| who.has(route.provider))
            && self.protocol.is_none_or(|wanted| wanted == protocol)
    }
}

impl Who {
    fn has(self, party: Party) -> bool {
        match self {
            Self::Grpc => party.is_grpc(),
            Self::One(one) => one == party,
        }
    }
}

impl From<Party> for Who {
    fn from(party: Party) -> Self {
        Self::One(party)
    }
}

impl Party {
    fn is_grpc(self) -> bool {
        matches!(self, Self::GrpcGo | Self::Grpcio)
    }
}

impl Route {
    /// Whether one of the two knows gRPC alone.
    pub(super) fn is_grpc(self) -> bool {
        self.consumer.is_grpc() || self.provider.is_grpc()
    }

    /// What both speak.
    pub(super) fn protocols(self) -> &'static [Protocol] {
        if self.is_grpc() {
            &[Protocol::Tri]
        } else {
            &Protocol::ALL
        }
    }

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
            Self::GrpcGo => "grpc-go",
            Self::Grpcio => "grpcio",
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
        assert_eq!(included(from(Who::Grpc)), [false, false]);
        let route = Route {
            consumer: Party::Rust,
            provider: Party::Grpcio,
        };
        assert!(to(Who::Grpc).include(route, Protocol::Tri));
        assert_eq!(route.protocols(), [Protocol::Tri]);
    }
}
