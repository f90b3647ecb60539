//! Frames as bytes (RFC 9113 §4, §6).

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// One frame, of any kind and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// One of [`kind`], or anything else.
    pub kind: u8,
    /// Whatever they mean for this kind.
    pub flags: u8,
    /// The stream; 0 for the connection.
    pub stream: u32,
    /// The rest.
    pub payload: Bytes,
}

/// Kinds of frames.
pub mod kind {
    /// Part of a message.
    pub const DATA: u8 = 0;
    /// Headers or trailers.
    pub const HEADERS: u8 = 1;
    /// The end of a stream before its time.
    pub const RST_STREAM: u8 = 3;
    /// What a peer can take.
    pub const SETTINGS: u8 = 4;
    /// A question for a sign of life.
    pub const PING: u8 = 6;
    /// No more streams.
    pub const GOAWAY: u8 = 7;
    /// Room for more DATA.
    pub const WINDOW_UPDATE: u8 = 8;
    /// More of a header block.
    pub const CONTINUATION: u8 = 9;
}

/// Error codes of `RST_STREAM` and GOAWAY.
pub mod code {
    /// No error.
    pub const NO_ERROR: u32 = 0;
    /// A rule was broken.
    pub const PROTOCOL_ERROR: u32 = 1;
    /// The peer failed.
    pub const INTERNAL_ERROR: u32 = 2;
    /// More was sent than there was room for.
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    /// SETTINGS were not answered.
    pub const SETTINGS_TIMEOUT: u32 = 4;
    /// A frame came for a stream that was over.
    pub const STREAM_CLOSED: u32 = 5;
    /// A frame has a length that it cannot have.
    pub const FRAME_SIZE_ERROR: u32 = 6;
    /// Nothing was done for the stream.
    pub const REFUSED_STREAM: u32 = 7;
    /// The stream is no longer wanted.
    pub const CANCEL: u32 = 8;
    /// The header tables of both ends differ.
    pub const COMPRESSION_ERROR: u32 = 9;
    /// What was to be connected cannot be.
    pub const CONNECT_ERROR: u32 = 10;
    /// Too much is asked.
    pub const ENHANCE_YOUR_CALM: u32 = 11;
    /// TLS is not good enough.
    pub const INADEQUATE_SECURITY: u32 = 12;
    /// It is to be asked over HTTP/1.1.
    pub const HTTP_1_1_REQUIRED: u32 = 13;
}

