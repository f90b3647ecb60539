//! gRPC's envelope around each message: one byte of flags, four of length, the message (`docs/spec/triple.md` §6.1).
//!
//! No I/O here: bytes go in as they come, messages come out. An envelope has nothing to do with HTTP/2's frames; it may
//! share one with others or be spread over many.

use std::io::Read as _;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use dubbo_core::{
    payload::{CodecError, Payload},
    status::{Origin, Status},
};
use flate2::bufread::MultiGzDecoder;

use super::form::Form;

/// How the messages of a stream are compressed, when their flag says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// RFC 1952.
    Gzip,
    /// Not at all.
    Identity,
}

/// Cuts messages out of a stream of bytes.
///
/// A message that lies within one pushed chunk is a slice of it; one that is spread over several is copied together as
/// its bytes arrive, so that a prefix which promises much costs nothing by itself.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    limit: usize,
    encoding: Option<Encoding>,
    input: Bytes,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The message of this prefix, as far as it has come.
    Message { prefix: Prefix, partial: BytesMut },
    /// The first `have` bytes of a prefix.
    Prefix { bytes: [u8; PREFIX], have: usize },
}

#[derive(Debug, Clone, Copy)]
struct Prefix {
    compressed: bool,
    len: usize,
}

impl FrameDecoder {
    /// A decoder for messages of at most `limit` bytes, before and after inflating; `encoding` is what the headers
    /// announced.
    pub(crate) fn new(limit: usize, encoding: Option<Encoding>) -> Self {
        Self {
            limit,
            encoding,
            input: Bytes::new(),
            state: State::start(),
        }
    }

    /// Takes in more bytes. Call [`next`](Self::next) until it has no more before pushing again: then nothing is copied
    /// that need not be.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        self.input = if self.input.is_empty() {
            chunk
        } else {
            [&self.input[..], &chunk].concat().into()
        };
    }

    /// The next whole message; `None` when it takes more bytes.
    ///
    /// # Errors
    ///
    /// Code 8 for a message over the limit, 13 for flags that no version of the protocol defines, 3 for a compressed
    /// message that cannot be inflated. There is nothing to be had from the decoder after that.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            match &mut self.state {
                State::Prefix { bytes, have } => {
                    let take = self.input.len().min(PREFIX - *have);
                    self.input.copy_to_slice(&mut bytes[*have..*have + take]);
                    *have += take;
                    if *have < PREFIX {
                        return Ok(None);
                    }
                    let prefix = Prefix::read(*bytes, self.limit)?;
                    let partial = BytesMut::new();
                    self.state = State::Message { prefix, partial };
                }
                State::Message { prefix, partial } => {
                    let prefix = *prefix;
                    let missing = prefix.len - partial.len();
                    if self.input.len() < missing {
                        partial.extend_from_slice(&self.input);
                        self.input = Bytes::new();
                        return Ok(None);
                    }
                    let end = self.input.split_to(missing);
                    let message = if partial.is_empty() {
                        end
                    } else {
                        partial.extend_from_slice(&end);
                        partial.split().freeze()
                    };
                    self.state = State::start();
                    return self.inflate(prefix, message).map(Some);
                }
            }
        }
    }

    /// The bytes that wait for the rest of their message.
    pub(crate) fn pending(&self) -> usize {
        self.input.len()
            + match &self.state {
                State::Prefix { have, .. } => *have,
                State::Message { partial, .. } => partial.len(),
            }
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Code 3 when it ends within a message.
    pub(crate) fn finish(&self) -> Result<(), Status> {
        let have = self.pending();
        let text = match &self.state {
            State::Prefix { .. } if have == 0 => return Ok(()),
            State::Prefix { .. } => {
                format!("the stream ended after {have} of the {PREFIX} bytes before a message")
            }
            State::Message { prefix, .. } => format!(
                "the stream ended after {have} of the {} bytes of a message",
                prefix.len
            ),
        };
        Err(broken(Status::invalid_argument(text)))
    }

    fn inflate(&self, prefix: Prefix, message: Bytes) -> Result<Bytes, Status> {
        // An empty message is the zero value in any encoding.
        if !prefix.compressed || message.is_empty() {
            return Ok(message);
        }
        if self.encoding != Some(Encoding::Gzip) {
            return Err(broken(Status::invalid_argument(
                "a message is compressed, but the headers name no compression in grpc-encoding",
            )));
        }
        let mut inflated = Vec::new();
        // One byte more than allowed, to tell a message at the limit from one beyond it.
        let bound = u64::try_from(self.limit).map_or(u64::MAX, |limit| limit.saturating_add(1));
        MultiGzDecoder::new(&message[..])
            .take(bound)
            .read_to_end(&mut inflated)
            .map_err(|error| {
                let text = format!("a message of {} bytes is no gzip: {error}", message.len());
                broken(Status::invalid_argument(text)).with_source(error)
            })?;
        if inflated.len() > self.limit {
            return Err(broken(Status::resource_exhausted(format!(
                "a message of {} bytes inflates to more than the limit of {} bytes for received messages",
                message.len(),
                self.limit
            ))));
        }
        Ok(inflated.into())
    }
}

