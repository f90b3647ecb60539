//! The body of an answer (`docs/spec/dubbo-protocol.md` §5; §3 for those that are only a text).

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    payload::{Codec, CodecError, Payload},
};
use dubbo_hessian2::{
    DecodeOptions, Decoder, Encoder, FromHessian as _, ToHessian as _, java::Throwable,
};

use super::{BodyError, request::PROTOCOL, string};
use crate::{
    java::{read_attachments, write_attachments_with},
    reject::CLOSING,
};

/// What an answer with status 20 says.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) outcome: Outcome,
    pub(crate) attachments: Attachments,
}

/// How a call ended that was done.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The handler threw.
    Exception(Throwable),
    /// The result: one hessian value, and null for a method without.
    Value(Bytes),
}

impl Response {
    /// Reads `body` with these options. What is behind the last value is nobody's: dubbo-go puts a null there.
    ///
    /// When it fails to encode a result it leaves the value out and goes on with the attachments. They are the value then,
    /// and the null is the attachments.
    pub(crate) fn read(body: &Bytes, options: &DecodeOptions) -> Result<Self, BodyError> {
        let decoder = &mut Decoder::with_options(body, options);
        let number = decoder
            .int()
            .map_err(BodyError::at("the type of the response"))?;
        let kind = u8::try_from(number).map_err(|_| BodyError::Type(number))?;
        let outcome = match kind {
            EXCEPTION | EXCEPTION_WITH_ATTACHMENTS => {
                let thrown = Throwable::decode(decoder).map_err(BodyError::at("the exception"))?;
                Outcome::Exception(thrown)
            }
            VALUE | VALUE_WITH_ATTACHMENTS => {
                let start = decoder.position();
                decoder.skip().map_err(BodyError::at("the result"))?;
                Outcome::Value(body.slice(start..decoder.position()))
            }
            NULL | NULL_WITH_ATTACHMENTS => Outcome::Value(Bytes::from_static(NULL_VALUE)),
            _ => return Err(BodyError::Type(number)),
        };
        let attachments = match kind {
            EXCEPTION_WITH_ATTACHMENTS | VALUE_WITH_ATTACHMENTS | NULL_WITH_ATTACHMENTS => {
                read_attachments(decoder).map_err(BodyError::at("the attachments"))?
            }
            _ => Attachments::new(),
        };
        Ok(Self {
            outcome,
            attachments,
        })
    }
}

/// Takes out what only the server at the other end of this connection may say: who passes an answer on is not closing
/// because the one that it asked is. Whether that one was.
pub(crate) fn take_own(attachments: &mut Attachments) -> bool {
    let is_closing = attachments.get(CLOSING) == Some("true");
    attachments.retain(|name| {
        let own = |own: &&str| own.eq_ignore_ascii_case(name);
        !OWN_ATTACHMENTS.iter().any(own)
    });
    is_closing
}

/// Reads the body of an answer with another status than 20: a text, or null.
pub(crate) fn read_text(body: &Bytes) -> Result<Option<String>, BodyError> {
    let text = string("the text of the error", &mut Decoder::new(body))?;
    Ok(text.map(std::borrow::Cow::into_owned))
}

/// Appends the body of an answer with a result; null and no result are the same. The version of the protocol goes along
/// with the attachments; `None` writes neither, for callers that [would not read them](super::request::takes_attachments).
pub(crate) fn write_value(
    result: &Payload,
    attachments: Option<&Attachments>,
    dst: &mut BytesMut,
) -> Result<(), CodecError> {
    // With room for the attachments: a long result is not moved for them.
    dst.reserve(result.encoded_len(Codec::Hessian2).unwrap_or(0) + BESIDE);
    let start = dst.len();
    dst.extend_from_slice(&[of_type(VALUE, attachments)]);
    result.encode(Codec::Hessian2, dst)?;
    if matches!(&dst[start + 1..], [] | NULL_VALUE) {
        dst.truncate(start);
        dst.extend_from_slice(&[of_type(NULL, attachments)]);
    }
    append(attachments, dst)
}

/// Appends the body of an answer with an exception.
pub(crate) fn write_exception(
    thrown: &Throwable,
    attachments: Option<&Attachments>,
    dst: &mut BytesMut,
) -> Result<(), CodecError> {
    let mut encoder = Encoder::new();
    thrown
        .encode(&mut encoder)
        .map_err(|error| CodecError::encode::<Throwable>(Codec::Hessian2, error))?;
    dst.extend_from_slice(&[of_type(EXCEPTION, attachments)]);
    dst.extend_from_slice(encoder.as_bytes());
    append(attachments, dst)
}

/// Appends the body of an answer with another status than 20. dubbo-go needs a text, even an empty one.
pub(crate) fn write_text(text: &str, dst: &mut BytesMut) {
    let mut encoder = Encoder::new();
    encoder.str(text);
    dst.extend_from_slice(encoder.as_bytes());
}

/// The byte of a type: a hessian int.
fn of_type(kind: u8, attachments: Option<&Attachments>) -> u8 {
    match attachments {
        Some(_) => INT_ZERO + kind + WITH_ATTACHMENTS,
        None => INT_ZERO + kind,
    }
}

/// A map even when there are none: dubbo-go cannot read null.
fn append(attachments: Option<&Attachments>, dst: &mut BytesMut) -> Result<(), CodecError> {
    if let Some(attachments) = attachments {
        if attachments.is_empty() {
            // As most are: what the encoder would write.
            dst.extend_from_slice(PROTOCOL_ALONE);
            return Ok(());
        }
        let mut encoder = Encoder::new();
        write_attachments_with(&[("dubbo", PROTOCOL)], attachments, &mut encoder)
            .map_err(|error| CodecError::encode::<Attachments>(Codec::Hessian2, error))?;
        dst.extend_from_slice(encoder.as_bytes());
    }
    Ok(())
}

/// How long whoever tries again should wait first, in milliseconds (`docs/spec/cluster.md` §7.4).
pub(crate) const PUSHBACK: &str = "dubbo-retry-pushback-ms";

/// What is of one connection: the version of the protocol, and what dubbo-go keeps for its own shutdown.
const OWN_ATTACHMENTS: [&str; 4] = [
    CLOSING,
    "dubbo",
    "dubbo-go-graceful-shutdown-provider-counted",
    PUSHBACK,
];

const EXCEPTION: u8 = 0;
const VALUE: u8 = 1;
const NULL: u8 = 2;
const EXCEPTION_WITH_ATTACHMENTS: u8 = EXCEPTION + WITH_ATTACHMENTS;
const VALUE_WITH_ATTACHMENTS: u8 = VALUE + WITH_ATTACHMENTS;
const NULL_WITH_ATTACHMENTS: u8 = NULL + WITH_ATTACHMENTS;
const WITH_ATTACHMENTS: u8 = 3;

const PROTOCOL_ALONE: &[u8] = b"H\x05dubbo\x052.0.2Z";

const INT_ZERO: u8 = 0x90;
const NULL_VALUE: &[u8] = b"N";

/// What stands around a result, about.
const BESIDE: usize = 256;
