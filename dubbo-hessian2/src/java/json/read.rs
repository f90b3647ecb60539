//! Reading JSON text.
//!
//! By hand, because `serde_json` makes a double of a number before anybody can ask for its digits, unless its feature
//! `arbitrary_precision` changes it for the whole program or each value is read once more for each level around it, as
//! `raw_value`.

use std::{borrow::Cow, sync::LazyLock};

use crate::{Class, DecodeError, Limits, Object, Value, java::BigInteger};

/// The value that a JSON text means: untyped maps and lists, strings, and numbers that lose nothing.
///
/// A number is an `int` or a `long` where it fits, and a `double` if that is the number: `0.1`, `1.0`, `1e300`.
/// `BigInteger` and `BigDecimal` are for all others: more digits than a double has, `100.10`, which is another
/// `BigDecimal` than `100.1`, and `1E+5`, as only `BigDecimal` is written. Whoever asks for a plain number gets one from
/// these as well.
///
/// # Errors
///
/// For text that is no JSON, nests deeper than 128 or has more than a million values, and for an integer of more than
/// 10,000 digits.
pub fn from_json(text: &str) -> Result<Value, DecodeError> {
    let mut reader = Reader {
        text,
        position: 0,
        depth: 0,
        values: 0,
    };
    let value = reader.value()?;
    match reader.next() {
        None => Ok(value),
        Some(_) => Err(reader.error("the text goes on behind its value")),
    }
}

/// Whether JSON has this number. Java's `BigDecimal` also takes `+1`, `.5`, `1.` and `01`.
pub(super) fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && digits(fraction)
        && digits(exponent)
}

struct Reader<'t> {
    text: &'t str,
    position: usize,
    depth: usize,
    values: usize,
}

impl<'t> Reader<'t> {
    fn value(&mut self) -> Result<Value, DecodeError> {
        self.values += 1;
        if self.values > Limits::DEFAULT.nodes {
            return Err(self.error(format!("more than {} values", Limits::DEFAULT.nodes)));
        }
        match self.next() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(self.string()?.into()),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Value, DecodeError>,
    ) -> Result<Value, DecodeError> {
        if self.depth == Limits::DEFAULT.depth {
            let text = format!("more than {} levels of arrays and objects", self.depth);
            return Err(self.error(text));
        }
        self.depth += 1;
        self.position += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, DecodeError> {
        let mut items = Vec::new();
        while self.continues(b']', items.is_empty())? {
            items.push(self.value()?);
        }
        Ok(Value::list(items))
    }

    fn object(&mut self) -> Result<Value, DecodeError> {
        let mut entries = Vec::new();
        while self.continues(b'}', entries.is_empty())? {
            if self.next() != Some(b'"') {
                return Err(self.error("expected a key in quotes"));
            }
            let key = self.string()?;
            if self.next() != Some(b':') {
                return Err(self.error("expected `:` behind a key"));
            }
            self.position += 1;
            entries.push((key.into(), self.value()?));
        }
        Ok(Value::map(entries))
    }

    /// Whether another element follows; what ends or separates them is read.
    fn continues(&mut self, end: u8, first: bool) -> Result<bool, DecodeError> {
        let next = self.next();
        let separated = !first && next == Some(b',');
        if next == Some(end) || separated {
            self.position += 1;
        } else if !first {
            let end = char::from(end);
            return Err(self.error(format!("expected `,` or `{end}`")));
        }
        Ok(next != Some(end))
    }

    fn word(&mut self) -> Result<Value, DecodeError> {
        let rest = self.rest();
        let words = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ];
        match words.into_iter().find(|(word, _)| rest.starts_with(word)) {
            Some((word, value)) => {
                self.position += word.len();
                Ok(value)
            }
            None => Err(self.error("expected a value")),
        }
    }

