//! A measured server: a process that is stopped when its value is dropped.

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::usage;
use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

/// A running server.
pub(super) struct Server {
    /// What the report calls it.
    pub(super) name: &'static str,
    /// Where it is.
    pub(super) address: SocketAddr,
    child: Child,
}

impl Server {
    /// Starts `command` once it has been told `address`, and waits until that accepts connections.
    pub(super) fn start(
        name: &'static str,
        address: SocketAddr,
        command: &mut Command,
    ) -> Result<Self, Failure> {
        let by_hand = format!("run it by hand: {command:?}");
        let not_up =
            |why: String| Failure::new(format!("the server `{name}` is not up: {why}"), &*by_hand);
        let started = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = started.map_err(|e| not_up(e.to_string()))?;
        let mut server = Self {
            name,
            address,
            child,
        };
        let watch = Stopwatch::start();
        while watch.elapsed() < PATIENCE {
            if TcpStream::connect(address).is_ok() {
                return Ok(server);
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(not_up(format!("it ended with {status}")));
            }
            process::pause();
        }
        Err(not_up("it did not listen within 30 s".to_owned()))
    }

    /// The processor time it has used, in seconds.
    pub(super) fn cpu_seconds(&self) -> Result<f64, Failure> {
        usage::cpu_seconds(self.name, self.child.id())
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A free port of this machine.
pub(super) fn free_address() -> Result<SocketAddr, Failure> {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .map_err(|e| {
            Failure::new(
                format!("no port is free: {e}"),
                "look at the network set-up",
            )
        })
}

const PATIENCE: Duration = Duration::from_secs(30);
