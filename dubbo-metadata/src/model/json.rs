//! [`MetadataInfo`] as JSON: what stands in a metadata report, and what old providers answer with.
//!
//! Written with dubbo-go's names, which include all of Dubbo Java's; read from either (`docs/spec/metadata.md` §1.3).

use std::{collections::BTreeMap, fmt, sync::Arc};

use bytes::Bytes;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, Visitor},
};

use super::{MetadataInfo, ServiceInfo, Services};
use crate::error::MetadataError;

impl MetadataInfo {
    /// Reads the JSON of any peer: unknown fields are skipped, missing and null ones are empty, the keys of the services
    /// are made anew. A service without a name is left out.
    pub fn from_json(json: &[u8]) -> Result<Self, MetadataError> {
        let read: ReadInfo = serde_json::from_slice(json)
            .map_err(|error| MetadataError::json("metadata", &error))?;
        Ok(Self {
            app: read.app.unwrap_or_default(),
            revision: read.revision.unwrap_or_default(),
            tag: read.tag.filter(|tag| !tag.is_empty()),
            last_updated_ms: read.last_updated_time.0.filter(|time| *time != 0),
            services: keyed(
                read.services
                    .unwrap_or_default()
                    .into_iter()
                    .filter_map(|(key, service)| Some((key, service?.into()))),
            ),
        })
    }

    /// The JSON. Empty values are left out, as dubbo-go does.
    pub fn to_json(&self) -> Bytes {
        bytes(&WriteInfo {
            app: &self.app,
            revision: &self.revision,
            tag: self.tag.as_deref(),
            services: self
                .services
                .iter()
                .map(|(key, service)| (key.as_str(), WriteService::from(&**service)))
                .collect(),
            last_updated_time: self.last_updated_ms,
        })
    }
}

fn bytes(info: &WriteInfo<'_>) -> Bytes {
    serde_json::to_vec(info)
        .expect("invariant: texts, numbers and maps keyed by text are JSON")
        .into()
}

/// The services under their own keys. Where two have the same one, that wins which was written under it.
pub(super) fn keyed(services: impl IntoIterator<Item = (String, ServiceInfo)>) -> Services {
    let mut keyed = BTreeMap::new();
    for (written, service) in services {
        if service.name.is_empty() {
            tracing::warn!(
                key = written,
                "metadata has a service without a name: left out"
            );
            continue;
        }
        let key = service.match_key();
        if key == written || !keyed.contains_key(&key) {
            keyed.insert(key, Arc::new(service));
        }
    }
    keyed.into_values().collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadInfo {
    app: Option<String>,
    revision: Option<String>,
    tag: Option<String>,
    services: Option<BTreeMap<String, Option<ReadService>>>,
    #[serde(default)]
    last_updated_time: Number,
}

#[derive(Deserialize)]
struct ReadService {
    name: Option<String>,
    group: Option<String>,
    version: Option<String>,
    protocol: Option<String>,
    #[serde(default)]
    port: Number,
    path: Option<String>,
    params: Option<BTreeMap<String, Option<String>>>,
}

impl From<ReadService> for ServiceInfo {
    fn from(read: ReadService) -> Self {
        Self {
            name: read.name.unwrap_or_default(),
            group: read.group.unwrap_or_default(),
            version: read.version.unwrap_or_default(),
            protocol: read.protocol.unwrap_or_default(),
            port: port(read.port.0),
            path: trimmed(&read.path.unwrap_or_default()),
            params: read
                .params
                .unwrap_or_default()
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .collect(),
        }
    }
}

/// A path has no leading slash.
pub(super) fn trimmed(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

/// What is no port means what 0 means: the endpoints say it. Negative ones are kept, as a digest is made of them.
pub(super) fn port(read: Option<i64>) -> i32 {
    match read {
        Some(port) if port <= i64::from(u16::MAX) => i32::try_from(port).unwrap_or_default(),
        _ => 0,
    }
}

/// A number, a text of digits, or null.
#[derive(Default)]
struct Number(Option<i64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(None))
    }
}

