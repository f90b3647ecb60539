//! One direction of the matrix: the providers and consumers of a run.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

use super::{
    build::{Program, Programs},
    expect::Expect,
    lines::{Notice, Report},
    peer::{Heard, Peer},
    ports,
    route::{Protocol, Route},
};

/// Who calls whom.
#[derive(Debug)]
pub(super) struct Direction<'a> {
    pub(super) route: Route,
    pub(super) consumer: &'a Programs,
    pub(super) provider: &'a Programs,
    /// The recording proxy between them, and the folder for its records.
    pub(super) tap: Option<(&'a Program, &'a Path)>,
}

/// A case over one protocol, which peers know by its label.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) protocol: Protocol,
    pub(super) label: String,
    pub(super) expect: &'a Expect,
}

/// What the peers said.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) reports: Vec<Report>,
    pub(super) notices: Vec<Notice>,
    /// Why reports may be missing.
    pub(super) trouble: Vec<String>,
}

impl Played {
    fn was_cut_short(&self, label: &str) -> bool {
        self.notices
            .iter()
            .any(|notice| notice.event == "cut_short" && notice.case == label)
    }
}

/// Runs the cases of a direction: those named `shutdown_*` against a provider that is stopped meanwhile, the others
/// against one that stays.
pub(super) fn play(direction: &Direction<'_>, cases: &[Wanted<'_>]) -> Played {
    let mut played = Played::default();
    let steady: Vec<_> = cases.iter().filter(|case| !case.is_shutdown()).collect();
    if !steady.is_empty()
        && let Err(failure) = play_steady(direction, &steady, &mut played)
    {
        played.trouble.push(failure.to_string());
    }
    for &protocol in direction.route.protocols() {
        let wanted = |case: &Wanted<'_>| case.is_shutdown() && case.protocol == protocol;
        if cases.iter().any(wanted)
            && let Err(failure) = play_shutdown(direction, protocol, &mut played)
        {
            played.trouble.push(failure.to_string());
        }
    }
    played
}

impl Wanted<'_> {
    fn is_shutdown(&self) -> bool {
        self.label.contains("/shutdown_")
    }
}

