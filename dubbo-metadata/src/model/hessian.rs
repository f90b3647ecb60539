//! [`MetadataInfo`] as Java's object: what `getMetadataInfo` answers (`docs/spec/metadata.md` §1.4).
//!
//! The classes have dubbo-go's fields in its order, and Java's `int` for a port; what is absent is null, as Java has it.
//! Read are the classes of both, a map in their place, and the JSON text that old Java providers answer with.

use std::{borrow::Cow, collections::BTreeMap};

use dubbo_hessian2::{
    DecodeError, Decoder, EncodeError, Encoder, FromHessian, JavaType, Kind, Shape, ToHessian,
};

use super::{MetadataInfo, ServiceInfo, json};

impl JavaType for MetadataInfo {
    fn java_name() -> Cow<'static, str> {
        INFO.class.into()
    }
}

impl ToHessian for MetadataInfo {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.begin_object(&INFO);
        self.app.encode(encoder)?;
        self.revision.encode(encoder)?;
        self.tag.encode(encoder)?;
        encoder.begin_map(None);
        for (key, service) in &self.services {
            key.encode(encoder)?;
            service.encode(encoder)?;
        }
        encoder.end_map();
        Ok(())
    }
}

impl FromHessian for MetadataInfo {
    /// Null is not metadata: whoever may get it, because the revision is unknown, reads an `Option`.
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match decoder.peek()? {
            Kind::Null => return Err(DecodeError::null_for(INFO.class)),
            Kind::String => {
                let json = decoder.str()?;
                return Self::from_json(json.as_bytes())
                    .map_err(|error| DecodeError::custom(error.to_string()));
            }
            _ => {}
        }
        let mut info = Self::default();
        decoder.read_struct(&INFO, |decoder, field| {
            match field {
                0 => info.app = text(decoder)?,
                1 => info.revision = text(decoder)?,
                2 => info.tag = Some(text(decoder)?).filter(|tag| !tag.is_empty()),
                _ => info.services = json::keyed(entries::<ServiceInfo>(decoder)?),
            }
            Ok(())
        })?;
        Ok(info)
    }
}

impl JavaType for ServiceInfo {
    fn java_name() -> Cow<'static, str> {
        SERVICE.class.into()
    }
}

impl ToHessian for ServiceInfo {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        encoder.begin_object(&SERVICE);
        for text in [&self.name, &self.group, &self.version, &self.protocol] {
            non_empty(text).encode(encoder)?;
        }
        self.port.encode(encoder)?;
        non_empty(&self.path).encode(encoder)?;
        self.params.encode(encoder)
    }
}

impl FromHessian for ServiceInfo {
    fn decode(decoder: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let mut service = Self::default();
        decoder.read_struct(&SERVICE, |decoder, field| {
            match field {
                0 => service.name = text(decoder)?,
                1 => service.group = text(decoder)?,
                2 => service.version = text(decoder)?,
                3 => service.protocol = text(decoder)?,
                4 => service.port = port(decoder)?,
                5 => service.path = json::trimmed(&text(decoder)?),
                _ => service.params = entries(decoder)?.into_iter().collect(),
            }
            Ok(())
        })?;
        Ok(service)
    }
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// A text; empty for null.
fn text(decoder: &mut Decoder<'_>) -> Result<String, DecodeError> {
    Ok(Option::<String>::decode(decoder)?.unwrap_or_default())
}

/// An int, a long, or the digits of one.
fn port(decoder: &mut Decoder<'_>) -> Result<i32, DecodeError> {
    let port = match decoder.peek()? {
        Kind::Null => {
            decoder.null()?;
            None
        }
        Kind::String => {
            let text = decoder.str()?;
            Some(
                text.trim()
                    .parse()
                    .map_err(|_| DecodeError::custom(format!("{text:?} is no port")))?,
            )
        }
        _ => Some(decoder.long()?),
    };
    Ok(json::port(port))
}

/// The entries of a map whose value is not null; null is an empty map.
fn entries<V: FromHessian>(decoder: &mut Decoder<'_>) -> Result<BTreeMap<String, V>, DecodeError> {
    if decoder.null()? {
        return Ok(BTreeMap::new());
    }
    decoder.read_map(BTreeMap::new, |entries, decoder| {
        let key = text(decoder)?;
        if let Some(value) = Option::decode(decoder)? {
            entries.insert(key, value);
        }
        Ok(())
    })
}

static INFO: Shape = Shape {
    class: "org.apache.dubbo.metadata.MetadataInfo",
    fields: &["app", "revision", "tag", "services"],
};

static SERVICE: Shape = Shape {
    class: "org.apache.dubbo.metadata.MetadataInfo$ServiceInfo",
    fields: &[
        "name", "group", "version", "protocol", "port", "path", "params",
    ],
};

#[cfg(test)]
mod tests {
    use dubbo_hessian2::{Class, Object, Value, from_slice, to_vec};

