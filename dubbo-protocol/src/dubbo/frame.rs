//! Frames: a header of 16 bytes and a body (`docs/spec/dubbo-protocol.md` §1). No I/O.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use dubbo_core::payload::CodecError;

/// What stands before a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// A request; otherwise a response.
    pub(crate) request: bool,
    /// Of a request: its sender waits for a response.
    pub(crate) two_way: bool,
    /// A heartbeat or another event, not a call.
    pub(crate) event: bool,
    /// How the body is encoded: 5 bits, [`HESSIAN2`] or another's number.
    pub(crate) serialization: u8,
    /// Of a response: [`status`](super::status). 0 in requests.
    pub(crate) status: u8,
    /// What a response has in common with its request. Any number.
    pub(crate) id: i64,
    /// How many bytes of body follow. Writing takes the real length instead.
    pub(crate) len: u32,
}

impl Header {
    /// The header of a call that expects an answer, or expects none.
    pub(crate) const fn request(id: i64, two_way: bool) -> Self {
        Self {
            request: true,
            two_way,
            event: false,
            serialization: HESSIAN2,
            status: 0,
            id,
            len: 0,
        }
    }

    /// The header of the answer to this request: same id, same serialization, same kind.
    pub(crate) const fn answer(self, status: u8) -> Self {
        Self {
            request: false,
            two_way: false,
            status,
            len: 0,
            ..self
        }
    }

    /// The header of an event; a heartbeat is `two_way`.
    pub(crate) const fn event(id: i64, two_way: bool) -> Self {
        Self {
            event: true,
            ..Self::request(id, two_way)
        }
    }

    /// Appends a whole frame to `dst`: this header, with the length of the body that `body` appends.
    ///
    /// # Errors
    ///
    /// `body` failed, or appended more than `limit` bytes. Then `dst` is as it was.
    pub(crate) fn write(
        self,
        limit: usize,
        dst: &mut BytesMut,
        body: impl FnOnce(&mut BytesMut) -> Result<(), CodecError>,
    ) -> Result<(), FrameWriteError> {
        let start = dst.len();
        dst.reserve(HEADER + TYPICAL_BODY);
        dst.put_slice(&self.encode());
        let written = body(dst).map_err(FrameWriteError::Body);
        let len = dst.len() - start - HEADER;
        let checked = written.and_then(|()| match i32::try_from(len) {
            Ok(wire) if len <= limit => Ok(wire),
            _ => Err(FrameWriteError::TooLarge { len, limit }),
        });
        match checked {
            Ok(wire) => {
                dst[start + LENGTH_AT..start + HEADER].copy_from_slice(&wire.to_be_bytes());
                Ok(())
            }
            Err(error) => {
                dst.truncate(start);
                Err(error)
            }
        }
    }

    /// A whole frame with the few bytes that `body` appends: what the protocol itself says.
    pub(crate) fn short(self, body: impl FnOnce(&mut BytesMut)) -> BytesMut {
        let mut frame = BytesMut::new();
        let written = self.write(usize::MAX, &mut frame, |dst| {
            body(dst);
            Ok(())
        });
        debug_assert!(written.is_ok(), "a few bytes fit into a frame: {written:?}");
        frame
    }

    fn encode(self) -> [u8; HEADER] {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let mut bytes = [0; HEADER];
        bytes[..2].copy_from_slice(&MAGIC);
        bytes[2] = flag(self.request, REQUEST)
            | flag(self.two_way, TWO_WAY)
            | flag(self.event, EVENT)
            | (self.serialization & SERIALIZATION);
        bytes[3] = self.status;
        bytes[4..LENGTH_AT].copy_from_slice(&self.id.to_be_bytes());
        bytes[LENGTH_AT..].copy_from_slice(&self.len.to_be_bytes());
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Result<Self, FrameError> {
        check_magic(bytes)?;
        bytes.advance(MAGIC.len());
        let flags = bytes.get_u8();
        let status = bytes.get_u8();
        let id = bytes.get_i64();
        let len = bytes.get_i32();
        Ok(Self {
            request: flags & REQUEST != 0,
            two_way: flags & TWO_WAY != 0,
            event: flags & EVENT != 0,
            serialization: flags & SERIALIZATION,
            status,
            id,
            len: u32::try_from(len).map_err(|_| FrameError::Length(len))?,
        })
    }
}

/// A header with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) header: Header,
    pub(crate) body: Bytes,
}

/// What came next on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Received {
    /// A whole frame.
    Frame(Frame),
    /// The header of a frame whose body is over the limit. The decoder skips that body as it comes and keeps none of it.
    Oversize(Header),
}

