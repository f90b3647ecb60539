//! `cargo xtask interop`: the matrix against real peers.

use std::process::ExitCode;

/// Refuses every peer: none is wired yet.
pub(crate) fn run(args: &[String]) -> ExitCode {
    eprintln!("interop: no peer is wired for `{}`", args.join(" "));
    ExitCode::FAILURE
}
