//! What a running process has used, as Linux tells it.

use std::fs;

use crate::failure::Failure;

/// The processor time that the process `id`, which the report calls `name`, has used, in seconds.
pub(super) fn cpu_seconds(name: &str, id: u32) -> Result<f64, Failure> {
    let stat = read(name, id, "stat")?;
    // The second field is a name in parentheses, which may hold anything.
    let ticks = || {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let user: u32 = fields.get(11)?.parse().ok()?;
        let system: u32 = fields.get(12)?.parse().ok()?;
        Some(f64::from(user) + f64::from(system))
    };
    ticks()
        .map(|ticks| ticks / TICKS_PER_SECOND)
        .ok_or_else(|| untold(name, id, "stat"))
}

/// The memory that it has now, in MiB.
pub(super) fn resident_mib(name: &str, id: u32) -> Result<f64, Failure> {
    status_mib(name, id, "VmRSS:")
}

/// The most that it had since it started, or since [`forget_peak`], in MiB.
pub(super) fn peak_mib(name: &str, id: u32) -> Result<f64, Failure> {
    status_mib(name, id, "VmHWM:")
}

/// Lets [`peak_mib`] begin anew.
pub(super) fn forget_peak(name: &str, id: u32) -> Result<(), Failure> {
    fs::write(path(id, "clear_refs"), "5").map_err(|_| untold(name, id, "clear_refs"))
}

fn status_mib(name: &str, id: u32, field: &str) -> Result<f64, Failure> {
    let status = read(name, id, "status")?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB"));
    kib.and_then(|kib| Some(f64::from(kib.parse::<u32>().ok()?) / 1024.0))
        .ok_or_else(|| untold(name, id, "status"))
}

fn read(name: &str, id: u32, file: &str) -> Result<String, Failure> {
    fs::read_to_string(path(id, file)).map_err(|_| untold(name, id, file))
}

fn untold(name: &str, id: u32, file: &str) -> Failure {
    let path = path(id, file);
    Failure::new(
        format!("{path} does not tell what `{name}` uses"),
        "run the bench on Linux; has the process ended?",
    )
}

fn path(id: u32, file: &str) -> String {
    format!("/proc/{id}/{file}")
}

/// Linux reports processor time in hundredths of a second on every platform we know.
const TICKS_PER_SECOND: f64 = 100.0;
