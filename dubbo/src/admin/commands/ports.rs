//! `ps`: the ports that are served at, and who is connected to them.

use std::collections::BTreeSet;

use super::super::command::{Answer, Asked, Failure};

/// The ports that are served at; with a port, who is connected to it. With `-l` the addresses of either.
pub(in crate::admin) async fn ps(asked: &Asked<'_>) -> Answer {
    asked.at_most(2)?;
    let (mut is_long, mut port) = (false, None);
    for argument in asked.arguments {
        match argument.as_str() {
            "-l" => is_long = true,
            number if port.is_none() => {
                let bad = |_| Failure::Bad(format!("it takes `-l` and a port, not `{number}`"));
                port = Some(number.parse::<u16>().map_err(bad)?);
            }
            more => {
                return Err(Failure::Bad(format!(
                    "it takes one port, and `{more}` is another"
                )));
            }
        }
    }
    let instance = asked.instance()?;
    let served = instance.served();
    let Some(port) = port else {
        let lines = served.iter().filter_map(|one| {
            let port = one.url.port()?;
            Some(if is_long {
                one.url.origin()
            } else {
                port.to_string()
            })
        });
        return Ok(lines
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join("\n"));
    };
    let ports: BTreeSet<_> = served.iter().filter_map(|one| one.url.port()).collect();
    if !ports.contains(&port) {
        let known: Vec<_> = ports.iter().map(u16::to_string).collect();
        let text = format!(
            "nothing is served at {port}; the ports are {}",
            known.join(", ")
        );
        return Err(Failure::NotFound(text));
    }
    let connections = instance.connections().await;
    let here = connections.iter().filter(|one| one.listens.port() == port);
    let lines = here.map(|one| {
        let (remote, local) = (one.peer.remote, one.peer.local);
        if is_long {
            format!("{remote} -> {local} {}", one.speaks)
        } else {
            remote.to_string()
        }
    });
    let mut lines: Vec<_> = lines.collect();
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("and {more} more"));
    }
    if lines.is_empty() {
        lines.push("nobody is connected".to_owned());
    }
    Ok(lines.join("\n"))
}

/// As many connections are listed.
const MOST: usize = 1_000;