fn play_steady(
    direction: &Direction<'_>,
    cases: &[&Wanted<'_>],
    played: &mut Played,
) -> Result<(), Failure> {
    let stage = Stage::set(direction, "steady")?;
    let provider = stage.provider("provider")?;
    let labels: Vec<_> = cases.iter().map(|case| &*case.label).collect();
    let consumer = stage.consumer(&labels)?;
    let watch = Stopwatch::start();
    while hear_report(&consumer, played)? {
        if watch.elapsed() > STEADY_LIMIT {
            return Err(consumer.failure("takes too long for all cases"));
        }
    }
    expect_success(consumer)?;

    // What the provider has said so far, and what it still has to say.
    loop {
        let waited_for = cases
            .iter()
            .any(|case| case.expect.awaits_notice() && !played.was_cut_short(&case.label));
        let limit = if waited_for {
            NOTICE_LIMIT
        } else {
            Duration::ZERO
        };
        match provider.next(limit) {
            Heard::Line(line) => played.notices.extend(Notice::parse(&line)),
            Heard::End => return Err(provider.failure("ended while it was called")),
            Heard::Silence => return Ok(()),
        }
    }
}

/// Stops the provider while a call is held, and starts another one in its place.
fn play_shutdown(
    direction: &Direction<'_>,
    protocol: Protocol,
    played: &mut Played,
) -> Result<(), Failure> {
    let stage = Stage::set(direction, &format!("{protocol}-shutdown"))?;
    let provider = stage.provider("first-provider")?;
    let labels = ["shutdown_inflight", "shutdown_after", "shutdown_reconnect"]
        .map(|case| protocol.label(case));
    let consumer = stage.consumer(&labels)?;
    provider.await_notice(CASE_LIMIT, |notice| {
        notice.event == "held" && notice.case == labels[0]
    })?;

    let watch = Stopwatch::start();
    provider.terminate()?;
    hear_report(&consumer, played)?;
    let status = provider.finish(CASE_LIMIT)?;
    played.reports.push(Report {
        case: protocol.label("shutdown_exit"),
        got: json!(status.code()),
        error: None,
        millis: u64::try_from(watch.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    hear_report(&consumer, played)?;

    let _second = stage.provider("second-provider")?;
    while hear_report(&consumer, played)? {}
    expect_success(consumer)
}

/// Takes one report; false at the end of the consumer's output.
fn hear_report(consumer: &Peer, played: &mut Played) -> Result<bool, Failure> {
    match consumer.next(CASE_LIMIT) {
        Heard::Line(line) => match Report::parse(&line) {
            Some(report) => {
                played.reports.push(report);
                Ok(true)
            }
            None => Err(consumer.failure(&format!("printed what is no report: {line}"))),
        },
        Heard::End => Ok(false),
        Heard::Silence => Err(consumer.failure("hangs in a case")),
    }
}

fn expect_success(consumer: Peer) -> Result<(), Failure> {
    let failure = consumer.failure("did not end well");
    if consumer.finish(CASE_LIMIT)?.success() {
        Ok(())
    } else {
        Err(failure)
    }
}

/// Where a provider and a consumer meet.
struct Stage<'a> {
    direction: &'a Direction<'a>,
    scene: String,
    meetings: Vec<Meeting>,
}

/// Where they meet over one protocol.
struct Meeting {
    protocol: Protocol,
    provider_port: u16,
    consumer_port: u16,
    /// Records for as long as the stage is there.
    tap: Option<Peer>,
}

impl<'a> Stage<'a> {
    fn set(direction: &'a Direction<'a>, scene: &str) -> Result<Self, Failure> {
        let mut stage = Self {
            direction,
            scene: scene.to_owned(),
            meetings: Vec::new(),
        };
        for &protocol in direction.route.protocols() {
            let provider_port = ports::free()?;
            let mut meeting = Meeting {
                protocol,
                provider_port,
                consumer_port: provider_port,
                tap: None,
            };
            if let Some((program, folder)) = direction.tap {
                meeting.consumer_port = ports::free()?;
                meeting.tap = Some(stage.tap(program, folder, &meeting)?);
            }
            stage.meetings.push(meeting);
        }
        Ok(stage)
    }

    fn tap(&self, program: &Program, folder: &Path, meeting: &Meeting) -> Result<Peer, Failure> {
        let name = format!("{}-{}", self.slug(), meeting.protocol);
        let out = folder.join(format!("{name}.jsonl"));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&out, ""))
            .map_err(|e| {
                Failure::new(
                    format!("cannot write {}: {e}", out.display()),
                    "name a folder that can be written with --record",
                )
            })?;
        let args = [
            // A Java consumer does not call the loopback address it is given, but one of the machine's own.
            format!("--listen=0.0.0.0:{}", meeting.consumer_port),
            format!("--to=127.0.0.1:{}", meeting.provider_port),
            format!("--protocol={}", meeting.protocol),
            format!("--out={}", out.display()),
            "--until-stdin-ends".to_owned(),
        ];
        self.start(program, &format!("tap-{}", meeting.protocol), &args)
    }

    fn provider(&self, name: &str) -> Result<Peer, Failure> {
        let mut args: Vec<_> = self
            .meetings
            .iter()
            .map(|meeting| format!("--{}={}", meeting.protocol, meeting.provider_port))
            .collect();
        args.push("--until-stdin-ends".to_owned());
        self.start(&self.direction.provider.provider, name, &args)
    }

    fn consumer(&self, labels: &[impl AsRef<str>]) -> Result<Peer, Failure> {
        let mut args: Vec<_> = self
            .meetings
            .iter()
            .map(|meeting| format!("--{}=127.0.0.1:{}", meeting.protocol, meeting.consumer_port))
            .collect();
        let labels: Vec<_> = labels.iter().map(AsRef::as_ref).collect();
        args.push(format!("--cases={}", labels.join(",")));
        let program = &self.direction.consumer.consumer;
        Peer::start(program, &args, self.log("consumer"))
    }

    /// Starts a peer that listens, and waits until it does.
    fn start(&self, program: &Program, name: &str, args: &[String]) -> Result<Peer, Failure> {
        let peer = Peer::start(program, args, self.log(name))?;
        peer.await_notice(CASE_LIMIT, |notice| notice.event == "ready")?;
        Ok(peer)
    }

    fn log(&self, name: &str) -> PathBuf {
        let file = format!("{}-{name}.log", self.slug());
        process::target_dir().join("interop").join(file)
    }

    fn slug(&self) -> String {
        format!("{}-{}", self.direction.route.slug(), self.scene)
    }
}

/// No case, and no start of a peer, takes nearly that long.
const CASE_LIMIT: Duration = Duration::from_secs(30);
const STEADY_LIMIT: Duration = Duration::from_mins(3);
/// How long after the last case a provider may take to notice that a call was cut short.
const NOTICE_LIMIT: Duration = Duration::from_secs(1);
