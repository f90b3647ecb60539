//! `cargo xtask fuzz`: every fuzz target for some time, whatever they find is a failure.

mod seeds;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    failure::Failure,
    process::{self, Stopwatch},
};

/// Runs all targets, or those that are named, for 60 s each.
pub(crate) fn run(args: &[String]) -> Result<String, Failure> {
    let options = Options::parse(args)?;
    install()?;
    let watch = Stopwatch::start();
    // All at once, before the first one runs: what they share is built once, from one state of the sources.
    let programs = build(&options.targets)?;
    let mut table = Vec::new();
    for target in &options.targets {
        let runs = fuzz(target, &programs.join(target), options.seconds)?;
        table.push(format!("{target:<28} {runs:>14} inputs\n"));
    }
    Ok(format!(
        "\n{}{} targets for {} s each, nothing found; took {:.0} s",
        table.concat(),
        options.targets.len(),
        options.seconds,
        watch.elapsed().as_secs_f64()
    ))
}

struct Options {
    targets: Vec<String>,
    seconds: u32,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, Failure> {
        let known = targets()?;
        let mut options = Self {
            targets: Vec::new(),
            seconds: 60,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if arg == "--seconds" {
                let seconds = args.next().and_then(|text| text.parse().ok());
                options.seconds = seconds.ok_or_else(|| {
                    Failure::new("--seconds needs a number", "cargo xtask fuzz --seconds 60")
                })?;
            } else if known.contains(arg) {
                options.targets.push(arg.clone());
            } else {
                return Err(Failure::new(
                    format!("there is no fuzz target `{arg}`"),
                    format!("take one of {}", known.join(", ")),
                ));
            }
        }
        if options.targets.is_empty() {
            options.targets = known;
        }
        Ok(options)
    }
}

/// The names of the files in `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>, Failure> {
    let folder = process::root().join("fuzz/fuzz_targets");
    let unreadable = |error: std::io::Error| {
        let text = format!("{} cannot be read: {error}", folder.display());
        Failure::new(text, "restore the folder")
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if let Some(name) = path.file_stem()
            && path.extension().is_some_and(|extension| extension == "rs")
        {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The compiler and the tool that fuzzing needs, unless they are there.
fn install() -> Result<(), Failure> {
    let has_nightly = process::program("rustup")
        .args(["run", TOOLCHAIN, "rustc", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_nightly {
        process::run(
            process::program("rustup").args([
                "toolchain",
                "install",
                TOOLCHAIN,
                "--profile=minimal",
            ]),
            "look at the network; fuzzing needs a nightly compiler",
        )?;
    }
    let tools = process::ci_cache().join("tools");
    if tools.join("bin/cargo-fuzz").is_file() {
        return Ok(());
    }
    process::run(
        process::cargo([
            "install",
            "cargo-fuzz",
            "--locked",
            "--version",
            VERSION,
            "--root",
        ])
        .arg(&tools),
        "look at the network",
    )
}

/// Builds these targets; gives the folder that their programs are in.
fn build(targets: &[String]) -> Result<PathBuf, Failure> {
    let folder = work().join("target");
    let host = process::output(
        process::program("rustup").args(["run", TOOLCHAIN, "rustc", "-vV"]),
        "reinstall the nightly compiler",
    )?;
    let host = String::from_utf8_lossy(&host);
    let host = host.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or_else(|| {
        Failure::new(
            "rustc does not say which host it is for",
            "reinstall the nightly compiler",
        )
    })?;
    let build = |target: Option<&String>| {
        let mut command = process::program(process::ci_cache().join("tools/bin/cargo-fuzz"));
        command.env("RUSTUP_TOOLCHAIN", TOOLCHAIN);
        command.args(["fuzz", "build", "--fuzz-dir", "fuzz", "--target", host]);
        command.arg("--target-dir").arg(&folder).args(target);
        process::run(&mut command, "make the fuzz targets build")
    };
    if targets == self::targets()? {
        build(None)?;
    } else {
        targets.iter().try_for_each(|target| build(Some(target)))?;
    }
    Ok(folder.join(host).join("release"))
}

/// How many inputs a target, whose program this is, has been given.
fn fuzz(target: &str, program: &Path, seconds: u32) -> Result<u64, Failure> {
    let work = work();
    let corpus = work.join("corpus").join(target);
    let artifacts = work.join("artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).map_err(|error| {
            let text = format!("{} cannot be made: {error}", folder.display());
            Failure::new(text, "make the target folder writable")
        })?;
    }
    seeds::plant(target, &corpus)?;
    println!("fuzz: {target}");
    let log = work.join(format!("{target}.log"));
    let unwritable = |error: std::io::Error| {
        let text = format!("{} cannot be written: {error}", log.display());
        Failure::new(text, "make the target folder writable")
    };
    let file = fs::File::create(&log).map_err(unwritable)?;
    let ended = process::program(program)
        // As cargo-fuzz itself has it: no two definitions are looked for in what is linked into one program.
        .env("ASAN_OPTIONS", "detect_odr_violation=0")
        .args([
            "-print_final_stats=1",
            "-rss_limit_mb=2048",
            "-timeout=10",
            "-max_len=65536",
        ])
        .arg(format!("-max_total_time={seconds}"))
        .arg(artifact_prefix(&artifacts))
        .arg(&corpus)
        .stderr(file)
        .status()
        .map_err(|error| {
            let text = format!("{} cannot be run: {error}", program.display());
            Failure::new(text, "make the fuzz targets build")
        })?;
    let text = fs::read(&log).map_err(unwritable)?;
    let text = String::from_utf8_lossy(&text);
    if !ended.success() {
        let last: Vec<&str> = text.lines().rev().take(40).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(Failure::new(
            format!("the fuzz target {target} failed:\n{}", last.join("\n")),
            format!(
                "the whole output is in {}, the input in {}; make it a test, then mend the code",
                log.display(),
                artifacts.display()
            ),
        ));
    }
    let runs = text.lines().find_map(|line| {
        let number = line.strip_prefix("stat::number_of_executed_units:")?;
        number.trim().parse().ok()
    });
    runs.filter(|runs| *runs > 0).ok_or_else(|| {
        Failure::new(
            format!("the fuzz target {target} ran no input"),
            format!("see {}", log.display()),
        )
    })
}

/// Where everything is that comes of fuzzing.
fn work() -> PathBuf {
    process::target_dir().join("fuzz")
}

fn artifact_prefix(artifacts: &Path) -> String {
    format!("-artifact_prefix={}/", artifacts.display())
}

const TOOLCHAIN: &str = "nightly";
const VERSION: &str = "0.13.1";
