//! A dead letter as bytes that outlive the program that wrote them.
//!
//! ```text
//! version (1 byte) | CRC-32 of the rest (4, big-endian) | fields
//! ```
//!
//! Numbers are big-endian; texts and bytes have their length before them (4 bytes), lists their count. A field that may be
//! absent has a byte before it. Fields are only ever added at the end, with another version.

use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use dubbo_core::{attachments::AttachmentValue, payload::Codec, service::ServiceKey, status::Code};

use super::letter::{Arguments, Attempt, DeadLetter, LetterId, Reason};
use crate::resend::queue::Priority;

impl DeadLetter {
    /// It as bytes, for stores: versioned, with a checksum.
    ///
    /// # Errors
    ///
    /// It has a part that has no form here, or one of 4 GiB.
    pub fn encode(&self) -> Result<Bytes, EncodingError> {
        encode(self)
    }

    /// The letter that [`encode`](Self::encode) made these bytes of.
    ///
    /// # Errors
    ///
    /// They are something else, or not all of it.
    pub fn decode(bytes: &[u8]) -> Result<Self, EncodingError> {
        decode(bytes)
    }
}

fn encode(letter: &DeadLetter) -> Result<Bytes, EncodingError> {
    let mut w = Writer {
        bytes: BytesMut::with_capacity(256 + letter.arguments.len()),
        fault: None,
    };
    w.bytes.put_u8(VERSION);
    w.bytes.put_u32(0);
    w.bytes.put_u128(letter.id.number());
    w.text(&letter.request_id);
    w.option(letter.idempotency_key.as_deref(), Writer::text);
    w.text(letter.service.interface());
    w.text(letter.service.group().unwrap_or_default());
    w.text(letter.service.version().unwrap_or_default());
    w.text(&letter.method);
    w.option(letter.signature.as_deref(), Writer::text);
    match &letter.arguments {
        Arguments::Values(codec, values) => {
            w.codec(*codec, VALUES);
            w.list(values, |w, value| w.blob(value));
        }
        Arguments::Whole(codec, bytes) => {
            w.codec(*codec, 0);
            w.blob(bytes);
        }
    }
    w.list(&letter.attachments, |w, (name, value)| {
        w.text(name);
        match value {
            AttachmentValue::Binary(bytes) => {
                w.bytes.put_u8(1);
                w.blob(bytes);
            }
            AttachmentValue::Text(text) => {
                w.bytes.put_u8(0);
                w.text(text);
            }
            _ => w.fault = Some("an attachment of it is neither text nor bytes"),
        }
    });
    w.bytes.put_u64(letter.first_failure);
    w.list(&letter.attempts, |w, attempt| {
        w.bytes.put_u64(attempt.at);
        w.text(&attempt.node);
        let micros = u64::try_from(attempt.elapsed.as_micros());
        w.bytes.put_u64(micros.unwrap_or(u64::MAX));
        w.bytes.put_u32(attempt.code.number());
        w.text(&attempt.message);
    });
    w.bytes.put_u32(letter.code.number());
    w.text(letter.reason.name());
    w.text(&letter.policy);
    w.bytes.put_u8(letter.priority.number());
    w.option(letter.not_before, |w, time| w.bytes.put_u64(time));
    w.option(letter.expires_at, |w, time| w.bytes.put_u64(time));
    w.text(&letter.pool);
    w.bytes.put_u8(u8::from(letter.held));
    w.list(&letter.failed_in, |w, process| w.bytes.put_u64(*process));
    if let Some(fault) = w.fault {
        return Err(EncodingError(fault));
    }
    let sum = crc32fast::hash(&w.bytes[HEADER..]);
    w.bytes[1..HEADER].copy_from_slice(&sum.to_be_bytes());
    Ok(w.bytes.freeze())
}

