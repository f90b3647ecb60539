//! What a value is, told by its first byte (`docs/spec/hessian2.md` §1).

use std::fmt;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Java's null.
    Null,
    /// `boolean`.
    Bool,
    /// `int`, `short` or `byte`.
    Int,
    /// `long`.
    Long,
    /// `double` or `float`.
    Double,
    /// `java.util.Date`.
    Date,
    /// `String`, `char` or `char[]`.
    String,
    /// `byte[]`.
    Bytes,
    /// An array or a collection.
    List,
    /// A map.
    Map,
    /// An object of a class, an enum's constant too.
    Object,
}

impl Kind {
    /// The kind of the value that starts with `lead`; none for bytes that start no value.
    pub(super) fn of_lead(lead: u8) -> Option<Self> {
        Some(match lead {
            0x00..=0x1f | 0x30..=0x33 | b'R' | b'S' => Self::String,
            0x20..=0x2f | 0x34..=0x37 | b'A' | b'B' => Self::Bytes,
            0x38..=0x3f | b'L' | b'Y' | 0xd8..=0xff => Self::Long,
            b'D' | 0x5b..=0x5f => Self::Double,
            b'F' | b'T' => Self::Bool,
            b'H' | b'M' => Self::Map,
            b'I' | 0x80..=0xd7 => Self::Int,
            0x4a | 0x4b => Self::Date,
            b'N' => Self::Null,
            b'O' | 0x60..=0x6f => Self::Object,
            b'U'..=b'X' | 0x70..=0x7f => Self::List,
            _ => return None,
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Int => "an int",
            Self::Long => "a long",
            Self::Double => "a double",
            Self::Date => "a date",
            Self::String => "a string",
            Self::Bytes => "binary",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Object => "an object",
        })
    }
}
