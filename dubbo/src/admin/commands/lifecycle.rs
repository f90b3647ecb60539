//! `live`, `ready`, `startup`, and the ends: `shutdown`, `gracefulShutdown`, `publishMetadata`.

use std::time::Duration;

use super::super::command::{Answer, Asked, Failure, Verb};
use crate::{
    config::defaults,
    instance::{Probe, Selection},
};

/// `true`, or `false` and why.
pub(in crate::admin) async fn probe(asked: &Asked<'_>, verb: Verb) -> Answer {
    asked.at_most(0)?;
    let probe = match verb {
        Verb::Live => Probe::Live,
        Verb::Ready => Probe::Ready,
        _ => Probe::Startup,
    };
    let result = match asked.shared.instance() {
        Some(instance) => instance.probe(probe).await,
        None => Err("the instance has ended".to_owned()),
    };
    match result {
        Ok(()) => Ok("true".to_owned()),
        Err(why) => Err(Failure::Unwell(format!("false\n{why}"))),
    }
}

/// Begins the end, and does not wait for it.
pub(in crate::admin) fn shutdown(asked: &Asked<'_>) -> Answer {
    let instance = asked.instance()?;
    let grace = match asked.arguments {
        [] => instance
            .config()
            .shutdown
            .timeout
            .unwrap_or(defaults::SHUTDOWN_TIMEOUT),
        [flag, millis] if flag == "-t" => Duration::from_millis(number(millis)?),
        [millis] => Duration::from_millis(number(millis)?),
        _ => {
            let usage = "it takes nothing, or `-t` and a number of milliseconds".to_owned();
            return Err(Failure::Bad(usage));
        }
    };
    tracing::info!(?grace, "shutting down, as an operator asks for");
    instance.begin_shutdown(grace);
    Ok(format!("OK: shutting down within {grace:?}"))
}

/// Tells the consumers that are connected to go elsewhere, then leaves the registries. Nothing is stopped: that is what
/// comes next.
pub(in crate::admin) async fn graceful_shutdown(asked: &Asked<'_>) -> Answer {
    asked.at_most(0)?;
    let instance = asked.instance()?;
    instance.announce_shutdown().await;
    match instance.offline(&Selection::all()).await {
        Ok(_) => Ok("OK".to_owned()),
        Err(error) => Err(Failure::Failed(error.to_string())),
    }
}

/// Tells the registries anew what is provided, at once or after so many seconds.
pub(in crate::admin) async fn publish_metadata(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    let instance = asked.instance()?;
    let Some(delay) = asked.arguments.first() else {
        let told = instance.publish_metadata().await;
        return match told {
            Ok(0) => Err(Failure::NotFound(
                "nothing is registered with the application: no registry has the type `service` or `all`, or all of it \
                 is offline"
                    .to_owned(),
            )),
            Ok(registries) => Ok(format!("publish metadata succeeded. registries:{registries}")),
            Err(error) => Err(Failure::Failed(error.to_string())),
        };
    };
    let seconds = number(delay)?;
    if seconds > LONGEST_DELAY {
        let text = format!("at most {LONGEST_DELAY} seconds can be waited, and `{delay}` is more");
        return Err(Failure::Bad(text));
    }
    instance.publish_metadata_after(Duration::from_secs(seconds));
    Ok(format!(
        "publish task submitted, will execute in {seconds} seconds."
    ))
}

fn number(text: &str) -> Result<u64, Failure> {
    let bad = |_| Failure::Bad(format!("expected a whole number, found `{text}`"));
    text.parse().map_err(bad)
}

/// A day.
const LONGEST_DELAY: u64 = 86_400;