fn decode(bytes: &[u8]) -> Result<DeadLetter, EncodingError> {
    let (head, fields) = bytes.split_at_checked(HEADER).ok_or(CUT)?;
    if head[0] != VERSION {
        return Err(EncodingError("another version of this program wrote it"));
    }
    if crc32fast::hash(fields).to_be_bytes() != head[1..] {
        return Err(EncodingError("its checksum does not match"));
    }
    let mut r = Reader(fields);
    let letter = DeadLetter {
        id: LetterId::of_number(r.take(16)?.get_u128()),
        request_id: r.text()?,
        idempotency_key: r.option(Reader::text)?,
        service: {
            let (interface, group, version) = (r.text()?, r.text()?, r.text()?);
            ServiceKey::new(interface)
                .with_group(&group)
                .with_version(&version)
        },
        method: r.text()?,
        signature: r.option(Reader::text)?,
        arguments: {
            let kind = r.byte()?;
            let codec = codec_of(kind & !VALUES)?;
            if kind & VALUES == 0 {
                Arguments::Whole(codec, r.blob()?)
            } else {
                Arguments::Values(codec, r.list(Reader::blob)?)
            }
        },
        attachments: r.list(|r| {
            let name = r.text()?;
            let value = match r.byte()? {
                0 => AttachmentValue::Text(r.text()?.into()),
                1 => AttachmentValue::Binary(r.blob()?),
                _ => return Err(EncodingError("an attachment is of an unknown kind")),
            };
            Ok((name, value))
        })?,
        first_failure: r.take(8)?.get_u64(),
        attempts: r.list(|r| {
            Ok(Attempt {
                at: r.take(8)?.get_u64(),
                node: r.text()?,
                elapsed: Duration::from_micros(r.take(8)?.get_u64()),
                code: Code::from_number(r.take(4)?.get_u32()),
                message: r.text()?,
            })
        })?,
        code: Code::from_number(r.take(4)?.get_u32()),
        reason: {
            let name = r.text()?;
            let reason = Reason::ALL.into_iter().find(|reason| reason.name() == name);
            reason.ok_or(EncodingError("its reason is unknown"))?
        },
        policy: r.text()?,
        priority: Priority::new(r.byte()?),
        not_before: r.option(|r| Ok(r.take(8)?.get_u64()))?,
        expires_at: r.option(|r| Ok(r.take(8)?.get_u64()))?,
        pool: r.text()?,
        held: r.byte()? != 0,
        failed_in: r.list(|r| Ok(r.take(8)?.get_u64()))?,
    };
    if r.0.is_empty() {
        Ok(letter)
    } else {
        Err(EncodingError("there is more behind its end"))
    }
}

/// Bytes that are no dead letter, or a letter that cannot be bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EncodingError(&'static str);

struct Writer {
    bytes: BytesMut,
    fault: Option<&'static str>,
}

impl Writer {
    fn count(&mut self, count: usize) {
        match u32::try_from(count) {
            Ok(count) => self.bytes.put_u32(count),
            Err(_) => self.fault = Some("a part of it is 4 GiB or more"),
        }
    }

    fn codec(&mut self, codec: Codec, flag: u8) {
        let number = match codec {
            Codec::Hessian2 => 1,
            Codec::Json => 2,
            Codec::Protobuf => 3,
            _ => return self.fault = Some("its arguments are in a form that has no number here"),
        };
        self.bytes.put_u8(number | flag);
    }

    fn blob(&mut self, blob: &[u8]) {
        self.count(blob.len());
        self.bytes.put_slice(blob);
    }

    fn text(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bytes.put_u8(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    fn list<T>(&mut self, list: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.count(list.len());
        for item in list {
            write(self, item);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], EncodingError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, EncodingError> {
        Ok(self.take(1)?.get_u8())
    }

    fn blob(&mut self) -> Result<Bytes, EncodingError> {
        let count = self.take(4)?.get_u32();
        Ok(Bytes::copy_from_slice(self.take(count as usize)?))
    }

    fn text(&mut self) -> Result<String, EncodingError> {
        let count = self.take(4)?.get_u32();
        let text = std::str::from_utf8(self.take(count as usize)?);
        Ok(text
            .map_err(|_| EncodingError("a text is not UTF-8"))?
            .to_owned())
    }

    fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, EncodingError>,
    ) -> Result<Option<T>, EncodingError> {
        match self.byte()? {
            0 => Ok(None),
            _ => read(self).map(Some),
        }
    }

    /// Room is made as items come, not for as many as are announced.
    fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, EncodingError>,
    ) -> Result<Vec<T>, EncodingError> {
        let count = self.take(4)?.get_u32();
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }
}

fn codec_of(number: u8) -> Result<Codec, EncodingError> {
    match number {
        1 => Ok(Codec::Hessian2),
        2 => Ok(Codec::Json),
        3 => Ok(Codec::Protobuf),
        _ => Err(EncodingError("its codec is unknown")),
    }
}

const VERSION: u8 = 1;

/// Version and checksum.
const HEADER: usize = 5;

/// Marks arguments that are encoded each by itself.
const VALUES: u8 = 0x80;

const CUT: EncodingError = EncodingError("it is cut off");
