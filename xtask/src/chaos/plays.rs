//! What is done to providers and registries.

use std::time::Duration;

use crate::failure::Failure;

use super::field::{A_SECOND, Address, Field, Role, SEATS};

/// A play.
#[derive(Debug)]
pub(super) struct Play {
    pub(super) name: &'static str,
    pub(super) about: fn(Size) -> String,
    /// Who calls meanwhile.
    pub(super) consumers: &'static [Role],
    pub(super) act: fn(&mut Field<'_>, Size) -> Result<(), Failure>,
}

/// How much of it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Whole,
    /// Enough to see whether it works at all.
    Quick,
}

/// All of them.
pub(super) const ALL: [Play; 3] = [
    Play {
        name: "rolling",
        about: |size| {
            format!(
                "{SEATS} providers, {A_SECOND} calls a second of each consumer, {} restarts one after the other; no call may \
                 fail",
                rounds(size)
            )
        },
        consumers: &[Role::Rust, Role::Go],
        act: rolling,
    },
    Play {
        name: "kill",
        about: |size| {
            format!(
                "{SEATS} providers, {A_SECOND} calls a second of each consumer, {} of them killed, one every {} s; only calls \
                 may fail that were under way to the dead one and may not be repeated",
                rounds(size),
                KILL_EVERY.as_secs()
            )
        },
        consumers: &[Role::Rust, Role::RustOnce, Role::Go],
        act: kill,
    },
    Play {
        name: "registry",
        about: |size| {
            format!(
                "{SEATS} providers, {A_SECOND} calls a second of each consumer, the registry is killed and gone for {} s; no \
                 call may fail",
                outage(size).as_secs()
            )
        },
        consumers: &[Role::Rust, Role::Go],
        act: registry,
    },
];

fn rolling(field: &mut Field<'_>, size: Size) -> Result<(), Failure> {
    for round in 0..rounds(size) {
        // Both kinds in each seat.
        let address = if round % 2 == 0 {
            Address::New
        } else {
            Address::Same
        };
        field.restart(round % SEATS, address)?;
    }
    field.listen(AFTERWARDS)
}

fn kill(field: &mut Field<'_>, size: Size) -> Result<(), Failure> {
    for round in 0..rounds(size) {
        let took = field.kill(round % SEATS, GONE)?;
        field.listen(KILL_EVERY.saturating_sub(took))?;
    }
    field.listen(AFTERWARDS)
}

/// When the registry is back it has to be of use again: a provider is replaced, and the next one found.
fn registry(field: &mut Field<'_>, size: Size) -> Result<(), Failure> {
    field.listen(AFTERWARDS)?;
    field.crash_registry()?;
    field.listen(outage(size))?;
    field.restore_registry()?;
    field.listen(after_outage(size))?;
    field.restart(0, Address::New)?;
    field.listen(AFTERWARDS)
}

fn rounds(size: Size) -> usize {
    match size {
        Size::Whole => 20,
        Size::Quick => 4,
    }
}

fn outage(size: Size) -> Duration {
    match size {
        Size::Whole => Duration::from_mins(1),
        Size::Quick => Duration::from_secs(15),
    }
}

/// In the whole play it is longer than it takes a registry to forget who has not come back.
fn after_outage(size: Size) -> Duration {
    match size {
        Size::Whole => Duration::from_secs(45),
        Size::Quick => Duration::from_secs(10),
    }
}

/// How often a provider is killed, if the one before is back by then.
const KILL_EVERY: Duration = Duration::from_secs(5);
/// How long its place is empty.
const GONE: Duration = Duration::from_secs(1);
/// How long calls go on before and after.
const AFTERWARDS: Duration = Duration::from_secs(5);
