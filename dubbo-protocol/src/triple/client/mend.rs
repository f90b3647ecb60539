//! Mending header values that HTTP forbids, before they end the connection.
//!
//! Dubbo Java puts the text of an exception into `grpc-message` as it is, line breaks included (`docs/spec/triple.md`
//! §3.2). HTTP/2 calls such a block malformed, and `h2` closes the connection with every call on it. A line break costs
//! as many bytes as a space, so it is replaced in the bytes as they come in, and neither lengths nor the peer's
//! compression tables change. Values in Huffman's code are left alone: Dubbo Java codes only those from 512 bytes on.

/// Follows the frames that a peer sends, and replaces forbidden characters in the values of their headers by spaces.
#[derive(Debug)]
pub(super) struct Mender {
    at: At,
    block: Block,
}

/// Where in a frame the next byte stands (RFC 9113 §4.1, §6.2).
#[derive(Debug, Clone, Copy)]
enum At {
    /// In the nine bytes before the payload, of which it has `have`.
    Head { bytes: [u8; HEAD], have: usize },
    /// Before what is left of a payload that has no header block.
    Other { left: usize },
    /// At the length of the padding, the first of `left` bytes.
    PadLength { left: usize, priority: usize },
    /// Before the fields of a stream's priority, which end `skip` bytes on.
    Priority {
        skip: usize,
        left: usize,
        pad: usize,
    },
    /// Before what is left of a header block, with padding after it.
    Fragment { left: usize, pad: usize },
}

/// Where in a header block the next byte stands (RFC 7541 §6).
#[derive(Debug, Clone, Copy)]
enum Block {
    /// At the start of a field.
    Field,
    /// In an index or size of several bytes, and what comes after it.
    Integer { value_follows: bool },
    /// At the length of a string.
    Length { string: Text },
    /// In a length of several bytes.
    LongLength {
        string: Text,
        coded: bool,
        length: usize,
        shift: u32,
    },
    /// Within a string.
    String {
        string: Text,
        coded: bool,
        left: usize,
    },
    /// Nowhere that makes sense: the peer's block is broken, and `h2` will say so.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Name,
    Value,
}

impl Mender {
    pub(super) fn new() -> Self {
        Self {
            at: At::start(),
            block: Block::Field,
        }
    }

    /// Takes in the next bytes of the peer, and mends them.
    pub(super) fn mend(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let taken = match &mut self.at {
                At::Head { bytes: head, have } => {
                    let count = bytes.len().min(HEAD - *have);
                    head[*have..*have + count].copy_from_slice(&bytes[..count]);
                    *have += count;
                    if *have == HEAD {
                        let head = *head;
                        self.begin(head);
                    }
                    count
                }
                At::Other { left } => {
                    let count = bytes.len().min(*left);
                    *left -= count;
                    count
                }
                At::PadLength { left, priority } => {
                    let pad = usize::from(bytes[0]);
                    let rest = *left - 1;
                    self.at = At::after_pad_length(rest, pad, *priority);
                    1
                }
                At::Priority { skip, .. } => {
                    let count = bytes.len().min(*skip);
                    *skip -= count;
                    count
                }
                At::Fragment { left, .. } => {
                    let count = bytes.len().min(*left);
                    *left -= count;
                    self.block.mend(&mut bytes[..count]);
                    count
                }
            };
            self.at.advance();
            bytes = &mut bytes[taken..];
        }
    }

    fn begin(&mut self, head: [u8; HEAD]) {
        let [a, b, c, kind, flags, ..] = head;
        let left = u32::from_be_bytes([0, a, b, c]) as usize;
        self.at = match kind {
            HEADERS => {
                self.block = Block::Field;
                let priority = if flags & PRIORITY == 0 {
                    0
                } else {
                    PRIORITY_LEN
                };
                if flags & PADDED == 0 {
                    At::after_pad_length(left, 0, priority)
                } else if left == 0 {
                    At::Other { left: 0 }
                } else {
                    At::PadLength { left, priority }
                }
            }
            CONTINUATION => At::Fragment { left, pad: 0 },
            _ => At::Other { left },
        };
    }
}

