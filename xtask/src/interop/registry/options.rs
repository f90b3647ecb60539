//! The arguments of the command.

use crate::{
    failure::Failure,
    interop::{
        options::matches,
        route::{Party, Route},
    },
};

use super::cell::{self, Cell, Level, Metadata, Registry, Scenario};

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Options {
    /// Run these cells.
    Matrix {
        cells: Vec<Cell>,
        /// Whether they are about the others alone: what those can do, and not whether we can.
        others: bool,
        /// Whether no cell is left out.
        whole: bool,
    },
    /// Run the behaviour suite of registries on servers of these kinds.
    Suite(Vec<Registry>),
}

impl Options {
    /// Reads the arguments, as [`usage`] has them.
    pub(super) fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut wish = Wish::default();
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let mut value = || {
                args.next()
                    .ok_or_else(|| usage(&format!("{name} needs a value")))
            };
            match name.as_str() {
                "--registry" => wish.registries.push(registry(value()?)?),
                "--peer" => wish.peers.push(peer(value()?)?),
                "--case" => wish.patterns.push(value()?.clone()),
                "--quick" => wish.quick = true,
                "--others" => wish.others = true,
                "--suite" => wish.suite = true,
                other => return Err(usage(&format!("there is no option `{other}`"))),
            }
        }
        wish.grant()
    }
}

#[derive(Debug, Default)]
struct Wish {
    registries: Vec<Registry>,
    peers: Vec<Party>,
    patterns: Vec<String>,
    quick: bool,
    others: bool,
    suite: bool,
}

impl Wish {
    fn grant(self) -> Result<Options, Failure> {
        let wanted =
            |registry: Registry| self.registries.is_empty() || self.registries.contains(&registry);
        if self.suite {
            if self.quick || self.others || !self.peers.is_empty() || !self.patterns.is_empty() {
                return Err(usage("--suite has no peers and no cases"));
            }
            let registries = Registry::ALL.into_iter().filter(|r| wanted(*r));
            return Ok(Options::Suite(registries.collect()));
        }
        let names: Vec<_> = Scenario::all().iter().map(ToString::to_string).collect();
        let unknown = |pattern: &&String| !names.iter().any(|name| matches(pattern, name));
        if let Some(unknown) = self.patterns.iter().find(unknown) {
            return Err(Failure::new(
                format!("there is no case `{unknown}`"),
                format!("name one of these: {}", names.join(" ")),
            ));
        }
        let cells: Vec<_> = cell::all(routes(self.others))
            .into_iter()
            .filter(|cell| wanted(cell.registry))
            .filter(|cell| self.has_peer(cell.route))
            .filter(|cell| self.has_case(&cell.scenario.to_string()))
            .filter(|cell| !self.quick || is_quick(*cell))
            .collect();
        if cells.is_empty() {
            return Err(usage("no cell is all of that"));
        }
        Ok(Options::Matrix {
            others: self.others,
            whole: self.registries.is_empty()
                && self.peers.is_empty()
                && self.patterns.is_empty()
                && !self.quick,
            cells,
        })
    }

    fn has_peer(&self, route: Route) -> bool {
        let has = |peer: &Party| [route.consumer, route.provider].contains(peer);
        self.peers.is_empty() || self.peers.iter().any(has)
    }

    fn has_case(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern, name))
    }
}

/// The columns of the matrix.
pub(in crate::interop) fn routes(others: bool) -> &'static [Route] {
    if others { &OTHERS } else { &OURS }
}

/// A few cells that have every registry, peer and direction, for runs that have little time.
fn is_quick(cell: Cell) -> bool {
    let scenario = match cell.registry {
        Registry::Nacos => Scenario::Life(Level::Both, Metadata::Local),
        Registry::Zookeeper => Scenario::Life(Level::Application, Metadata::Local),
        Registry::Etcd => Scenario::Life(Level::Application, Metadata::Remote),
    };
    cell.scenario == scenario && cell.route.consumer != cell.route.provider
}

/// The registry of that name.
pub(crate) fn registry(name: &str) -> Result<Registry, Failure> {
    Registry::ALL
        .into_iter()
        .find(|registry| registry.to_string() == name)
        .ok_or_else(|| usage(&format!("there is no registry `{name}`")))
}

fn peer(name: &str) -> Result<Party, Failure> {
    match name {
        "go" => Ok(Party::Go),
        "java" => Ok(Party::Java),
        _ => Err(usage(&format!("there is no peer `{name}`"))),
    }
}

fn usage(problem: &str) -> Failure {
    Failure::new(
        problem,
        "call it as: cargo xtask interop registry [--registry nacos|zookeeper|etcd]... [--peer go|java]... \
         [--case NAME|START*]... [--quick] [--others], or as: cargo xtask interop registry --suite \
         [--registry nacos|zookeeper|etcd]...",
    )
}

const OURS: [Route; 5] = [
    route(Party::Rust, Party::Rust),
    route(Party::Rust, Party::Go),
    route(Party::Go, Party::Rust),
    route(Party::Rust, Party::Java),
    route(Party::Java, Party::Rust),
];
const OTHERS: [Route; 4] = [
    route(Party::Go, Party::Go),
    route(Party::Java, Party::Java),
    route(Party::Java, Party::Go),
    route(Party::Go, Party::Java),
];

const fn route(consumer: Party, provider: Party) -> Route {
    Route { consumer, provider }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let args: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&args).map_err(|failure| failure.to_string())
    }

    fn cells(line: &str) -> Vec<Cell> {
        match parse(line) {
            Ok(Options::Matrix { cells, .. }) => cells,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for (line, problem) in [
            ("--registry consul", "no registry `consul`"),
            ("--registry", "--registry needs a value"),
            ("--peer rust", "no peer `rust`"),
            ("--case outage", "no case `outage`"),
            ("--fast", "no option `--fast`"),
            ("--suite --peer go", "--suite has no peers"),
            ("--registry etcd --peer java", "no cell is all of that"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(problem), "{line}: {error}");
        }
    }

    #[test]
    fn cells_are_selected_by_what_they_have() {
        let count = |line: &str| cells(line).len();
        // Eight scenarios; five routes, of which three have no Java. Definitions are for Java alone.
        assert_eq!(count(""), 8 * (5 + 5 + 3) + 2);
        assert_eq!(count("--registry etcd"), 8 * 3);
        assert_eq!(count("--peer java"), 8 * (2 + 2) + 2);
        assert_eq!(count("--case definition"), 2);
        assert_eq!(count("--case interface-*"), 2 * (5 + 5 + 3));
        assert_eq!(count("--others"), 8 * (4 + 4 + 1));
        assert_eq!(
            parse("--suite --registry etcd"),
            Ok(Options::Suite(vec![Registry::Etcd]))
        );
    }

    #[test]
    fn the_quick_cells_have_every_registry_peer_and_direction() {
        let quick = cells("--quick");
        for cell in cells("") {
            let alike =
                |other: &&Cell| other.registry == cell.registry && other.route == cell.route;
            let expected = usize::from(cell.route.consumer != cell.route.provider);
            assert_eq!(quick.iter().filter(alike).count(), expected, "{cell:?}");
        }
    }
}
