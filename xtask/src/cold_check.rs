//! `cargo xtask cold-check`: how long a user waits for the first `cargo check`.

use std::fs;

use crate::{
    failure::Failure,
    process::{self, Stopwatch, cargo},
};

/// Checks what users build in an empty target folder: the default members of the workspace, which are `dubbo` and the
/// examples, with `dubbo-build`, without the features that bring clients of registries. The rest of the workspace has them
/// all on and takes longer; it is ours to wait for.
///
/// Downloads do not count. Over budget is a failure only with `--enforce`: a busy machine proves nothing.
pub(crate) fn run(args: &[String]) -> Result<String, Failure> {
    let enforce = match args {
        [] => false,
        [arg] if arg == "--enforce" => true,
        _ => {
            return Err(Failure::new(
                format!("unknown arguments: {}", args.join(" ")),
                "cargo xtask cold-check [--enforce]",
            ));
        }
    };
    let target = process::target_dir().join("cold-check");
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|e| {
            Failure::new(
                format!("{} cannot be emptied: {e}", target.display()),
                "remove it by hand",
            )
        })?;
    }
    process::run(
        &mut cargo(["fetch", "--locked"]),
        "look at the network, or commit Cargo.lock",
    )?;

    let watch = Stopwatch::start();
    process::run(
        // Without `--workspace`, cargo takes the default members.
        cargo(["check", "--quiet", "--locked"])
            .arg("--target-dir")
            .arg(&target),
        "mend what does not compile",
    )?;
    let seconds = watch.elapsed().as_secs_f64();
    // Half a gigabyte that nobody uses again.
    fs::remove_dir_all(&target).map_err(|e| {
        Failure::new(
            format!("{} cannot be removed: {e}", target.display()),
            "remove it by hand",
        )
    })?;
    let verdict = format!(
        "a cold check of what users build (default members, default features) takes {seconds:.1} s; \
         the budget is {BUDGET_SECONDS} s on 2 idle cores"
    );
    if enforce && seconds > BUDGET_SECONDS {
        return Err(Failure::new(
            verdict,
            "see `cargo build --timings` for what a new dependency costs",
        ));
    }
    Ok(verdict)
}

const BUDGET_SECONDS: f64 = 60.0;
