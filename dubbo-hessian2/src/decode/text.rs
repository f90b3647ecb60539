//! Strings and binary (`docs/spec/hessian2.md` §2.6, §2.7).

use std::borrow::Cow;

use super::Decoder;
use crate::{DecodeError, LoneSurrogates, error::Problem};

/// A chunk of a string or of binary.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    /// UTF-16 units or bytes.
    length: usize,
    last: bool,
}

impl<'a> Decoder<'a> {
    /// A string.
    pub fn string(&mut self) -> Result<String, DecodeError> {
        match self.short_str() {
            Some(text) => Ok(text.to_owned()),
            None => self.str().map(Cow::into_owned),
        }
    }

    /// A string, borrowed when it stands in one chunk and has no characters beyond U+FFFF.
    pub fn str(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        if let Some(text) = self.short_str() {
            return Ok(Cow::Borrowed(text));
        }
        let lead = self.lead()?;
        if let Some(parked) = self.parked.take() {
            self.position = parked.value;
            return Ok(self.definitions.field_name(parked.name).clone());
        }
        self.str_from(lead)
            .unwrap_or_else(|| Err(self.unexpected("a string", lead)))
    }

    /// Binary, borrowed when it stands in one chunk.
    pub fn bytes(&mut self) -> Result<Cow<'a, [u8]>, DecodeError> {
        let lead = self.lead()?;
        let Some(mut chunk) = self.bytes_chunk(lead)? else {
            return Err(self.unexpected("binary", lead));
        };
        if chunk.last {
            return self.take_slice(chunk.length).map(Cow::Borrowed);
        }
        let mut bytes = Vec::with_capacity(self.room(chunk));
        loop {
            bytes.extend_from_slice(self.take_slice(chunk.length)?);
            if chunk.last {
                return Ok(Cow::Owned(bytes));
            }
            let lead = self.raw_lead()?;
            chunk = self
                .bytes_chunk(lead)?
                .ok_or_else(|| self.no_chunk("binary", lead))?;
        }
    }

    /// The name of a class, a field or a type: a string where no class may be defined.
    pub(super) fn name(&mut self, what: &'static str) -> Result<Cow<'a, str>, DecodeError> {
        let lead = self.raw_lead()?;
        let start = self.position;
        let name = self
            .str_from(lead)
            .unwrap_or_else(|| Err(self.no_chunk(what, lead)))?;
        if name.len() > self.options.limits.name {
            self.position = start;
        }
        self.check(
            name.len(),
            self.options.limits.name,
            "name",
            "bytes in a name",
        )?;
        Ok(name)
    }

    /// The string that is next, if it is one of the most frequent: up to 31 ASCII characters.
    #[inline]
    pub(crate) fn short_str(&mut self) -> Option<&'a str> {
        let (length, rest) = self.rest().split_first()?;
        let bytes = rest
            .get(..usize::from(*length))
            .filter(|_| *length < 0x20)?;
        let text = str::from_utf8(bytes).ok().filter(|text| text.is_ascii())?;
        self.position += 1 + text.len();
        Some(text)
    }

    /// The string that starts with `lead`, unless that starts no string.
    fn str_from(&mut self, lead: u8) -> Option<Result<Cow<'a, str>, DecodeError>> {
        let chunk = match self.str_chunk(lead) {
            Ok(chunk) => chunk?,
            Err(error) => return Some(Err(error)),
        };
        if chunk.last {
            match self.plain(chunk.length) {
                Ok(None) => {}
                plain => return plain.transpose().map(|text| text.map(Cow::Borrowed)),
            }
        }
        Some(self.joined(chunk).map(Cow::Owned))
    }

    fn str_chunk(&mut self, lead: u8) -> Result<Option<Chunk>, DecodeError> {
        let length = match lead {
            0x00..=0x1f => {
                self.position += 1;
                usize::from(lead)
            }
            0x30..=0x33 => {
                let [_, low] = self.take()?;
                (usize::from(lead - 0x30) << 8) + usize::from(low)
            }
            b'R' | b'S' => {
                let [_, high, low] = self.take()?;
                usize::from(u16::from_be_bytes([high, low]))
            }
            _ => return Ok(None),
        };
        Ok(Some(Chunk {
            length,
            last: lead != b'R',
        }))
    }

    fn bytes_chunk(&mut self, lead: u8) -> Result<Option<Chunk>, DecodeError> {
        let length = match lead {
            0x20..=0x2f => {
                self.position += 1;
                usize::from(lead - 0x20)
            }
            0x34..=0x37 => {
                let [_, low] = self.take()?;
                (usize::from(lead - 0x34) << 8) + usize::from(low)
            }
            b'A' | b'B' => {
                let [_, high, low] = self.take()?;
                usize::from(u16::from_be_bytes([high, low]))
            }
            _ => return Ok(None),
        };
        Ok(Some(Chunk {
            length,
            last: lead != b'A',
        }))
    }

    /// A chunk of `units` that UTF-8 can read as it stands; none, and nothing is read, when it has surrogates, or is
    /// wrong, which [`converted`](Self::converted) finds.
    #[inline]
    fn plain(&mut self, units: usize) -> Result<Option<&'a str>, DecodeError> {
        let rest = self.rest();
        let Some(head) = rest.get(..units) else {
            return Err(self.truncated(units));
        };
        let bytes = if head.is_ascii() {
            Some(head)
        } else {
            extent(rest, units)
        };
        let text = bytes.and_then(|bytes| str::from_utf8(bytes).ok());
        self.position += text.map_or(0, str::len);
        Ok(text)
    }

    /// A string that is not a slice of the input.
    fn joined(&mut self, first: Chunk) -> Result<String, DecodeError> {
        let mut chunk = first;
        let mut text = String::with_capacity(self.room(chunk));
        let mut high = None;
        loop {
            match self.plain(chunk.length)? {
                Some("") => {}
                Some(plain) => {
                    self.lone(high.take(), &mut text)?;
                    text.push_str(plain);
                }
                None => self.converted(chunk.length, &mut high, &mut text)?,
            }
            if chunk.last {
                self.lone(high, &mut text)?;
                return Ok(text);
            }
            let lead = self.raw_lead()?;
            chunk = self
                .str_chunk(lead)?
                .ok_or_else(|| self.no_chunk("a string", lead))?;
        }
    }

    /// Reads `units` one by one. `high` is the first half of a pair whose second half may follow.
    fn converted(
        &mut self,
        units: usize,
        high: &mut Option<u16>,
        text: &mut String,
    ) -> Result<(), DecodeError> {
        for _ in 0..units {
            let unit = self.unit()?;
            match (unit, high.take()) {
                (0xdc00..=0xdfff, Some(first)) => {
                    text.extend(char::decode_utf16([first, unit]).flatten());
                }
                (0xd800..=0xdbff, before) => {
                    self.lone(before, text)?;
                    *high = Some(unit);
                }
                (_, before) => {
                    self.lone(before, text)?;
                    match char::from_u32(unit.into()) {
                        Some(character) => text.push(character),
                        None => self.lone(Some(unit), text)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// A UTF-16 unit of one to three bytes.
    fn unit(&mut self) -> Result<u16, DecodeError> {
        let lead = self.raw_lead()?;
        let length = match lead {
            0x00..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => {
                return Err(
                    self.bad_text("a character of four bytes; Hessian writes surrogates of three")
                );
            }
            _ => return Err(self.bad_text("a byte that starts no character")),
        };
        let Some(bytes) = self.rest().get(..length) else {
            return Err(self.truncated(length));
        };
        let mut unit = u32::from(lead) & (0x7f >> (length - usize::from(length == 1)));
        for byte in &bytes[1..] {
            if byte & 0xc0 != 0x80 {
                return Err(self.bad_text("a byte that continues no character"));
            }
            unit = unit << 6 | u32::from(byte & 0x3f);
        }
        if length == 2 && unit < 0x80 || length == 3 && unit < 0x800 {
            return Err(self.bad_text("a character in more bytes than it needs"));
        }
        self.position += length;
        u16::try_from(unit).map_err(|_| self.bad_text("a character beyond 16 bits"))
    }

    /// Half of a pair stands alone.
    fn lone(&self, unit: Option<u16>, text: &mut String) -> Result<(), DecodeError> {
        match (unit, self.options.lone_surrogates) {
            (None, _) => {}
            (Some(_), LoneSurrogates::Replace) => text.push(char::REPLACEMENT_CHARACTER),
            (Some(_), LoneSurrogates::Refuse) => {
                return Err(self.bad_text("half of a surrogate pair, which the options refuse"));
            }
        }
        Ok(())
    }

    /// What to reserve for a value of several chunks: no more than twice what is known to be there.
    fn room(&self, first: Chunk) -> usize {
        (2 * first.length).min(self.rest().len())
    }

    #[cold]
    fn no_chunk(&self, expected: &'static str, found: u8) -> DecodeError {
        self.error(Problem::Byte { expected, found })
    }

    #[cold]
    fn bad_text(&self, problem: &'static str) -> DecodeError {
        self.error(Problem::Text(problem))
    }
}

/// The bytes of the first `units` characters of one to three bytes; none where something else stands.
fn extent(bytes: &[u8], units: usize) -> Option<&[u8]> {
    let mut end = 0;
    for _ in 0..units {
        end += match bytes.get(end)? {
            0x00..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => return None,
        };
    }
    bytes.get(..end)
}
