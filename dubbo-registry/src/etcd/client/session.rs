//! Keeping a session: a lease, and a connection on which it is kept alive.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::{RegistryError, RegistryErrorKind},
};
use futures_util::StreamExt as _;
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep, timeout},
};
use tonic::Status;

use super::{
    Options, failure,
    link::{Answers, Dial, Link, method},
    messages::{
        LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    },
    watches::Watches,
};
use crate::backend::Session;

/// Keeps a session as long as it is let run.
pub(super) async fn drive(shared: Arc<Shared>) {
    let mut driver = Driver {
        backoff: Backoff::new(RECONNECT),
        session: 0,
        connection: 0,
        said: String::new(),
        shared,
    };
    loop {
        driver.round().await;
        sleep(driver.backoff.next_wait()).await;
    }
}

/// What the driver of a connection, its requests and its watches share.
pub(super) struct Shared {
    pub(super) options: Options,
    dial: Dial,
    pub(super) address: String,
    pub(super) session: watch::Sender<Session>,
    pub(super) state: Mutex<State>,
    pub(super) watches: Arc<Watches>,
    /// Told when something happened that lets one doubt whether the session is still there.
    pub(super) doubt: Notify,
}

#[derive(Default)]
pub(super) struct State {
    /// The connection, while the session is up.
    pub(super) link: Option<Link>,
    /// What our entries live as long as. It outlives connections.
    pub(super) lease: Option<i64>,
    pub(super) closed: bool,
}

impl Shared {
    pub(super) fn new(options: Options, dial: Dial) -> Self {
        Self {
            address: options.address(),
            options,
            dial,
            session: watch::Sender::new(Session::Down(None)),
            state: Mutex::default(),
            watches: Arc::default(),
            doubt: Notify::new(),
        }
    }

    pub(super) fn down(&self, error: RegistryError) {
        self.session
            .send_replace(Session::Down(Some(Arc::new(error))));
    }

    pub(super) fn error(&self, operation: &str, reason: impl Into<String>) -> RegistryError {
        RegistryError::new(operation, &self.address, reason)
    }

    /// Waits for `answer` as long as a request may take.
    pub(super) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let limit = self.options.timeout;
        timeout(limit, answer).await.unwrap_or_else(|_| {
            let reason = format!("no answer within {limit:?}; whether it was done is open");
            Err(Status::deadline_exceeded(reason))
        })
    }
}

struct Driver {
    shared: Arc<Shared>,
    backoff: Backoff,
    session: u64,
    connection: u64,
    /// The failure that was told last, until it works again.
    said: String,
}

/// Why there is no connection to a member.
enum Over {
    /// It was not made.
    Failed(RegistryError),
    /// It was there.
    Lost(RegistryError),
}

impl Driver {
    /// Stays with one member after the other.
    async fn round(&mut self) {
        let shared = Arc::clone(&self.shared);
        let mut failures = Vec::new();
        for member in &shared.options.members {
            match self.stay_with(member).await {
                Over::Failed(error) => failures.push(error),
                Over::Lost(error) => {
                    failures.clear();
                    self.tell(&error);
                    shared.down(error);
                }
            }
        }
        if let Some(error) = all_of(failures) {
            self.tell(&error);
            shared.down(error);
        }
    }

    /// Has a session on a connection to `member` as long as possible; why it is over.
    async fn stay_with(&mut self, member: &str) -> Over {
        let shared = Arc::clone(&self.shared);
        let is_one_of_many = shared.options.members.len() > 1;
        let error = |operation: &str, status| {
            let mut error = failure::of(operation, &shared.address, status);
            if is_one_of_many {
                error.reason = format!("{member}: {}", error.reason);
            }
            error
        };
        let connecting = Link::connect(&shared.options, member, &shared.dial);
        let link = match shared.in_time(connecting).await {
            Ok(link) => link,
            Err(status) => return Over::Failed(error("connect", status)),
        };
        let mut pulse = Pulse::of(&link);
        let lease = match self.lease(&link, &mut pulse).await {
            Ok(lease) => lease,
            Err(status) => return Over::Failed(error("begin a session", status)),
        };
        self.said.clear();
        let since = Instant::now();
        self.connection += 1;
        shared.state.lock().link = Some(link.clone());
        shared.session.send_replace(Session::Up {
            session: self.session,
            connection: self.connection,
        });
        let over = tokio::select! {
            status = self.keep(&mut pulse, lease) => error("keep the session", status),
            status = shared.watches.follow(&link) => error("watch", status),
        };
        shared.watches.pause();
        shared.state.lock().link = None;
        if since.elapsed() > RECONNECT.max {
            self.backoff.reset();
        }
        Over::Lost(over)
    }

