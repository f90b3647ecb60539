//! `Value`, `Struct` and `ListValue`: any JSON, in which `null` is a value.

use std::{collections::HashMap, fmt};

use pbjson_types::{ListValue, Struct, Value, value::Kind};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
    ser,
};

use super::{As, ReadAs, WriteAs};

/// Values of any kind.
#[derive(Debug)]
pub struct Values;

impl WriteAs<Values> for Value {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.kind {
            None | Some(Kind::NullValue(_)) => serializer.serialize_unit(),
            Some(Kind::NumberValue(number)) if !number.is_finite() => {
                let text = format!("a `Value` is {number}, which has no form in JSON");
                Err(ser::Error::custom(text))
            }
            Some(Kind::NumberValue(number)) => number.serialize(serializer),
            Some(Kind::StringValue(text)) => text.serialize(serializer),
            Some(Kind::BoolValue(value)) => value.serialize(serializer),
            Some(Kind::StructValue(fields)) => fields.write(serializer),
            Some(Kind::ListValue(list)) => list.write(serializer),
        }
    }
}

impl WriteAs<Values> for Struct {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.write(serializer)
    }
}

impl WriteAs<Values> for ListValue {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.write(serializer)
    }
}

impl<'de> ReadAs<'de, Values> for Value {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> ReadAs<'de, Values> for Struct {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = HashMap::<String, As<Values, Value>>::deserialize(deserializer)?;
        let fields = fields.into_iter();
        let fields = fields.map(|(name, value)| (name, value.into_inner()));
        Ok(Self {
            fields: fields.collect(),
        })
    }
}

impl<'de> ReadAs<'de, Values> for ListValue {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = ReadAs::<Values>::read(deserializer)?;
        Ok(Self { values })
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(of(Kind::NullValue(0)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(of(Kind::BoolValue(value)))
    }

    #[expect(clippy::cast_precision_loss, reason = "its numbers are doubles")]
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(of(Kind::NumberValue(value as f64)))
    }

    #[expect(clippy::cast_precision_loss, reason = "its numbers are doubles")]
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(of(Kind::NumberValue(value as f64)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(of(Kind::NumberValue(value)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(of(Kind::StringValue(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element::<As<Values, Value>>()? {
            values.push(value.into_inner());
        }
        Ok(of(Kind::ListValue(ListValue { values })))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = HashMap::new();
        while let Some((name, value)) = entries.next_entry::<String, As<Values, Value>>()? {
            fields.insert(name, value.into_inner());
        }
        Ok(of(Kind::StructValue(Struct { fields })))
    }
}

fn of(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}