/// What a client sends first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl Frame {
    /// A frame of any kind.
    pub fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Bytes>) -> Self {
        Self {
            kind,
            flags,
            stream,
            payload: payload.into(),
        }
    }

    /// GOAWAY: streams after `last` were not looked at.
    pub fn go_away(last: u32, code: u32, debug: &str) -> Self {
        let mut payload = BytesMut::new();
        payload.put_u32(last);
        payload.put_u32(code);
        payload.put_slice(debug.as_bytes());
        Self::new(kind::GOAWAY, 0, 0, payload)
    }

    /// `RST_STREAM`.
    pub fn reset(stream: u32, code: u32) -> Self {
        Self::new(kind::RST_STREAM, 0, stream, code.to_be_bytes().to_vec())
    }

    /// DATA.
    pub fn data(stream: u32, payload: impl Into<Bytes>, end: bool) -> Self {
        Self::new(kind::DATA, u8::from(end) * END_STREAM, stream, payload)
    }

    /// HEADERS in one block, each as it is written here: upper case and illegal bytes stay.
    pub fn headers(stream: u32, headers: &[(&str, &[u8])], end: bool) -> Self {
        let mut block = BytesMut::new();
        for (name, value) in headers {
            // A literal that enters no table (RFC 7541 §6.2.2): the tables of both ends stay as they are.
            block.put_u8(0);
            put_text(&mut block, name.as_bytes());
            put_text(&mut block, value);
        }
        let flags = END_HEADERS | (u8::from(end) * END_STREAM);
        Self::new(kind::HEADERS, flags, stream, block)
    }

    /// SETTINGS with these identifiers and values.
    pub fn settings(values: &[(u16, u32)]) -> Self {
        let mut payload = BytesMut::new();
        for (id, value) in values {
            payload.put_u16(*id);
            payload.put_u32(*value);
        }
        Self::new(kind::SETTINGS, 0, 0, payload)
    }

    /// PING, or the answer to one.
    pub fn ping(ack: bool, data: [u8; 8]) -> Self {
        Self::new(kind::PING, u8::from(ack) * ACK, 0, data.to_vec())
    }

    /// Whether it is an answer to SETTINGS or PING.
    pub fn is_ack(&self) -> bool {
        matches!(self.kind, kind::PING | kind::SETTINGS) && self.flags & ACK != 0
    }

    /// Whether it ends its stream.
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, kind::DATA | kind::HEADERS) && self.flags & END_STREAM != 0
    }

    /// The error code of `RST_STREAM` or GOAWAY.
    pub fn code(&self) -> Option<u32> {
        let at = match self.kind {
            kind::RST_STREAM => 0,
            kind::GOAWAY => 4,
            _ => return None,
        };
        let bytes = self.payload.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }

    /// The frame as it goes over the wire.
    pub fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(HEAD + self.payload.len());
        let len = u32::try_from(self.payload.len()).expect("a frame of a test is short");
        bytes.put_slice(&len.to_be_bytes()[1..]);
        bytes.put_u8(self.kind);
        bytes.put_u8(self.flags);
        bytes.put_u32(self.stream);
        bytes.put_slice(&self.payload);
        bytes.freeze()
    }

    /// Takes one whole frame off the front of `bytes`, if there is one.
    pub fn decode(bytes: &mut BytesMut) -> Option<Self> {
        let head = bytes.get(..HEAD)?;
        let len = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        if bytes.len() < HEAD + len {
            return None;
        }
        let mut head = bytes.split_to(HEAD);
        head.advance(3);
        let (kind, flags, stream) = (head.get_u8(), head.get_u8(), head.get_u32());
        Some(Self {
            kind,
            flags,
            stream: stream & 0x7fff_ffff,
            payload: bytes.split_to(len).freeze(),
        })
    }
}

/// A string without Huffman code (RFC 7541 §5.2).
fn put_text(block: &mut BytesMut, text: &[u8]) {
    const PREFIX: usize = 0x7f;
    let mut len = text.len();
    if len < PREFIX {
        block.put_u8(u8::try_from(len).unwrap_or(0));
    } else {
        block.put_u8(0x7f);
        len -= PREFIX;
        while len >= 0x80 {
            block.put_u8(u8::try_from(len & 0x7f).unwrap_or(0) | 0x80);
            len >>= 7;
        }
        block.put_u8(u8::try_from(len).unwrap_or(0));
    }
    block.put_slice(text);
}

const HEAD: usize = 9;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_back_what_it_writes_however_it_is_cut() {
        for frame in [
            Frame::go_away(3, code::ENHANCE_YOUR_CALM, "too_many_pings"),
            Frame::reset(5, code::CANCEL),
            Frame::data(7, "abc", true),
            Frame::settings(&[(3, 1), (4, 65_535)]),
            Frame::ping(true, [1; 8]),
            Frame::headers(1, &[("x", &[b'y'; 300])], false),
        ] {
            let bytes = frame.encode();
            let mut partial = BytesMut::new();
            for (at, byte) in bytes.iter().enumerate() {
                assert_eq!(Frame::decode(&mut partial), None, "after {at} bytes");
                partial.put_u8(*byte);
            }
            assert_eq!(Frame::decode(&mut partial), Some(frame));
            assert!(partial.is_empty());
        }
    }

    #[test]
    fn codes_are_found_in_resets_and_goaways_only() {
        assert_eq!(Frame::reset(1, code::CANCEL).code(), Some(8));
        assert_eq!(Frame::go_away(0, code::PROTOCOL_ERROR, "x").code(), Some(1));
        assert_eq!(Frame::ping(false, [0; 8]).code(), None);
        assert_eq!(Frame::new(kind::GOAWAY, 0, 0, "abc").code(), None);
    }
}