impl State {
    const fn start() -> Self {
        Self::Prefix {
            bytes: [0; PREFIX],
            have: 0,
        }
    }
}

impl Prefix {
    fn read(bytes: [u8; PREFIX], limit: usize) -> Result<Self, Status> {
        let [flags, len @ ..] = bytes;
        if flags & !COMPRESSED != 0 {
            return Err(broken(Status::internal(format!(
                "a message has the flags {flags:#04x}, of which only 0x01 is known"
            ))));
        }
        let len = u32::from_be_bytes(len) as usize;
        if len > limit {
            return Err(broken(Status::resource_exhausted(format!(
                "a message of {len} bytes is over the limit of {limit} bytes for received messages"
            ))));
        }
        Ok(Self {
            compressed: flags & COMPRESSED != 0,
            len,
        })
    }
}

/// Puts `payload` into an envelope, in one buffer made to measure.
///
/// # Errors
///
/// Code 8 when it is over `limit`, 13 when it cannot be written in `form`.
pub(crate) fn encode(payload: &Payload, form: &Form, limit: usize) -> Result<Bytes, Status> {
    let known = form.encoded_len(payload).unwrap_or(0);
    check_sent(known, limit)?;
    let mut envelope = BytesMut::with_capacity(PREFIX + known);
    append(payload, form, limit, &mut envelope)?;
    Ok(envelope.freeze())
}

/// Puts `payload` into an envelope after what `out` has already.
///
/// # Errors
///
/// As [`encode`]; `out` is then as it was.
pub(crate) fn append(
    payload: &Payload,
    form: &Form,
    limit: usize,
    out: &mut BytesMut,
) -> Result<(), Status> {
    append_with(limit, out, |out| form.write(payload, out))
}

/// Puts what `write` appends into an envelope after what `out` has already.
///
/// # Errors
///
/// As [`encode`]; `out` is then as it was.
pub(crate) fn append_with(
    limit: usize,
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<(), CodecError>,
) -> Result<(), Status> {
    let start = out.len();
    out.put_bytes(0, PREFIX);
    let written = write(out)
        .map_err(|error| Status::internal(error.to_string()).with_source(error))
        .and_then(|()| check_sent(out.len() - start - PREFIX, limit));
    match written {
        Ok(len) => {
            out[start + 1..start + PREFIX].copy_from_slice(&len.to_be_bytes());
            Ok(())
        }
        Err(status) => {
            out.truncate(start);
            Err(status)
        }
    }
}

fn check_sent(len: usize, limit: usize) -> Result<u32, Status> {
    u32::try_from(len)
        .ok()
        .filter(|_| len <= limit)
        .ok_or_else(|| {
            Status::resource_exhausted(format!(
                "a message of {len} bytes is over the limit of {limit} bytes for sent messages"
            ))
        })
}

fn broken(status: Status) -> Status {
    status.with_origin(Origin::Transport)
}

