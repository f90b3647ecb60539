//! Where a play takes place: a registry server, three providers that meet there with consumers under load.

use std::{path::PathBuf, time::Duration};

use crate::{
    failure::Failure,
    interop::parts::{Caller, Level, Listens, Metadata, Party, Peer, Registry, Server},
    process::{self, Stopwatch},
};

use super::{
    Peers,
    chronicle::{Chronicle, Death, now},
    report::Report,
};

/// A field with everybody in it.
#[derive(Debug)]
pub(super) struct Field<'a> {
    programs: &'a Peers,
    /// Whose providers there are.
    party: Party,
    folder: PathBuf,
    server: Server,
    /// One for each seat; none while it is being replaced.
    providers: [Option<Provider>; SEATS],
    consumers: Vec<Consumer>,
    /// How many providers there have been, each with a name of its own.
    started: usize,
    chronicle: Chronicle,
}

/// Who calls, and what the contract allows to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Ours, with nothing but defaults: its calls are tried again.
    Rust,
    /// Ours, which tries again only what was certainly not done (`dubbo.retry.mode: strict`, and nothing is idempotent).
    RustOnce,
    /// dubbo-go's, with nothing but its defaults: its calls are tried again.
    Go,
}

/// A consumer at work.
#[derive(Debug)]
struct Consumer {
    role: Role,
    caller: Caller,
}

/// A provider at work.
#[derive(Debug)]
struct Provider {
    peer: Peer,
    /// What its answers end with: its seat, and which one it is there.
    name: String,
    listens: Listens,
}

/// Where the next provider of a seat listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    /// Where the one before it did, as a container that is started again.
    Same,
    /// Elsewhere, as a pod that takes the place of another.
    New,
}

impl<'a> Field<'a> {
    /// Starts everybody, and waits until each consumer is answered by each provider over both protocols. Where the providers
    /// are not ours, only the consumers of their party take part.
    pub(super) fn start(
        programs: &'a Peers,
        play: &str,
        registry: Registry,
        party: Party,
        roles: &[Role],
    ) -> Result<Self, Failure> {
        let folder = process::target_dir()
            .join("chaos")
            .join(format!("{play}-{registry}-{party}").to_lowercase());
        let mut field = Self {
            programs,
            party,
            server: Server::start(registry, &folder)?,
            folder,
            providers: [const { None }; SEATS],
            consumers: Vec::new(),
            started: 0,
            chronicle: Chronicle::default(),
        };
        for seat in 0..SEATS {
            field.fill(seat, Listens::free(party)?)?;
        }
        for &role in roles {
            if party == Party::Rust || role.party() == party {
                let caller = field.caller(role)?;
                field.consumers.push(Consumer { role, caller });
            }
        }
        let names: Vec<_> = field.providers.iter().flatten().collect();
        let names: Vec<_> = names.iter().map(|it| &*it.name).collect();
        for consumer in &mut field.consumers {
            consumer.caller.until_answered_by(&names)?;
        }
        field.chronicle.note("everybody was there");
        Ok(field)
    }

    /// Lets the calls go on for so long.
    pub(super) fn listen(&mut self, time: Duration) -> Result<(), Failure> {
        self.consumers[0].caller.watch(time).map(|_| ())
    }

    /// Stops the provider of a seat as an operator would, and expects it to end well; then another one takes its place.
    pub(super) fn restart(&mut self, seat: usize, address: Address) -> Result<(), Failure> {
        let Some(provider) = self.providers[seat].take() else {
            return Ok(());
        };
        let Provider {
            peer,
            name,
            listens,
        } = provider;
        self.chronicle.note(format!("{name} was told to stop"));
        peer.stop(self.party, STOP_LIMIT)?;
        self.chronicle.note(format!("{name} had ended"));
        let listens = match address {
            Address::Same => listens,
            Address::New => Listens::free(self.party)?,
        };
        self.fill(seat, listens)?;
        self.await_answers_of(seat)
    }