impl At {
    const fn start() -> Self {
        Self::Head {
            bytes: [0; HEAD],
            have: 0,
        }
    }

    /// What follows in a payload of which `left` bytes are left, `pad` of them padding.
    fn after_pad_length(left: usize, pad: usize, priority: usize) -> Self {
        match left.checked_sub(pad + priority) {
            Some(left) => Self::Priority {
                skip: priority,
                left,
                pad,
            },
            // Too short for what it says: h2 refuses it.
            None => Self::Other { left },
        }
    }

    /// Goes on where a part has ended.
    fn advance(&mut self) {
        loop {
            *self = match *self {
                Self::Priority { skip: 0, left, pad } => Self::Fragment { left, pad },
                Self::Fragment { left: 0, pad } => Self::Other { left: pad },
                Self::Other { left: 0 } => Self::start(),
                _ => return,
            };
        }
    }
}

impl Block {
    fn mend(&mut self, mut bytes: &mut [u8]) {
        while let Some(&first) = bytes.first() {
            if let Self::String {
                string,
                coded,
                left,
            } = *self
            {
                let (text, rest) = bytes.split_at_mut(bytes.len().min(left));
                if string == Text::Value && !coded {
                    text.iter_mut()
                        .filter(|byte| is_forbidden(**byte))
                        .for_each(|byte| *byte = b' ');
                }
                *self = Self::string(string, coded, left - text.len());
                bytes = rest;
            } else {
                *self = self.after(first);
                bytes = &mut bytes[1..];
            }
        }
    }

    /// What comes after `byte`, which is no part of a string.
    fn after(self, byte: u8) -> Self {
        match self {
            Self::Field => Self::field(byte),
            Self::Integer { .. } if byte & MORE != 0 => self,
            Self::Integer { value_follows } => Self::value_or_field(value_follows),
            Self::Length { string } => {
                let (coded, length) = (byte & CODED != 0, usize::from(byte & !CODED));
                if length < LENGTH_MASK {
                    Self::string(string, coded, length)
                } else {
                    Self::LongLength {
                        string,
                        coded,
                        length,
                        shift: 0,
                    }
                }
            }
            Self::LongLength {
                string,
                coded,
                length,
                shift,
            } => {
                let length = length + (usize::from(byte & !MORE) << shift);
                if byte & MORE == 0 {
                    Self::string(string, coded, length)
                } else if shift < MAX_SHIFT {
                    Self::LongLength {
                        string,
                        coded,
                        length,
                        shift: shift + 7,
                    }
                } else {
                    Self::Lost
                }
            }
            Self::String { .. } | Self::Lost => Self::Lost,
        }
    }

    /// The first byte of a field says what it is made of.
    fn field(byte: u8) -> Self {
        let (mask, value_follows) = match byte {
            0x80.. => (0x7f, false), // a field of the tables
            0x40.. => (0x3f, true),  // a literal for the tables
            0x20.. => (0x1f, false), // the size of the tables
            _ => (0x0f, true),       // a literal
        };
        match byte & mask {
            0 if value_follows => Self::Length { string: Text::Name },
            index if index == mask => Self::Integer { value_follows },
            _ => Self::value_or_field(value_follows),
        }
    }

    fn value_or_field(value_follows: bool) -> Self {
        if value_follows {
            Self::Length {
                string: Text::Value,
            }
        } else {
            Self::Field
        }
    }

    fn string(string: Text, coded: bool, left: usize) -> Self {
        match (string, left) {
            (Text::Name, 0) => Self::value_or_field(true),
            (Text::Value, 0) => Self::Field,
            _ => Self::String {
                string,
                coded,
                left,
            },
        }
    }
}

