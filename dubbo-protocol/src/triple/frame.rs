// Long because the tests of a decoder and an encoder stand beside them.
//! gRPC's envelope around each message: one byte of flags, four of length, the message (`docs/spec/triple.md` §6.1).
//!
//! No I/O here: bytes go in as they come, messages come out. An envelope has nothing to do with HTTP/2's frames; it may
//! share one with others or be spread over many.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use dubbo_core::{
    payload::{CodecError, Payload},
    status::{Origin, Status},
};

use super::{
    compression::{Compression, DecompressError, Packing},
    form::Form,
};

/// Cuts messages out of a stream of bytes.
///
/// A message that lies within one pushed chunk is a slice of it; one that is spread over several is copied together as
/// its bytes arrive, so that a prefix which promises much costs nothing by itself.
#[derive(Debug)]
pub(crate) struct FrameDecoder {
    limit: usize,
    compression: Option<Compression>,
    input: Bytes,
    state: State,
    trailers: Trailers,
}

/// Whether the last envelope has no message, but trailers, as in gRPC-Web.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Trailers {
    Awaited,
    Came(Bytes),
    Never,
    Taken,
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
    /// The most bytes that it may have, before and after inflating.
    limit: usize,
    len: usize,
    trailers: bool,
}

impl FrameDecoder {
    /// A decoder for messages of at most `limit` bytes, before and after inflating; `compression` is what the headers
    /// announced for those whose flag says that they are compressed.
    pub(crate) fn new(limit: usize, compression: Option<Compression>) -> Self {
        Self {
            limit,
            compression,
            input: Bytes::new(),
            state: State::start(),
            trailers: Trailers::Never,
        }
    }

    /// The same for bytes of gRPC-Web, whose last envelope has the trailers.
    pub(crate) fn with_trailers(self) -> Self {
        Self {
            trailers: Trailers::Awaited,
            ..self
        }
    }

