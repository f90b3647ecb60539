//! The cells of the matrix: a registry, what is registered, and who looks for whom.

use std::fmt;

use crate::interop::route::{Party, Route};

/// A registry that has servers to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Registry {
    Nacos,
    Zookeeper,
    Etcd,
}

/// What is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Each service by its interface.
    Interface,
    /// The application, whose metadata says what it serves.
    Application,
    Both,
}

/// Where the metadata of an application is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Metadata {
    /// The application tells.
    Local,
    /// The registry has it.
    Remote,
}

/// What happens in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interop) enum Scenario {
    /// A provider comes, goes and comes back elsewhere.
    Life(Level, Metadata),
    /// The registry goes and comes back.
    Outage(Level),
    /// A consumer without the interface calls by what the provider's definition says.
    Definition,
}

/// A scenario in one registry, between two parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interop) struct Cell {
    pub(in crate::interop) registry: Registry,
    pub(in crate::interop) scenario: Scenario,
    pub(in crate::interop) route: Route,
}

impl Registry {
    pub(crate) const ALL: [Self; 3] = [Self::Nacos, Self::Zookeeper, Self::Etcd];

    /// Whether `party` has a client of it.
    fn is_known_to(self, party: Party) -> bool {
        (self, party) != (Self::Etcd, Party::Java)
    }
}

impl Level {
    /// The value of `registry-type`.
    pub(in crate::interop) fn registry_type(self) -> &'static str {
        match self {
            Self::Interface => "interface",
            Self::Application => "service",
            Self::Both => "all",
        }
    }
}

impl Scenario {
    pub(in crate::interop) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for level in [Level::Interface, Level::Application, Level::Both] {
            for metadata in [Metadata::Local, Metadata::Remote] {
                all.push(Self::Life(level, metadata));
            }
        }
        all.extend([Level::Interface, Level::Application].map(Self::Outage));
        all.push(Self::Definition);
        all
    }

    pub(in crate::interop) fn level(self) -> Level {
        match self {
            Self::Life(level, _) | Self::Outage(level) => level,
            Self::Definition => Level::Application,
        }
    }

    pub(in crate::interop) fn metadata(self) -> Metadata {
        match self {
            Self::Life(_, metadata) => metadata,
            Self::Outage(_) | Self::Definition => Metadata::Local,
        }
    }

    /// Whether it can be between two parties: only Dubbo Java reads definitions, and how it reads its own is its matter.
    fn is_for(self, route: Route) -> bool {
        self != Self::Definition || (route.consumer, route.provider) == (Party::Java, Party::Rust)
    }

    pub(in crate::interop) fn is_outage(self) -> bool {
        matches!(self, Self::Outage(_))
    }
}

impl Cell {
    /// Whether both parties have a client of the registry, and can do what the scenario asks of them.
    pub(in crate::interop) fn is_possible(self) -> bool {
        let parties = [self.route.consumer, self.route.provider];
        let mut parties = parties.into_iter();
        parties.all(|party| self.registry.is_known_to(party)) && self.scenario.is_for(self.route)
    }

    /// Its row in the table.
    pub(in crate::interop) fn row(self) -> String {
        format!("{} {}", self.registry, self.scenario)
    }

    /// Its name in names of files.
    pub(in crate::interop) fn slug(self) -> String {
        format!("{}-{}-{}", self.registry, self.scenario, self.route.slug())
    }
}

/// All cells of these routes, by rows.
pub(super) fn all(routes: &[Route]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for registry in Registry::ALL {
        for scenario in Scenario::all() {
            let cell = |&route| Cell {
                registry,
                scenario,
                route,
            };
            cells.extend(routes.iter().map(cell).filter(|cell| cell.is_possible()));
        }
    }
    cells
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nacos => "nacos",
            Self::Zookeeper => "zookeeper",
            Self::Etcd => "etcd",
        })
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Interface => "interface",
            Self::Application => "application",
            Self::Both => "both",
        })
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Local => "local",
            Self::Remote => "remote",
        })
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Life(level, metadata) => write!(f, "{level}-{metadata}"),
            Self::Outage(level) => write!(f, "outage-{level}"),
            Self::Definition => f.write_str("definition"),
        }
    }
}
