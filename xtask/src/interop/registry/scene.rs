//! Where the peers of a cell meet, and what happens there.

use std::{fmt::Write as _, path::PathBuf, time::Duration};

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    interop::{
        build::Program,
        lines::Report,
        peer::{Heard, Peer},
        ports::Listens,
    },
    process,
};

use super::{
    cell::{Cell, Scenario},
    observer::Observer,
    server::Server,
};

/// A registry of its own for two parties.
#[derive(Debug)]
struct Scene<'a> {
    cell: Cell,
    consumer: &'a Program,
    provider: &'a Program,
    folder: PathBuf,
    server: Server,
}

/// Plays a cell. Gives how long its steps took.
pub(super) fn play(cell: Cell, consumer: &Program, provider: &Program) -> Result<String, Failure> {
    let folder = process::target_dir()
        .join("interop/registry")
        .join(cell.slug());
    let scene = Scene {
        cell,
        consumer,
        provider,
        server: Server::start(cell.registry, &folder)?,
        folder,
    };
    match cell.scenario {
        Scenario::Life(..) => scene.life(),
        Scenario::Outage(_) => scene.outage(),
        Scenario::Definition => scene.definition(),
    }
}

impl Scene<'_> {
    /// A provider comes, goes, and comes back elsewhere.
    fn life(&self) -> Result<String, Failure> {
        let first = self.provider("one")?;
        let mut observer = self.consumer("consumer")?;
        let found = observer.await_answers("one", FOUND_LIMIT)?;
        self.stop(first)?;
        let gone = observer.await_nobody(GONE_LIMIT)?;
        let second = self.provider("two")?;
        let back = observer.await_answers("two", FOUND_LIMIT)?;
        observer.finish()?;
        self.stop(second)?;
        let mut story = String::new();
        for (step, time) in [("found", found), ("gone", gone), ("back", back)] {
            let _ = write!(story, "{step} {:.1} s, ", time.as_secs_f32());
        }
        Ok(story.trim_end_matches(", ").to_owned())
    }

    /// The registry is killed and comes back, while the provider is called; afterwards it still has the provider.
    fn outage(&self) -> Result<String, Failure> {
        let provider = self.provider("one")?;
        let mut observer = self.consumer("consumer")?;
        observer.await_answers("one", FOUND_LIMIT)?;
        observer.listen(BEFORE_OUTAGE)?;
        self.server.crash()?;
        observer.listen(OUTAGE)?;
        self.server.come_back()?;
        observer.listen(AFTER_OUTAGE)?;
        let mut newcomer = self.consumer("newcomer")?;
        let found = newcomer.await_answers("one", FOUND_LIMIT)?;
        newcomer.listen(BEFORE_OUTAGE)?;
        let newcomer = newcomer.finish()?;
        let totals = observer.finish()?;
        self.stop(provider)?;
        for (who, totals) in [("the consumer", &totals), ("a new consumer", &newcomer)] {
            if totals.failed > 0 {
                return Err(Failure::new(
                    format!(
                        "{} of {} calls of {who} failed, the first with {}",
                        totals.failed,
                        totals.calls,
                        totals.error.as_deref().unwrap_or("no error")
                    ),
                    format!("see the logs in {}", self.folder.display()),
                ));
            }
        }
        Ok(format!(
            "{} calls, found anew {:.1} s",
            totals.calls,
            found.as_secs_f32()
        ))
    }

    /// A consumer reads the provider's definition in the metadata report, and calls by what it says.
    fn definition(&self) -> Result<String, Failure> {
        let provider = self.provider("one")?;
        let mut args = self.meeting("consumer");
        args.push(format!("--definition={}", self.application("provider")));
        let consumer = Peer::start(self.consumer, &args, self.log("consumer"))?;
        let report = loop {
            match consumer.next(FOUND_LIMIT) {
                Heard::Line(line) => {
                    if let Some(report) = Report::parse(&line) {
                        break report;
                    }
                }
                Heard::End => return Err(consumer.failure("ended too early")),
                Heard::Silence => return Err(consumer.failure("did not say what it should")),
            }
        };
        if report.error.is_some() || report.got != defined() {
            let Report { got, error, .. } = &report;
            return Err(consumer.failure(&format!("was given {got}, and ended with {error:?}")));
        }
        consumer.finish(STOP_LIMIT)?;
        self.stop(provider)?;
        Ok(format!("read and called in {} ms", report.millis))
    }

    fn provider(&self, name: &str) -> Result<Peer, Failure> {
        let mut args = self.meeting("provider");
        args.push(format!("--name={name}"));
        args.extend(Listens::free(self.cell.route.provider)?.flags());
        args.push("--until-stdin-ends".to_owned());
        let peer = Peer::start(self.provider, &args, self.log(&format!("provider-{name}")))?;
        peer.await_notice(READY_LIMIT, |notice| notice.event == "ready")?;
        Ok(peer)
    }

    fn consumer(&self, name: &str) -> Result<Observer, Failure> {
        Observer::start(self.consumer, &self.meeting("consumer"), self.log(name))
    }

    /// The flags that tell a peer where it meets others.
    fn meeting(&self, role: &str) -> Vec<String> {
        let scenario = self.cell.scenario;
        let application = self.application(role);
        self.server
            .meeting(scenario.level(), scenario.metadata(), &application)
    }

    fn application(&self, role: &str) -> String {
        format!("{}-{role}", self.cell.slug())
    }

    /// Stops a provider as an operator would.
    fn stop(&self, provider: Peer) -> Result<(), Failure> {
        provider.stop(self.cell.route.provider, STOP_LIMIT)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }
}

/// What the contract gives for the values that a consumer makes of a definition: all that a console has fields for.
fn defined() -> Value {
    json!({
        "interface": "org.apache.dubbo.interop.UserService",
        "side": "provider",
        "mix": {
            "id": "text", "name": "text", "age": 9, "score": 10, "rate": 1.5, "active": true, "gender": "MALE",
        },
        "getUsers": [{
            "id": "text", "name": "user-text", "age": 20, "score": 1_i64 << 40, "rate": 0.5, "active": true,
            "gender": "FEMALE",
        }],
    })
}

/// The limits are for machines that are busy with other cells; a cell that works takes a tenth of them.
const READY_LIMIT: Duration = Duration::from_mins(1);
const FOUND_LIMIT: Duration = Duration::from_mins(1);
const GONE_LIMIT: Duration = Duration::from_mins(1);
const STOP_LIMIT: Duration = Duration::from_mins(1);
const BEFORE_OUTAGE: Duration = Duration::from_secs(3);
const OUTAGE: Duration = Duration::from_mins(1);
/// Longer than it takes a registry to forget who has not come back.
const AFTER_OUTAGE: Duration = Duration::from_secs(45);
