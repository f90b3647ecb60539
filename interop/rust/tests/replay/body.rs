//! Messages and the bytes around them.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use interop::{
    contract::{BigPayloadRequest, BigPayloadResponse},
    pattern,
};
use prost::Message as _;

use crate::{cut, messages, record::Stream};

/// The complete messages at the start of `data`, inflated, as they are behind their prefixes.
pub(crate) fn messages(data: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = data;
    let mut messages = Vec::new();
    while let Some((head, tail)) = rest.split_at_checked(PREFIX) {
        let Some((message, next)) = tail.split_at_checked(len_in(head)) else {
            break;
        };
        messages.push(if head[0] & 1 == 1 {
            inflated(message)
        } else {
            message.to_vec()
        });
        rest = next;
    }
    messages
}

/// A message behind its prefix.
pub(crate) fn envelope(message: &[u8]) -> Vec<u8> {
    framed(0, message)
}

/// Fills up what the recording cut. It keeps the beginning of long payloads, and those are all of `BigPayload`, whose
/// bytes follow a pattern.
pub(crate) fn complete(stream: &mut Stream) {
    let wrapped = messages::are_wrapped(&stream.path());
    let (request, response) = (&mut stream.request, &mut stream.response);
    if request.data_len == request.data.len() && response.data_len == response.data.len() {
        return;
    }
    if wrapped {
        cut::complete(stream);
        return;
    }
    // What was answered says what was asked for. An error does not, and it is the same whatever was asked for.
    let asked = (!response.data.is_empty()).then(|| payload_len(&first_bytes(&response.data)));
    if request.data_len > request.data.len() {
        let len = payload_len(&request.data[PREFIX..]);
        let zeros = request.data.ends_with(&[0; 512]);
        let message = BigPayloadRequest {
            payload: if zeros { vec![0; len] } else { pattern(len) }.into(),
            response_size: i32::try_from(asked.unwrap_or(1)).expect("small"),
        };
        let whole = envelope(&message.encode_to_vec());
        assert!(whole.starts_with(&request.data), "{}", stream.label);
        assert_eq!(whole.len(), request.data_len, "{}", stream.label);
        request.data = whole;
    }
    if response.data_len > response.data.len() {
        let sent = BigPayloadRequest::decode(&messages(&request.data)[0][..]).expect("decodes");
        let message = BigPayloadResponse {
            payload: pattern(asked.expect("it was answered")).into(),
            received: i32::try_from(sent.payload.len()).expect("small"),
        }
        .encode_to_vec();
        assert!(
            message.starts_with(&first_bytes(&response.data)),
            "{}",
            stream.label
        );
        let compressed = response.data[0] & 1 == 1;
        let whole = if compressed {
            framed(1, &deflated(&message))
        } else {
            assert_eq!(
                PREFIX + message.len(),
                response.data_len,
                "{}",
                stream.label
            );
            envelope(&message)
        };
        response.data_len = whole.len();
        response.data = whole;
    }
}

/// As much as there is of the first message.
pub(crate) fn first_bytes(data: &[u8]) -> Vec<u8> {
    let (head, rest) = data.split_at(PREFIX);
    if head[0] & 1 == 1 {
        inflated(rest)
    } else {
        rest.to_vec()
    }
}

/// The length that field 1 announces at the start of a message.
fn payload_len(message: &[u8]) -> usize {
    assert_eq!(message[0], 0x0a, "the payload is field 1");
    let len = prost::encoding::decode_varint(&mut &message[1..]).expect("a length");
    usize::try_from(len).expect("fits")
}

fn len_in(head: &[u8]) -> usize {
    u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize
}

pub(crate) fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).expect("below 4 GiB");
    [&[flag], &len.to_be_bytes()[..], message].concat()
}

/// What can be inflated: all of it, unless it was cut.
pub(crate) fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut decoder = GzDecoder::new(bytes);
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = decoder.read(&mut buffer) {
        all.extend_from_slice(&buffer[..count]);
    }
    all
}

pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

const PREFIX: usize = 5;

#[test]
fn messages_are_taken_out_of_their_envelopes() {
    let data = [
        envelope(b"one"),
        framed(1, &deflated(b"two")),
        envelope(b""),
    ]
    .concat();
    assert_eq!(messages(&data), [&b"one"[..], b"two", b""]);
    assert_eq!(messages(&data[..data.len() - 1]).len(), 2);
}
