//! Ports for the programs of a run.

use std::{
    fs,
    net::TcpListener,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::failure::Failure;

use super::route::Party;

/// A port that nobody uses, below those that the system gives to outgoing connections. No port is given twice.
pub(super) fn free() -> Result<u16, Failure> {
    free_with(0)
}

/// A port that nobody uses, for a program that listens on the one `distance` above it, too: [`FARTHEST`] at most.
pub(super) fn free_with(distance: u16) -> Result<u16, Failure> {
    let end = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|range| range.split_whitespace().next()?.parse().ok())
        .unwrap_or(u16::MAX)
        .clamp(FIRST + PORTS, 32_768);
    let places = (end - FARTHEST - FIRST) / STEP;
    for _ in 0..places {
        // Runs at the same time start at different places.
        let place = std::process::id().wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed));
        let place = u16::try_from(place % u32::from(places)).unwrap_or(0);
        let port = FIRST + place * STEP;
        if is_free(port) && is_free(port + distance) {
            return Ok(port);
        }
    }
    Err(Failure::new(
        format!("no port from {FIRST} to {end} is free"),
        "end some of the programs that listen there",
    ))
}

/// The ports of a provider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listens {
    pub(crate) tri: u16,
    pub(crate) dubbo: u16,
    metadata: Option<u16>,
}

impl Listens {
    /// Ports for a provider of `party` that nobody uses.
    pub(crate) fn free(party: Party) -> Result<Self, Failure> {
        Ok(Self {
            tri: free()?,
            dubbo: free()?,
            // Left to itself dubbo-go may take a port that another program is about to take.
            metadata: (party == Party::Go).then(free).transpose()?,
        })
    }

    /// The flags that tell a provider of them.
    pub(crate) fn flags(self) -> Vec<String> {
        let metadata = self.metadata.map(|port| ("metadata-port", port));
        [("tri", self.tri), ("dubbo", self.dubbo)]
            .into_iter()
            .chain(metadata)
            .map(|(name, port)| format!("--{name}={port}"))
            .collect()
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("0.0.0.0", port)).is_ok()
}

/// How many were asked for.
static GIVEN: AtomicU32 = AtomicU32::new(0);
/// A program that has a port may take the next one, too, before anybody can see it.
const STEP: u16 = 2;
const FARTHEST: u16 = 1_000;
const FIRST: u16 = 20_000;
const PORTS: u16 = 8_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let mut ports: Vec<_> = [0, 1, FARTHEST, 0]
            .map(|distance| free_with(distance).expect("ports are free"))
            .into();
        ports.push(free().expect("ports are free"));
        ports.sort_unstable();
        assert!(
            ports.windows(2).all(|two| two[1] - two[0] >= STEP),
            "{ports:?}"
        );
    }
}
