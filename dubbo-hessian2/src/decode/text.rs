//! Strings and binary (`docs/spec/hessian2.md` §2.6, §2.7).

use std::borrow::Cow;

use super::Decoder;
use crate::{DecodeError, LoneSurrogates, error::Problem, units};

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
        let start = self.position;
        let name = if let Some(name) = self.short_str() {
            Cow::Borrowed(name)
        } else {
            let lead = self.raw_lead()?;
            self.str_from(lead)
                .unwrap_or_else(|| Err(self.no_chunk(what, lead)))?
        };
        let limit = self.options.limits.name;
        if name.len() > limit {
            self.position = start;
        }
        self.check(name.len(), limit, "name", "bytes in a name")?;
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
            units::prefix(rest, units)
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

    /// A chunk of `length` units with surrogates among them. `high` is the first half of a pair whose second half may
    /// follow.
    fn converted(
        &mut self,
        length: usize,
        high: &mut Option<u16>,
        text: &mut String,
    ) -> Result<(), DecodeError> {
        let Some(chunk) = units::prefix(self.rest(), length) else {
            // One of them ends too early, or is none.
            (0..length).try_for_each(|_| self.unit().map(drop))?;
            return Err(self.bad_text("a byte that starts no character"));
        };
        let end = self.position + chunk.len();
        while let Some(rest) = self.input.get(self.position..end)
            && !rest.is_empty()
        {
            let run = surrogate(rest).unwrap_or(rest.len());
            let plain = str::from_utf8(&rest[..run]).or_else(|error| {
                self.position += error.valid_up_to();
                self.unit()?;
                Err(self.bad_text("bytes that are no character"))
            })?;
            if !plain.is_empty() {
                self.lone(high.take(), text)?;
                text.push_str(plain);
                self.position += run;
            }
            let rest = &rest[run..];
            if let (Some(character), None) = (pair(rest), *high) {
                text.push(character);
                self.position += 6;
            } else if !rest.is_empty() {
                let unit = self.unit()?;
                match (unit, high.take()) {
                    (0xdc00.., Some(first)) => {
                        let [high, low] = [first, unit].map(|half| u32::from(half & 0x3ff));
                        text.extend(char::from_u32(0x1_0000 + (high << 10 | low)));
                    }
                    (0xdc00.., None) => self.lone(Some(unit), text)?,
                    (_, before) => {
                        self.lone(before, text)?;
                        *high = Some(unit);
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

/// The character of two surrogates, if `bytes` begin with such.
fn pair(bytes: &[u8]) -> Option<char> {
    let [
        0xed,
        high @ 0xa0..=0xaf,
        middle,
        0xed,
        low @ 0xb0..=0xbf,
        last,
        ..,
    ] = *bytes
    else {
        return None;
    };
    let continued = |byte: u8| (byte & 0xc0 == 0x80).then_some(u32::from(byte & 0x3f));
    let half = |byte: u8, rest: u32| u32::from(byte & 0xf) << 6 | rest;
    let high = half(high, continued(middle)?);
    char::from_u32(0x1_0000 + (high << 10 | half(low, continued(last)?)))
}

/// Where the next surrogate starts.
fn surrogate(bytes: &[u8]) -> Option<usize> {
    units::find(bytes, |byte, next| byte == 0xed && next >= 0xa0)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use crate::{DecodeOptions, Decoder, LoneSurrogates};

    #[test]
    fn units_are_joined_before_they_are_decoded() {
        for (bytes, text) in [
            (&b"\x01a"[..], "a"),
            (b"R\0\0\x01a", "a"),
            (b"R\0\x01a\0", "a"),
            (b"R\0\x01aR\0\x01bS\0\x01c", "abc"),
            (b"R\0\x01a\x30\x01b", "ab"),
            (b"\x02\xe4\xb8\xad\xe6\x96\x87", "中文"),
            (b"\x02\xed\xa0\xbd\xed\xb8\x80", "😀"),
            // A pair in two chunks, with an empty one between.
            (b"R\0\x01\xed\xa0\xbdR\0\0\x01\xed\xb8\x80", "😀"),
            (b"R\0\x02a\xed\xa0\xbd\x02\xed\xb8\x80b", "a😀b"),
            (b"\x01\0", "\0"),
            (b"\x01\xef\xbf\xbf", "\u{ffff}"),
            // Halves: alone, before a character, before another first half, in the wrong order.
            (b"\x01\xed\xa0\xbd", "\u{fffd}"),
            (b"R\0\x01\xed\xa0\xbd\x01a", "\u{fffd}a"),
            (b"\x03\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80", "\u{fffd}😀"),
            (b"\x02\xed\xb8\x80\xed\xa0\xbd", "\u{fffd}\u{fffd}"),
        ] {
            let mut decoder = Decoder::new(bytes);
            assert_eq!(decoder.str().expect(text), text);
            assert!(decoder.is_at_end(), "{text}");
            let options = DecodeOptions {
                lone_surrogates: LoneSurrogates::Refuse,
                ..DecodeOptions::DEFAULT
            };
            let strict = Decoder::with_options(bytes, &options).string();
            assert_eq!(strict.is_err(), text.contains('\u{fffd}'), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_cesu_8_is_refused_where_it_stands() {
        for (bytes, offset) in [
            (&b"\x04\xf0\x9f\x98\x80"[..], 1),
            (b"\x01\x80", 1),
            (b"\x02a\xff", 2),
            (b"\x01\xc0\x20", 1),
            (b"\x01\xc0\x81", 1),
            (b"\x01\xc1\xbf", 1),
            (b"\x01\xe0\x9f\xbf", 1),
            (b"\x01\xe4\xb8\x20", 1),
            (b"\x01\xe4\xb8", 1),
            (b"R\0\x01a\x90", 4),
            (b"R\0\x01aN", 4),
            (b"R\0\x01aC\x01A\x90\0", 4),
            (b"\x30\x20a", 2),
            (b"S\xff\xffa", 3),
        ] {
            let error = Decoder::new(bytes).str().expect_err("no text");
            assert_eq!(error.offset(), offset, "{bytes:x?}: {error}");
        }
    }

    #[test]
    fn one_chunk_is_borrowed() {
        for bytes in [
            &b"\x01a"[..],
            b"\x01\xe4\xb8\xad",
            b"\x30\x01a",
            b"S\0\x01a",
        ] {
            assert!(
                matches!(Decoder::new(bytes).str(), Ok(Cow::Borrowed(_))),
                "{bytes:x?}"
            );
        }
        assert!(matches!(
            Decoder::new(b"B\0\x01a").bytes(),
            Ok(Cow::Borrowed(_))
        ));
        assert!(
            matches!(Decoder::new(b"A\0\x01aA\0\x01b\x21c").bytes(), Ok(Cow::Owned(bytes)) if bytes == b"abc")
        );
    }

    #[test]
    fn broken_binary_is_refused() {
        for bytes in [
            &b"B\xff\xff\0"[..],
            b"A\0\x01\0\x01a",
            b"A\0\x01\0",
            b"\x22a",
            b"\x34",
        ] {
            assert!(Decoder::new(bytes).bytes().is_err(), "{bytes:x?}");
        }
    }
}
