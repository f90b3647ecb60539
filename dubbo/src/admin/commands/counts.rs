//! `count`: how often methods were called.

use std::{collections::BTreeSet, time::Duration};

use super::super::{
    command::{Answer, Asked, Failure},
    table::{row, table},
};
use crate::instance::ServedService;

/// How often each method of a service was called, and how long that took: once, or so many times, once a second.
pub(in crate::admin) async fn count(asked: &Asked<'_>) -> Answer {
    asked.at_most(3)?;
    let name = asked.argument(0, "a service")?;
    let instance = asked.instance()?;
    let served = instance.served();
    let service = service_called(&served, name)?;
    let (method, times) = match &asked.arguments[1..] {
        [] => (None, None),
        [one] => match one.parse() {
            Ok(times) => (None, Some(times)),
            Err(_) => (Some(one.as_str()), None),
        },
        [method, times, ..] => {
            let bad = |_| Failure::Bad(format!("expected a number of times, found `{times}`"));
            (Some(method.as_str()), Some(times.parse().map_err(bad)?))
        }
    };
    let times: u32 = times.unwrap_or(1);
    if !(1..=MOST_TIMES).contains(&times) {
        let text = format!("it can be counted 1 to {MOST_TIMES} times, not {times} times");
        return Err(Failure::Bad(text));
    }
    let mut text = counted(service, method)?;
    for _ in 1..times {
        tokio::time::sleep(Duration::from_secs(1)).await;
        text.push_str(&counted(service, method)?);
    }
    Ok(text)
}

fn counted(service: &ServedService, only: Option<&str>) -> Answer {
    let mut rows = vec![row([
        "method", "total", "failed", "active", "average", "max",
    ])];
    let methods = service.descriptor.methods().iter().enumerate();
    for (index, method) in methods {
        let is_left_out = match only {
            Some(only) => only != method.name,
            None => method.name.starts_with('$'),
        };
        if is_left_out {
            continue;
        }
        let counted = service.counted(index).ok_or_else(|| {
            Failure::Failed(
                "nobody counts: the port for operators was not on when the service was exported"
                    .to_owned(),
            )
        })?;
        let millis = |duration: Duration| format!("{:.3}ms", duration.as_secs_f64() * 1e3);
        rows.push(row([
            &method.name,
            &counted.total.to_string(),
            &counted.failed.to_string(),
            &counted.active.to_string(),
            &millis(counted.average),
            &millis(counted.longest),
        ]));
    }
    match only.filter(|_| rows.len() == 1) {
        Some(method) => {
            let known = service.descriptor.method_names().join(", ");
            let interface = service.descriptor.interface();
            Err(Failure::NotFound(format!(
                "{interface} has no method `{method}`; it has {known}"
            )))
        }
        None => Ok(format!("{}\n{}", service.url.origin(), table(&rows))),
    }
}

/// The service that is served as `name`: a service key, or the interface of just one.
pub(super) fn service_called<'s>(
    served: &'s [ServedService],
    name: &str,
) -> Result<&'s ServedService, Failure> {
    let exact = served
        .iter()
        .find(|one| one.url.service_key().to_string() == name);
    let by_interface = served
        .iter()
        .filter(|one| one.url.service_key().interface() == name);
    let by_interface: Vec<_> = by_interface.collect();
    if let Some(found) = exact.or_else(|| by_interface.first().copied()) {
        let keys: BTreeSet<_> = by_interface
            .iter()
            .map(|one| one.url.service_key().to_string())
            .collect();
        if exact.is_none() && keys.len() > 1 {
            let keys: Vec<_> = keys.into_iter().collect();
            return Err(Failure::Bad(format!(
                "`{name}` is served several times; say which: {}",
                keys.join(", ")
            )));
        }
        return Ok(found);
    }
    let known: BTreeSet<_> = served
        .iter()
        .map(|one| one.url.service_key().to_string())
        .collect();
    let known: Vec<_> = known.into_iter().collect();
    Err(Failure::NotFound(format!(
        "no service `{name}` is served here; there is {}",
        if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        }
    )))
}

/// As many seconds as an answer may take, less some.
const MOST_TIMES: u32 = 20;
