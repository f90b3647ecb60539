//! `cargo xtask chaos`: providers that are restarted or killed and registries that go, under load, with real registry
//! servers, and consumers of ours and of dubbo-go. `docs/operations.md` says what it proves.
//!
//! Each play ([`plays`]) takes place in a [`field`]; what became of its calls is judged in [`verdict`]: a call is lost when
//! it failed although the contract allowed none to.

mod chronicle;
mod field;
mod options;
mod plays;
mod report;
mod verdict;

use std::{collections::BTreeMap, process::ExitCode};

use crate::{
    failure::Failure,
    interop::parts::{Party, Programs, Registry, install, peers},
    process::Stopwatch,
};

use self::{field::Field, options::Options, plays::Play, report::Report};

/// Plays what the arguments ask for, in one registry after the other, and prints what became of the calls of each consumer.
/// The last line is `N calls, N lost`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    match Options::parse(args).and_then(|options| play_all(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// The programs of each party.
type Peers = BTreeMap<Party, Programs>;

/// Whether all was played to the end, and nothing lost.
fn play_all(options: &Options) -> Result<bool, Failure> {
    for &registry in &options.registries {
        install(registry)?;
    }
    let mut programs: Peers = BTreeMap::new();
    for party in [Party::Go, Party::Rust] {
        programs.insert(party, peers(party)?);
    }
    let (mut calls, mut lost, mut well) = (0, 0, true);
    for &registry in &options.registries {
        let watch = Stopwatch::start();
        println!(
            "\nchaos {} with {registry}: {}",
            options.play.name,
            (options.play.about)(options.size)
        );
        match play(&programs, registry, options, Party::Rust) {
            Ok(report) => {
                println!("{report}\n  in {} s", watch.elapsed().as_secs());
                calls += report.calls();
                lost += report.lost();
                if report.fails_in(Party::Go) {
                    compare(&programs, registry, options);
                }
            }
            Err(failure) => {
                well = false;
                println!("  FAILED in {} s: {failure}", watch.elapsed().as_secs());
            }
        }
    }
    println!("\n{calls} calls, {lost} lost");
    Ok(well && lost == 0)
}

/// What dubbo-go loses by itself, beside what it has lost with our providers.
fn compare(programs: &Peers, registry: Registry, options: &Options) {
    println!("  for comparison, the same with providers in Go, which is not counted:");
    match play(programs, registry, options, Party::Go) {
        Ok(report) => println!("{report}"),
        // It shows how far dubbo-go gets with itself.
        Err(failure) => println!("  it did not come to its end: {failure}"),
    }
}

fn play(
    programs: &Peers,
    registry: Registry,
    options: &Options,
    providers: Party,
) -> Result<Report, Failure> {
    let Play {
        name, consumers, ..
    } = options.play;
    let mut field = Field::start(programs, name, registry, providers, consumers)?;
    (options.play.act)(&mut field, options.size)?;
    field.end()
}