    /// The lease of before, if it is still there, or a new one.
    async fn lease(&mut self, link: &Link, pulse: &mut Pulse) -> Result<Lease, Status> {
        let shared = &self.shared;
        let before = shared.state.lock().lease;
        if let Some(id) = before {
            let ttl = shared.in_time(pulse.beat(id)).await?;
            if ttl > 0 {
                return Ok(Lease { id, ttl });
            }
            shared.state.lock().lease = None;
        }
        let wish = LeaseGrantRequest {
            ttl: shared.options.session_seconds(),
        };
        let granting = link.ask(method::GRANT, wish);
        let granted: LeaseGrantResponse = shared.in_time(granting).await?;
        let (id, ttl) = (granted.id, granted.ttl);
        if id == 0 || ttl <= 0 {
            return Err(Status::internal("it gives a lease that is none"));
        }
        shared.state.lock().lease = Some(id);
        self.session += 1;
        let address = &shared.address;
        tracing::info!(
            address,
            lease = format_args!("{id:x}"),
            ttl,
            "has a session"
        );
        Ok(Lease { id, ttl })
    }

    /// Keeps `lease` alive; why it cannot be any more.
    async fn keep(&self, pulse: &mut Pulse, lease: Lease) -> Status {
        let Lease { id, mut ttl } = lease;
        loop {
            tokio::select! {
                () = sleep(third(ttl)) => {}
                () = self.shared.doubt.notified() => {}
            }
            ttl = match self.shared.in_time(pulse.beat(id)).await {
                Ok(ttl) if ttl > 0 => ttl,
                Ok(_) => {
                    self.shared.state.lock().lease = None;
                    return Status::unavailable("the lease is over, and with it what was shown");
                }
                Err(status) => return status,
            };
        }
    }

    fn tell(&mut self, error: &RegistryError) {
        let text = error.to_string();
        if text == self.said {
            tracing::debug!(error = text, "still trying");
        } else {
            tracing::warn!(error = text, "trying again until it works");
            self.said = text;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    id: i64,
    /// In seconds.
    ttl: i64,
}

/// What keeps a lease alive.
struct Pulse {
    requests: mpsc::UnboundedSender<LeaseKeepAliveRequest>,
    answers: Answers<LeaseKeepAliveResponse>,
}

impl Pulse {
    fn of(link: &Link) -> Self {
        let (requests, questions) = mpsc::unbounded_channel();
        Self {
            requests,
            answers: link.open(method::KEEP_ALIVE, questions),
        }
    }

    /// How many seconds the lease lives from now on; 0 when there is none such.
    async fn beat(&mut self, id: i64) -> Result<i64, Status> {
        // An end of the stream shows where answers are read.
        let _ = self.requests.send(LeaseKeepAliveRequest { id });
        match self.answers.next().await {
            Some(answer) => answer.map(|answer| answer.ttl),
            None => Err(Status::unavailable(
                "it ended the stream that keeps the lease",
            )),
        }
    }
}

/// One error that says what came of each member; refused if all have refused.
fn all_of(failures: Vec<RegistryError>) -> Option<RegistryError> {
    let reasons: Vec<_> = failures.iter().map(|error| error.reason.clone()).collect();
    let worst = failures
        .into_iter()
        .max_by_key(|error| error.kind == RegistryErrorKind::Unavailable);
    worst.map(|mut error| {
        error.reason = reasons.join("; ");
        error
    })
}

fn third(ttl: i64) -> Duration {
    Duration::from_secs(ttl.try_into().unwrap_or(0)) / 3
}

/// How long to wait before connecting again. Members bear many clients that try every few seconds, and those who show
/// something want to be back before their leases are over.
const RECONNECT: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(200),
    max: Duration::from_secs(5),
    multiplier: 1.5,
    jitter: 0.5,
};
