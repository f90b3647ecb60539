//! Envelopes of gRPC around messages of the interop service, written and counted without a codec: what the yardstick needs.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// A `PingMessage`.
pub fn ping(payload: &[u8]) -> Bytes {
    let mut message = BytesMut::with_capacity(payload.len() + SPARE);
    field(&mut message, payload);
    around(&message)
}

/// A `GreetRequest`.
pub fn greet(name: &str, count: u32) -> Bytes {
    let mut message = BytesMut::with_capacity(name.len() + SPARE);
    field(&mut message, name.as_bytes());
    message.put_u8(SECOND_NUMBER);
    varint(&mut message, count);
    around(&message)
}

/// What [`greet`] asks for: the name, and how many messages.
pub fn asked(mut envelope: Bytes) -> Option<(Bytes, u32)> {
    envelope.try_get_u8().ok()?;
    envelope.try_get_u32().ok()?;
    let mut name = Bytes::new();
    let mut count = 0;
    while envelope.has_remaining() {
        match envelope.get_u8() {
            FIRST_BYTES => {
                let length = take_varint(&mut envelope)? as usize;
                name = (length <= envelope.len()).then(|| envelope.split_to(length))?;
            }
            SECOND_NUMBER => count = take_varint(&mut envelope)?,
            _ => return None,
        }
    }
    Some((name, count))
}

/// The message of a stream with the number `seq`.
pub fn greeting(name: &[u8], seq: u32) -> Bytes {
    let mut text = BytesMut::with_capacity(name.len() + SPARE);
    text.put_slice(b"hello ");
    text.put_slice(name);
    text.put_slice(format!(" #{seq}").as_bytes());
    let mut message = BytesMut::with_capacity(text.len() + SPARE);
    field(&mut message, &text);
    message.put_u8(SECOND_NUMBER);
    varint(&mut message, seq);
    around(&message)
}

/// Takes the envelopes that are whole off `bytes`, and gives how many.
pub fn take_all(bytes: &mut BytesMut) -> u32 {
    let mut taken = 0;
    while let Some(length) = bytes.get(1..HEAD) {
        let whole = HEAD
            + length
                .iter()
                .fold(0, |length, byte| length << 8 | usize::from(*byte));
        if bytes.len() < whole {
            break;
        }
        bytes.advance(whole);
        taken += 1;
    }
    taken
}

fn around(message: &[u8]) -> Bytes {
    let mut envelope = BytesMut::with_capacity(HEAD + message.len());
    envelope.put_u8(0);
    envelope.put_u32(u32::try_from(message.len()).expect("invariant: messages are small"));
    envelope.put_slice(message);
    envelope.freeze()
}

/// The first field, of bytes.
fn field(message: &mut BytesMut, bytes: &[u8]) {
    message.put_u8(FIRST_BYTES);
    varint(
        message,
        u32::try_from(bytes.len()).expect("invariant: messages are small"),
    );
    message.put_slice(bytes);
}

fn varint(message: &mut BytesMut, mut number: u32) {
    loop {
        let [lowest, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            message.put_u8(lowest);
            return;
        }
        message.put_u8(lowest | 0x80);
    }
}

fn take_varint(bytes: &mut Bytes) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..32).step_by(7) {
        let byte = bytes.try_get_u8().ok()?;
        number |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Field 1 of a length, and field 2 of a number.
const FIRST_BYTES: u8 = 0x0a;
const SECOND_NUMBER: u8 = 0x10;
const HEAD: usize = 5;
/// More than tags and lengths need.
const SPARE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_understood() {
        let (name, count) = asked(greet("x".repeat(300).as_str(), 1_000)).expect("ours");
        assert_eq!((name.len(), count), (300, 1_000));
        assert_eq!(asked(Bytes::from_static(&[0, 0, 0, 0, 2, 0x0a, 9])), None);
    }

    #[test]
    fn envelopes_are_counted_when_they_are_whole() {
        let mut bytes = BytesMut::new();
        for seq in 0..3 {
            bytes.extend_from_slice(&greeting(b"you", seq));
        }
        let mut rest = bytes.split_off(bytes.len() - 1);
        assert_eq!(take_all(&mut bytes), 2);
        bytes.unsplit(rest.split());
        assert_eq!((take_all(&mut bytes), bytes.len()), (1, 0));
    }
}
