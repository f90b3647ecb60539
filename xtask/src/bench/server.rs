//! A measured server: a process that is stopped when its value is dropped.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

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
        let path = format!("/proc/{}/stat", self.child.id());
        let read = fs::read_to_string(&path).ok();
        // The second field is a name in parentheses, which may hold anything.
        let ticks = read.as_deref().and_then(|stat| {
            let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
            let user: u32 = fields.get(11)?.parse().ok()?;
            let system: u32 = fields.get(12)?.parse().ok()?;
            Some(f64::from(user) + f64::from(system))
        });
        ticks.map(|ticks| ticks / TICKS_PER_SECOND).ok_or_else(|| {
            Failure::new(
                format!("{path} does not tell the processor time of `{}`", self.name),
                "run the bench on Linux; has the server ended?",
            )
        })
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

/// Linux reports processor time in hundredths of a second on every platform we know.
const TICKS_PER_SECOND: f64 = 100.0;