const COMPRESSED: u8 = 1;
const PREFIX: usize = 5;

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use dubbo_core::{payload::Codec, status::Code};
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn envelope(flags: u8, message: &[u8]) -> Vec<u8> {
        let len = u32::try_from(message.len()).expect("short");
        [&[flags][..], &len.to_be_bytes(), message].concat()
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut out = GzEncoder::new(Vec::new(), Compression::best());
        out.write_all(plain).expect("in memory");
        out.finish().expect("in memory")
    }

    fn all(decoder: &mut FrameDecoder, chunks: &[&[u8]]) -> Result<Vec<Bytes>, Status> {
        let mut messages = Vec::new();
        for chunk in chunks {
            decoder.push(Bytes::copy_from_slice(chunk));
            while let Some(message) = decoder.next()? {
                messages.push(message);
            }
        }
        decoder.finish()?;
        Ok(messages)
    }

    fn code(encoding: Option<Encoding>, bytes: &[u8]) -> Code {
        all(&mut FrameDecoder::new(16, encoding), &[bytes])
            .expect_err("refused")
            .code()
    }

    #[test]
    fn messages_come_out_however_the_bytes_are_cut() {
        let bytes = [
            envelope(0, b"m0"),
            envelope(0, b""),
            envelope(0, b"a longer one"),
        ]
        .concat();
        let want = [&b"m0"[..], b"", b"a longer one"];
        for size in 1..=bytes.len() {
            let chunks: Vec<_> = bytes.chunks(size).collect();
            let got = all(&mut FrameDecoder::new(16, None), &chunks).expect("valid");
            assert_eq!(got, want, "{size} bytes at a time");
        }
    }

    #[test]
    fn chunks_may_be_pushed_ahead() {
        let mut decoder = FrameDecoder::new(16, None);
        for byte in envelope(0, b"abc") {
            decoder.push(Bytes::copy_from_slice(&[byte]));
        }
        assert_eq!(decoder.next().expect("valid").as_deref(), Some(&b"abc"[..]));
    }

    #[test]
    fn a_message_within_one_chunk_is_not_copied() {
        let chunk = Bytes::from([envelope(0, b"one"), envelope(0, b"two")].concat());
        let mut decoder = FrameDecoder::new(16, None);
        decoder.push(chunk.clone());
        for at in [5, 13] {
            let message = decoder.next().expect("valid").expect("whole");
            assert_eq!(message.as_ptr(), chunk[at..].as_ptr());
        }
    }

    #[test]
    fn a_prefix_that_promises_much_reserves_nothing() {
        let mut decoder = FrameDecoder::new(usize::MAX, None);
        decoder.push(Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1]));
        assert!(decoder.next().expect("not yet").is_none());
        let State::Message { partial, .. } = &decoder.state else {
            panic!("{decoder:?}");
        };
        assert!(partial.capacity() < 1024, "{}", partial.capacity());
    }

    #[test]
    fn gzip_is_inflated_and_may_alternate_with_plain_messages() {
        let bytes = [
            envelope(1, &gzip(b"packed")),
            envelope(0, b"plain"),
            envelope(1, b""),
        ]
        .concat();
        let got = all(&mut FrameDecoder::new(64, Some(Encoding::Gzip)), &[&bytes]);
        assert_eq!(got.expect("valid"), [&b"packed"[..], b"plain", b""]);
    }

    #[test]
    fn a_message_at_the_limit_passes_and_one_beyond_does_not() {
        let limit = 1000;
        let run = |plain: &[u8], flags, body: &[u8]| {
            let mut decoder = FrameDecoder::new(limit, Some(Encoding::Gzip));
            let got = all(&mut decoder, &[&envelope(flags, body)]);
            got.map(|messages| assert_eq!(messages, [plain]))
        };
        let (fits, over) = (vec![7; limit], vec![7; limit + 1]);
        run(&fits, 0, &fits).expect("fits");
        run(&fits, 1, &gzip(&fits)).expect("fits");
        let error = run(&over, 0, &over).expect_err("over");
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert!(error.message().contains("1001"), "{error}");
        let error = run(&over, 1, &gzip(&over)).expect_err("over");
        assert_eq!(error.code(), Code::ResourceExhausted);
        assert!(error.message().contains("limit of 1000"), "{error}");
    }

    #[test]
    fn broken_streams_have_exact_codes() {
        let gzip_encoding = Some(Encoding::Gzip);
        for (encoding, bytes, want) in [
            (None, &[0, 0, 0][..], Code::InvalidArgument),
            (None, &[0, 0, 0, 0, 2, 9], Code::InvalidArgument),
            (None, &[2, 0, 0, 0, 0], Code::Internal),
            (None, &[0x80, 0, 0, 0, 0], Code::Internal),
            (None, &[1, 0, 0, 0, 1, 9], Code::InvalidArgument),
            (
                Some(Encoding::Identity),
                &[1, 0, 0, 0, 1, 9],
                Code::InvalidArgument,
            ),
            (gzip_encoding, &[1, 0, 0, 0, 1, 9], Code::InvalidArgument),
            (None, &[0, 0, 0, 0, 17], Code::ResourceExhausted),
        ] {
            assert_eq!(code(encoding, bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_encoded_has_one_exact_buffer_and_a_limit() {
        let payload = Payload::encoded(Codec::Protobuf, Bytes::from_static(b"abc"));
        let bytes = encode(&payload, &Form::Plain(Codec::Protobuf), 3).expect("fits");
        assert_eq!(bytes, envelope(0, b"abc"));
        let error = encode(&payload, &Form::Plain(Codec::Protobuf), 2).expect_err("over");
        assert_eq!(error.code(), Code::ResourceExhausted);
        let error = encode(&payload, &Form::Plain(Codec::Json), 3).expect_err("other codec");
        assert_eq!(error.code(), Code::Internal);
    }

    #[test]
    fn a_message_that_cannot_be_sent_leaves_those_before_it_alone() {
        let mut out = BytesMut::new();
        for message in [&b"one"[..], b"too long", b"two"] {
            let payload = Payload::encoded(Codec::Protobuf, Bytes::from_static(message));
            let appended = append(&payload, &Form::Plain(Codec::Protobuf), 3, &mut out);
            assert_eq!(appended.is_ok(), message.len() <= 3);
        }
        assert_eq!(out, [envelope(0, b"one"), envelope(0, b"two")].concat());
    }
}
