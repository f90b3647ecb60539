//! Java values as text.

use std::{any::Any, borrow::Cow, sync::Arc};

use dubbo_hessian2::Value;

/// A value as Java's `String.valueOf` writes it, where it is a string, a number, a truth value, a character or null; in a
/// [`Value`] or an `Option`, too. Floating-point numbers from 10⁷ on and below 10⁻³, which Java writes with an exponent, are
/// written without one. `None` for all others.
pub(super) fn of(value: &dyn Any) -> Option<Cow<'_, str>> {
    if let Some(value) = value.downcast_ref::<Value>() {
        return of_value(value);
    }
    borrowed(value).map(Cow::Borrowed).or_else(|| {
        let written = OWNED.iter().find_map(|write| write(value))?;
        Some(Cow::Owned(written))
    })
}

fn of_value(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => NULL.into(),
        Value::String(text) => Cow::Borrowed(text),
        Value::Bool(value) => value.to_string().into(),
        Value::Int(value) => value.to_string().into(),
        Value::Long(value) => value.to_string().into(),
        Value::Double(value) => floating(*value).into(),
        _ => return None,
    })
}

fn borrowed(value: &dyn Any) -> Option<&str> {
    fn optional<T: AsRef<str> + 'static>(value: &dyn Any) -> Option<&str> {
        if let Some(text) = value.downcast_ref::<T>() {
            return Some(text.as_ref());
        }
        let text = value.downcast_ref::<Option<T>>()?;
        Some(text.as_ref().map_or(NULL, AsRef::as_ref))
    }
    optional::<String>(value)
        .or_else(|| optional::<Arc<str>>(value))
        .or_else(|| optional::<Box<str>>(value))
        .or_else(|| optional::<&'static str>(value))
        .or_else(|| optional::<Cow<'static, str>>(value))
}

type Write = fn(&dyn Any) -> Option<String>;

const OWNED: [Write; 8] = [
    |value| optional::<i32>(value, i32::to_string),
    |value| optional::<i64>(value, i64::to_string),
    |value| optional::<bool>(value, bool::to_string),
    |value| optional::<i16>(value, i16::to_string),
    |value| optional::<i8>(value, i8::to_string),
    |value| optional::<f64>(value, |it| floating(*it)),
    |value| optional::<f32>(value, |it| floating(*it)),
    |value| optional::<char>(value, char::to_string),
];

fn optional<T: 'static>(value: &dyn Any, write: fn(&T) -> String) -> Option<String> {
    if let Some(value) = value.downcast_ref::<T>() {
        return Some(write(value));
    }
    let value = value.downcast_ref::<Option<T>>()?;
    Some(value.as_ref().map_or_else(|| NULL.to_owned(), write))
}

/// With a point, and `NaN` and `Infinity` as Java spells them.
fn floating(value: impl std::fmt::Display + Into<f64> + Copy) -> String {
    let wide: f64 = value.into();
    if wide.is_infinite() {
        return if wide > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let text = value.to_string();
    if wide.is_nan() || text.contains('.') {
        text
    } else {
        text + ".0"
    }
}

const NULL: &str = "null";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_numbers_and_truth_values_are_as_java_writes_them() {
        let values: [(&dyn Any, Option<&str>); 21] = [
            (&"a".to_owned(), Some("a")),
            (&Some("a".to_owned()), Some("a")),
            (&None::<String>, Some("null")),
            (&Arc::<str>::from("b"), Some("b")),
            (&"c", Some("c")),
            (&Cow::Borrowed("d"), Some("d")),
            (&-7_i32, Some("-7")),
            (&Some(7_i64), Some("7")),
            (&None::<i64>, Some("null")),
            (&true, Some("true")),
            (&'x', Some("x")),
            (&1.0_f64, Some("1.0")),
            (&0.1_f32, Some("0.1")),
            (&f64::NEG_INFINITY, Some("-Infinity")),
            (&f64::NAN, Some("NaN")),
            (&Value::Null, Some("null")),
            (&Value::from("e"), Some("e")),
            (&Value::Long(9), Some("9")),
            (&Value::Double(2.5), Some("2.5")),
            (&Value::list([1.into()]), None),
            (&vec!["a".to_owned()], None),
        ];
        for (at, (value, want)) in values.into_iter().enumerate() {
            assert_eq!(of(value).as_deref(), want, "value {at}");
        }
    }
}
