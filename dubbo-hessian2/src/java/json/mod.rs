//! Values as JSON text, the form of calls with `generic=gson` and of consoles (feature `json`).
//!
//! | value | JSON |
//! |---|---|
//! | object | object of its fields, without its class; a constant of an enum is its name |
//! | exception | object with `message`, `cause` and what its class adds |
//! | `BigInteger`, `BigDecimal` | number with all its digits |
//! | `Date`, `java.sql.*`, `Calendar` | ISO 8601 text in UTC, `"2017-07-14T02:40:00.123Z"` |
//! | `java.time.*` | text as Java's `toString` |
//! | `UUID`, `Locale`, `Class`, `Currency`, `URI`, `File`, atomics | what they hold |
//! | `byte[]` | array of numbers from −128 to 127 |
//! | map | object; keys that are no strings are written as theirs would be |
//!
//! Java's gson reads all of these; it writes dates as `Jul 14, 2017, 2:40:00 AM`, which names no zone and is not
//! imitated. Binary is an array because gson reads no Base64. Null fields are written.
//!
//! ```
//! use dubbo_hessian2::{Value, java::json::{from_json, to_json}};
//!
//! let user = Value::object("com.x.User", [("id", 7.into())]);
//! assert_eq!(to_json(&user)?, r#"{"id":7}"#);
//! assert_eq!(from_json(r#"{"id":7}"#)?, Value::map([("id".into(), 7.into())]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod read;

use std::{fmt, fmt::Write as _};

pub use self::read::from_json;
use self::read::is_number;

use super::{
    AtomicBoolean, AtomicInteger, AtomicLong, BigDecimal, BigInteger, Calendar, ClassName,
    Currency, Date, Duration, File, Instant, Locale, MonthDay, OffsetDateTime, OffsetTime, Period,
    SqlDate, Uri, Uuid, Year, YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
    generic::{ClassKey, HANDLES, generalize},
};
use crate::{EncodeError, FromHessian, MAX_DEPTH, Object, Value};

/// `value` as JSON.
///
/// # Errors
///
/// For NaN and infinities, for a `BigInteger` of more than 10,000 digits, for a map whose key is a container, for a value that contains itself or nests deeper than
/// [`MAX_DEPTH`], and for one of more than 64 MiB of text: what is shared is written out each time.
pub fn to_json(value: &Value) -> Result<String, EncodeError> {
    let mut text = String::new();
    write(&mut text, &generalize(value, ClassKey::Omit)?, 0)?;
    Ok(text)
}

fn write(text: &mut String, value: &Value, depth: usize) -> Result<(), EncodeError> {
    if depth == MAX_DEPTH || text.len() > MAX_TEXT {
        return Err(EncodeError::custom(
            "a value that is too deep or too large for JSON",
        ));
    }
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => push(text, value),
        Value::Int(value) => push(text, value),
        Value::Long(value) => push(text, value),
        Value::Double(value) if value.is_finite() => push(text, format_args!("{value:?}")),
        Value::Double(value) => {
            return Err(EncodeError::custom(format!(
                "JSON has no number for {value}"
            )));
        }
        Value::Date(millis) => write_str(text, &Date::from_millis(*millis).to_string()),
        Value::String(value) => write_str(text, value),
        Value::Bytes(bytes) => {
            sequence(text, bytes.iter(), |text, byte| {
                push(text, byte.cast_signed());
                Ok(())
            })?;
        }
        Value::List(list) => {
            sequence(text, list.items(), |text, item| {
                write(text, item, depth + 1)
            })?;
        }
        Value::Map(map) => {
            text.push('{');
            for (index, (key, value)) in map.entries().iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_key(text, key)?;
                text.push(':');
                write(text, value, depth + 1)?;
            }
            text.push('}');
        }
        Value::Object(object) => match scalar(object, value)? {
            Some(Scalar::Plain(plain)) => text.push_str(&plain),
            Some(Scalar::Text(scalar)) => write_str(text, &scalar),
            None => fields(text, object, depth)?,
        },
        Value::Back(_) => {
            return Err(EncodeError::custom(
                "JSON has no form for a value that contains itself",
            ));
        }
    }
    Ok(())
}