    /// The lines of the trailers, once they have come.
    pub(crate) fn take_trailers(&mut self) -> Option<Bytes> {
        if !matches!(self.trailers, Trailers::Came(_)) {
            return None;
        }
        match std::mem::replace(&mut self.trailers, Trailers::Taken) {
            Trailers::Came(lines) => Some(lines),
            _ => None,
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
    /// Code 8 for a message over the limit, 13 for flags that no version of the protocol defines and for bytes behind
    /// trailers, 3 for a compressed message that cannot be inflated. There is nothing to be had from the decoder after that.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            match &mut self.state {
                State::Prefix { bytes, have } => {
                    if matches!(self.trailers, Trailers::Came(_) | Trailers::Taken)
                        && !self.input.is_empty()
                    {
                        return Err(broken(Status::internal(MORE)));
                    }
                    let take = self.input.len().min(PREFIX - *have);
                    self.input.copy_to_slice(&mut bytes[*have..*have + take]);
                    *have += take;
                    if *have < PREFIX {
                        return Ok(None);
                    }
                    let with_trailers = self.trailers != Trailers::Never;
                    let prefix = Prefix::read(*bytes, self.limit, with_trailers)?;
                    let partial = BytesMut::new();
                    self.state = State::Message { prefix, partial };
                }
                State::Message { prefix, partial } => {
                    let prefix = *prefix;
                    let missing = prefix.len - partial.len();
                    if self.input.len() < missing {
                        make_room(partial, self.input.len(), missing);
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
                    let message = self.inflate(prefix, message)?;
                    if !prefix.trailers {
                        return Ok(Some(message));
                    }
                    self.trailers = Trailers::Came(message);
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
        let Some(compression) = self.compression else {
            return Err(broken(Status::invalid_argument(
                "a message is compressed, but the headers name no compression in grpc-encoding",
            )));
        };
        let inflated = compression.decompress(&message, prefix.limit);
        inflated.map(Bytes::from).map_err(|error| {
            let text = error.to_string();
            broken(match error {
                DecompressError::Broken { .. } => Status::invalid_argument(text),
                DecompressError::TooLarge { .. } => Status::resource_exhausted(text),
            })
            .with_source(error)
        })
    }
}

/// Makes room for `more` bytes of the `missing` ones behind `partial`, and for some that will come: to copy a large message from
/// one buffer to the next costs as much as to copy it out of its chunks.
fn make_room(partial: &mut BytesMut, more: usize, missing: usize) {
    if partial.capacity() - partial.len() < more {
        let come = partial.len() + more;
        partial.reserve(missing.min(GROWTH * come));
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
    fn read(bytes: [u8; PREFIX], limit: usize, with_trailers: bool) -> Result<Self, Status> {
        let [flags, len @ ..] = bytes;
        let trailers = with_trailers && flags & TRAILERS != 0;
        let known = COMPRESSED | if trailers { TRAILERS } else { 0 };
        if flags & !known != 0 {
            return Err(broken(Status::internal(format!(
                "a message has the flags {flags:#04x}, of which only 0x01 is known"
            ))));
        }
        let limit = if trailers { MAX_TRAILERS } else { limit };
        let len = u32::from_be_bytes(len) as usize;
        if len > limit {
            return Err(broken(Status::resource_exhausted(format!(
                "a message of {len} bytes is over the limit of {limit} bytes for received messages"
            ))));
        }
        Ok(Self {
            compressed: flags & COMPRESSED != 0,
            limit,
            len,
            trailers,
        })
    }
}

/// How one side of a call sends its messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    /// The most bytes that a message may have, before it is compressed.
    pub(crate) limit: usize,
    /// How those are compressed that are worth it.
    pub(crate) packing: Option<Packing>,
}

/// Puts `payload` into an envelope, in one buffer made to measure.
///
/// # Errors
///
/// Code 8 when it is over the limit, 13 when it cannot be written in `form`.
pub(crate) fn encode(payload: &Payload, form: &Form, sending: Sending) -> Result<Bytes, Status> {
    let known = form.encoded_len(payload).unwrap_or(0);
    check_sent(known, sending.limit)?;
    let mut envelope = BytesMut::with_capacity(PREFIX + known);
    append(payload, form, sending, &mut envelope)?;
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
    sending: Sending,
    out: &mut BytesMut,
) -> Result<(), Status> {
    let start = out.len();
    append_with(sending.limit, out, |out| form.write(payload, out))?;
    if let Some(packing) = sending.packing {
        pack(packing, start, out);
    }
    Ok(())
}

/// Compresses the message of the envelope that begins at `start`, if that is worth it.
fn pack(packing: Packing, start: usize, out: &mut BytesMut) {
    let message = start + PREFIX;
    let packed = packing.pack(&out[message..]);
    // It is shorter than the message, whose length was one.
    let Some((packed, len)) = packed.and_then(|packed| {
        let len = u32::try_from(packed.len()).ok()?;
        Some((packed, len))
    }) else {
        return;
    };
    out.truncate(message);
    out[start] = COMPRESSED;
    out[start + 1..message].copy_from_slice(&len.to_be_bytes());
    out.extend_from_slice(&packed);
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

/// The length as an envelope has it.
///
/// # Errors
///
/// Code 8 when it is over `limit`.
pub(crate) fn check_sent(len: usize, limit: usize) -> Result<u32, Status> {
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
const TRAILERS: u8 = 0x80;
const PREFIX: usize = 5;
/// How many times as much as has come of a message there is made room for. A message of 1 MiB in frames of 16 KiB is so
/// copied once and a quarter; what nobody sends is never written to, and costs no memory.
const GROWTH: usize = 15;

/// What trailers may take in a body, as in a block of headers: they are no message, and have no share in its limit.
const MAX_TRAILERS: usize = 1024 * 1024;

const MORE: &str = "the answer goes on behind its trailers";

#[cfg(test)]
mod tests {
    use dubbo_core::{payload::Codec, status::Code};

    use super::*;

    fn envelope(flags: u8, message: &[u8]) -> Vec<u8> {
        let len = u32::try_from(message.len()).expect("short");
        [&[flags][..], &len.to_be_bytes(), message].concat()
    }

    fn packed(compression: Compression, plain: &[u8]) -> Vec<u8> {
        compression.compress(plain).expect("it is shorter")
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

    fn code(compression: Option<Compression>, bytes: &[u8]) -> Code {
        all(&mut FrameDecoder::new(16, compression), &[bytes])
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
    fn a_large_message_in_small_chunks_moves_once_or_twice() {
        let message = vec![7; 1 << 20];
        let envelope = envelope(0, &message);
        let mut decoder = FrameDecoder::new(usize::MAX, None);
        let mut buffers = std::collections::BTreeSet::new();
        for chunk in envelope.chunks(16 << 10) {
            decoder.push(Bytes::copy_from_slice(chunk));
            if let Some(whole) = decoder.next().expect("valid") {
                assert_eq!(whole, message);
            } else if let State::Message { partial, .. } = &decoder.state {
                assert!(partial.capacity() <= partial.len() * (1 + GROWTH));
                buffers.insert(partial.capacity());
            }
        }
        assert!(buffers.len() <= 3, "{buffers:?}");
    }

    #[test]
    fn compressed_messages_are_inflated_and_may_alternate_with_plain_ones() {
        let long = [b'a'; 50];
        for compression in Compression::ALL {
            let bytes = [
                envelope(1, &packed(compression, &long)),
                envelope(0, b"plain"),
                envelope(1, b""),
                envelope(1, &packed(compression, &long)),
            ]
            .concat();
            let want = [&long[..], b"plain", b"", &long];
            for size in [bytes.len(), 1] {
                let chunks: Vec<_> = bytes.chunks(size).collect();
                let mut decoder = FrameDecoder::new(64, Some(compression));
                let got = all(&mut decoder, &chunks).expect("valid");
                assert_eq!(got, want, "{compression}, {size} bytes at a time");
            }
        }
    }

    #[test]
    fn a_message_at_the_limit_passes_and_one_beyond_does_not() {
        let limit = 1000;
        let run = |compression, plain: &[u8], flags, body: &[u8]| {
            let mut decoder = FrameDecoder::new(limit, Some(compression));
            let got = all(&mut decoder, &[&envelope(flags, body)]);
            got.map(|messages| assert_eq!(messages, [plain]))
        };
        let (fits, over) = (vec![7; limit], vec![7; limit + 1]);
        for compression in Compression::ALL {
            run(compression, &fits, 0, &fits).expect("fits");
            run(compression, &fits, 1, &packed(compression, &fits)).expect("fits");
            let error = run(compression, &over, 0, &over).expect_err("over");
            assert_eq!(error.code(), Code::ResourceExhausted);
            assert!(error.message().contains("1001"), "{error}");
            let error = run(compression, &over, 1, &packed(compression, &over));
            let error = error.expect_err("over");
            assert_eq!(error.code(), Code::ResourceExhausted);
            assert!(error.message().contains("limit of 1000"), "{error}");
        }
    }

    #[test]
    fn broken_streams_have_exact_codes() {
        for (compression, bytes, want) in [
            (None, &[0, 0, 0][..], Code::InvalidArgument),
            (None, &[0, 0, 0, 0, 2, 9], Code::InvalidArgument),
            (None, &[2, 0, 0, 0, 0], Code::Internal),
            (None, &[0x80, 0, 0, 0, 0], Code::Internal),
            (None, &[1, 0, 0, 0, 1, 9], Code::InvalidArgument),
            (
                Some(Compression::Gzip),
                &[1, 0, 0, 0, 1, 9],
                Code::InvalidArgument,
            ),
            (None, &[0, 0, 0, 0, 17], Code::ResourceExhausted),
        ] {
            assert_eq!(code(compression, bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn trailers_are_the_last_envelope_where_they_are_awaited() {
        let lines = b"grpc-status: 0\r\n";
        let bytes = [envelope(0, b"one"), envelope(0x80, lines)].concat();
        for size in 1..=bytes.len() {
            let mut decoder = FrameDecoder::new(3, None).with_trailers();
            let chunks: Vec<_> = bytes.chunks(size).collect();
            assert_eq!(all(&mut decoder, &chunks).expect("valid"), ["one"]);
            assert_eq!(decoder.take_trailers().as_deref(), Some(&lines[..]));
            assert_eq!(decoder.take_trailers(), None);
            decoder.push(Bytes::from_static(b"\0"));
            let error = decoder.next().expect_err("it was the last");
            assert!(error.message().contains("behind its trailers"), "{error}");
        }
        let packed = packed(Compression::Gzip, &[b'x'; 100]);
        let mut decoder = FrameDecoder::new(3, Some(Compression::Gzip)).with_trailers();
        assert!(
            all(&mut decoder, &[&envelope(0x81, &packed)])
                .expect("valid")
                .is_empty()
        );
        assert_eq!(decoder.take_trailers().as_deref(), Some(&[b'x'; 100][..]));
        let mut decoder = FrameDecoder::new(3, None).with_trailers();
        let endless = [0x80, 0xff, 0xff, 0xff, 0xff];
        let error = all(&mut decoder, &[&endless]).expect_err("too long");
        assert_eq!(error.code(), Code::ResourceExhausted);
    }

    fn plainly(limit: usize) -> Sending {
        Sending {
            limit,
            packing: None,
        }
    }

    #[test]
    fn messages_are_compressed_from_a_length_on_if_that_makes_them_shorter() {
        let form = Form::Plain(Codec::Protobuf);
        let (short, long) = ([b'a'; 99], [b'a'; 100]);
        let noise: Vec<u8> = (0..200)
            .map(|n: u32| (n * n * 7).to_be_bytes()[2] ^ n.to_be_bytes()[3])
            .collect();
        for compression in Compression::ALL {
            let sending = Sending {
                limit: 200,
                packing: Some(Packing {
                    compression,
                    min_size: 100,
                }),
            };
            let mut out = BytesMut::new();
            for message in [&long[..], &short, b"", &noise, &long] {
                let payload = Payload::encoded(Codec::Protobuf, Bytes::copy_from_slice(message));
                append(&payload, &form, sending, &mut out).expect("fits");
            }
            let flags: Vec<_> = envelopes(&out).iter().map(|envelope| envelope[0]).collect();
            assert_eq!(flags, [1, 0, 0, 0, 1], "{compression}");
            let mut decoder = FrameDecoder::new(200, Some(compression));
            let got = all(&mut decoder, &[&out]).expect("valid");
            assert_eq!(got, [&long[..], &short, b"", &noise, &long]);

            // The limit is on what the application gives.
            let payload = Payload::encoded(Codec::Protobuf, Bytes::from(vec![0; 201]));
            let error = encode(&payload, &form, sending).expect_err("over");
            assert_eq!(error.code(), Code::ResourceExhausted);
        }
    }

    fn envelopes(mut bytes: &[u8]) -> Vec<&[u8]> {
        let mut all = Vec::new();
        while let [_, a, b, c, d, ..] = *bytes {
            let len = u32::from_be_bytes([a, b, c, d]) as usize;
            let (envelope, rest) = bytes.split_at(PREFIX + len);
            all.push(envelope);
            bytes = rest;
        }
        all
    }

    #[test]
    fn what_is_encoded_has_one_exact_buffer_and_a_limit() {
        let payload = Payload::encoded(Codec::Protobuf, Bytes::from_static(b"abc"));
        let bytes = encode(&payload, &Form::Plain(Codec::Protobuf), plainly(3)).expect("fits");
        assert_eq!(bytes, envelope(0, b"abc"));
        let error = encode(&payload, &Form::Plain(Codec::Protobuf), plainly(2)).expect_err("over");
        assert_eq!(error.code(), Code::ResourceExhausted);
        let error =
            encode(&payload, &Form::Plain(Codec::Json), plainly(3)).expect_err("other codec");
        assert_eq!(error.code(), Code::Internal);
    }

    #[test]
    fn a_message_that_cannot_be_sent_leaves_those_before_it_alone() {
        let mut out = BytesMut::new();
        for message in [&b"one"[..], b"too long", b"two"] {
            let payload = Payload::encoded(Codec::Protobuf, Bytes::from_static(message));
            let appended = append(
                &payload,
                &Form::Plain(Codec::Protobuf),
                plainly(3),
                &mut out,
            );
            assert_eq!(appended.is_ok(), message.len() <= 3);
        }
        assert_eq!(out, [envelope(0, b"one"), envelope(0, b"two")].concat());
    }
}
