//! `enableRouterSnapshot` and its relatives: which ways calls took through the routers.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    time::{SystemTime, UNIX_EPOCH},
};

use dubbo_cluster::router::RouterSnapshots;
use dubbo_core::service::ServiceKey;

use super::{
    super::command::{Answer, Asked, Failure},
    routing::{Referred, is_called, referred_as},
};
use crate::logging;

/// Records calls of a service from now on, or of all.
pub(in crate::admin) fn enable_router_snapshot(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    let name = asked.argument(0, "a service, or `*`")?;
    let instance = asked.instance()?;
    let snapshots = instance.router_snapshots();
    let found = if name == EVERYTHING {
        snapshots.enable_all();
        keys(instance.referred())
    } else {
        let found = keys(referred_as(asked, name)?);
        for service in &found {
            snapshots.enable(service).map_err(|error| {
                Failure::Failed(format!(
                    "{service} is not recorded: {error}; `getEnabledRouterSnapshot` lists them, `disableRouterSnapshot` ends one"
                ))
            })?;
        }
        found
    };
    tracing::info!(
        service = name,
        "the ways of calls are recorded, as an operator asks for"
    );
    Ok(format!(
        "OK. Found service count: {}. What is recorded costs time: `disableRouterSnapshot {name}` ends it.",
        found.len()
    ))
}

/// Records calls of a service no longer, or none at all, and forgets those that were.
pub(in crate::admin) fn disable_router_snapshot(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    let name = asked.argument(0, "a service, or `*`")?;
    let snapshots = asked.instance()?.router_snapshots();
    // Clients of what is recorded may be gone, so it is not looked for among those that there are.
    let (is_everything, named) = snapshots.enabled();
    let found = if name == EVERYTHING {
        snapshots.disable_all();
        named.len()
    } else {
        let found = named.iter().filter(|service| is_called(service, name));
        found.filter(|service| snapshots.disable(service)).count()
    };
    match (name, found) {
        (name, 0) if name != EVERYTHING && is_everything => Err(Failure::NotFound(format!(
            "`{name}` is recorded as all services are: `disableRouterSnapshot {EVERYTHING}` ends that"
        ))),
        (name, 0) if name != EVERYTHING => Err(Failure::NotFound(format!(
            "`{name}` is not recorded; `getEnabledRouterSnapshot` lists what is"
        ))),
        _ => {
            tracing::info!(
                service = name,
                "the ways of calls are recorded no longer, as an operator asks for"
            );
            Ok(format!("OK. Found service count: {found}"))
        }
    }
}

/// Whose calls are recorded, one service a line.
pub(in crate::admin) fn enabled_router_snapshot(asked: &Asked<'_>) -> Answer {
    asked.at_most(0)?;
    let (is_everything, named) = asked.instance()?.router_snapshots().enabled();
    let everything = is_everything.then(|| {
        let most = RouterSnapshots::SERVICES;
        format!("{EVERYTHING} (the first {most} services that are called)")
    });
    let named = named.iter().map(ToString::to_string);
    let lines: Vec<_> = everything.into_iter().chain(named).collect();
    Ok(lines.join("\n"))
}

/// The calls that were recorded last, the newest first.
pub(in crate::admin) fn recent_router_snapshot(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    let most = match asked.arguments.first() {
        None => RouterSnapshots::KEPT,
        Some(text) => {
            let number = text.parse().ok().filter(|number| *number > 0);
            let bad = || format!("expected a number of calls, 1 or more, found `{text}`");
            number.ok_or_else(|| Failure::Bad(bad()))?
        }
    };
    let snapshots = asked.instance()?.router_snapshots();
    let mut text = String::new();
    for snapshot in snapshots.recent(most) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: {snapshot}\n", to_the_millisecond(snapshot.at));
    }
    if text.is_empty() {
        return Ok(match snapshots.enabled() {
            (false, named) if named.is_empty() => {
                "nothing is recorded: `enableRouterSnapshot` begins it".to_owned()
            }
            _ => "no call has been recorded yet".to_owned(),
        });
    }
    Ok(text.trim_end().to_owned())
}

/// Each service once, however many clients of it there are.
fn keys(referred: Vec<Referred>) -> BTreeSet<ServiceKey> {
    referred.into_iter().map(|(service, _)| service).collect()
}

/// As the log has it, in UTC: `2026-03-01 23:59:07.123`.
fn to_the_millisecond(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:03}", logging::time(at), since.subsec_millis())
}

/// All services, those that are referred to later among them.
const EVERYTHING: &str = "*";