/// Cuts a stream of bytes into frames, however it was cut on the way.
///
/// Fill [`room`](Self::room), then call [`next`](Self::next) until there is nothing more. It keeps no more than one
/// frame of at most the limit and what one read brought beyond it.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    limit: usize,
    unread: BytesMut,
    /// Of the frame whose body is not all there yet.
    header: Option<Header>,
    /// How much of a body that is over the limit is still to come.
    skip: usize,
    /// How much the next read may bring: more for a peer whose reads are full.
    read: usize,
}

impl FrameDecoder {
    /// One that takes bodies of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            unread: BytesMut::new(),
            header: None,
            skip: 0,
            // Nothing counts as full, and makes it `READ`.
            read: READ / 2,
        }
    }

    /// Takes bodies of up to `limit` bytes from the next frame on.
    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Where to append what was read. What is there grows with what has come, whatever a header says is to come.
    pub(crate) fn room(&mut self) -> &mut BytesMut {
        let body = self.header.map_or(0, |header| header.len as usize);
        let missing = body.saturating_sub(self.unread.len());
        let free = self.unread.capacity() - self.unread.len();
        if free == 0 {
            self.read = (2 * self.read).min(MOST_READ);
        }
        if free < self.read / 4 {
            let more = missing.min(self.unread.len()).max(self.read);
            self.unread.reserve(more);
        }
        &mut self.unread
    }

    /// The next frame, or `None` when more bytes have to come first.
    ///
    /// # Errors
    ///
    /// The bytes are no frames of this protocol. There is no way to find the next one, so the connection is of no use.
    pub(crate) fn next(&mut self) -> Result<Option<Received>, FrameError> {
        if self.skip > 0 {
            let skipped = self.skip.min(self.unread.len());
            self.unread.advance(skipped);
            self.skip -= skipped;
            if self.skip > 0 {
                return Ok(None);
            }
        }
        let header = match self.header {
            Some(header) => header,
            None if self.unread.len() < HEADER => {
                return check_magic(&self.unread).map(|()| None);
            }
            None => {
                let header = Header::decode(&self.unread[..HEADER])?;
                self.unread.advance(HEADER);
                header
            }
        };
        let len = header.len as usize;
        if len > self.limit && self.header.is_none() {
            self.skip = len;
            return Ok(Some(Received::Oversize(header)));
        }
        if self.unread.len() < len {
            self.header = Some(header);
            return Ok(None);
        }
        self.header = None;
        let body = self.unread.split_to(len).freeze();
        Ok(Some(Received::Frame(Frame { header, body })))
    }

    /// Whether the bytes ended in the middle of a frame.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.header.is_some() || self.skip > 0 || !self.unread.is_empty()
    }
}

/// Bytes that are no frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    /// A length below zero.
    #[error("a frame says that its body has {0} bytes")]
    Length(i32),
    /// Something else than a frame: a telnet user, HTTP, TLS, or a frame that was longer than it said.
    #[error("a frame begins with {:02x?} instead of da bb; the peer speaks no dubbo here", &.0[..])]
    Magic([u8; 2]),
}

/// A frame that cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameWriteError {
    /// The body cannot be encoded.
    #[error("{0}")]
    Body(#[source] CodecError),
    /// The body is over the limit.
    #[error("a body of {len} bytes is over the limit of {limit}")]
    TooLarge {
        /// Its length.
        len: usize,
        /// What is allowed.
        limit: usize,
    },
}

/// Looks at as much of the magic number as there is.
fn check_magic(bytes: &[u8]) -> Result<(), FrameError> {
    let seen = &bytes[..bytes.len().min(MAGIC.len())];
    if MAGIC.starts_with(seen) {
        return Ok(());
    }
    let mut found = [0; 2];
    found[..seen.len()].copy_from_slice(seen);
    Err(FrameError::Magic(found))
}

/// The serialization id of hessian2, the one that is spoken here (`docs/spec/dubbo-protocol.md` §2).
pub(crate) const HESSIAN2: u8 = 2;

/// The length of a header.
pub(crate) const HEADER: usize = 16;

/// How much is read at once, when no large body is under way.
const READ: usize = 16 << 10;

/// The same for a peer that sends much.
const MOST_READ: usize = 64 << 10;

const MAGIC: [u8; 2] = [0xda, 0xbb];
const REQUEST: u8 = 0x80;
const TWO_WAY: u8 = 0x40;
const EVENT: u8 = 0x20;
const SERIALIZATION: u8 = 0x1f;
const LENGTH_AT: usize = 12;

/// Attachments alone take some two hundred bytes.
const TYPICAL_BODY: usize = 496;
