//! What an instance tells about itself of the parameters of its services.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt,
};

use dubbo_core::url::Url;

use super::{ParamsFilter, ServiceInfo};

/// The parameters that are those of the instance and not of one service (`docs/spec/metadata.md` §7.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceParams {
    /// When it started, in milliseconds since the epoch. `timestamp`, for which seconds are read as well.
    pub timestamp_ms: Option<u64>,
    /// How long it does without a heartbeat, in milliseconds. `heartbeat.timeout`.
    pub heartbeat_timeout_ms: Option<u64>,
    /// Its other address. `ipv6`.
    pub ipv6: Option<String>,
    /// What [filters](dubbo_core::metadata::MetadataParamsFilter) include beside these.
    pub more: BTreeMap<String, String>,
    /// Where services disagree.
    pub conflicts: Vec<ParamConflict>,
}

impl InstanceParams {
    /// What the service at `url` says. A number that is none is left out, with a warning.
    pub fn of_url(url: &Url, filter: &ParamsFilter) -> Self {
        let mut params = Self::default();
        for (key, value) in filter.instance_params(url) {
            if params.set(&key, &value).is_none() {
                tracing::warn!(
                    service = %url.service_key(), parameter = key, value,
                    "left out of the instance: it is not a number of milliseconds"
                );
            }
        }
        params
    }

    /// What the instance says that has `services`: where they disagree the first one counts. The earliest time counts, for
    /// each service has one of its own.
    pub fn of_services<'s>(
        services: impl IntoIterator<Item = (&'s ServiceInfo, &'s Self)>,
    ) -> Self {
        let mut all = Self::default();
        let mut said: BTreeMap<String, (&ServiceInfo, String)> = BTreeMap::new();
        for (service, params) in services {
            let times = [all.timestamp_ms, params.timestamp_ms];
            all.timestamp_ms = times.into_iter().flatten().min();
            for (key, value) in params.entries() {
                match said.entry(key.to_owned()) {
                    Entry::Vacant(first) => {
                        all.set(key, &value);
                        first.insert((service, value));
                    }
                    Entry::Occupied(first) => {
                        let (first, counts) = first.get();
                        if *counts != value {
                            all.conflicts.push(ParamConflict {
                                key: key.to_owned(),
                                first: (first.match_key(), counts.clone()),
                                other: (service.match_key(), value),
                            });
                        }
                    }
                }
            }
        }
        all
    }

    /// The keys and values as they stand in an instance, but for the time.
    pub fn entries(&self) -> impl Iterator<Item = (&str, String)> {
        let heartbeat = self.heartbeat_timeout_ms.map(|ms| ms.to_string());
        let known = [(HEARTBEAT_TIMEOUT, heartbeat), (IPV6, self.ipv6.clone())];
        let known = known
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        let more = self.more.iter();
        known.chain(more.map(|(key, value)| (key.as_str(), value.clone())))
    }

    /// `None` if `value` is nothing that stands under `key`.
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            HEARTBEAT_TIMEOUT => self.heartbeat_timeout_ms = Some(value.trim().parse().ok()?),
            IPV6 => self.ipv6 = Some(value.to_owned()),
            TIMESTAMP => self.timestamp_ms = Some(millis(value.trim().parse().ok()?)),
            _ => {
                self.more.insert(key.to_owned(), value.to_owned());
            }
        }
        Some(())
    }
}

/// Two services of one instance say different things of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamConflict {
    /// The parameter.
    pub key: String,
    /// The match key of the service that was exported first, and its value: that of the instance.
    pub first: (String, String),
    /// The match key of another service, and its value, which does not count.
    pub other: (String, String),
}

impl fmt::Display for ParamConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, first, other } = self;
        write!(
            f,
            "`{key}` is `{}` in {}, which counts, and `{}` in {}",
            first.1, first.0, other.1, other.0
        )
    }
}

/// dubbo-go's times are seconds.
fn millis(time: u64) -> u64 {
    if time < FIRST_MILLIS {
        time.saturating_mul(1000)
    } else {
        time
    }
}

pub(super) const HEARTBEAT_TIMEOUT: &str = "heartbeat.timeout";
pub(super) const IPV6: &str = "ipv6";
pub(super) const TIMESTAMP: &str = "timestamp";

/// As seconds this is the year 5138, as milliseconds 1973.
const FIRST_MILLIS: u64 = 100_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> (ServiceInfo, InstanceParams) {
        let url = format!("tri://h:1/{query}").parse().expect(query);
        let filter = ParamsFilter::default();
        (
            ServiceInfo::of_url(&url, &filter),
            InstanceParams::of_url(&url, &filter),
        )
    }

    #[test]
    fn parameters_of_a_url_become_the_instances() {
        for (query, timestamp, heartbeat, ipv6) in [
            ("a.B", None, None, None),
            (
                "a.B?timestamp=1700000000000&heartbeat.timeout=60000&ipv6=fe80::1&timeout=3",
                Some(1_700_000_000_000),
                Some(60_000),
                Some("fe80::1"),
            ),
            (
                "a.B?timestamp=1700000000",
                Some(1_700_000_000_000),
                None,
                None,
            ),
            (
                "a.B?timestamp=now&heartbeat.timeout=-1&ipv6=",
                None,
                None,
                None,
            ),
        ] {
            let (service, params) = of(query);
            assert_eq!(params.timestamp_ms, timestamp, "{query}");
            assert_eq!(params.heartbeat_timeout_ms, heartbeat, "{query}");
            assert_eq!(params.ipv6.as_deref(), ipv6, "{query}");
            assert!(!service.params.contains_key("ipv6"), "{query}");
        }
    }

    #[test]
    fn the_first_of_two_services_that_disagree_counts_and_both_are_named() {
        let services = [
            of("a.B?ipv6=fe80::1&timestamp=1700000000005"),
            of("a.C?ipv6=fe80::2&heartbeat.timeout=1&timestamp=1700000000003"),
            of("a.D?ipv6=fe80::1&heartbeat.timeout=01"),
        ];
        let params =
            InstanceParams::of_services(services.iter().map(|(service, params)| (service, params)));
        assert_eq!(params.ipv6.as_deref(), Some("fe80::1"));
        assert_eq!(params.heartbeat_timeout_ms, Some(1));
        assert_eq!(params.timestamp_ms, Some(1_700_000_000_003));
        let conflicts: Vec<_> = params.conflicts.iter().map(ToString::to_string).collect();
        assert_eq!(
            conflicts,
            ["`ipv6` is `fe80::1` in a.B:tri, which counts, and `fe80::2` in a.C:tri"]
        );
        let entries: Vec<_> = params.entries().collect();
        assert_eq!(
            entries,
            [
                ("heartbeat.timeout", "1".to_owned()),
                ("ipv6", "fe80::1".to_owned())
            ]
        );
    }
}
