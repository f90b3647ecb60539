//! Messages of `google.protobuf` that have a JSON form of their own, as the generated code of this project writes it: that
//! of protobuf's mapping but for `Any`, which is written like other messages.

use super::{Schemas, list_of, map_of, typed};
use crate::openapi::tree::Map;

impl Schemas {
    /// The schema of the message called `name`, if it has such a form.
    pub(super) fn well_known(&self, name: &str) -> Option<Map> {
        Some(match name.strip_prefix("google.protobuf.")? {
            "Any" => typed("object").with(
                "properties",
                Map::default()
                    .with(
                        "typeUrl",
                        typed("string").with(
                            "description",
                            "The full name of the message's type behind a slash.",
                        ),
                    )
                    .with("value", self.base64()),
            ),
            "BoolValue" => typed("boolean"),
            "BytesValue" => self.base64(),
            "DoubleValue" => double(),
            "Duration" => typed("string").with(
                "description",
                "Seconds with up to nine digits behind the point, and an `s`: `1.5s`.",
            ),
            "Empty" => typed("object"),
            "FieldMask" => typed("string").with(
                "description",
                "Paths of fields in lowerCamelCase, with commas between: `user.displayName,photo`.",
            ),
            "FloatValue" => float(),
            "Int32Value" => int32(),
            "Int64Value" => int64(),
            "ListValue" => list_of(Map::default()),
            "StringValue" => typed("string"),
            "Struct" => map_of(Map::default()),
            "Timestamp" => typed("string").with("format", "date-time"),
            "UInt32Value" => uint32(),
            "UInt64Value" => uint64(),
            "Value" => Map::default(),
            _ => return None,
        })
    }
}

pub(super) fn double() -> Map {
    typed("number").with("format", "double")
}

pub(super) fn float() -> Map {
    typed("number").with("format", "float")
}

pub(super) fn int32() -> Map {
    typed("integer").with("format", "int32")
}

/// JSON's numbers are doubles to many readers, and have not enough digits.
pub(super) fn int64() -> Map {
    typed("string").with("format", "int64")
}

pub(super) fn uint32() -> Map {
    typed("integer")
        .with("format", "int64")
        .with("minimum", 0_i64)
        .with("maximum", i64::from(u32::MAX))
}

pub(super) fn uint64() -> Map {
    typed("string").with("format", "uint64")
}
