//! Fills up what a recording cut of long texts and binaries. They follow a pattern, whose beginning is there.

use prost::Message as _;
use prost::encoding::decode_varint;

use crate::{
    body,
    record::{Half, Stream},
    wrapped::Wrapper,
};

/// Fills up the one message that each half of `stream` has, if it was cut.
pub(crate) fn complete(stream: &mut Stream) {
    let method = stream.path();
    let answer = (!stream.response.data.is_empty()).then(|| Cut::of(&stream.response));
    if stream.request.data_len > stream.request.data.len() {
        let mut rest = Vec::new();
        if method.ends_with("/big") {
            // What was answered says what was asked for.
            let size = answer
                .as_ref()
                .map_or(0, |answer| answer.as_ref().map_or(1, Cut::content_len));
            let size = i32::try_from(size).expect("small");
            rest.push(dubbo::hessian2::to_vec(&size).expect("a number"));
        }
        fill(&mut stream.request, rest);
    }
    if stream.response.data_len > stream.response.data.len() {
        fill(&mut stream.response, Vec::new());
    }
}

/// A message of which the beginning is there.
struct Cut {
    serialize_type: String,
    /// The first value, as far as it is there, and how long it was.
    head: Vec<u8>,
    len: usize,
}

impl Cut {
    /// The message in `half`; `None` when its value is short.
    fn of(half: &Half) -> Option<Self> {
        let first = body::first_bytes(&half.data);
        let mut rest = &first[..];
        let serialize_type = String::from_utf8(field(&mut rest).1.to_vec()).expect("a name");
        let (len, head) = field(&mut rest);
        let head = head.to_vec();
        matches!(head.first(), Some(b'A' | b'B' | b'R' | b'S')).then_some(Self {
            serialize_type,
            head,
            len,
        })
    }

    fn is_text(&self) -> bool {
        self.head[0] == b'R' || self.head[0] == b'S'
    }

    /// How many units a whole chunk holds.
    fn chunk(&self) -> usize {
        usize::from(u16::from_be_bytes([self.head[1], self.head[2]]))
    }

    /// The value, all of it.
    fn value(&self) -> Vec<u8> {
        let units = self.units();
        let period = period(&units);
        let mut units = units[..period].iter().copied().cycle();
        let mut out = Vec::new();
        loop {
            let room = self.len - out.len();
            let ends = ["", "z"];
            if let Some(last) = ends
                .iter()
                .find_map(|end| self.last(units.clone(), end, room))
            {
                out.extend(last);
                return out;
            }
            let kind = if self.is_text() { b'R' } else { b'A' };
            out.extend([kind, self.head[1], self.head[2]]);
            let chunk = units.by_ref().take(self.chunk());
            out.extend(chunk.flatten());
            assert!(out.len() < self.len, "no chunk ends with the value");
        }
    }

    /// The last chunk, if it fills the `room` and ends like this.
    fn last<'a>(
        &self,
        units: impl Iterator<Item = &'a [u8]>,
        end: &str,
        room: usize,
    ) -> Option<Vec<u8>> {
        let mut len = end.len();
        let mut chunk = Vec::new();
        for (count, unit) in (end.len()..=self.chunk()).zip(units) {
            let mut whole = self.last_header(count);
            if len + whole.len() == room {
                whole.extend(chunk);
                whole.extend(end.bytes());
                return Some(whole);
            }
            len += unit.len();
            chunk.extend_from_slice(unit);
        }
        None
    }

    /// What stands before the last `count` units: the shorter, the fewer they are (`docs/spec/hessian2.md` §1).
    fn last_header(&self, count: usize) -> Vec<u8> {
        let [high, low] = u16::try_from(count).expect("a chunk").to_be_bytes();
        match (self.is_text(), count) {
            (true, 0..=31) => vec![low],
            (false, 0..=15) => vec![0x20 + low],
            (true, 0..=1023) => vec![0x30 + high, low],
            (false, 0..=1023) => vec![0x34 + high, low],
            (true, _) => vec![b'S', high, low],
            (false, _) => vec![b'B', high, low],
        }
    }

    /// How many bytes the value's content has, when it is binary.
    fn content_len(&self) -> usize {
        let bytes: Vec<u8> = dubbo::hessian2::from_slice(&self.value()).expect("binary");
        bytes.len()
    }

    /// What is there of the content, in bytes or in UTF-16 units.
    fn units(&self) -> Vec<&[u8]> {
        let mut units = Vec::new();
        let mut rest = &self.head[..];
        while rest.len() > HEADER {
            rest = &rest[HEADER..];
            for _ in 0..self.chunk() {
                let len = match rest.first() {
                    Some(0xe0..) if self.is_text() => 3,
                    Some(0xc0..) if self.is_text() => 2,
                    _ => 1,
                };
                let Some((unit, next)) = rest.split_at_checked(len) else {
                    return units;
                };
                units.push(unit);
                rest = next;
            }
        }
        units
    }
}

fn fill(half: &mut Half, more: Vec<Vec<u8>>) {
    let cut = Cut::of(half).expect("a long value");
    let value = cut.value();
    assert!(value.starts_with(&cut.head), "the pattern goes on");
    assert_eq!(value.len(), cut.len);
    let mut types = vec![
        if cut.is_text() {
            "java.lang.String"
        } else {
            "[B"
        }
        .to_owned(),
    ];
    types.extend(more.iter().map(|_| "int".to_owned()));
    let mut values = vec![value];
    values.extend(more);
    let message = Wrapper {
        serialize_type: cut.serialize_type,
        values,
        types,
    };
    let message = message.encode_to_vec();
    half.data = if half.data[0] & 1 == 1 {
        body::framed(1, &body::deflated(&message))
    } else {
        let whole = body::envelope(&message);
        assert_eq!(whole.len(), half.data_len);
        assert!(whole.starts_with(&half.data));
        whole
    };
    half.data_len = half.data.len();
}

/// How long a field is, and what is there of it.
fn field<'a>(rest: &mut &'a [u8]) -> (usize, &'a [u8]) {
    *rest = &rest[1..];
    let len = usize::try_from(decode_varint(rest).expect("a length")).expect("fits");
    let value = &rest[..len.min(rest.len())];
    *rest = &rest[value.len()..];
    (len, value)
}

/// After how many units they begin again.
fn period(units: &[&[u8]]) -> usize {
    (1..units.len())
        .find(|period| units.iter().zip(&units[*period..]).all(|(a, b)| a == b))
        .expect("a pattern")
}

/// The kind of a chunk and how much is in it.
const HEADER: usize = 3;

#[test]
fn the_pattern_goes_on_to_the_recorded_end() {
    let cut = Cut {
        serialize_type: String::new(),
        head: b"R\0\x03ab\xc3\xa9R\0\x03ab".to_vec(),
        len: 16,
    };
    assert_eq!(
        cut.value(),
        b"R\0\x03ab\xc3\xa9R\0\x03ab\xc3\xa9\x01a".as_slice()
    );
    let cut = Cut {
        serialize_type: String::new(),
        head: b"A\0\x02xyA\0\x02xy".to_vec(),
        len: 13,
    };
    assert_eq!(cut.value(), b"A\0\x02xyA\0\x02xy\x22xy");
    assert_eq!(cut.content_len(), 6);
}