    fn number(&mut self) -> Result<Value, DecodeError> {
        let rest = self.rest();
        let end = rest
            .find(|character: char| !matches!(character, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let text = &rest[..end.unwrap_or(rest.len())];
        if !is_number(text) {
            return Err(self.error("expected a number"));
        }
        let value = number(text).map_err(|error| self.error(error))?;
        self.position += text.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<Cow<'t, str>, DecodeError> {
        self.position += 1;
        let mut unescaped = String::new();
        loop {
            let rest = self.rest();
            let special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let end = rest.bytes().position(special).unwrap_or(rest.len());
            let plain = &rest[..end];
            self.position += end;
            match rest.as_bytes().get(end) {
                Some(b'"') => {
                    self.position += 1;
                    if unescaped.is_empty() {
                        return Ok(plain.into());
                    }
                    unescaped.push_str(plain);
                    return Ok(unescaped.into());
                }
                Some(b'\\') => {
                    unescaped.push_str(plain);
                    unescaped.push(self.escaped()?);
                }
                Some(_) => return Err(self.error("a control character that is not escaped")),
                None => return Err(self.error("a string does not end")),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, DecodeError> {
        let character = match self.rest().as_bytes().get(1) {
            Some(b'u') => return self.escaped_units(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(*plain),
            _ => return Err(self.error("no escape of JSON")),
        };
        self.position += 2;
        Ok(character)
    }

    /// A character as UTF-16: one unit, or two.
    fn escaped_units(&mut self) -> Result<char, DecodeError> {
        let start = self.position;
        let first = self.unit()?;
        let pair = matches!(first, 0xd800..=0xdbff) && self.rest().starts_with("\\u");
        let second = if pair { Some(self.unit()?) } else { None };
        let mut characters = char::decode_utf16([first].into_iter().chain(second));
        if let (Some(Ok(character)), None) = (characters.next(), characters.next()) {
            return Ok(character);
        }
        self.position = start;
        Err(self.error("half of a surrogate pair"))
    }

    fn unit(&mut self) -> Result<u16, DecodeError> {
        let hex = self.rest().get(2..6);
        let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex.and_then(|hex| u16::from_str_radix(hex, 16).ok()) {
            Some(unit) => {
                self.position += 6;
                Ok(unit)
            }
            None => Err(self.error("expected `\\u` and four digits")),
        }
    }

    /// The next byte behind white space, which stays there.
    fn next(&mut self) -> Option<u8> {
        let rest = self.rest().bytes();
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.position += rest.take_while(blank).count();
        self.text.as_bytes().get(self.position).copied()
    }

    /// Where a reader stands is always between characters.
    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    #[cold]
    fn error(&self, what: impl std::fmt::Display) -> DecodeError {
        DecodeError::custom(format!("no JSON: {what}, at byte {}", self.position))
    }
}

/// The value of a number of JSON.
fn number(text: &str) -> Result<Value, String> {
    if text != "-0" && !text.contains(['.', 'e', 'E']) {
        if let Ok(long) = text.parse::<i64>() {
            return Ok(i32::try_from(long).map_or(Value::Long(long), Value::Int));
        }
        let big: BigInteger = text.parse().map_err(|error| format!("{error}"))?;
        return Value::of(&big).map_err(|error| error.to_string());
    }
    match text.parse::<f64>() {
        Ok(double) if is_double(text, double) => Ok(Value::Double(double)),
        _ => {
            static CLASS: LazyLock<Class> =
                LazyLock::new(|| Class::new("java.math.BigDecimal", ["value"]));
            if let Err(error) = text.parse::<crate::java::BigDecimal>() {
                return Err(error.to_string());
            }
            Ok(Object::new(CLASS.clone(), vec![text.into()]).into())
        }
    }
}

/// Whether a double says all that the text does.
fn is_double(text: &str, double: f64) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    let fraction = mantissa
        .split_once('.')
        .map_or("0", |(_, fraction)| fraction);
    text.len() <= LONGEST_DOUBLE
        && !text.contains("E+")
        && (fraction == "0" || !fraction.ends_with('0'))
        && parts(text) == parts(&format!("{double:e}"))
}

/// The digits of a number without zeros around them, and the power of ten of the last one. None for infinities.
fn parts(text: &str) -> Option<(String, i64)> {
    let unsigned = text.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.trim_start_matches('0').is_empty() {
        return Some((String::new(), 0));
    }
    let power = i64::try_from(digits.len() - significant.len()).ok()?
        - i64::try_from(fraction.len()).ok()?;
    let significant = significant.trim_start_matches('0').to_owned();
    Some((significant, exponent.checked_add(power)?))
}

/// A double has 17 digits at most; the rest is for a sign, a point, zeros and an exponent.
const LONGEST_DOUBLE: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::java::{BigDecimal, json::to_json};

    fn read(text: &str) -> Value {
        from_json(text).expect(text)
    }

    #[test]
    fn json_becomes_untyped_values_in_its_order() {
        let text = " {\"b\" : [1, 2147483648,\t0.5,\"x\",null,true,false] ,\n\"a\":{},\"\":[]}\r\n";
        let list = [
            1.into(),
            2_147_483_648_i64.into(),
            0.5.into(),
            "x".into(),
            Value::Null,
            true.into(),
            false.into(),
        ];
        let expected = Value::map([
            ("b".into(), Value::list(list)),
            ("a".into(), Value::map([])),
            ("".into(), Value::list([])),
        ]);
        assert_eq!(read(text), expected);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,1]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "nul",
            "nulL",
            "1 2",
            "truefalse",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\u0041\"",
            "\"\\ude00\"",
            "\"\n\"",
            "01",
            "-",
            "+1",
            ".5",
            "1.",
            "1.e1",
            "1e",
            "1e+",
            "--1",
            "1-1",
            "NaN",
            "Infinity",
            "'a'",
            "\u{feff}1",
            "\"\\é\"",
        ] {
            let error = from_json(text).expect_err(text).to_string();
            assert!(
                error.starts_with("no JSON: ") && error.contains("at byte"),
                "{error}"
            );
            assert!(
                serde_json::from_str::<serde_json::Value>(text).is_err(),
                "{text}"
            );
        }
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(from_json(&nested(Limits::DEFAULT.depth)).is_ok());
        let error = from_json(&nested(100_000))
            .expect_err("too deep")
            .to_string();
        assert!(error.contains("more than 128 levels"), "{error}");
        let many = format!("[{}0]", "0,".repeat(Limits::DEFAULT.nodes));
        assert!(from_json(&many).is_err());
    }

    #[test]
    fn strings_are_what_others_read() {
        for text in [
            r#""""#,
            r#""a\"\\\/\b\f\n\r\tz""#,
            r#""\u0041\u00e9\u4e2d\ud83d\uDE00\u0000""#,
            "\"é中😀\\n😀\"",
        ] {
            let expected: String = serde_json::from_str(text).expect(text);
            assert_eq!(read(text), expected.into());
        }
    }

    #[test]
    fn numbers_keep_what_they_say() {
        for (text, expected) in [
            ("0", Value::Int(0)),
            ("-2147483648", Value::Int(i32::MIN)),
            ("2147483648", Value::Long(2_147_483_648)),
            ("-9223372036854775808", Value::Long(i64::MIN)),
            ("-0", Value::Double(-0.0)),
            ("1.0", Value::Double(1.0)),
            ("-0.1", Value::Double(-0.1)),
            ("0.0000001", Value::Double(1e-7)),
            ("1e300", Value::Double(1e300)),
            ("1.0E10", Value::Double(1e10)),
            ("1.7976931348623157e308", Value::Double(f64::MAX)),
            ("5e-324", Value::Double(5e-324)),
            ("0.0", Value::Double(0.0)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for text in [
            "1234567890.12345678901234567890",
            "100.10",
            "0.00",
            "1E+400",
            "1E+5",
            "-1e-400",
            "0.1000000000000000055511151231257827021181583404541015625",
            "12345678901234567.89",
            "18446744073709551616.0",
        ] {
            let value = read(text);
            let class = value.as_object().map(Object::class);
            assert_eq!(class, Some("java.math.BigDecimal"), "{text}");
            assert_eq!(value.to::<BigDecimal>().expect(text).as_str(), text);
            assert_eq!(to_json(&value).expect(text), text);
        }
        for text in [
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551617",
            "123456789012345678901234567890",
        ] {
            let value = read(text);
            assert_eq!(value.to::<BigInteger>().expect(text).to_string(), text);
            assert_eq!(value.to::<BigDecimal>().expect(text).as_str(), text);
            assert_eq!(to_json(&value).expect(text), text);
        }
        for text in ["1e99999999999", &"9".repeat(10_001)] {
            from_json(text).expect_err("no number of Java's is that large");
        }
    }

    #[test]
    fn every_number_is_a_plain_one_for_whoever_asks() {
        for (text, double) in [
            ("5", 5.0_f64),
            ("1.0", 1.0),
            ("100.10", 100.1),
            ("1E+5", 1e5),
            ("12345678901234567.89", 12_345_678_901_234_567.89),
            ("18446744073709551616", 18_446_744_073_709_551_616.0),
        ] {
            let read = read(text).to::<f64>().expect(text);
            assert_eq!(read.to_bits(), double.to_bits(), "{text}");
        }
        for (text, long) in [
            ("5", 5),
            ("1.0", 1),
            ("1.00", 1),
            ("1E+5", 100_000),
            ("-120E-1", -12),
            ("9007199254740993.00", 9_007_199_254_740_993),
        ] {
            assert_eq!(read(text).to::<i64>().expect(text), long);
        }
        for text in [
            "1.50",
            "9007199254740993.5",
            "9223372036854775808",
            "1E+400",
        ] {
            let error = read(text).to::<i64>().expect_err(text).to_string();
            assert!(error.contains("does not fit into long"), "{error}");
        }
        assert!(read("1E+400").to::<f64>().is_err());
        assert!(read("2147483648.00").to::<i32>().is_err());
    }
}
