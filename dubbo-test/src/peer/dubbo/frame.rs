//! Frames, as `docs/spec/dubbo-protocol.md` §1 has them.

use std::fmt;

/// One frame. Nothing keeps a test from making one that is wrong.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    /// The third byte: request 0x80, two-way 0x40, event 0x20, and the id of the serialization.
    pub flags: u8,
    /// The fourth byte.
    pub status: u8,
    /// The id.
    pub id: i64,
    /// What the header says of the length of the body, if it is not true.
    pub claimed: Option<i32>,
    /// The body.
    pub body: Vec<u8>,
}

impl Frame {
    /// A frame with hessian2 in it.
    pub fn new(flags: u8, status: u8, id: i64, body: impl Into<Vec<u8>>) -> Self {
        Self {
            flags: flags | 2,
            status,
            id,
            claimed: None,
            body: body.into(),
        }
    }

    /// A call that expects an answer.
    pub fn call(id: i64, body: impl Into<Vec<u8>>) -> Self {
        Self::new(REQUEST | TWO_WAY, 0, id, body)
    }

    /// An answer to a call with this id, with status 20.
    pub fn ok(id: i64, body: impl Into<Vec<u8>>) -> Self {
        Self::new(0, 20, id, body)
    }

    /// An answer to `request`, a call or an event.
    pub fn answer(request: &Self, status: u8, body: impl Into<Vec<u8>>) -> Self {
        Self {
            flags: request.flags & !(REQUEST | TWO_WAY),
            status,
            id: request.id,
            claimed: None,
            body: body.into(),
        }
    }

    /// A heartbeat that expects an answer.
    pub fn heartbeat(id: i64) -> Self {
        Self::new(REQUEST | TWO_WAY | EVENT, 0, id, *b"N")
    }

    /// An event that expects none: `R`, `W` or another text.
    pub fn event(id: i64, text: &str) -> Self {
        Self::new(REQUEST | EVENT, 0, id, text_value(text))
    }

    /// Whether it is a call, one-way or not.
    pub fn is_call(&self) -> bool {
        self.flags & (REQUEST | EVENT) == REQUEST
    }

    /// Whether its sender waits for an answer.
    pub fn is_two_way(&self) -> bool {
        self.flags & TWO_WAY != 0
    }

    /// Whether it is an event that expects an answer: a heartbeat.
    pub fn is_heartbeat(&self) -> bool {
        self.flags & !SERIALIZATION == REQUEST | TWO_WAY | EVENT && self.body == b"N"
    }

    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let real = i32::try_from(self.body.len()).expect("a body of a test is short");
        let mut bytes = vec![0xda, 0xbb, self.flags, self.status];
        bytes.extend_from_slice(&self.id.to_be_bytes());
        bytes.extend_from_slice(&self.claimed.unwrap_or(real).to_be_bytes());
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Takes the first frame off `bytes`, if it is whole.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(HEADER)?;
        assert_eq!(header[..2], [0xda, 0xbb], "a frame begins: {header:02x?}");
        let number = |range: std::ops::Range<usize>| {
            let digits = header[range].iter();
            digits.fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let len = usize::try_from(number(12..16)).expect("lengths have 32 bits");
        let body = rest.get(..len)?.to_vec();
        let frame = Self {
            flags: header[2],
            status: header[3],
            id: number(4..12).cast_signed(),
            claimed: None,
            body,
        };
        bytes.drain(..HEADER + len);
        Some(frame)
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            flags, status, id, ..
        } = self;
        let body = self.body.escape_ascii();
        write!(f, "Frame({flags:02x} {status} #{id} \"{body}\")")
    }
}

/// `text` as hessian writes it when it is short.
fn text_value(text: &str) -> Vec<u8> {
    let len = u8::try_from(text.len()).expect("a text of an event is short");
    [&[len], text.as_bytes()].concat()
}

const HEADER: usize = 16;
const REQUEST: u8 = 0x80;
const TWO_WAY: u8 = 0x40;
const EVENT: u8 = 0x20;
const SERIALIZATION: u8 = 0x1f;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_the_specification() {
        for (frame, want) in [
            (Frame::heartbeat(1), "dabbe2000000000000000001000000014e"),
            (
                Frame::answer(&Frame::heartbeat(1), 20, *b"N"),
                "dabb22140000000000000001000000014e",
            ),
            (Frame::event(2, "R"), "dabba2000000000000000002000000020152"),
            (Frame::ok(3, [0x92]), "dabb021400000000000000030000000192"),
            (Frame::call(-2, ""), "dabbc200fffffffffffffffe00000000"),
        ] {
            let mut bytes = frame.encode();
            let pairs = (0..want.len()).step_by(2);
            let want: Vec<u8> = pairs
                .map(|at| u8::from_str_radix(&want[at..at + 2], 16).expect("hex"))
                .collect();
            assert_eq!(bytes, want);
            bytes.push(0xda);
            assert_eq!(Frame::take(&mut bytes), Some(frame));
            assert_eq!(bytes, [0xda]);
        }
    }
}
