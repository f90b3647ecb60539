use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use dubbo_core::{
    invocation::{Invocation, Peer},
    service::{MethodRef, ServiceKey},
    status::Code,
};

use super::date::Moment;
use crate::filter::watch::End;

/// One request: a line once it has ended.
///
/// `[2024-02-29 23:59:59] 10.0.0.9:5000 -> 10.0.0.1:20880 - g/shop.Users:1.0.0 find(long) ok 3.127 ms`
#[derive(Debug, Clone)]
pub(super) struct Line {
    at: SystemTime,
    peer: Option<Arc<Peer>>,
    service: Arc<ServiceKey>,
    method: MethodRef,
    /// `None`: the caller did not wait for the end.
    code: Option<Code>,
    elapsed: Duration,
}

impl Line {
    pub(super) fn begin(invocation: &Invocation, at: SystemTime) -> Self {
        Self {
            at,
            peer: invocation.peer.clone(),
            service: Arc::clone(&invocation.service),
            method: invocation.method.clone(),
            code: None,
            elapsed: Duration::ZERO,
        }
    }

    pub(super) fn ended(self, end: &End<'_>, elapsed: Duration) -> Self {
        let code = match end {
            End::Done => Some(Code::Ok),
            End::Failed(status) => Some(status.code()),
            End::GivenUp => None,
        };
        Self {
            code,
            elapsed,
            ..self
        }
    }

    /// When it began.
    pub(super) fn moment(&self) -> Moment {
        Moment::of(self.at)
    }

    /// Makes it an event.
    pub(super) fn tell(&self) {
        tracing::info!(
            target: "dubbo::accesslog",
            remote = self.peer.as_ref().map(|peer| tracing::field::display(peer.remote)),
            local = self.peer.as_ref().map(|peer| tracing::field::display(peer.local)),
            service = %self.service,
            method = self.method.name(),
            code = %Outcome(self.code),
            elapsed_ms = self.elapsed.as_secs_f64() * 1e3,
            "access"
        );
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] ", self.moment())?;
        match &self.peer {
            Some(peer) => write!(f, "{} -> {}", peer.remote, peer.local)?,
            None => f.write_str("in-process -> in-process")?,
        }
        write!(f, " - {} {}(", self.service, self.method.name())?;
        let java = self.method.descriptor().java.as_ref();
        for (index, name) in java.iter().flat_map(|java| java.parameters()).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{name}")?;
        }
        let millis = self.elapsed.as_secs_f64() * 1e3;
        write!(f, ") {} {millis:.3} ms", Outcome(self.code))
    }
}

struct Outcome(Option<Code>);

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(code) => code.fmt(f),
            None => f.write_str("given_up"),
        }
    }
}
