//! Strings and binary (`docs/spec/hessian2.md` §2.6, §2.7).

use super::Encoder;

impl Encoder {
    /// A string: each UTF-16 unit in one to three bytes, long ones in chunks.
    pub fn str(&mut self, text: &str) {
        let (units, pairs) = measure(text);
        if pairs {
            return self.paired(text, units);
        }
        let chunk = self.chunk();
        let (mut rest, mut units) = (text, units);
        while units > chunk {
            let (head, tail) = rest.split_at(bytes_of(rest, chunk));
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
            let (bytes, taken) = chunk_of(rest, chunk);
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
        while let Some(start) = rest.bytes().position(|byte| byte >= FOUR_BYTES) {
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
    #[expect(clippy::cast_possible_truncation, reason = "the bits are masked")]
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

/// UTF-16 units, and whether any two of them are one character.
fn measure(text: &str) -> (usize, bool) {
    if text.is_ascii() {
        return (text.len(), false);
    }
    let (characters, pairs) = text.bytes().fold((0, 0), |(characters, pairs), byte| {
        (
            characters + usize::from(byte & 0xc0 != 0x80),
            pairs + usize::from(byte >= FOUR_BYTES),
        )
    });
    (characters + pairs, pairs > 0)
}

/// The bytes of the first `units` characters, all of one unit.
fn bytes_of(text: &str, units: usize) -> usize {
    let ascii = text.as_bytes().get(..units).is_some_and(<[u8]>::is_ascii);
    if ascii {
        return units;
    }
    text.char_indices()
        .nth(units)
        .map_or(text.len(), |(start, _)| start)
}

/// Bytes and units of a chunk of at most `limit` units that ends between characters: shortened before a pair that
/// would be torn, as Java does, or one longer where nothing else would fit.
fn chunk_of(text: &str, limit: usize) -> (usize, usize) {
    let (mut bytes, mut units) = (0, 0);
    for character in text.chars() {
        let width = character.len_utf16();
        if units + width > limit && units > 0 {
            break;
        }
        bytes += character.len_utf8();
        units += width;
    }
    (bytes, units)
}

/// UTF-8's first byte of a character of two UTF-16 units.
const FOUR_BYTES: u8 = 0xf0;
/// The longest chunk of binary.
const BINARY_CHUNK: usize = 0xffff;
