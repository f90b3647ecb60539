//! The load generator: h2load of Debian's `nghttp2-client`.

use std::{net::SocketAddr, path::Path, process::Command};

use crate::{
    failure::Failure,
    process::{self, output},
};

/// Sends `requests` calls of `path` with the body in `body`, and gives the calls per second.
pub(super) fn measure(
    address: SocketAddr,
    path: &str,
    body: &Path,
    requests: u32,
) -> Result<f64, Failure> {
    let text = output(
        process::program("h2load")
            .args(["-c8", "-m32", "-n", &requests.to_string(), "-d"])
            .arg(body)
            .args(["-H", "content-type: application/grpc+proto"])
            .args(["-H", "te: trailers"])
            .arg(format!("http://{address}{path}")),
        "see what h2load said above",
    )?;
    let text = String::from_utf8_lossy(&text);
    read_report(&text, requests).ok_or_else(|| {
        Failure::new(
            format!("not every request to {address} succeeded:\n{text}"),
            "run h2load against that server by hand",
        )
    })
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
