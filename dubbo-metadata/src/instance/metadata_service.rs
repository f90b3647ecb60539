//! `dubbo.metadata-service.url-params` and `meta-v`: how an instance's metadata is asked for.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{endpoints, keys};
use crate::error::MetadataError;

/// How to reach the `MetadataService` of an instance (`docs/spec/metadata.md` §3.3).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataServiceParams {
    /// The protocol, such as `tri`.
    pub protocol: String,
    /// The port.
    pub port: u16,
    /// The version that is said to be there; empty when none is said. It is not always the one that answers: see
    /// [`MetaVersion`].
    pub version: String,
    /// The others, such as `release` and `serialization`.
    pub params: BTreeMap<String, String>,
}

impl MetadataServiceParams {
    /// The service, with the version that all consumers know.
    pub fn new(protocol: impl Into<String>, port: u16) -> Self {
        Self {
            protocol: protocol.into(),
            port,
            version: "1.0.0".to_owned(),
            params: BTreeMap::new(),
        }
    }

    /// The same with one more parameter.
    pub fn with_param(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.params.insert(key.into(), value.into());
        self
    }

    /// Reads the JSON object: flat, or with one object for each protocol, as Dubbo 2.7 wrote it. Of several protocols
    /// `tri` is taken, else `dubbo`, else the first.
    pub fn parse(json: &str) -> Result<Self, MetadataError> {
        let error = |reason: &str| MetadataError::json(keys::METADATA_SERVICE_PARAMS, reason);
        let mut object: Map<String, Value> = serde_json::from_str(json)
            .map_err(|error| MetadataError::json(keys::METADATA_SERVICE_PARAMS, &error))?;
        let nested = ["tri", "dubbo"]
            .into_iter()
            .chain(object.keys().map(String::as_str))
            .find(|protocol| object.get(*protocol).is_some_and(Value::is_object))
            .map(str::to_owned);
        if let Some(protocol) = nested
            && let Some(Value::Object(inner)) = object.remove(&protocol)
        {
            object = inner;
            object.entry("protocol").or_insert_with(|| protocol.into());
        }

        let port = object
            .remove("port")
            .and_then(|value| endpoints::port(&value))
            .ok_or_else(|| error("there is no valid `port`"))?;
        let mut params: BTreeMap<_, _> = object
            .into_iter()
            .filter_map(|(key, value)| Some((key, text(value)?)))
            .collect();
        let protocol = params
            .remove("protocol")
            .filter(|protocol| !protocol.is_empty())
            .ok_or_else(|| error("there is no `protocol`"))?;
        Ok(Self {
            protocol,
            port,
            version: params.remove("version").unwrap_or_default(),
            params,
        })
    }

    /// The JSON object: version and parameters, then port and protocol, all of them text.
    pub fn to_json(&self) -> String {
        let port = self.port.to_string();
        let fields = [("version", self.version.as_str())]
            .into_iter()
            .chain(
                self.params
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.as_str())),
            )
            .chain([("port", port.as_str()), ("protocol", &self.protocol)])
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| format!("{}:{}", Value::from(key), Value::from(value)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}

/// Which version of the `MetadataService` an instance serves on Triple: the value of `meta-v`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetaVersion {
    /// `1.0.0`: `MetadataService`, with Java's types.
    V1,
    /// `2.0.0`: `MetadataServiceV2` too, with protobuf.
    V2,
}

impl MetaVersion {
    /// Reads the value: whatever is not `2.0.0` means the first version.
    pub fn of(value: Option<&str>) -> Self {
        match value {
            Some("2.0.0") => Self::V2,
            _ => Self::V1,
        }
    }

    /// The value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.0.0",
            Self::V2 => "2.0.0",
        }
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(_) | Value::Null | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_peers_write_is_read() {
        for (json, want) in [
            (
                // dubbo-go 3.3.2
                r#"{"group":"demo","port":"20001","protocol":"tri","serialization":"hessian2","version":"1.0.0"}"#,
                ("tri", 20001, "1.0.0", "group=demo serialization=hessian2"),
            ),
            (
                // Dubbo Java 3.3.6
                r#"{"version":"2.0.0","dubbo":"2.0.2","side":"provider","port":"50051","protocol":"tri"}"#,
                ("tri", 50051, "2.0.0", "dubbo=2.0.2 side=provider"),
            ),
            (
                // Dubbo Java 2.7
                r#"{"dubbo":{"version":"1.0.0","dubbo":"2.0.2","port":"20880"}}"#,
                ("dubbo", 20880, "1.0.0", "dubbo=2.0.2"),
            ),
            (
                r#"{"dubbo":{"port":1},"tri":{"port":2}}"#,
                ("tri", 2, "", ""),
            ),
            (
                r#"{"rest":{"port":1},"grpc":{"port":2}}"#,
                ("grpc", 2, "", ""),
            ),
            (
                r#"{"protocol":"tri","port":1,"flag":true,"n":2,"none":null,"list":[1]}"#,
                ("tri", 1, "", "flag=true n=2"),
            ),
        ] {
            let read = MetadataServiceParams::parse(json).expect(json);
            let params: Vec<_> = read
                .params
                .iter()
                .map(|(k, v)| format!("{k}={v}"))
                .collect();
            let found = (read.protocol.as_str(), read.port, read.version.as_str());
            assert_eq!(found, (want.0, want.1, want.2), "{json}");
            assert_eq!(params.join(" "), want.3, "{json}");
        }
    }

    #[test]
    fn what_cannot_be_called_is_an_error() {
        for (json, want) in [
            ("", "EOF"),
            ("[]", "expected a map"),
            ("{}", "`port`"),
            (r#"{"protocol":"tri"}"#, "`port`"),
            (r#"{"protocol":"tri","port":"0"}"#, "`port`"),
            (r#"{"protocol":"tri","port":"x"}"#, "`port`"),
            (r#"{"port":1}"#, "`protocol`"),
            (r#"{"port":1,"protocol":""}"#, "`protocol`"),
        ] {
            let error = MetadataServiceParams::parse(json)
                .expect_err(json)
                .to_string();
            assert!(error.contains(want), "{json}: {error}");
        }
    }

    #[test]
    fn ours_are_written_in_a_fixed_order() {
        let params =
            MetadataServiceParams::new("tri", 50051).with_param("release", "dubbo-rust-4.0.0");
        let json = params.to_json();
        assert_eq!(
            json,
            r#"{"version":"1.0.0","release":"dubbo-rust-4.0.0","port":"50051","protocol":"tri"}"#
        );
        assert_eq!(MetadataServiceParams::parse(&json).expect("ours"), params);
    }
}
