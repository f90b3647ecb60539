//! Strings and binary (`docs/spec/hessian2.md` §2.6, §2.7).

use super::Encoder;
use crate::units;

impl Encoder {
    /// A string: each UTF-16 unit in one to three bytes, long ones in chunks.
    pub fn str(&mut self, text: &str) {
        let (units, pairs) = if text.is_ascii() {
            (text.len(), 0)
        } else {
            units::count(text.as_bytes())
        };
        if pairs > 0 {
            return self.paired(text, units + pairs);
        }
        let chunk = self.chunk();
        let (mut rest, mut units) = (text, units);
        while units > chunk {
            let (head, tail) = rest.split_at(prefix(rest, chunk));
            self.string_header(b'R', chunk);
            self.buffer.extend_from_slice(head.as_bytes());
            (rest, units) = (tail, units - chunk);
        }
        self.final_header(units);
        self.buffer.extend_from_slice(rest.as_bytes());
    }

    /// Binary, in one chunk as far as one reaches.
    #[expect(clippy::cast_possible_truncation, reason = "the ranges are checked")]
    pub fn bytes(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((chunk, tail)) = rest.split_at_checked(BINARY_CHUNK)
            && !tail.is_empty()
        {
            self.tagged(b'A', [0xff; 2]);
            self.buffer.extend_from_slice(chunk);
            rest = tail;
        }
        let length = rest.len();
        match length {
            0..=15 => self.buffer.push(0x20 + length as u8),
            16..=1023 => self.tagged(0x34 + (length >> 8) as u8, [length as u8]),
            _ => self.string_header(b'B', length),
        }
        self.buffer.extend_from_slice(rest);
    }

    /// A string with characters of two units.
    fn paired(&mut self, text: &str, units: usize) {
        let chunk = self.chunk();
        self.buffer.reserve(text.len() + text.len() / 2);
        let (mut rest, mut units) = (text, units);
        while units > chunk {
            // Shortened before a pair that would be torn, as Java does.
            let (bytes, taken) = units::fit(rest, chunk);
            let (head, tail) = rest.split_at(bytes);
            self.string_header(b'R', taken);
            self.surrogates(head);
            (rest, units) = (tail, units - taken);
        }
        self.final_header(units);
        self.surrogates(rest);
    }

    fn surrogates(&mut self, text: &str) {
        let mut rest = text;
        while let Some(start) = units::find(rest.as_bytes(), |byte, _| byte >= units::PAIR) {
            self.buffer.extend_from_slice(&rest.as_bytes()[..start]);
            let mut characters = rest[start..].chars();
            if let Some(character) = characters.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    self.unit(*unit);
                }
            }
            rest = characters.as_str();
        }
        self.buffer.extend_from_slice(rest.as_bytes());
    }

    /// A unit of three bytes.
    fn unit(&mut self, unit: u16) {
        self.buffer.extend_from_slice(&[
            0xe0 | (unit >> 12) as u8,
            0x80 | (unit >> 6 & 0x3f) as u8,
            0x80 | (unit & 0x3f) as u8,
        ]);
    }

    #[expect(clippy::cast_possible_truncation, reason = "the ranges are checked")]
    fn final_header(&mut self, units: usize) {
        match units {
            0..=31 => self.buffer.push(units as u8),
            32..=1023 => self.tagged(0x30 + (units >> 8) as u8, [units as u8]),
            _ => self.string_header(b'S', units),
        }
    }

    fn string_header(&mut self, lead: u8, length: usize) {
        let length = u16::try_from(length).expect("invariant: a chunk has at most 65535 units");
        self.tagged(lead, length.to_be_bytes());
    }

    fn chunk(&self) -> usize {
        usize::from(self.options.string_chunk.max(1))
    }
}

/// How many bytes the first `units` characters take, where all are of one unit.
fn prefix(text: &str, units: usize) -> usize {
    let ascii = text.as_bytes().get(..units).is_some_and(<[u8]>::is_ascii);
    if ascii {
        units
    } else {
        units::prefix(text.as_bytes(), units).map_or(text.len(), <[u8]>::len)
    }
}

/// The longest chunk of binary.
const BINARY_CHUNK: usize = 0xffff;

#[cfg(test)]
mod tests {
    use crate::{DecodeOptions, Decoder, EncodeOptions, Encoder, LoneSurrogates};

    /// The units of each chunk of `text`.
    fn chunks(text: &str, string_chunk: u16) -> Vec<usize> {
        let mut encoder = Encoder::with_options(EncodeOptions {
            string_chunk,
            ..EncodeOptions::default()
        });
        encoder.str(text);
        let options = DecodeOptions {
            // A torn pair would be read as one, but not as text of its own.
            lone_surrogates: LoneSurrogates::Refuse,
            ..DecodeOptions::DEFAULT
        };
        let bytes = encoder.into_bytes();
        assert_eq!(
            Decoder::with_options(&bytes, &options)
                .str()
                .expect("reads"),
            text
        );
        let (mut rest, mut chunks) = (bytes.as_slice(), Vec::new());
        loop {
            let (units, header) = match rest[0] {
                lead @ 0x00..=0x1f => (usize::from(lead), 1),
                lead @ 0x30..=0x33 => (usize::from(lead - 0x30) << 8 | usize::from(rest[1]), 2),
                _ => (usize::from(u16::from_be_bytes([rest[1], rest[2]])), 3),
            };
            chunks.push(units);
            if rest[0] != b'R' {
                return chunks;
            }
            let mut units = units;
            rest = &rest[header..];
            while units > 0 {
                rest = &rest[1 + usize::from(rest[0] >= 0xc0) + usize::from(rest[0] >= 0xe0)..];
                units -= 1;
            }
        }
    }

    #[test]
    fn chunks_end_where_java_ends_them() {
        let cases = [
            ("a".repeat(0x8000), 0x8000, vec![0x8000]),
            ("a".repeat(0x8001), 0x8000, vec![0x8000, 1]),
            ("中".repeat(0x1_0010), 0x8000, vec![0x8000, 0x8000, 0x10]),
            // A pair that would be torn goes to the next chunk.
            (
                format!("{}😀a", "a".repeat(0x7fff)),
                0x8000,
                vec![0x7fff, 3],
            ),
            (format!("{}😀", "é".repeat(0x7ffe)), 0x8000, vec![0x8000]),
            ("a".repeat(4097), 4096, vec![4096, 1]),
            ("😀".repeat(3), 1, vec![2, 2, 2, 0]),
            ("a中😀".repeat(2), 3, vec![2, 3, 3]),
            ("ab".into(), 0, vec![1, 1]),
            (String::new(), 1, vec![0]),
        ];
        for (text, chunk, expected) in cases {
            assert_eq!(chunks(&text, chunk), expected, "{chunk}");
        }
    }

    #[test]
    fn binary_takes_one_chunk_as_far_as_it_reaches() {
        for (length, header) in [
            (0, &b"\x20"[..]),
            (15, b"\x2f"),
            (16, b"\x34\x10"),
            (1023, b"\x37\xff"),
            (1024, b"B\x04\0"),
            (65535, b"B\xff\xff"),
            (65536, b"A\xff\xff"),
        ] {
            let mut encoder = Encoder::new();
            encoder.bytes(&vec![7; length]);
            assert!(encoder.as_bytes().starts_with(header), "{length}");
            let mut decoder = Decoder::new(encoder.as_bytes());
            assert_eq!(decoder.bytes().expect("reads").len(), length);
            assert!(decoder.is_at_end());
        }
    }
}
