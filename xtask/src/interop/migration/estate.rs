//! Providers and a consumer that meet in a ZooKeeper of their own, which has the rule of the migration, too.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::{
    failure::Failure,
    interop::{
        build::Programs,
        caller::Caller,
        lines::Notice,
        peer::{Heard, Peer},
        ports::Listens,
        registry::{Level, Metadata, Registry, Server},
        route::Party,
    },
    process::{self, Stopwatch},
};

use super::dropped::{self, Departure};

/// What a scenario takes place in.
#[derive(Debug)]
pub(super) struct Estate<'a> {
    programs: &'a BTreeMap<Party, Programs>,
    folder: PathBuf,
    server: Server,
}

/// A provider at work.
#[derive(Debug)]
pub(super) struct Provider {
    peer: Peer,
    party: Party,
    /// Its place among those of the party.
    number: u8,
    /// What its answers end with: who it is, how it is registered, and its place.
    pub(super) name: String,
}

impl<'a> Estate<'a> {
    /// One with nobody in it, and with `rule` as the rule.
    pub(super) fn start(
        programs: &'a BTreeMap<Party, Programs>,
        scenario: &str,
        rule: &str,
    ) -> Result<Self, Failure> {
        let folder = process::target_dir()
            .join("interop/migration")
            .join(scenario);
        let estate = Self {
            programs,
            server: Server::start(Registry::Zookeeper, &folder)?,
            folder,
        };
        for (end, _) in RULE.match_indices('/').skip(1) {
            estate.zookeeper(&["create", &RULE[..end]])?;
        }
        estate.zookeeper(&["create", RULE, rule])?;
        Ok(estate)
    }

    /// Sets the rule, as an operator would.
    pub(super) fn rule(&self, rule: &str) -> Result<(), Failure> {
        self.zookeeper(&["set", RULE, rule])
    }

    /// Starts a provider that is registered at `level`, and waits until it can be called.
    pub(super) fn provider(
        &self,
        party: Party,
        level: Level,
        number: u8,
    ) -> Result<Provider, Failure> {
        let name = format!("{}-{level}-{number}", party.to_string().to_lowercase());
        // Each party has an application of its own.
        let mut args = self.meeting(level, &format!("estate-{party}").to_lowercase());
        args.push(format!("--name={name}"));
        args.extend(Listens::free(party)?.flags());
        if party != Party::Java {
            args.push(format!("--leave={LEAVE_SECONDS}"));
        }
        args.push("--until-stdin-ends".to_owned());
        let program = &self.programs[&party].provider;
        let peer = Peer::start(program, &args, self.folder.join(format!("{name}.log")))?;
        peer.await_notice(READY_LIMIT, |notice| notice.event == "ready")?;
        Ok(Provider {
            peer,
            party,
            number,
            name,
        })
    }

    /// Starts a consumer that calls a hundred times a second over each protocol, without retries, and follows its providers
    /// by their interfaces and by their applications.
    pub(super) fn caller(&self, party: Party) -> Result<Caller, Failure> {
        let mut args = self.meeting(Level::Both, CONSUMER);
        args.push("--load=10".to_owned());
        let program = &self.programs[&party].consumer;
        Caller::start(program, &args, self.folder.join("consumer.log"))
    }

    /// Stops one provider after another, and starts one in its place that is registered at `level` and has to be called
    /// before the next one goes.
    pub(super) fn roll(
        &self,
        providers: Vec<Provider>,
        level: Level,
        caller: &mut Caller,
    ) -> Result<Vec<Provider>, Failure> {
        self.roll_with(providers, level, caller, |provider, _| provider.stop())
    }

    /// As [`roll`](Self::roll), with `stop` to stop them.
    pub(super) fn roll_with(
        &self,
        providers: Vec<Provider>,
        level: Level,
        caller: &mut Caller,
        mut stop: impl FnMut(Provider, &mut Caller) -> Result<(), Failure>,
    ) -> Result<Vec<Provider>, Failure> {
        let restart = |provider: Provider| {
            let (party, number) = (provider.party, provider.number);
            stop(provider, caller)?;
            let provider = self.provider(party, level, number)?;
            caller.until_answered_by(&[&provider.name])?;
            Ok(provider)
        };
        providers.into_iter().map(restart).collect()
    }

    /// Has ZooKeeper's own command line do something.
    fn zookeeper(&self, command: &[&str]) -> Result<(), Failure> {
        let cli = self
            .server
            .zookeeper_cli(command, self.folder.join("cli.log"))?;
        let failure = cli.failure("did not do it");
        if cli.finish(CLI_LIMIT)?.success() {
            Ok(())
        } else {
            Err(failure)
        }
    }

    fn meeting(&self, level: Level, application: &str) -> Vec<String> {
        self.server.meeting(level, Metadata::Local, application)
    }
}

impl Provider {
    /// Stops it as an operator would.
    pub(super) fn stop(self) -> Result<(), Failure> {
        self.peer.stop(self.party, STOP_LIMIT)
    }

    /// Stops one of ours as an operator would, and tells what became of the calls over `dubbo` to it.
    pub(super) fn leave(self, caller: &mut Caller) -> Result<Departure, Failure> {
        caller.catch_up()?;
        let before = caller.count();
        self.peer.terminate()?;
        let staying = caller.watch(dropped::STAYING)?;
        let answered = self.last_words()?;
        let failure = self
            .peer
            .failure("did not end well, or did not tell how many calls it has answered");
        let ended = self.peer.finish(STOP_LIMIT)?;
        let answered = answered.filter(|_| ended.success()).ok_or(failure)?;
        caller.catch_up()?;
        Ok(Departure {
            heard: caller.heard(dropped::CONTRACT, &self.name),
            failed_staying: staying.failed,
            failed: caller.count().failed - before.failed,
            name: self.name,
            answered,
        })
    }

    /// Waits for its end: how many calls over `dubbo` it says that it has answered.
    fn last_words(&self) -> Result<Option<u64>, Failure> {
        let watch = Stopwatch::start();
        let mut answered = None;
        loop {
            match self.peer.next(STOP_LIMIT.saturating_sub(watch.elapsed())) {
                Heard::Line(line) => {
                    let left = Notice::parse(&line).filter(|notice| notice.event == "left");
                    answered = left.map_or(answered, |notice| notice.answered);
                }
                Heard::End => return Ok(answered),
                Heard::Silence => return Err(self.peer.failure("did not end")),
            }
        }
    }
}

/// The application of the consumer.
const CONSUMER: &str = "estate-consumer";
/// The node of its rule, where Dubbo Java's config center looks for it.
const RULE: &str = "/dubbo/config/DUBBO_SERVICEDISCOVERY_MIGRATION/estate-consumer.migration";
/// How long a provider stays after it has told the registry that it leaves: longer than any consumer is late. Dubbo Java hears
/// of it up to five seconds later, and others doubt an empty list for one, which is what an application has that leaves with
/// its only instance.
const LEAVE_SECONDS: u64 = 7;
const READY_LIMIT: Duration = Duration::from_mins(1);
const CLI_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_mins(1);
