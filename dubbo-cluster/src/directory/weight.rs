//! A provider's share of the calls, from its URL.

use std::time::Duration;

use dubbo_core::{cluster::NodeWeight, units, url::Url};

/// The weight that the provider at `url` asks for, and how it warms up.
///
/// `docs/spec/cluster.md` §3.1 and `docs/spec/registry.md` §10 P6, P7: dubbo-go publishes `weight=0` when nobody set one,
/// and writes `timestamp` and `warmup` in seconds where Java writes milliseconds. A value that cannot be read counts as
/// absent, with a warning: it is no reason to lose the provider.
pub(super) fn weight(url: &Url) -> NodeWeight {
    let base = read(url, "weight", |text| text.parse::<i64>().ok())
        .filter(|&weight| weight > 0)
        .map_or(DEFAULT_WEIGHT, |weight| {
            u32::try_from(weight).unwrap_or(u32::MAX)
        });
    let Some(started) = read(url, "timestamp", |text| text.parse::<u64>().ok()).filter(|&t| t > 0)
    else {
        return NodeWeight::constant(base);
    };
    let started_millis = if started >= FIRST_MILLIS {
        started
    } else {
        started.saturating_mul(1_000)
    };
    let in_seconds = url
        .param("release")
        .is_some_and(|release| release.starts_with(GO_RELEASE));
    let warmup = read(url, "warmup", |text| {
        // A bare number has the unit of its writer.
        match text.parse::<u64>() {
            Ok(seconds) if in_seconds => Some(Duration::from_secs(seconds)),
            _ => units::parse_duration(text).ok(),
        }
    });
    NodeWeight::warming(base, started_millis, warmup.unwrap_or(DEFAULT_WARMUP))
}

fn read<T>(url: &Url, key: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let text = url.param(key).filter(|text| !text.is_empty())?;
    let value = parse(text);
    if value.is_none() {
        tracing::warn!(provider = %url.address(), key, value = text, "not a number; the default is used");
    }
    value
}

const DEFAULT_WEIGHT: u32 = 100;
const DEFAULT_WARMUP: Duration = Duration::from_mins(10);
const GO_RELEASE: &str = "dubbo-golang-";

/// As seconds it is the year 5138, as milliseconds 1973.
const FIRST_MILLIS: u64 = 100_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const MILLIS: u64 = 1_700_000_000_000;

    fn of(query: &str) -> NodeWeight {
        weight(
            &format!("tri://10.0.0.1:1/a.B?{query}")
                .parse()
                .expect("valid"),
        )
    }

    #[test]
    fn a_weight_that_nobody_set_is_100() {
        for (query, base) in [
            ("", 100),
            ("weight=", 100),
            ("weight=0", 100),
            ("weight=-5", 100),
            ("weight=many", 100),
            ("weight=7", 7),
            ("weight=99999999999", u32::MAX),
        ] {
            assert_eq!(of(query), NodeWeight::constant(base), "{query:?}");
        }
    }

    #[test]
    fn go_writes_seconds_and_java_milliseconds() {
        let minute = Duration::from_mins(1);
        for (query, want) in [
            ("timestamp=1700000000000", Some(DEFAULT_WARMUP)),
            ("timestamp=1700000000", Some(DEFAULT_WARMUP)),
            (
                "timestamp=1700000000&warmup=60&release=dubbo-golang-3.3.2",
                Some(minute),
            ),
            (
                "timestamp=1700000000000&warmup=60000&release=3.3.6",
                Some(minute),
            ),
            (
                "timestamp=1700000000000&warmup=1m&release=dubbo-golang-3.3.2",
                Some(minute),
            ),
            ("timestamp=1700000000000&warmup=soon", Some(DEFAULT_WARMUP)),
            ("timestamp=0", None),
            ("timestamp=now", None),
        ] {
            let want = match want {
                Some(warmup) => NodeWeight::warming(100, MILLIS, warmup),
                None => NodeWeight::constant(100),
            };
            assert_eq!(of(query), want, "{query}");
        }
    }
}
