//! The servers of one protocol value, from the first export to their end; the same for every protocol.

use dubbo_core::{
    protocol::{Drained, ProtocolError},
    url::Url,
};
use tokio::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use crate::net::Listening;

/// One server for each address.
pub(crate) struct Servers<S>(Mutex<State<S>>);

struct State<S> {
    running: Vec<Server<S>>,
    shut_down: bool,
}

/// A share in a listening port, and what a protocol has behind it.
pub(crate) struct Server<S> {
    /// The address as it was asked for, where the port may be 0.
    host: String,
    port: u16,
    listening: Listening,
    pub(crate) served: S,
}

/// What is served at an address, and the connections from there. Dropping it ends them all.
pub(crate) trait Served: Send + Sync {
    /// Tells consumers to go elsewhere.
    fn leave(&self);

    /// Takes no more calls, and asks the connections to end.
    fn drain(&self);

    /// Waits for the connections to end, and cuts those that are left at `deadline`: how many had calls on them.
    fn ended(self, deadline: Instant) -> impl Future<Output = usize> + Send;
}

impl<S: Served> Servers<S> {
    /// Those that run, to export something at one of them or a new one. Others wait meanwhile.
    ///
    /// # Errors
    ///
    /// They have been shut down.
    pub(crate) async fn open(&self) -> Result<Running<'_, S>, ProtocolError> {
        let state = self.0.lock().await;
        if state.shut_down {
            return Err(ProtocolError::ShutDown);
        }
        Ok(Running(state))
    }

    /// Tells consumers to go elsewhere.
    pub(crate) async fn announce_shutdown(&self) {
        for server in &self.0.lock().await.running {
            server.served.leave();
        }
    }

    /// Lets the calls in flight finish until `deadline`.
    pub(crate) async fn drain(&self, deadline: Instant) -> Drained {
        let running = {
            let mut state = self.0.lock().await;
            state.shut_down = true;
            std::mem::take(&mut state.running)
        };
        let mut draining = Vec::with_capacity(running.len());
        for server in running {
            server.served.drain();
            server.listening.close().await;
            draining.push(server.served);
        }
        let mut drained = Drained::default();
        for served in draining {
            drained.aborted += served.ended(deadline).await;
        }
        drained
    }
}

impl<S> Default for Servers<S> {
    fn default() -> Self {
        let running = Vec::new();
        Self(Mutex::new(State {
            running,
            shut_down: false,
        }))
    }
}

/// Servers that nobody else can begin or end.
pub(crate) struct Running<'s, S>(MutexGuard<'s, State<S>>);

impl<S> Running<'_, S> {
    /// The number of the server at this address.
    pub(crate) fn find(&self, host: &str, port: u16) -> Option<usize> {
        let running = &self.0.running;
        running.iter().position(|server| server.is_at(host, port))
    }

    /// Adds a server, and gives its number.
    pub(crate) fn add(&mut self, server: Server<S>) -> usize {
        self.0.running.push(server);
        self.0.running.len() - 1
    }

    pub(crate) fn get(&self, number: usize) -> &Server<S> {
        &self.0.running[number]
    }
}

impl<S> Server<S> {
    /// The server that was asked for at `host` and `port`.
    pub(crate) fn new(host: &str, port: u16, listening: Listening, served: S) -> Self {
        Self {
            host: host.to_owned(),
            port,
            listening,
            served,
        }
    }

    /// `url` with the port that is listened on.
    pub(crate) fn bound(&self, url: &Url) -> Url {
        url.with_port(self.listening.address().port())
    }

    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && (self.port == port || self.listening.address().port() == port)
    }
}
