//! `ls`, `help` and `version`.

use std::collections::BTreeMap;

use super::super::{
    command::{Answer, Asked, COMMANDS, Command},
    table::{row, table},
};
use crate::instance::{InstanceStatus, RELEASE, ReferenceStatus, ServiceStatus};

/// What is provided and called, each with where it stands: `nacos-A(Y)/nacos-I(N)` is with the application, but not by the
/// interface, in the registry `nacos`.
pub(in crate::admin) async fn ls(asked: &Asked<'_>) -> Answer {
    asked.at_most(0)?;
    let status = asked.instance()?.status().await;
    Ok(format!(
        "As Provider side:\n{}As Consumer side:\n{}",
        providers(&status),
        consumers(&status)
    ))
}

fn providers(status: &InstanceStatus) -> String {
    // Protocols of one service stand in the same places.
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ServiceStatus {
        service,
        registered,
        ..
    } in &status.services
    {
        let places = rows.entry(service).or_default();
        for one in registered {
            let way = if one.by == "application" { 'A' } else { 'I' };
            let is_there = if one.online { 'Y' } else { 'N' };
            let place = format!("{}-{way}({is_there})", one.registry);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    let mut all = vec![row(["Provider Service Name", "PUB"])];
    let rows = rows.into_iter();
    all.extend(rows.map(|(service, mut places)| {
        places.sort_unstable();
        row([service, &places.join("/")])
    }));
    table(&all)
}

fn consumers(status: &InstanceStatus) -> String {
    let mut all = vec![row(["Consumer Service Name", "NUM"])];
    for ReferenceStatus {
        service, sources, ..
    } in &status.references
    {
        let counts = sources.iter().map(|source| {
            let usable = source
                .providers
                .iter()
                .filter(|one| one.unavailable.is_none());
            format!(
                "{}({}/{})",
                source.origin,
                usable.count(),
                source.providers.len()
            )
        });
        let counts: Vec<_> = counts.collect();
        all.push(row([service, &counts.join(", ")]));
    }
    table(&all)
}

/// All commands, or all about one.
pub(in crate::admin) fn help(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    if let Some(name) = asked.arguments.first() {
        let command = Command::named(name)?;
        return Ok(table(&[
            row(["COMMAND", command.name]),
            row(["ARGUMENTS", command.arguments]),
            row(["PERMISSION", command.level.name()]),
            row(["ABOUT", command.about]),
        ]));
    }
    let mut all = vec![row(["COMMAND", "ARGUMENTS", "ABOUT"])];
    all.extend(
        COMMANDS
            .iter()
            .map(|command| row([command.name, command.arguments, command.about])),
    );
    Ok(table(&all))
}

pub(in crate::admin) fn version() -> String {
    format!("dubbo version \"{RELEASE}\"")
}
