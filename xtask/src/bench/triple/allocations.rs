//! What one of our calls allocates, both ends together: the test that keeps it within its budget tells.

use crate::{failure::Failure, process};

use super::report::Report;

/// Runs the test `allocations` of the facade, and notes what it found of a unary call of the default chain over HTTP/2.
pub(super) fn count(report: &mut Report) -> Result<(), Failure> {
    let advice = "run `cargo test --package dubbo --test allocations` by hand";
    let mut cargo = process::cargo(["test", "--package=dubbo", "--test=allocations"]);
    let output = process::output(cargo.args(["--", "--nocapture"]), advice)?;
    let output = String::from_utf8_lossy(&output);
    let (allocations, bytes) = read(&output)
        .ok_or_else(|| Failure::new("the test `allocations` told no figures".to_owned(), advice))?;
    println!("dubbo allocates {allocations} times and {bytes} bytes a call, at both ends together");
    report.note("allocations_per_call.dubbo", f64::from(allocations));
    report.note("allocated_bytes_per_call.dubbo", f64::from(bytes));
    Ok(())
}

/// The first cost in a line such as `several threads: h2 Cost { allocations: 9, bytes: 10 }, ...`.
fn read(output: &str) -> Option<(u32, u32)> {
    let (_, line) = output.split_once("several threads: h2 Cost { allocations: ")?;
    let (allocations, line) = line.split_once(", bytes: ")?;
    let (bytes, _) = line.split_once(" }")?;
    Some((allocations.parse().ok()?, bytes.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bare_chain_on_several_threads_counts() {
        let output = "one thread: h2 Cost { allocations: 1, bytes: 2 }, with\n\
            several threads: h2 Cost { allocations: 41, bytes: 9000 }, with 8 + 8 filters Cost { allocations: 3, bytes: 4 }";
        assert_eq!(read(output), Some((41, 9_000)));
        assert_eq!(read("one thread"), None);
    }
}