/// Objects of Java's own classes that have no other form.
fn fields(text: &mut String, object: &Object, depth: usize) -> Result<(), EncodeError> {
    text.push('{');
    for (index, (name, value)) in object.fields().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_str(text, name);
        text.push(':');
        write(text, value, depth + 1)?;
    }
    text.push('}');
    Ok(())
}

fn sequence<T>(
    text: &mut String,
    items: impl IntoIterator<Item = T>,
    mut item: impl FnMut(&mut String, T) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    text.push('[');
    for (index, next) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        item(text, next)?;
    }
    text.push(']');
    Ok(())
}

fn write_key(text: &mut String, key: &Value) -> Result<(), EncodeError> {
    if let Value::String(key) = key {
        write_str(text, key);
        return Ok(());
    }
    let mut plain = String::new();
    if !matches!(
        key,
        Value::List(_) | Value::Map(_) | Value::Back(_) | Value::Bytes(_)
    ) {
        write(&mut plain, key, 0)?;
    }
    if plain.is_empty() || plain.starts_with('{') {
        let kind = key.kind();
        return Err(EncodeError::custom(format!(
            "a key of a JSON object is no {kind}"
        )));
    }
    if plain.starts_with('"') {
        text.push_str(&plain);
    } else {
        write_str(text, &plain);
    }
    Ok(())
}

fn write_str(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => {
                text.push('\\');
                text.push(character);
            }
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\0'..='\x1f' => push(text, format_args!("\\u{:04x}", u32::from(character))),
            _ => text.push(character),
        }
    }
    text.push('"');
}

fn push(text: &mut String, value: impl fmt::Display) {
    write!(text, "{value}").expect("invariant: a string takes whatever is written to it");
}

enum Scalar {
    /// A number or a boolean.
    Plain(String),
    Text(String),
}

/// What a small object of Java's is in JSON.
fn scalar(object: &Object, value: &Value) -> Result<Option<Scalar>, EncodeError> {
    let number = |text: String| {
        if is_number(&text) {
            Scalar::Plain(text)
        } else {
            Scalar::Text(text)
        }
    };
    let class = object.class();
    let scalar = match class.strip_prefix(HANDLES).unwrap_or(class) {
        "java.math.BigDecimal" => number(text::<BigDecimal>(value)?),
        "java.math.BigInteger" => Scalar::Plain(digits(value)?),
        "java.util.concurrent.atomic.AtomicBoolean" => {
            Scalar::Plain(read::<AtomicBoolean>(value)?.0.to_string())
        }
        "java.util.concurrent.atomic.AtomicInteger" => {
            Scalar::Plain(read::<AtomicInteger>(value)?.0.to_string())
        }
        "java.util.concurrent.atomic.AtomicLong" => {
            Scalar::Plain(read::<AtomicLong>(value)?.0.to_string())
        }
        "CalendarHandle" => Scalar::Text(read::<Calendar>(value)?.date.to_string()),
        "LocaleHandle" => Scalar::Text(text::<Locale>(value)?),
        "java.io.File" => Scalar::Text(text::<File>(value)?),
        "java.lang.Class" => Scalar::Text(text::<ClassName>(value)?),
        "java.net.URI" => Scalar::Text(text::<Uri>(value)?),
        "java.sql.Date" | "java.sql.Time" | "java.sql.Timestamp" => {
            Scalar::Text(text::<SqlDate>(value)?)
        }
        "java.util.Currency" => Scalar::Text(text::<Currency>(value)?),
        "java.util.UUID" => Scalar::Text(text::<Uuid>(value)?),
        "java8.DurationHandle" => Scalar::Text(text::<Duration>(value)?),
        "java8.InstantHandle" => Scalar::Text(text::<Instant>(value)?),
        "java8.MonthDayHandle" => Scalar::Text(text::<MonthDay>(value)?),
        "java8.OffsetDateTimeHandle" => Scalar::Text(text::<OffsetDateTime>(value)?),
        "java8.OffsetTimeHandle" => Scalar::Text(text::<OffsetTime>(value)?),
        "java8.PeriodHandle" => Scalar::Text(text::<Period>(value)?),
        "java8.YearHandle" => Scalar::Text(text::<Year>(value)?),
        "java8.YearMonthHandle" => Scalar::Text(text::<YearMonth>(value)?),
        "java8.ZoneIdHandle" => Scalar::Text(text::<ZoneId>(value)?),
        "java8.ZoneOffsetHandle" => Scalar::Text(text::<ZoneOffset>(value)?),
        "java8.ZonedDateTimeHandle" => Scalar::Text(text::<ZonedDateTime>(value)?),
        _ => return Ok(None),
    };
    Ok(Some(scalar))
}

