//! The message that carries hessian values over Triple (`docs/spec/triple.md` §7.1).
//!
//! `TripleRequestWrapper` and `TripleResponseWrapper` have the same fields, and dubbo-go answers with the former, so one
//! type reads and writes both. It is read as Dubbo Java does: a field that it does not have is an error, because then the
//! caller means an ordinary protobuf method.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::encoding::WireType;

/// Values with the names of their types, and how they are encoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wrapper {
    /// `serializeType`; empty when it is missing.
    pub(crate) serialize_type: Bytes,
    /// `args`, or the one `data`.
    pub(crate) values: Vec<Bytes>,
    /// `argTypes`, or the one `type`, as Java names them.
    pub(crate) types: Vec<Bytes>,
}

impl Wrapper {
    /// Reads one from all of `message`. Its values are slices of it.
    ///
    /// # Errors
    ///
    /// It is another message, or broken.
    pub(crate) fn read(mut message: Bytes) -> Result<Self, NoWrapper> {
        let mut wrapper = Self::default();
        while message.has_remaining() {
            let tag = varint(&mut message)?;
            let (field, wire_type) = (tag >> 3, tag & 7);
            if wire_type != LENGTH_DELIMITED || !(1..=3).contains(&field) {
                return Err(NoWrapper::Field { field, wire_type });
            }
            let len = varint(&mut message)?;
            let value = usize::try_from(len)
                .ok()
                .filter(|len| *len <= message.len())
                .map(|len| message.split_to(len))
                .ok_or(NoWrapper::Truncated)?;
            match field {
                1 => wrapper.serialize_type = value,
                2 => wrapper.values.push(value),
                _ => wrapper.types.push(value),
            }
        }
        Ok(wrapper)
    }
}

/// Writes one with `values`, whose types are `types`.
pub(crate) fn write<'a>(
    serialize_type: &str,
    values: impl IntoIterator<Item = &'a [u8]>,
    types: impl IntoIterator<Item = &'a str>,
    out: &mut BytesMut,
) {
    write_field(1, serialize_type.as_bytes(), out);
    for value in values {
        write_field(2, value, out);
    }
    for name in types {
        write_field(3, name.as_bytes(), out);
    }
}

fn write_field(field: u32, value: &[u8], out: &mut BytesMut) {
    out.reserve(value.len() + 1 + LONGEST_VARINT);
    prost::encoding::encode_key(field, WireType::LengthDelimited, out);
    prost::encoding::encode_varint(value.len() as u64, out);
    out.put_slice(value);
}

fn varint(message: &mut Bytes) -> Result<u64, NoWrapper> {
    let rest = message.len();
    prost::encoding::decode_varint(message).map_err(|_| {
        if rest < LONGEST_VARINT {
            NoWrapper::Truncated
        } else {
            NoWrapper::Varint
        }
    })
}

/// Why a message is no wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoWrapper {
    #[error("it has a field {field} of wire type {wire_type}, as an ordinary protobuf message may")]
    Field { field: u64, wire_type: u64 },
    #[error("it ends within a field")]
    Truncated,
    #[error("it has a number that is too long")]
    Varint,
}

const LENGTH_DELIMITED: u64 = 2;
const LONGEST_VARINT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &'static [u8]) -> Result<Wrapper, NoWrapper> {
        Wrapper::read(Bytes::from_static(bytes))
    }

    #[test]
    fn what_java_and_go_write_is_read_and_written_alike() {
        let written: &[u8] =
            b"\x0a\x08hessian4\x12\x03\x0275\x12\x01N\x1a\x10java.lang.String\x1a\x03int";
        let wrapper = read(written).expect("a wrapper");
        assert_eq!(wrapper.serialize_type, "hessian4");
        assert_eq!(wrapper.values, [&b"\x0275"[..], b"N"]);
        assert_eq!(wrapper.types, [&b"java.lang.String"[..], b"int"]);
        let mut out = BytesMut::new();
        let values = wrapper.values.iter().map(|value| &value[..]);
        write("hessian4", values, ["java.lang.String", "int"], &mut out);
        assert_eq!(out, written);
        let long = vec![7; 70_000];
        let mut out = BytesMut::new();
        write("hessian2", [&long[..]], [], &mut out);
        let wrapper = Wrapper::read(out.freeze()).expect("a wrapper");
        assert_eq!(wrapper.values, [&long[..]]);
    }

    #[test]
    fn other_messages_are_no_wrappers() {
        for (bytes, want) in [
            (
                &b"\x22\x01a"[..],
                NoWrapper::Field {
                    field: 4,
                    wire_type: 2,
                },
            ),
            (
                b"\x08\x01",
                NoWrapper::Field {
                    field: 1,
                    wire_type: 0,
                },
            ),
            (b"\x12\x05abc", NoWrapper::Truncated),
            (b"\x12", NoWrapper::Truncated),
            (b"\x12\xff\xff\xff\xff\x7f", NoWrapper::Truncated),
            (
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                NoWrapper::Varint,
            ),
        ] {
            assert_eq!(read(bytes), Err(want), "{bytes:?}");
        }
        assert_eq!(read(b""), Ok(Wrapper::default()));
    }
}