/// What a header value may not have: controls but the tab.
fn is_forbidden(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

const HEAD: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
const PRIORITY_LEN: usize = 5;
const CODED: u8 = 0x80;
const MORE: u8 = 0x80;
const LENGTH_MASK: usize = 0x7f;

/// A length beyond 2^28 is no length of a header.
const MAX_SHIFT: u32 = 14;

#[cfg(test)]
mod tests {
    use dubbo_test::peer::h2::{Frame, kind};

    use super::*;

    fn mended(bytes: &[u8], chunk: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let mut mender = Mender::new();
        bytes.chunks_mut(chunk).for_each(|chunk| mender.mend(chunk));
        bytes
    }

    /// The same block in one frame after others, split over frames, and padded with a priority.
    fn framings(block: &[u8]) -> Vec<Vec<u8>> {
        let data = Frame::data(1, "\n\r\0", false).encode();
        let whole = Frame::new(kind::HEADERS, 4, 1, block.to_vec()).encode();
        let mut split = Vec::new();
        for (index, byte) in block.iter().enumerate() {
            let kind = if index == 0 {
                kind::HEADERS
            } else {
                kind::CONTINUATION
            };
            split.extend_from_slice(&Frame::new(kind, 0, 1, vec![*byte]).encode());
        }
        let padded = [&[3, 0, 0, 0, 10, 16][..], block, b"\n\n\n"].concat();
        let padded = Frame::new(kind::HEADERS, 4 | PADDED | PRIORITY, 1, padded).encode();
        [&data[..], &whole, &data, &split, &padded, &data, &whole]
            .iter()
            .map(|bytes| bytes.to_vec())
            .collect()
    }

    fn check(block: &[u8], want: &[u8]) {
        let (given, want) = (framings(block).concat(), framings(want).concat());
        for chunk in [1, 2, 3, 7, given.len()] {
            assert_eq!(
                mended(&given, chunk),
                want,
                "{block:?} in chunks of {chunk}"
            );
        }
    }

    fn literal(first: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
        let text = |text: &[u8]| {
            let short = u8::try_from(text.len()).expect("short");
            [&[short][..], text].concat()
        };
        [&[first][..], &text(name), &text(value)].concat()
    }

    #[test]
    fn line_breaks_in_plain_values_become_spaces() {
        for first in [0x00, 0x10, 0x40] {
            let given = literal(first, b"grpc-message", b"a\nb\r\nc\0\x7f\td");
            let want = literal(first, b"grpc-message", b"a b  c  \td");
            check(&given, &want);
        }
        // A name of the tables: index 5, and index 100 in two bytes.
        check(b"\x45\x03a\nb", b"\x45\x03a b");
        check(b"\x0f\x55\x03a\nb\x83", b"\x0f\x55\x03a b\x83");
        check(b"\x7f\x80\x01\x03a\nb", b"\x7f\x80\x01\x03a b");
    }

    #[test]
    fn nothing_else_is_touched() {
        for block in [
            &b"\x88\x0a"[..],                    // fields of the tables, one of them number 10
            b"\x20\x3f\xe1\x1f\x88",             // sizes of the tables
            b"\xff\x0a\x88",                     // an index in two bytes, the second a line break
            b"\x40\x0aaaaaaaaaaa\x0aaaaaaaaaaa", // lengths of ten
            b"\x40\x03a\nb\x01c",                // a name: h2 refuses it
            b"\x00\x01a\x83\x0a\x0a\x0a\x88",    // Huffman's code
            b"\x00\x00\x00\x88",                 // empty strings
        ] {
            check(block, block);
        }
    }

    #[test]
    fn long_values_are_mended_to_their_end() {
        let value = "line\n".repeat(100);
        let length = [0x7f, 0xf5, 0x02]; // 500 = 127 + 0x75 + 2 * 128
        let block = |value: &str| [b"\x00\x01x", &length[..], value.as_bytes()].concat();
        check(&block(&value), &block(&value.replace('\n', " ")));
    }

    #[test]
    fn broken_blocks_and_frames_are_left_to_h2() {
        for bytes in [
            &b"\x00\x01x\x7f\xff\xff\xff\xff\xff\xff\xff\xff\n"[..],
            b"\x00\x01x\x7f\xff\xff\xff\x7f\n",
            b"\x40",
        ] {
            check(bytes, bytes);
        }
        for frame in [
            Frame::new(kind::HEADERS, PADDED, 1, ""),
            Frame::new(kind::HEADERS, PADDED, 1, "\n\n"),
            Frame::new(kind::HEADERS, PRIORITY, 1, "\n\n"),
        ] {
            let bytes = [&frame.encode()[..], &frame.encode()].concat();
            assert_eq!(mended(&bytes, 1), bytes);
        }
    }
}
