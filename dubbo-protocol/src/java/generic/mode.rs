//! In what form the values of a generic call travel.

use std::{fmt, str::FromStr};

/// In what form the values of a generic call travel (`docs/spec/dubbo-protocol.md` §13.2): the attachment `generic`.
///
/// [`Map`](Self::Map) works with every peer. A Java provider knows them all, but 3.3.6 can send no
/// [`Bean`](Self::Bean) unless its allow list is extended; dubbo-go 3.3.2 has no [`RawReturn`](Self::RawReturn), and its
/// other modes take and give objects only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum GenericMode {
    /// `bean`: every value is a `JavaBeanDescriptor` that names its class.
    Bean,
    /// `gson`: every value is JSON text.
    Gson,
    /// `true`: objects are maps of their fields, with their class under `class`; enums are names.
    #[default]
    Map,
    /// `protobuf-json`: for services with an IDL; the one message each way is JSON text.
    ProtobufJson,
    /// `raw.return`: arguments as with `true`, and the result is what the method returns.
    RawReturn,
}

impl GenericMode {
    /// The value of the attachment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bean => "bean",
            Self::Gson => "gson",
            Self::Map => "true",
            Self::ProtobufJson => "protobuf-json",
            Self::RawReturn => "raw.return",
        }
    }
}

impl fmt::Display for GenericMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GenericMode {
    type Err = UnknownGenericMode;

    /// In any case of the letters, as Java; the empty text is `true`.
    fn from_str(text: &str) -> Result<Self, UnknownGenericMode> {
        if text.is_empty() {
            return Ok(Self::Map);
        }
        MODES
            .into_iter()
            .find(|mode| mode.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownGenericMode(text.to_owned()))
    }
}

/// A mode of generic calls that there is not, or not here.
///
/// `nativejava` is one on purpose: what Java's own serialization reads is what the sender wants to run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "generic calls with generic={0} are not supported; use true, gson, bean, protobuf-json or raw.return"
)]
pub struct UnknownGenericMode(String);

const MODES: [GenericMode; 5] = [
    GenericMode::Bean,
    GenericMode::Gson,
    GenericMode::Map,
    GenericMode::ProtobufJson,
    GenericMode::RawReturn,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_read_what_they_write_and_others_are_refused_by_name() {
        for mode in MODES {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(mode.name().to_uppercase().parse(), Ok(mode));
        }
        assert_eq!("".parse(), Ok(GenericMode::Map));
        for name in ["nativejava", "false", "protobuf", "json"] {
            let error = name.parse::<GenericMode>().expect_err(name).to_string();
            assert!(error.contains(&format!("generic={name} ")), "{error}");
            assert!(
                error.contains("use true, gson, bean, protobuf-json or raw.return"),
                "{error}"
            );
        }
    }
}
