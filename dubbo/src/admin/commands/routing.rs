//! `explain`, `getAddress` and `getRouterSnapshot`: which providers there are, and why.

use std::{fmt::Write as _, sync::Arc};

use dubbo_cluster::router::Request;
use dubbo_core::{cluster::Directory, service::ServiceKey};

use super::super::command::{Answer, Asked, Failure};

/// Why a service has providers or none.
pub(in crate::admin) async fn explain(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    let service = asked.argument(0, "a service")?;
    let explained = asked.instance()?.explain(service).await;
    match explained {
        Ok(explanation) => Ok(explanation.to_string()),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}

/// The providers that a service that is called has now, before routing.
pub(in crate::admin) fn get_address(asked: &Asked<'_>) -> Answer {
    let mut text = String::new();
    for (service, directory) in directories(asked)? {
        let nodes = directory.nodes();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{service} from {}: {} providers",
            directory.origin(),
            nodes.len()
        );
        for node in nodes.iter() {
            let state = if node.invoker.is_available() {
                "available".to_owned()
            } else {
                let why = node.invoker.why_unavailable();
                why.unwrap_or_else(|| "not available".to_owned())
            };
            let _ = writeln!(text, "  {} {state}", node.invoker.url().origin());
        }
    }
    Ok(text)
}

/// What each router leaves of the providers now, for a call that no rule can tell from others.
pub(in crate::admin) fn router_snapshot(asked: &Asked<'_>) -> Answer {
    let mut text = String::new();
    for (service, directory) in directories(asked)? {
        let call = Request::new(service.interface(), "").invocation();
        let _ = writeln!(text, "{service} from {}", directory.origin());
        for step in directory.explain(&call) {
            let _ = writeln!(text, "  {step}");
        }
    }
    Ok(text)
}

/// A service, and who knows its providers.
pub(super) type Referred = (ServiceKey, Vec<Arc<dyn Directory>>);

/// A service, and one of those who know its providers.
type Place = (ServiceKey, Arc<dyn Directory>);

/// Who knows the providers of the service that the first argument names.
fn directories(asked: &Asked<'_>) -> Result<Vec<Place>, Failure> {
    asked.at_most(1)?;
    let name = asked.argument(0, "a service")?;
    let found = referred_as(asked, name)?.into_iter();
    let each = found.flat_map(|(service, directories)| {
        let directories = directories.into_iter();
        directories.map(move |directory| (service.clone(), directory))
    });
    Ok(each.collect())
}

/// The references of this program to the service called `name`, a service key or an interface.
pub(super) fn referred_as(asked: &Asked<'_>, name: &str) -> Result<Vec<Referred>, Failure> {
    let referred = asked.instance()?.referred().into_iter();
    let (found, others): (Vec<_>, Vec<_>) =
        referred.partition(|(service, _)| is_called(service, name));
    if !found.is_empty() {
        return Ok(found);
    }
    let mut known: Vec<_> = others
        .iter()
        .map(|(service, _)| service.to_string())
        .collect();
    known.sort_unstable();
    known.dedup();
    let known = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    Err(Failure::NotFound(format!(
        "this program has no client of `{name}`; it has those of {known}. `explain {name}` asks the registries"
    )))
}

/// Whether `name` is the key of `service`, or its interface.
pub(super) fn is_called(service: &ServiceKey, name: &str) -> bool {
    service.interface() == name || service.to_string() == name
}