    use super::*;

    fn info() -> MetadataInfo {
        MetadataInfo::from_json(
            br#"{"app":"demo","revision":"r","services":{"x.Y:tri":
                {"name":"x.Y","protocol":"tri","port":50051,"path":"x.Y","params":{"application":"demo"}}}}"#,
        )
        .expect("valid")
    }

    #[test]
    fn it_is_written_with_the_classes_and_fields_that_peers_know() {
        let bytes = to_vec(&info()).expect("no limits");
        assert!(bytes.starts_with(b"C\x30\x26org.apache.dubbo.metadata.MetadataInfo\x94\x03app\x08revision\x03tag\x08services\x60"));
        let value: Value = from_slice(&bytes).expect("valid");
        let services = value
            .as_object()
            .and_then(|object| object.get("services"))
            .and_then(Value::as_map)
            .expect("a map");
        let service = services[0].1.as_object().expect("an object");
        assert_eq!(service.get("port"), Some(&Value::Int(50051)));
        assert_eq!(service.get("group"), Some(&Value::Null));
        assert_eq!(from_slice::<MetadataInfo>(&bytes).expect("valid"), info());
    }

    #[test]
    fn fields_are_found_by_name_in_any_order_and_unknown_ones_are_skipped() {
        let service = Value::object(
            SERVICE.class,
            [
                ("extra", Value::list([Value::Int(1)])),
                ("port", Value::Long(50051)),
                ("protocol", "tri".into()),
                ("path", "/x.Y".into()),
                ("name", "x.Y".into()),
                ("version", Value::Null),
                (
                    "params",
                    Value::typed_map(
                        "java.util.TreeMap",
                        [
                            ("application".into(), "demo".into()),
                            ("absent".into(), Value::Null),
                        ],
                    ),
                ),
            ],
        );
        let services = Value::typed_map(
            "java.util.concurrent.ConcurrentHashMap",
            [("odd key".into(), service), ("nothing".into(), Value::Null)],
        );
        let java = Value::object(
            INFO.class,
            [
                ("services", services),
                ("initiated", true.into()),
                ("revision", "r".into()),
                ("app", "demo".into()),
            ],
        );
        let bytes = to_vec(&java).expect("no limits");
        assert_eq!(from_slice::<MetadataInfo>(&bytes).expect("valid"), info());
    }

    #[test]
    fn json_text_is_metadata_and_null_is_none() {
        let text = String::from_utf8(info().to_json().to_vec()).expect("JSON is UTF-8");
        let bytes = to_vec(&text).expect("no limits");
        assert_eq!(from_slice::<MetadataInfo>(&bytes).expect("valid"), info());
        assert_eq!(
            from_slice::<Option<MetadataInfo>>(b"N").expect("valid"),
            None
        );
        let broken = to_vec("oops").expect("no limits");
        for bytes in [&b"N"[..], &broken, b"\x91", b"T"] {
            assert!(from_slice::<MetadataInfo>(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn an_object_that_is_referred_to_twice_is_there_twice() {
        let params = Value::map([("application".into(), "demo".into())]);
        let service = |name: &str| {
            Value::Object(
                Object::new(
                    Class::new(SERVICE.class, ["name", "params"]),
                    vec![name.into(), params.clone()],
                )
                .into(),
            )
        };
        let java = Value::object(
            INFO.class,
            [(
                "services",
                Value::map([("a".into(), service("a")), ("b".into(), service("b"))]),
            )],
        );
        let info: MetadataInfo = from_slice(&to_vec(&java).expect("no limits")).expect("valid");
        assert_eq!(info.services["a"].params, info.services["b"].params);
        assert_eq!(info.services["b"].params["application"], "demo");
    }
}
