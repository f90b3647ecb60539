//! The body of a call: who is called, with what, and what travels beside it (`docs/spec/dubbo-protocol.md` §4).

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    payload::{Codec, CodecError, Payload},
};
use dubbo_hessian2::{DecodeOptions, Decoder, Encoder, ToHessian as _, Value, from_slice};

use super::{BodyError, string};
use crate::{
    dubbo::descriptor,
    java::{read_attachments, write_attachments_with},
};

/// What stands before the arguments of every call of one method: written once for all of them.
pub(crate) fn head(path: &str, version: Option<&str>, method: &str, descriptor: &str) -> Bytes {
    let mut encoder = Encoder::new();
    encoder.str(PROTOCOL);
    encoder.str(path);
    match version {
        Some(version) => encoder.str(version),
        None => encoder.null(),
    }
    encoder.str(method);
    encoder.str(descriptor);
    encoder.into_bytes().into()
}

/// Appends a body: the [`head`], the arguments, what `protocol` says as attachments, and then the others in their order.
///
/// The parts are encoded apart. That is the same as one stream, for no string takes a number in a stream, and the
/// attachments are strings in an untyped map.
pub(crate) fn write(
    head: &[u8],
    arguments: &Payload,
    protocol: &[(&str, &str)],
    attachments: &Attachments,
    dst: &mut BytesMut,
) -> Result<(), CodecError> {
    dst.extend_from_slice(head);
    write_arguments(arguments, dst)?;
    let mut encoder = Encoder::new();
    write_attachments_with(protocol, attachments, &mut encoder)
        .map_err(|error| CodecError::encode::<Attachments>(Codec::Hessian2, error))?;
    dst.extend_from_slice(encoder.as_bytes());
    Ok(())
}

/// Appends the arguments as one stream. Those that were encoded each by itself, such as the arguments of a dead letter, are
/// read for it: in one stream classes and objects are numbered through.
fn write_arguments(arguments: &Payload, dst: &mut BytesMut) -> Result<(), CodecError> {
    let refused = match arguments.encode(Codec::Hessian2, dst) {
        Ok(()) => return Ok(()),
        Err(refused) => refused,
    };
    if !matches!(
        refused,
        CodecError::Transcode {
            have: Codec::Hessian2,
            ..
        }
    ) {
        return Err(refused);
    }
    let mut encoder = Encoder::new();
    for value in arguments.encode_values(Codec::Hessian2)? {
        let value: Value = from_slice(&value)
            .map_err(|error| CodecError::decode::<Value>(Codec::Hessian2, error))?;
        value
            .encode(&mut encoder)
            .map_err(|error| CodecError::encode::<Value>(Codec::Hessian2, error))?;
    }
    dst.extend_from_slice(encoder.as_bytes());
    Ok(())
}

/// A call as it came. Strings are those of the body.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The version of the protocol that the caller speaks. It says whether the answer can have attachments:
    /// [`takes_attachments`].
    pub(crate) protocol: Cow<'a, str>,
    /// The path, as the second value of the body; the attachment `path` goes before it.
    pub(crate) path: Cow<'a, str>,
    /// The version of the service, as the third value; the attachment `version` goes before it.
    pub(crate) version: Cow<'a, str>,
    pub(crate) method: Cow<'a, str>,
    /// The types of the arguments, as the JVM writes them.
    pub(crate) descriptor: Cow<'a, str>,
    /// The arguments, one hessian value for each type.
    pub(crate) arguments: Bytes,
    /// Which of them are null.
    pub(crate) nulls: Vec<usize>,
    pub(crate) attachments: Attachments,
}

impl<'a> Request<'a> {
    /// Reads `body` with these options. What is behind the attachments is nobody's.
    ///
    /// # Errors
    ///
    /// It is no request. The arguments are looked through, not read.
    pub(crate) fn read(body: &'a Bytes, options: &'a DecodeOptions) -> Result<Self, BodyError> {
        let decoder = &mut Decoder::with_options(body, options);
        let protocol = string("the protocol version", decoder)?.unwrap_or_default();
        let path = string("the service path", decoder)?.unwrap_or_default();
        let version = string("the service version", decoder)?.unwrap_or_default();
        let method = string("the method name", decoder)?.unwrap_or_default();
        let descriptor = string("the parameter types", decoder)?.unwrap_or_default();
        let count = descriptor::count(&descriptor)?;
        let start = decoder.position();
        let mut nulls = Vec::new();
        for index in 0..count {
            if decoder.remaining().starts_with(b"N") {
                nulls.push(index);
            }
            decoder.skip().map_err(BodyError::at("the arguments"))?;
        }
        let arguments = body.slice(start..decoder.position());
        Ok(Self {
            protocol,
            path,
            version,
            method,
            descriptor,
            arguments,
            nulls,
            attachments: read_attachments(decoder).map_err(BodyError::at("the attachments"))?,
        })
    }
}

/// Whether a caller that speaks this version of the protocol reads attachments in answers: from 2.0.2 to 2.0.99, as Java
/// counts (`docs/spec/dubbo-protocol.md` §5.2).
pub(crate) fn takes_attachments(protocol: &str) -> bool {
    let parts: Vec<&str> = protocol.split('.').collect();
    let number = parts.iter().fold(0_u64, |number, part| {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let part = part[..digits].parse().unwrap_or(0);
        number.saturating_mul(100).saturating_add(part)
    });
    let number = match parts.len() {
        3 => number.saturating_mul(100),
        _ => number,
    };
    (2_000_200..=2_009_900).contains(&number)
}

/// The version of the protocol, not of the framework.
pub(crate) const PROTOCOL: &str = "2.0.2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_version_says_whether_answers_have_attachments() {
        for (version, want) in [
            ("2.0.2", true),
            ("2.0.10", true),
            ("2.0.99", true),
            ("2.0.2.1", true),
            ("2.0.2-SNAPSHOT", true),
            ("2.0.0", false),
            ("2.0.1", false),
            ("2.6.2", false),
            ("2.7.3", false),
            ("3.0.0", false),
            ("2.0", false),
            ("", false),
            ("abc", false),
            ("99999999999999999999.0.0", false),
        ] {
            assert_eq!(takes_attachments(version), want, "{version:?}");
        }
    }
}
