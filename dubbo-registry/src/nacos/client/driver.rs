//! Keeping a connection: one client of nacos-sdk after another.
//!
//! A client is made when a server says that it is ready, and given up for good as soon as its way there is lost. A
//! heartbeat asks for a service that nobody has; when it is unanswered for long, the client is given up, too. What others
//! know as a session is one client: all is shown and followed anew with the next one.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::RegistryError,
};
use tokio::time::{Instant, sleep};

use super::{
    Failure, Options, Why, generation::Generation, options::Server, probe::probe, shared::Shared,
};
use crate::backend::Session;

/// Keeps a connection as long as it is let run.
pub(super) async fn drive(shared: Arc<Shared>) {
    let mut driver = Driver {
        next: shared.options.any_server(),
        shared,
        sessions: 0,
        connections: 0,
        pause: Backoff::new(PAUSE),
        said: String::new(),
    };
    loop {
        let server = driver.find().await;
        let failure = match driver.shared.generate(server).await {
            Ok(generation) => driver.follow(generation).await,
            Err(failure) => failure,
        };
        driver.down(failure.into_error());
        sleep(driver.pause.next_wait()).await;
    }
}

struct Driver {
    shared: Arc<Shared>,
    /// The server to be asked next.
    next: usize,
    /// How many there were.
    sessions: u64,
    connections: u64,
    /// Between one client and the next.
    pause: Backoff,
    /// The last failure.
    said: String,
}

impl Driver {
    /// Waits for a server that is ready.
    async fn find(&mut self) -> Server {
        let mut backoff = Backoff::new(PROBE);
        let shared = Arc::clone(&self.shared);
        let Options {
            servers, timeout, ..
        } = &shared.options;
        loop {
            let mut reason = String::new();
            for _ in servers {
                let server = &servers[self.next % servers.len()];
                self.next += 1;
                match probe(server, *timeout).await {
                    Ok(()) => return server.clone(),
                    Err(why) => reason = format!("{}: {why}", server.grpc_name()),
                }
            }
            let reason = format!("no server can be reached at its port of gRPC: {reason}");
            self.down(shared.error("connect", reason));
            sleep(backoff.next_wait()).await;
        }
    }

    /// Follows a client until it is given up; why it is.
    async fn follow(&mut self, generation: Generation) -> Failure {
        let shared = Arc::clone(&self.shared);
        let generation = Arc::new(generation);
        *shared.generation.lock() = Some(Arc::clone(&generation));
        self.sessions += 1;
        let mut is_up = false;
        let mut first_up = None;
        let mut silent_since = None;
        let mut backoff = Backoff::new(PAUSE);
        let failure = loop {
            let begun = Instant::now();
            let pause = match shared.beat(&generation).await {
                Ok(()) => {
                    silent_since = None;
                    first_up.get_or_insert(begun);
                    backoff.reset();
                    if !is_up {
                        is_up = true;
                        self.up();
                    }
                    BEAT.min(shared.options.poll)
                }
                Err(failure) => {
                    is_up = false;
                    let pause = match failure.why {
                        Why::Broken => break failure,
                        Why::Late => {
                            let since = silent_since.get_or_insert(begun);
                            if since.elapsed() > shared.options.session {
                                break failure;
                            }
                            // It waited already.
                            PROBE.initial
                        }
                        _ => {
                            silent_since = None;
                            backoff.next_wait()
                        }
                    };
                    self.down(failure.into_error());
                    pause
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = shared.alarm.notified() => {}
                // The next heartbeat says so.
                _ = generation.link.lost() => {}
            }
        };
        if first_up.is_some_and(|since| since.elapsed() > STABLE) {
            self.pause.reset();
        }
        shared.generation.lock().take();
        generation.cut();
        failure
    }

    fn up(&mut self) {
        self.connections += 1;
        self.said.clear();
        let shared = &self.shared;
        tracing::info!(address = shared.address, "is connected");
        shared.session.send_replace(Session::Up {
            session: self.sessions,
            connection: self.connections,
        });
    }

    fn down(&mut self, error: RegistryError) {
        let text = error.to_string();
        if text == self.said {
            tracing::debug!(error = text, "still trying");
        } else {
            tracing::warn!(error = text, "trying again until it works");
            self.said = text;
        }
        self.shared.down(error);
    }
}

/// How often a sign of life is asked for.
const BEAT: Duration = Duration::from_secs(3);

/// How long a client was of use if it was not lost at once.
const STABLE: Duration = Duration::from_secs(1);

/// Between two clients: each leaves a task behind.
const PAUSE: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(250),
    max: Duration::from_secs(30),
    multiplier: 2.0,
    jitter: 0.5,
};

/// Between two looks at a server that is away: others lose calls when it has come back and we have not.
const PROBE: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(250),
    max: Duration::from_secs(1),
    multiplier: 1.5,
    jitter: 0.5,
};
