//! Messages of any type, whose JSON is that of the message and tells its type.

use bytes::Bytes;
use prost::Name;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error as _},
    ser::Error as _,
};
use serde_json::{Map, Value};

use crate::suite::{
    BidiStreamRequest, BidiStreamResponse, ClientStreamRequest, ClientStreamResponse,
    IdempotentUnaryRequest, IdempotentUnaryResponse, ServerStreamRequest, ServerStreamResponse,
    UnaryRequest, UnaryResponse, UnimplementedRequest, UnimplementedResponse, conformance_payload,
};

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
pub struct Any {
    /// Such as `type.googleapis.com/connectrpc.conformance.v1.UnaryRequest`.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The encoded message.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
}

impl Any {
    /// `message` with its type.
    pub fn of<M: Name>(message: &M) -> Self {
        Self {
            type_url: M::type_url(),
            value: message.encode_to_vec().into(),
        }
    }

    /// The message, if it is an `M`.
    ///
    /// # Errors
    ///
    /// In words: it is of another type, or its bytes are no message of that type.
    pub fn unpack<M: Name + Default>(&self) -> Result<M, String> {
        if type_name(&self.type_url) != M::full_name() {
            return Err(format!("a {} is no {}", self.type_url, M::full_name()));
        }
        M::decode(self.value.clone()).map_err(|error| format!("{}: {error}", self.type_url))
    }
}

impl Serialize for Any {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = Kind::named(&self.type_url).map_err(S::Error::custom)?;
        let mut members = (kind.to_json)(self).map_err(S::Error::custom)?;
        members.insert(TYPE.to_owned(), self.type_url.clone().into());
        members.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        let Some(Value::String(type_url)) = members.remove(TYPE) else {
            return Err(D::Error::missing_field(TYPE));
        };
        let kind = Kind::named(&type_url).map_err(D::Error::custom)?;
        let value = (kind.from_json)(members).map_err(D::Error::custom)?;
        Ok(Self { type_url, value })
    }
}

/// A type whose messages can be in an [`Any`].
struct Kind {
    name: fn() -> String,
    to_json: fn(&Any) -> Result<Map<String, Value>, String>,
    from_json: fn(Map<String, Value>) -> Result<Bytes, String>,
}

impl Kind {
    const fn of<M: Name + Default + Serialize + DeserializeOwned>() -> Self {
        Self {
            name: M::full_name,
            to_json: |any| match serde_json::to_value(any.unpack::<M>()?) {
                Ok(Value::Object(members)) => Ok(members),
                Ok(other) => Err(format!("{} is {other} in JSON, no object", any.type_url)),
                Err(error) => Err(error.to_string()),
            },
            from_json: |members| {
                let message: M =
                    serde_json::from_value(members.into()).map_err(|error| error.to_string())?;
                Ok(message.encode_to_vec().into())
            },
        }
    }

    fn named(type_url: &str) -> Result<&'static Self, String> {
        let name = type_name(type_url);
        let kind = KINDS.iter().find(|kind| (kind.name)() == name);
        kind.ok_or_else(|| format!("the suite has no messages of the type {type_url:?}"))
    }
}

fn type_name(type_url: &str) -> &str {
    type_url.rsplit('/').next().unwrap_or_default()
}

const TYPE: &str = "@type";

const KINDS: &[Kind] = &[
    Kind::of::<BidiStreamRequest>(),
    Kind::of::<BidiStreamResponse>(),
    Kind::of::<ClientStreamRequest>(),
    Kind::of::<ClientStreamResponse>(),
    Kind::of::<IdempotentUnaryRequest>(),
    Kind::of::<IdempotentUnaryResponse>(),
    Kind::of::<ServerStreamRequest>(),
    Kind::of::<ServerStreamResponse>(),
    Kind::of::<UnaryRequest>(),
    Kind::of::<UnaryResponse>(),
    Kind::of::<UnimplementedRequest>(),
    Kind::of::<UnimplementedResponse>(),
    Kind::of::<conformance_payload::RequestInfo>(),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_shows_the_message_and_its_type() {
        let request = UnaryRequest {
            request_data: Bytes::from_static(b"test"),
            ..UnaryRequest::default()
        };
        let any = Any::of(&request);
        let shown = json!({
            "@type": "type.googleapis.com/connectrpc.conformance.v1.UnaryRequest",
            "request_data": "dGVzdA==",
        });
        assert_eq!(serde_json::to_value(&any).expect("known"), shown);
        let read: Any = serde_json::from_value(shown).expect("known");
        assert_eq!(read, any);
        assert_eq!(read.unpack::<UnaryRequest>(), Ok(request));
        assert!(read.unpack::<UnaryResponse>().is_err());
    }

    #[test]
    fn what_is_no_message_of_the_suite_is_refused() {
        let stranger = json!({"@type": "type.googleapis.com/foo.Bar"});
        for value in [stranger, json!({"request_data": ""})] {
            assert!(serde_json::from_value::<Any>(value).is_err());
        }
    }
}
