//! `offline`, `online` and their relatives.

use super::super::command::{Answer, Asked, Failure, Verb};
use crate::{instance::Selection, migration::Path};

/// Takes services out of registries, or puts them back: those that fit the first argument, in the registry that the second
/// names.
pub(in crate::admin) async fn move_services(asked: &Asked<'_>, verb: Verb) -> Answer {
    asked.at_most(2)?;
    let mut selected = Selection::all();
    if let Some(pattern) = asked.arguments.first() {
        selected = selected
            .services(pattern)
            .map_err(|error| Failure::Bad(error.to_string()))?;
    }
    if let Some(registry) = asked.arguments.get(1) {
        selected = selected.at(registry);
    }
    let (selected, goes_online) = match verb {
        Verb::OfflineApp => (selected.by(Path::Application), false),
        Verb::OfflineInterface => (selected.by(Path::Interface), false),
        Verb::OnlineApp => (selected.by(Path::Application), true),
        Verb::OnlineInterface => (selected.by(Path::Interface), true),
        Verb::Online => (selected, true),
        _ => (selected, false),
    };
    let instance = asked.instance()?;
    let moved = if goes_online {
        instance.online(&selected).await
    } else {
        instance.offline(&selected).await
    };
    match moved {
        Ok(services) if services.is_empty() => {
            Err(Failure::NotFound("service not found".to_owned()))
        }
        Ok(_) => Ok("OK".to_owned()),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}
