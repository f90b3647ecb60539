//! The one message of Nacos's gRPC services: a type name and JSON.

use std::collections::HashMap;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Payload {
    #[prost(message, optional, tag = "2")]
    metadata: Option<Metadata>,
    #[prost(message, optional, tag = "3")]
    body: Option<Any>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metadata {
    #[prost(string, tag = "3")]
    kind: String,
    #[prost(map = "string, string", tag = "7")]
    headers: HashMap<String, String>,
    #[prost(string, tag = "8")]
    client_ip: String,
}

/// `google.protobuf.Any`, of which only the value is used.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

impl Payload {
    pub(super) fn new(kind: &str, body: &Value) -> Self {
        Self {
            metadata: Some(Metadata {
                kind: kind.to_owned(),
                headers: HashMap::new(),
                client_ip: "127.0.0.1".to_owned(),
            }),
            body: Some(Any {
                type_url: String::new(),
                value: body.to_string().into(),
            }),
        }
    }

    /// The simple name of the message's class, such as `InstanceRequest`.
    pub(super) fn kind(&self) -> &str {
        self.metadata.as_ref().map_or("", |m| &m.kind)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let value = self.metadata.as_ref()?.headers.get(name)?;
        Some(value)
    }

    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.json())
    }

    /// The body, for the log; what is no JSON is shown as text.
    pub(super) fn body(&self) -> Value {
        self.parse()
            .unwrap_or_else(|_| String::from_utf8_lossy(self.json()).into())
    }

    fn json(&self) -> &[u8] {
        self.body.as_ref().map_or(&[], |any| &any.value)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_have_the_numbers_of_nacos() {
        let bytes = Payload::new("T", &json!({})).encode_to_vec();
        let mut want = vec![0x12, 3 + 11, 0x1a, 1, b'T', 0x42, 9];
        want.extend(b"127.0.0.1");
        want.extend([0x1a, 4, 0x12, 2, b'{', b'}']);
        assert_eq!(bytes, want);
    }

    #[test]
    fn a_body_that_is_no_json_is_logged_as_text() {
        let payload = Payload {
            metadata: None,
            body: Some(Any {
                type_url: String::new(),
                value: Bytes::from_static(b"{oops"),
            }),
        };
        assert_eq!(payload.body(), json!("{oops"));
        assert_eq!(payload.kind(), "");
    }
}