impl Visitor<'_> for Number {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self, E> {
        Ok(Self(Some(value)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Err(E::invalid_value(de::Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self, E> {
        match value.trim() {
            "" => Ok(self),
            digits => digits
                .parse()
                .map(|value| Self(Some(value)))
                .map_err(|_| E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WriteInfo<'a> {
    app: &'a str,
    revision: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<&'a str>,
    services: BTreeMap<&'a str, WriteService<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_updated_time: Option<i64>,
}

#[derive(Serialize)]
struct WriteService<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    protocol: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    port: i32,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    params: &'a BTreeMap<String, String>,
}

impl<'a> From<&'a ServiceInfo> for WriteService<'a> {
    fn from(service: &'a ServiceInfo) -> Self {
        Self {
            name: &service.name,
            group: &service.group,
            version: &service.version,
            protocol: &service.protocol,
            port: service.port,
            path: &service.path,
            params: &service.params,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(port: &i32) -> bool {
    *port == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> MetadataInfo {
        MetadataInfo::from_json(json.as_bytes()).expect(json)
    }

    #[test]
    fn what_is_missing_null_or_unknown_does_no_harm() {
        for json in [
            "{}",
            r#"{"app":null,"revision":null,"tag":null,"services":null,"lastUpdatedTime":null}"#,
            r#"{"tag":"","services":{},"lastUpdatedTime":0,"more":[{"a":1}]}"#,
            r#"{"services":{"a":null,"b":{},"c":{"name":null}}}"#,
        ] {
            assert_eq!(read(json), MetadataInfo::default(), "{json}");
        }
    }

    #[test]
    fn a_service_is_found_by_its_own_fields_whatever_its_key() {
        let info = read(
            r#"{"app":"a","services":{"odd":{"name":"x.Y","group":null,"protocol":"tri","port":"20000","path":"/x.Y",
               "params":{"a":"1","b":null},"consumerParams":{}}}}"#,
        );
        let service = &info.services["x.Y:tri"];
        assert_eq!((service.port, service.path.as_str()), (20000, "x.Y"));
        assert_eq!(service.params, BTreeMap::from([("a".into(), "1".into())]));
    }

    #[test]
    fn of_two_services_with_one_key_the_one_written_under_it_wins() {
        for (first, second) in [("x.Y:tri", "z"), ("a", "x.Y:tri"), ("a", "b")] {
            let service = |key: &str| {
                format!(r#""{key}":{{"name":"x.Y","protocol":"tri","path":"of {key}"}}"#)
            };
            let info = read(&format!(
                r#"{{"services":{{{},{}}}}}"#,
                service(first),
                service(second)
            ));
            let want = if second == "x.Y:tri" { second } else { first };
            assert_eq!(info.services["x.Y:tri"].path, format!("of {want}"));
        }
    }

    #[test]
    fn a_port_is_a_number_or_digits_and_what_is_none_means_the_endpoints() {
        for (port, want) in [
            ("50051", 50051),
            (r#""50051""#, 50051),
            (r#""""#, 0),
            ("0", 0),
            ("-1", -1),
            ("70000", 0),
            ("-9223372036854775808", 0),
            ("null", 0),
        ] {
            let info = read(&format!(
                r#"{{"services":{{"k":{{"name":"x","port":{port}}}}}}}"#
            ));
            assert_eq!(info.services["x"].port, want, "{port}");
        }
    }

    #[test]
    fn broken_text_says_where_it_is_broken() {
        let deep = "[".repeat(100_000);
        for (json, want) in [
            ("", "EOF"),
            ("null", "metadata cannot be read"),
            ("{\"app\":7}", "column 8"),
            (
                r#"{"services":{"k":{"name":"x","port":"a"}}}"#,
                "whole number",
            ),
            (
                r#"{"services":{"k":{"name":"x","port":18446744073709551615}}}"#,
                "whole number",
            ),
            (
                r#"{"services":{"k":{"name":"x","port":1.5}}}"#,
                "whole number",
            ),
            (&format!("{{\"x\":{deep}"), "EOF"),
        ] {
            let error = MetadataInfo::from_json(json.as_bytes()).expect_err("broken");
            let error = error.to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn what_is_written_reads_back_and_has_no_empty_values() {
        let json = r#"{"app":"a","revision":"r","tag":"gray","services":{"x.Y:tri":{"name":"x.Y","protocol":"tri","path":"x.Y","params":{"application":"a"}}},"lastUpdatedTime":1700000000123}"#;
        let info = read(json);
        assert_eq!(info.tag.as_deref(), Some("gray"));
        assert_eq!(info.last_updated_ms, Some(1_700_000_000_123));
        assert_eq!(info.to_json(), json);
    }
}
