//! One direction of the matrix: the providers and consumers of a run.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;

use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

use super::{
    build::Programs,
    cases::Leg,
    lines::{Notice, Report},
    peer::{Heard, Peer},
};

/// Who calls whom.
#[derive(Debug)]
pub(super) struct Direction<'a> {
    pub(super) name: &'static str,
    pub(super) consumer: &'a Programs,
    pub(super) provider: &'a Programs,
    /// The recording proxy between them, and the folder for its records.
    pub(super) tap: Option<(&'a Path, &'a Path)>,
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
    fn was_cut_short(&self, case: &str) -> bool {
        self.notices
            .iter()
            .any(|notice| notice.event == "cut_short" && notice.case == case)
    }
}

/// Runs the cases of a direction: those named `shutdown_*` against a provider that is stopped meanwhile, the others
/// against one that stays.
pub(super) fn play(direction: &Direction<'_>, cases: &[(&str, &Leg)]) -> Played {
    let mut played = Played::default();
    let (shutdown, steady): (Vec<_>, Vec<_>) =
        cases.iter().partition(|(name, _)| is_shutdown(name));
    if !steady.is_empty()
        && let Err(failure) = play_steady(direction, &steady, &mut played)
    {
        played.trouble.push(failure.to_string());
    }
    if !shutdown.is_empty()
        && let Err(failure) = play_shutdown(direction, &mut played)
    {
        played.trouble.push(failure.to_string());
    }
    played
}

fn is_shutdown(case: &str) -> bool {
    case.starts_with("shutdown_")
}

fn play_steady(
    direction: &Direction<'_>,
    cases: &[&(&str, &Leg)],
    played: &mut Played,
) -> Result<(), Failure> {
    let stage = Stage::set(direction, "steady")?;
    let provider = stage.provider("provider")?;
    let names: Vec<_> = cases.iter().map(|(name, _)| *name).collect();
    let consumer = stage.consumer(&names)?;
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
            .any(|(name, leg)| leg.expect.awaits_notice() && !played.was_cut_short(name));
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
fn play_shutdown(direction: &Direction<'_>, played: &mut Played) -> Result<(), Failure> {
    let stage = Stage::set(direction, "shutdown")?;
    let provider = stage.provider("first-provider")?;
    let consumer =
        stage.consumer(&["shutdown_inflight", "shutdown_after", "shutdown_reconnect"])?;
    provider.await_notice(CASE_LIMIT, |notice| {
        notice.event == "held" && notice.case == "shutdown_inflight"
    })?;

    let watch = Stopwatch::start();
    provider.terminate()?;
    hear_report(&consumer, played)?;
    let status = provider.finish(CASE_LIMIT)?;
    played.reports.push(Report {
        case: "shutdown_exit".to_owned(),
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
    scene: &'a str,
    provider_port: u16,
    consumer_port: u16,
    /// Records for as long as the stage is there.
    _tap: Option<Peer>,
}

impl<'a> Stage<'a> {
    fn set(direction: &'a Direction<'a>, scene: &'a str) -> Result<Self, Failure> {
        let provider_port = free_port(None)?;
        let mut stage = Self {
            direction,
            scene,
            provider_port,
            consumer_port: provider_port,
            _tap: None,
        };
        if let Some((program, folder)) = direction.tap {
            stage.consumer_port = free_port(Some(provider_port))?;
            let tap = stage.tap(program, folder)?;
            return Ok(Self {
                _tap: Some(tap),
                ..stage
            });
        }
        Ok(stage)
    }

    fn tap(&self, program: &Path, folder: &Path) -> Result<Peer, Failure> {
        let out = folder.join(format!("{}.jsonl", self.slug()));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&out, ""))
            .map_err(|e| {
                Failure::new(
                    format!("cannot write {}: {e}", out.display()),
                    "name a folder that can be written with --record",
                )
            })?;
        let args = [
            format!("--listen=127.0.0.1:{}", self.consumer_port),
            format!("--to=127.0.0.1:{}", self.provider_port),
            format!("--out={}", out.display()),
            "--until-stdin-ends".to_owned(),
        ];
        self.start(program, "tap", &args)
    }

    fn provider(&self, name: &str) -> Result<Peer, Failure> {
        let args = [
            format!("--port={}", self.provider_port),
            "--until-stdin-ends".to_owned(),
        ];
        self.start(&self.direction.provider.provider, name, &args)
    }

    fn consumer(&self, cases: &[&str]) -> Result<Peer, Failure> {
        let args = [
            format!("--addr=127.0.0.1:{}", self.consumer_port),
            format!("--cases={}", cases.join(",")),
        ];
        let program = &self.direction.consumer.consumer;
        Peer::start(program, &args, self.log("consumer"))
    }

    /// Starts a peer that listens, and waits until it does.
    fn start(&self, program: &Path, name: &str, args: &[String]) -> Result<Peer, Failure> {
        let peer = Peer::start(program, args, self.log(name))?;
        peer.await_notice(CASE_LIMIT, |notice| notice.event == "ready")?;
        Ok(peer)
    }

    fn log(&self, name: &str) -> PathBuf {
        let file = format!("{}-{name}.log", self.slug());
        process::target_dir().join("interop").join(file)
    }

    fn slug(&self) -> String {
        let direction = self.direction.name.to_lowercase().replace('→', "-to-");
        format!("{direction}-{}", self.scene)
    }
}

/// A port that nobody uses, below those that the system gives to outgoing connections.
fn free_port(taken: Option<u16>) -> Result<u16, Failure> {
    let end = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_whitespace().next()?.parse().ok())
        .unwrap_or(u16::MAX)
        .clamp(FIRST_PORT + PORTS, 32_768);
    // Runs at the same time start at different places.
    let offset = u16::try_from(std::process::id() % u32::from(PORTS)).unwrap_or(0);
    (FIRST_PORT + offset..end)
        .chain(FIRST_PORT..FIRST_PORT + offset)
        .find(|&port| Some(port) != taken && TcpListener::bind(("0.0.0.0", port)).is_ok())
        .ok_or_else(|| {
            Failure::new(
                format!("no port from {FIRST_PORT} to {end} is free"),
                "end some of the programs that listen there",
            )
        })
}

/// No case, and no start of a peer, takes nearly that long.
const CASE_LIMIT: Duration = Duration::from_secs(30);
const STEADY_LIMIT: Duration = Duration::from_mins(3);
/// How long after the last case a provider may take to notice that a call was cut short.
const NOTICE_LIMIT: Duration = Duration::from_secs(1);
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 8_000;
