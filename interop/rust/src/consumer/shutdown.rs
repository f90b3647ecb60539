//! What a consumer sees of a provider that stops.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Target, calls,
    cases::{GREETER, PATIENT},
    outcome::Fault,
    streams, user,
};
use crate::user::UserServiceClient;

/// Has a call under way when the provider is told to stop, and makes one more call while it stops.
pub(super) async fn in_flight(target: &Target<'_>) -> Result<Value, Fault> {
    let client: UserServiceClient = target.refer(|options| options.timeout(PATIENT)).await?;
    target.user().await?;
    let sleeping = target.label(client.sleep(2000));
    let calling = async {
        sleep(Duration::from_secs(1)).await;
        user::hello(target, "late").await
    };
    let (slept, late) = tokio::join!(sleeping, calling);
    let late = late.unwrap_or_else(|fault| fault.to_json());
    Ok(json!({"slept": slept?.into_message(), "late": late}))
}

/// The same, and watches the health of the service meanwhile.
pub(super) async fn in_flight_watched(target: &Target<'_>) -> Result<Value, Fault> {
    let mut statuses = streams::watch(target, GREETER).await?;
    target.greeter().await?;
    let before = streams::next_status(&mut statuses).await?;
    let watching = async {
        let during = streams::next_status(&mut statuses).await;
        let during = during.unwrap_or_else(|fault| fault.to_json());
        // The notice may arrive before the provider has stopped to take calls.
        sleep(Duration::from_millis(300)).await;
        let late = calls::greet(target, "late").await;
        (during, late)
    };
    let sleeping = calls::sleep(target, PATIENT, 2000);
    let (slept, (during, late)) = tokio::join!(sleeping, watching);
    let mut got = json!({"before": before, "during": during, "slept": slept?});
    if let Err(fault) = late {
        got["late"] = fault.to_json();
    }
    Ok(got)
}

/// Calls until the outcome is as wanted, fifteen seconds at most: a dubbo-go provider that stops waits ten seconds for
/// its watchers to leave.
pub(super) async fn call_until(
    target: &Target<'_>,
    done: fn(&Result<Value, Fault>) -> bool,
) -> Result<Value, Fault> {
    let start = Instant::now();
    loop {
        let outcome = if target.protocol == "tri" {
            calls::greet(target, "dubbo").await
        } else {
            user::hello(target, "dubbo").await
        };
        if done(&outcome) || start.elapsed() > Duration::from_secs(15) {
            return outcome;
        }
        sleep(Duration::from_millis(50)).await;
    }
}
