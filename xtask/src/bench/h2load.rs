//! The load generator: h2load of Debian's `nghttp2-client`.

use std::{fs, net::SocketAddr, path::Path, process::Command};

use crate::{
    failure::Failure,
    process::{self, output},
};

/// Calls of one kind to one server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calls<'a> {
    pub(super) address: SocketAddr,
    pub(super) path: &'a str,
    /// A file with what each call sends.
    pub(super) body: &'a Path,
    pub(super) connections: u32,
    /// How many calls each connection has under way.
    pub(super) streams: u32,
}

impl Calls<'_> {
    /// Makes `requests` of them, and gives how many were answered a second.
    pub(super) fn rate(&self, requests: u32) -> Result<f64, Failure> {
        self.run(&mut self.command(requests), requests)
    }

    /// Makes `requests` of them, and gives how long each took, in microseconds, the shortest first. Writing that down costs
    /// the load generator time that it has not for calls.
    pub(super) fn latencies(&self, requests: u32, log: &Path) -> Result<Vec<u32>, Failure> {
        let unread = |why: &str| {
            Failure::new(
                format!("h2load's log {} cannot be read: {why}", log.display()),
                "run it by hand with --log-file",
            )
        };
        // It adds to what is there.
        let _ = fs::remove_file(log);
        let mut command = self.command(requests);
        self.run(command.arg("--log-file").arg(log), requests)?;
        let text = fs::read_to_string(log).map_err(|e| unread(&e.to_string()))?;
        let latencies: Option<Vec<u32>> = text
            .lines()
            .map(|line| line.split('\t').nth(2)?.parse().ok())
            .collect();
        let mut latencies = latencies
            .filter(|latencies| !latencies.is_empty())
            .ok_or_else(|| unread("its lines are not what is known of them"))?;
        latencies.sort_unstable();
        Ok(latencies)
    }

    fn command(&self, requests: u32) -> Command {
        let Self {
            address,
            path,
            body,
            connections,
            streams,
        } = self;
        let mut command = process::program("h2load");
        command
            .arg(format!("-c{connections}"))
            .arg(format!("-m{streams}"))
            .args(["-n", &requests.to_string(), "-d"])
            .arg(body)
            .args(["-H", "content-type: application/grpc+proto"])
            .args(["-H", "te: trailers"])
            .arg(format!("http://{address}{path}"));
        command
    }

    fn run(&self, command: &mut Command, requests: u32) -> Result<f64, Failure> {
        let text = output(command, "see what h2load said above")?;
        let text = String::from_utf8_lossy(&text);
        read_report(&text, requests).ok_or_else(|| {
            Failure::new(
                format!("not every request to {} succeeded:\n{text}", self.address),
                "run h2load against that server by hand",
            )
        })
    }
}

/// Makes sure that there is an h2load.
pub(super) fn install() -> Result<(), Failure> {
    let present = |name: &str| {
        Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if present("h2load") {
        return Ok(());
    }
    let advice = "install Debian's package `nghttp2-client`";
    if !present("apt-get") {
        return Err(Failure::new("there is no h2load on this machine", advice));
    }
    process::run(process::program("apt-get").arg("update"), advice)?;
    process::run(
        process::program("apt-get").args(["install", "--yes", "nghttp2-client"]),
        advice,
    )
}

/// The rate in h2load's report, if all `requests` succeeded.
fn read_report(text: &str, requests: u32) -> Option<f64> {
    let succeeded = format!("{requests} succeeded");
    text.lines().find(|line| line.contains(&succeeded))?;
    let finished = text.lines().find(|line| line.starts_with("finished in"))?;
    let rate = finished
        .split(", ")
        .find_map(|part| part.strip_suffix(" req/s"))?;
    rate.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
finished in 412.05ms, 97075.43 req/s, 12.04MB/s
requests: 40000 total, 40000 started, 40000 done, 40000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 40000 2xx, 0 3xx, 0 4xx, 0 5xx
";

    #[test]
    fn the_rate_counts_only_when_every_request_succeeded() {
        assert_eq!(read_report(REPORT, 40_000), Some(97_075.43));
        assert_eq!(
            read_report(
                &REPORT.replace("40000 succeeded", "39999 succeeded"),
                40_000
            ),
            None
        );
        assert_eq!(read_report("", 1), None);
    }
}
