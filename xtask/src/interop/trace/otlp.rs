//! Spans as OTLP has them: the fields of `opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest` that say whose a
//! span is and what it is below.

use std::fmt::{self, Write as _};

/// A span, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// `service.name` of the program that recorded it.
    pub(super) service: String,
    pub(super) kind: Kind,
    pub(super) name: String,
    /// Of the trace, in hexadecimal digits.
    pub(super) trace: String,
    /// Its own, likewise.
    pub(super) id: String,
    /// Of the span that it is below; empty for one that begins a trace.
    pub(super) parent: String,
}

/// Which side of a call a span is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Client,
    Internal,
    Other,
    Server,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Client => "client",
            Self::Internal => "internal",
            Self::Other => "other",
            Self::Server => "server",
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.parent.is_empty() {
            "nothing"
        } else {
            &self.parent
        };
        write!(
            f,
            "{} {} `{}` {} of {} below {below}",
            self.service, self.kind, self.name, self.id, self.trace
        )
    }
}

/// The spans of an export.
///
/// # Errors
///
/// What is wrong with the message.
pub(super) fn spans(message: &[u8]) -> Result<Vec<Span>, Malformed> {
    let mut spans = Vec::new();
    for of_resource in values(message, 1)? {
        let mut service = String::new();
        for resource in values(of_resource, 1)? {
            for attribute in values(resource, 1)? {
                if text(attribute, 1)? == "service.name" {
                    service = match values(attribute, 2)?.first() {
                        Some(value) => text(value, 1)?,
                        None => String::new(),
                    };
                }
            }
        }
        for scope in values(of_resource, 2)? {
            for span in values(scope, 2)? {
                spans.push(read(span, &service)?);
            }
        }
    }
    Ok(spans)
}

fn read(span: &[u8], service: &str) -> Result<Span, Malformed> {
    let mut kind = Kind::Other;
    for field in Fields(span) {
        if let (6, Value::Number(number)) = field? {
            kind = match number {
                1 => Kind::Internal,
                2 => Kind::Server,
                3 => Kind::Client,
                _ => Kind::Other,
            };
        }
    }
    Ok(Span {
        service: service.to_owned(),
        kind,
        name: text(span, 5)?,
        trace: id(span, 1)?,
        id: id(span, 2)?,
        parent: id(span, 4)?,
    })
}

/// The values of all fields `number` that have a length.
fn values(message: &[u8], number: u64) -> Result<Vec<&[u8]>, Malformed> {
    let mut found = Vec::new();
    for field in Fields(message) {
        match field? {
            (of, Value::Bytes(bytes)) if of == number => found.push(bytes),
            _ => {}
        }
    }
    Ok(found)
}

/// The text in field `number`; empty where there is none.
fn text(message: &[u8], number: u64) -> Result<String, Malformed> {
    let bytes = values(message, number)?.pop().unwrap_or_default();
    String::from_utf8(bytes.to_vec()).map_err(|_| Malformed("a text is not UTF-8"))
}

/// The bytes of field `number` in hexadecimal digits.
fn id(message: &[u8], number: u64) -> Result<String, Malformed> {
    let mut digits = String::new();
    for byte in values(message, number)?.pop().unwrap_or_default() {
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}

/// Why a message cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(&'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The rest of a message of protobuf, field by field.
struct Fields<'a>(&'a [u8]);

/// What a field has, as the wire tells it.
enum Value<'a> {
    /// A text, some bytes or a message.
    Bytes(&'a [u8]),
    /// One of fixed length.
    Fixed,
    Number(u64),
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let key = self.number()?;
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => self.take(8).map(|_| Value::Fixed)?,
            2 => {
                let length = self.number()?;
                Value::Bytes(self.take(usize::try_from(length).unwrap_or(usize::MAX))?)
            }
            5 => self.take(4).map(|_| Value::Fixed)?,
            _ => return Err(Malformed("a field has a type that is none")),
        };
        Ok((key >> 3, value))
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Malformed("a number is too long"))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let cut = Malformed("the message is cut");
        let (taken, rest) = self.0.split_at_checked(length).ok_or(cut)?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a length.
    fn field(number: u8, value: &[u8]) -> Vec<u8> {
        let length = u8::try_from(value.len()).expect("short");
        [&[number << 3 | 2, length], value].concat()
    }

    fn export() -> Vec<u8> {
        let value = field(1, b"shop");
        let attribute = [field(1, b"service.name"), field(2, &value)].concat();
        let other = [field(1, b"host"), field(2, &field(1, b"h"))].concat();
        let resource = [field(1, &other), field(1, &attribute)].concat();
        let span = [
            field(1, &[0xab; 16]),
            field(2, &[0x01; 8]),
            field(4, &[0x02; 8]),
            field(5, b"greet"),
            vec![6 << 3, 2],
            // The time of its start.
            [&[7 << 3 | 1][..], &[9; 8]].concat(),
        ]
        .concat();
        let scope = [field(1, &field(1, b"dubbo")), field(2, &span)].concat();
        // Spans may come before whose they are.
        field(1, &[field(2, &scope), field(1, &resource)].concat())
    }

    #[test]
    fn spans_are_read_with_whose_they_are() {
        let span = Span {
            service: "shop".to_owned(),
            kind: Kind::Server,
            name: "greet".to_owned(),
            trace: "ab".repeat(16),
            id: "01".repeat(8),
            parent: "02".repeat(8),
        };
        assert_eq!(spans(&export()), Ok(vec![span.clone()]));
        let two = [export(), export()].concat();
        assert_eq!(spans(&two), Ok(vec![span.clone(), span]));
        assert_eq!(spans(&[]), Ok(Vec::new()));
    }

    #[test]
    fn what_is_cut_or_no_protobuf_is_refused() {
        let whole = export();
        for length in 1..whole.len() {
            assert!(spans(&whole[..length]).is_err(), "{length}");
        }
        for message in [&[0xff; 11][..], &[1 << 3 | 3], &[1 << 3 | 2, 0xff, 0x7f]] {
            assert!(spans(message).is_err(), "{message:?}");
        }
    }
}
