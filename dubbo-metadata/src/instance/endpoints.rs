//! `dubbo.endpoints`: the port of each protocol of an instance.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::keys;
use crate::error::MetadataError;

/// The port of each protocol, in the order of the protocols' names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoints(BTreeMap<String, u16>);

impl Endpoints {
    /// Reads the JSON array. Where a protocol has several ports the last one counts, as for Dubbo Java; entries without
    /// protocol or port are left out.
    pub fn parse(json: &str) -> Result<Self, MetadataError> {
        let entries: Vec<Value> = serde_json::from_str(json)
            .map_err(|error| MetadataError::json(keys::ENDPOINTS, &error))?;
        Ok(entries
            .iter()
            .filter_map(|entry| {
                let protocol = entry.get("protocol")?.as_str().filter(|p| !p.is_empty())?;
                Some((protocol.to_owned(), port(entry.get("port")?)?))
            })
            .collect())
    }

    /// The port of `protocol`.
    pub fn port(&self, protocol: &str) -> Option<u16> {
        self.0.get(protocol).copied()
    }

    /// Protocols and ports.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u16)> {
        self.0
            .iter()
            .map(|(protocol, port)| (protocol.as_str(), *port))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The protocol and port that stand for the instance: those of `preferred`, else of `tri`, else of `dubbo`, else of
    /// the protocol whose name comes first.
    pub fn main(&self, preferred: Option<&str>) -> Option<(&str, u16)> {
        preferred
            .into_iter()
            .chain(["tri", "dubbo"])
            .find_map(|protocol| self.0.get_key_value(protocol))
            .or_else(|| self.0.first_key_value())
            .map(|(protocol, port)| (protocol.as_str(), *port))
    }

    /// The JSON array, in the order of the protocols' names.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Entry<'a> {
            port: u16,
            protocol: &'a str,
        }
        let entries: Vec<_> = self
            .iter()
            .map(|(protocol, port)| Entry { port, protocol })
            .collect();
        json(&entries)
    }
}

impl FromIterator<(String, u16)> for Endpoints {
    fn from_iter<I: IntoIterator<Item = (String, u16)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

fn json(entries: &impl Serialize) -> String {
    serde_json::to_string(entries).expect("invariant: numbers and texts are JSON")
}

/// A port as a number, or as the digits of one.
pub(super) fn port(value: &Value) -> Option<u16> {
    let port = match value {
        Value::Number(number) => number.as_u64().and_then(|port| u16::try_from(port).ok()),
        Value::String(digits) => digits.trim().parse().ok(),
        _ => None,
    };
    port.filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_of_all_peers_are_read_and_written_in_protocol_order() {
        for (json, want) in [
            ("[]", "[]"),
            (
                r#"[{"port":50051,"protocol":"tri"},{"port":20000,"protocol":"dubbo"}]"#,
                r#"[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#,
            ),
            (
                r#"[{"port":"1","protocol":"tri","more":null},{"port":2,"protocol":"tri"}]"#,
                r#"[{"port":2,"protocol":"tri"}]"#,
            ),
            (
                r#"[1,null,{},{"port":0,"protocol":"a"},{"port":70000,"protocol":"b"},{"port":1,"protocol":""},{"port":-1,"protocol":"c"}]"#,
                "[]",
            ),
        ] {
            let endpoints = Endpoints::parse(json).expect(json);
            assert_eq!(endpoints.to_json(), want, "{json}");
        }
        for json in ["", "null", "{}", "[", "5"] {
            let error = Endpoints::parse(json).expect_err(json).to_string();
            assert!(
                error.starts_with("dubbo.endpoints cannot be read: "),
                "{error}"
            );
        }
    }

    #[test]
    fn one_protocol_stands_for_the_instance() {
        for (protocols, preferred, want) in [
            ("rest dubbo tri", None, Some("tri")),
            ("rest dubbo tri", Some("rest"), Some("rest")),
            ("rest dubbo", Some("grpc"), Some("dubbo")),
            ("rest grpc", None, Some("grpc")),
            ("", Some("tri"), None),
        ] {
            let endpoints: Endpoints = protocols
                .split_whitespace()
                .map(|protocol| (protocol.to_owned(), 1))
                .collect();
            assert_eq!(
                endpoints.main(preferred).map(|(p, _)| p),
                want,
                "{protocols}"
            );
        }
    }
}