    /// Kills the provider of a seat; after a while another one takes its place, where it was. Gives how long all that took.
    pub(super) fn kill(&mut self, seat: usize, gone: Duration) -> Result<Duration, Failure> {
        let Some(mut provider) = self.providers[seat].take() else {
            return Ok(Duration::ZERO);
        };
        let watch = Stopwatch::start();
        self.chronicle.note(format!("{} was killed", provider.name));
        let begun = now();
        provider.peer.kill()?;
        provider.peer.finish(STOP_LIMIT)?;
        self.chronicle.deaths.push(Death {
            at: provider.listens,
            begun,
            done: now(),
        });
        self.listen(gone)?;
        self.fill(seat, provider.listens)?;
        self.await_answers_of(seat)?;
        Ok(watch.elapsed())
    }

    /// Ends the registry server as a power cut would.
    pub(super) fn crash_registry(&mut self) -> Result<(), Failure> {
        self.chronicle.note("the registry was killed");
        self.server.crash()
    }

    /// Brings the registry server back, with what it had stored.
    pub(super) fn restore_registry(&mut self) -> Result<(), Failure> {
        self.server.come_back()?;
        self.chronicle.note("the registry was back");
        Ok(())
    }

    /// Ends the consumers, then everybody else, and gives what became of the calls.
    pub(super) fn end(self) -> Result<Report, Failure> {
        let mut report = Report::new(self.chronicle, self.started);
        for Consumer { role, caller } in self.consumers {
            report.add(role, &caller.end()?);
        }
        Ok(report)
    }

    /// Starts a provider in a seat, and waits until it can be called.
    fn fill(&mut self, seat: usize, listens: Listens) -> Result<(), Failure> {
        self.started += 1;
        let name = format!("{}{}", ["a", "b", "c"][seat], self.started);
        let mut args = self.meeting("provider");
        args.extend(listens.flags());
        args.extend([
            format!("--name={name}"),
            format!("--work={WORK_MILLIS}"),
            "--default-shutdown".to_owned(),
            "--until-stdin-ends".to_owned(),
        ]);
        let program = &self.programs[&self.party].provider;
        let peer = Peer::start(program, &args, self.folder.join(format!("{name}.log")))?;
        peer.await_notice(READY_LIMIT, |notice| notice.event == "ready")?;
        self.chronicle.note(format!("{name} was ready"));
        self.providers[seat] = Some(Provider {
            peer,
            name,
            listens,
        });
        Ok(())
    }

    /// Waits until our consumers are answered by whoever is in that seat. How long dubbo-go's takes is its own matter.
    fn await_answers_of(&mut self, seat: usize) -> Result<(), Failure> {
        let Some(Provider { name, .. }) = &self.providers[seat] else {
            return Ok(());
        };
        for consumer in &mut self.consumers {
            if consumer.role.party() == Party::Rust {
                consumer.caller.until_answered_by(&[name])?;
            }
        }
        self.chronicle.note(format!("{name} was called"));
        Ok(())
    }

    fn caller(&self, role: Role) -> Result<Caller, Failure> {
        let mut args = self.meeting("consumer");
        args.push(format!("--rate={}", A_SECOND / PROTOCOLS));
        if role == Role::RustOnce {
            args.push("--retry-mode=strict".to_owned());
        }
        if role == Role::Go {
            // What it says there is how one tells why it lost a call.
            args.push("--log=error".to_owned());
        }
        let log = self.folder.join(format!("consumer-{}.log", role.slug()));
        Caller::start(&self.programs[&role.party()].consumer, &args, log)
    }

    fn meeting(&self, role: &str) -> Vec<String> {
        let application = format!("chaos-{role}");
        // What applications do today, and what all clients of all registries can.
        self.server
            .meeting(Level::Application, Metadata::Local, &application)
    }
}

impl Role {
    pub(super) fn party(self) -> Party {
        match self {
            Self::Rust | Self::RustOnce => Party::Rust,
            Self::Go => Party::Go,
        }
    }

    fn slug(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::RustOnce => "rust-once",
            Self::Go => "go",
        }
    }
}

/// How many providers there are at a time.
pub(super) const SEATS: usize = 3;
/// How many calls each consumer makes a second.
pub(super) const A_SECOND: u32 = 500;
const PROTOCOLS: u32 = 2;
/// How long each call takes its provider, so that it has some under way whenever something happens to it.
const WORK_MILLIS: u32 = 10;
const READY_LIMIT: Duration = Duration::from_mins(1);
const STOP_LIMIT: Duration = Duration::from_mins(1);
