use std::{
    fmt,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use dubbo_core::{
    invocation::{Invocation, Peer},
    service::{MethodRef, ServiceKey},
    status::Code,
};

use serde_json::json;

use super::date::Moment;
use crate::filter::{tracing::trace_id, watch::End};

/// One request: a line once it has ended.
///
/// `[2024-02-29 23:59:59] 10.0.0.9:5000 -> 10.0.0.1:20880 - g/shop.Users:1.0.0 find(long) ok 3.127 ms`, or the same as JSON.
#[derive(Debug, Clone)]
pub(super) struct Line {
    form: Form,
    at: SystemTime,
    peer: Option<Arc<Peer>>,
    service: Arc<ServiceKey>,
    method: MethodRef,
    /// `None`: the caller did not wait for the end.
    code: Option<Code>,
    elapsed: Duration,
    trace_id: Option<String>,
}

/// How a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An event, which has fields.
    Event,
    Json,
    Text,
}

impl Line {
    pub(super) fn begin(invocation: &Invocation, at: SystemTime, form: Form) -> Self {
        Self {
            form,
            // People who read lines look for other things.
            trace_id: (form != Form::Text).then(|| trace_id(invocation)).flatten(),
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
            trace_id = self.trace_id,
            "access"
        );
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Json => self.json().fmt(f),
            Form::Event | Form::Text => self.text(f),
        }
    }
}

impl Line {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    fn json(&self) -> serde_json::Value {
        let end = |of: fn(&Peer) -> SocketAddr| self.peer.as_ref().map(|peer| of(peer).to_string());
        let java = self.method.descriptor().java.as_ref();
        let types: Vec<_> = java.iter().flat_map(|java| java.parameters()).collect();
        json!({
            "time": self.moment().to_string(),
            "remote": end(|peer| peer.remote),
            "local": end(|peer| peer.local),
            "interface": self.service.interface(),
            "group": self.service.group(),
            "version": self.service.version(),
            "method": self.method.name(),
            "types": types,
            "status": Outcome(self.code).to_string(),
            "cost_ms": (self.elapsed.as_secs_f64() * 1e6).round() / 1e3,
            "trace_id": self.trace_id,
        })
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