fn text<T: FromHessian + fmt::Display>(value: &Value) -> Result<String, EncodeError> {
    read::<T>(value).map(|value| value.to_string())
}

fn digits(value: &Value) -> Result<String, EncodeError> {
    let text = read::<BigInteger>(value)?.to_text();
    text.map_err(|error| EncodeError::custom(error.to_string()))
}

fn read<T: FromHessian>(value: &Value) -> Result<T, EncodeError> {
    value
        .to()
        .map_err(|error| EncodeError::custom(error.to_string()))
}

/// Beyond this, a value is taken for one that multiplies by sharing.
const MAX_TEXT: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_gson_reads_them() {
        let big: BigInteger = "123456789012345678901234567890"
            .parse()
            .expect("an integer");
        let decimal: BigDecimal = "100.5494959494355000".parse().expect("a decimal");
        let odd: BigDecimal = "+.5".parse().expect("a decimal");
        let gender = Value::object("com.x.Gender", [("name", "MALE".into())]);
        for (value, json) in [
            (Value::Null, "null"),
            (Value::Bool(true), "true"),
            (Value::Int(-1), "-1"),
            (Value::Long(i64::MAX), "9223372036854775807"),
            (Value::Double(0.5), "0.5"),
            (Value::Double(1e300), "1e300"),
            (
                Value::Date(1_500_000_000_123),
                "\"2017-07-14T02:40:00.123Z\"",
            ),
            ("a\"\\\n\u{1}é😀".into(), "\"a\\\"\\\\\\n\\u0001é😀\""),
            (Value::from(vec![0_u8, 1, 254, 255]), "[0,1,-2,-1]"),
            (
                Value::of(&big).expect("encodes"),
                "123456789012345678901234567890",
            ),
            (
                Value::of(&decimal).expect("encodes"),
                "100.5494959494355000",
            ),
            (Value::of(&odd).expect("encodes"), "\"+.5\""),
            (
                Value::of(&Uuid::default()).expect("encodes"),
                "\"00000000-0000-0000-0000-000000000000\"",
            ),
            (
                Value::of(&Instant::EPOCH).expect("encodes"),
                "\"1970-01-01T00:00:00Z\"",
            ),
            (Value::of(&AtomicBoolean(true)).expect("encodes"), "true"),
            (gender.clone(), "\"MALE\""),
            (
                Value::map([(gender, Value::Int(1)), (Value::Int(2), Value::Null)]),
                "{\"MALE\":1,\"2\":null}",
            ),
            (
                Value::object(
                    "com.x.User",
                    [("name", "u".into()), ("tags", Value::list(["a".into()]))],
                ),
                "{\"name\":\"u\",\"tags\":[\"a\"]}",
            ),
        ] {
            assert_eq!(to_json(&value).expect(json), json);
        }
    }

    #[test]
    fn what_json_cannot_say_is_refused() {
        for value in [
            Value::Double(f64::NAN),
            Value::Double(f64::INFINITY),
            Value::map([(Value::list([]), Value::Null)]),
        ] {
            assert!(to_json(&value).is_err(), "{value:?}");
        }
    }
}
