//! Providers and consumers that meet in a ZooKeeper of their own, which is the config center, too.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    interop::{
        build::Programs,
        lines::Notice,
        peer::{Heard, Peer},
        ports::Listens,
        registry::{Level, Metadata, Registry, Server},
        route::{Party, Protocol},
    },
    process,
};

use super::caller::Caller;

/// The programs of each party.
pub(super) type Peers = BTreeMap<Party, Programs>;

/// What a check takes place in.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    peers: &'a Peers,
    /// How providers are registered and looked for.
    level: Level,
    folder: PathBuf,
    server: Server,
}

/// A provider as it is configured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Role {
    pub(super) party: Party,
    /// What its answers end with.
    pub(super) name: &'static str,
    pub(super) tag: Option<&'static str>,
    pub(super) weight: Option<u64>,
    /// In seconds; none, so that weights count at once, unless changed.
    pub(super) warm_up: u64,
}

/// A provider at work.
#[derive(Debug)]
pub(super) struct Provider {
    peer: Peer,
    pub(super) tri: u16,
    pub(super) dubbo: u16,
}

impl<'a> Scene<'a> {
    /// One with nobody in it, for providers that are registered by their interfaces.
    pub(super) fn start(peers: &'a Peers, name: &str, party: Party) -> Result<Self, Failure> {
        Self::start_at(Level::Interface, peers, name, party)
    }

    /// One with nobody in it, for providers that are registered at `level`.
    pub(super) fn start_at(
        level: Level,
        peers: &'a Peers,
        name: &str,
        party: Party,
    ) -> Result<Self, Failure> {
        let folder = process::target_dir()
            .join("interop/cluster")
            .join(format!("{name}-{level}-{party}").to_lowercase());
        Ok(Self {
            peers,
            level,
            server: Server::start(Registry::Zookeeper, &folder)?,
            folder,
        })
    }

    /// Starts providers, and waits until they can be called.
    pub(super) fn providers<const N: usize>(
        &self,
        roles: [Role; N],
    ) -> Result<[Provider; N], Failure> {
        let mut providers = Vec::with_capacity(N);
        for role in roles {
            providers.push(self.begin(role)?);
        }
        for provider in &providers {
            provider
                .peer
                .await_notice(READY_LIMIT, |notice| notice.event == "ready")?;
        }
        // There are as many as roles.
        providers
            .try_into()
            .map_err(|_| Failure::new("a provider got lost", "look at `Scene::providers`"))
    }

    fn begin(&self, role: Role) -> Result<Provider, Failure> {
        let listens = Listens::free(role.party)?;
        let mut args = self
            .server
            .meeting(self.level, Metadata::Local, APPLICATION);
        args.extend(listens.flags());
        args.extend([
            format!("--name={}", role.name),
            format!("--warmup={}", role.warm_up),
            "--until-stdin-ends".to_owned(),
        ]);
        args.extend(role.tag.map(|tag| format!("--tag={tag}")));
        args.extend(role.weight.map(|weight| format!("--weight={weight}")));
        let log = self.folder.join(format!("{}.log", role.name));
        let peer = Peer::start(&self.peers[&role.party].provider, &args, log)?;
        Ok(Provider {
            peer,
            tri: listens.tri,
            dubbo: listens.dubbo,
        })
    }

    /// Starts our consumer. `reference` is what its references have besides, `retry` its `dubbo.retry`.
    pub(super) fn caller(
        &self,
        name: &str,
        reference: &Value,
        retry: &Value,
    ) -> Result<Caller, Failure> {
        let over = |protocol: Protocol| {
            let mut over = reference.clone();
            over["protocol"] = protocol.to_string().into();
            over
        };
        let config = json!({"dubbo": {
            "application": {"name": "cluster-consumer"},
            "registries": {"meeting": {
                "address": format!("zookeeper://{}", self.server.address()),
                "registry-type": self.level.registry_type(),
            }},
            "consumer": {"references": {
                "GreeterClient": over(Protocol::Tri),
                "UserServiceClient": over(Protocol::Dubbo),
            }},
            "retry": retry,
        }});
        let program = &self.peers[&Party::Rust].consumer;
        Caller::start(program, &config, self.folder.join(format!("{name}.log")))
    }

    /// Makes a node for each of these rules where a config center looks for them, with nothing in it.
    pub(super) fn make_room(&self, keys: &[&str]) -> Result<(), Failure> {
        let paths = keys.iter().map(|key| rule(key));
        let mut nodes: BTreeSet<String> = BTreeSet::new();
        for path in paths {
            let ends = path.match_indices('/').skip(1).map(|(end, _)| end);
            nodes.extend(ends.map(|end| path[..end].to_owned()));
            nodes.insert(path);
        }
        let mut cli = self
            .server
            .zookeeper_cli(&[], self.folder.join("cli.log"))?;
        // Parents are before their children.
        for node in nodes {
            cli.say(&format!("create {node}"))?;
        }
        cli.end_input();
        cli.finish(CLI_LIMIT).map(|_| ())
    }

    /// Begins to set a rule. What is given prints a line when it is set.
    pub(super) fn set_rule(&self, key: &str, text: &str) -> Result<Peer, Failure> {
        let log = self.folder.join("cli-set.log");
        self.server
            .zookeeper_cli(&["set", "-s", &rule(key), text], log)
    }
}

impl Role {
    pub(super) const fn new(party: Party, name: &'static str) -> Self {
        Self {
            party,
            name,
            tag: None,
            weight: None,
            warm_up: 0,
        }
    }
}

impl Provider {
    /// Calls that it was asked to hold in the meantime: more are waited for until none has come for `quiet`.
    pub(super) fn held(&self, quiet: Duration) -> Vec<Notice> {
        let mut held = Vec::new();
        while let Heard::Line(line) = self.peer.next(quiet) {
            held.extend(Notice::parse(&line).filter(|notice| notice.event == "held"));
        }
        held
    }

    /// Waits until it is asked to hold so many more calls.
    pub(super) fn await_held(&self, calls: usize) -> Result<(), Failure> {
        self.held(Duration::ZERO);
        for _ in 0..calls {
            self.peer
                .await_notice(HELD_LIMIT, |notice| notice.event == "held")?;
        }
        Ok(())
    }

    /// Ends it as a power cut would.
    pub(super) fn kill(&mut self) -> Result<(), Failure> {
        self.peer.kill()
    }
}

/// Where the rule is that a config center has under `key`.
fn rule(key: &str) -> String {
    format!("/dubbo/config/dubbo/{key}")
}

/// The application of all providers.
pub(super) const APPLICATION: &str = "cluster";
const READY_LIMIT: Duration = Duration::from_mins(1);
const HELD_LIMIT: Duration = Duration::from_secs(10);
const CLI_LIMIT: Duration = Duration::from_secs(30);
