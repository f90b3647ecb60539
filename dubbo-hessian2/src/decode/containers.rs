//! Lists and maps (`docs/spec/hessian2.md` §3, §4).

use super::{Decoder, END, Parked, definitions::TypeRef};
use crate::{DecodeError, limits::RESERVED_ELEMENTS};

/// A list that was begun.
#[derive(Debug)]
pub(super) struct ListHeader<'a> {
    /// Its number.
    pub(super) index: usize,
    pub(super) type_ref: Option<TypeRef<'a>>,
    /// None for a list that ends with a byte of its own.
    pub(super) length: Option<usize>,
}

/// A map, or an object that is read as one, that was begun.
#[derive(Debug)]
pub(super) struct MapHeader<'a> {
    /// Its number.
    pub(super) index: usize,
    pub(super) type_ref: Option<TypeRef<'a>>,
}

impl<'a> Decoder<'a> {
    /// A list in any form.
    ///
    /// `start` makes the collection; what it is given is a length to reserve: 0 when the list does not say it, and
    /// never more than 1024. `item` reads one element into it.
    pub fn read_list<C>(
        &mut self,
        start: impl FnOnce(usize) -> C,
        mut item: impl FnMut(&mut C, &mut Self) -> Result<(), DecodeError>,
    ) -> Result<C, DecodeError> {
        let back = self.follow()?;
        let lead = self.lead()?;
        let header = self.list_header(lead)?;
        let mut list = start(header.length.unwrap_or(0).min(RESERVED_ELEMENTS));
        let mut index = 0;
        while self.continues(header.length, index)? {
            item(&mut list, self).map_err(|error| self.in_item(error, index))?;
            index += 1;
        }
        self.close(header.index);
        self.resume(back);
        Ok(list)
    }

    /// A map in any form, or an object as the map of its fields.
    ///
    /// `start` makes the map; `entry` reads a key, and then a value, into it.
    pub fn read_map<C>(
        &mut self,
        start: impl FnOnce() -> C,
        mut entry: impl FnMut(&mut C, &mut Self) -> Result<(), DecodeError>,
    ) -> Result<C, DecodeError> {
        let back = self.follow()?;
        let lead = self.lead()?;
        let mut map = start();
        if let 0x60..=0x6f | b'O' = lead {
            let (index, class) = self.object_header(lead)?;
            // It stays data, and is told of.
            self.admits(class);
            for name in self.definitions.fields(class) {
                self.parked = Some(Parked {
                    name,
                    value: self.position,
                });
                self.position = self.input.len();
                entry(&mut map, self).map_err(|error| error.or_at(self.position()))?;
                if self.parked.is_some() {
                    return Err(DecodeError::custom("the key of an entry was not read"));
                }
            }
            self.close(index);
        } else {
            let header = self.map_header(lead)?;
            while !self.ends()? {
                entry(&mut map, self).map_err(|error| error.or_at(self.position()))?;
            }
            self.close(header.index);
        }
        self.resume(back);
        Ok(map)
    }

    /// Begins the list whose first byte is `lead`.
    pub(super) fn list_header(&mut self, lead: u8) -> Result<ListHeader<'a>, DecodeError> {
        if !matches!(lead, b'U'..=b'X' | 0x70..=0x7f) {
            return Err(self.unexpected("a list", lead));
        }
        let index = self.open()?;
        self.position += 1;
        let typed = matches!(lead, b'U' | b'V' | 0x70..=0x77);
        let type_ref = if typed { Some(self.type_ref()?) } else { None };
        let length = match lead {
            b'U' | b'W' => None,
            b'V' | b'X' => Some(self.length("a list")?),
            _ => Some(usize::from(lead & 7)),
        };
        Ok(ListHeader {
            index,
            type_ref,
            length,
        })
    }

    /// Begins the map whose first byte is `lead`.
    pub(super) fn map_header(&mut self, lead: u8) -> Result<MapHeader<'a>, DecodeError> {
        if !matches!(lead, b'H' | b'M') {
            return Err(self.unexpected("a map", lead));
        }
        let index = self.open()?;
        self.position += 1;
        let type_ref = if lead == b'M' {
            Some(self.type_ref()?)
        } else {
            None
        };
        Ok(MapHeader { index, type_ref })
    }

    /// Begins the object whose first byte is `lead`: its number, and the number of its class.
    pub(super) fn object_header(&mut self, lead: u8) -> Result<(usize, usize), DecodeError> {
        if !matches!(lead, 0x60..=0x6f | b'O') {
            return Err(self.unexpected("an object", lead));
        }
        let index = self.open()?;
        let class = self.class_index(lead)?;
        Ok((index, class))
    }

    /// Whether a list of `length` has another element behind `index` of them.
    #[inline]
    pub(super) fn continues(
        &mut self,
        length: Option<usize>,
        index: usize,
    ) -> Result<bool, DecodeError> {
        length.map_or_else(
            || self.ends().map(|ends| !ends),
            |length| Ok(index < length),
        )
    }

    /// Whether the end of a map, or of a list without a length, is next; if so it is read.
    #[inline]
    pub(super) fn ends(&mut self) -> Result<bool, DecodeError> {
        let end = self.raw_lead()? == END;
        self.position += usize::from(end);
        Ok(end)
    }

    #[cold]
    fn in_item(&self, error: DecodeError, index: usize) -> DecodeError {
        error.or_at(self.position()).in_item(index)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use crate::{DecodeError, Decoder, FromHessian, Kind, Value, from_slice};

    #[test]
    fn lists_are_read_in_every_form() {
        for bytes in [
            &b"\x7a\x91\x92"[..],
            b"X\x92\x91\x92",
            b"\x72\x01t\x91\x92",
            b"V\x01t\x92\x91\x92",
            b"W\x91\x92Z",
            b"U\x01t\x91\x92Z",
            b"\x72\0\x91\x92",
            b"\x7a\xe1\x5d\x02",
        ] {
            assert_eq!(
                from_slice::<Vec<i32>>(bytes).expect("reads"),
                [1, 2],
                "{bytes:x?}"
            );
        }
    }

    #[test]
    fn nothing_is_reserved_for_a_claim() {
        for (bytes, expected) in [
            (&b"\x7a\x91\x92"[..], 2),
            (b"W\x91Z", 0),
            (&[b"X\xd4\x08\x00", [0x90; 2048].as_slice()].concat(), 1024),
        ] {
            let mut reserved = usize::MAX;
            let mut decoder = Decoder::new(bytes);
            let read = decoder.read_list(|length| reserved = length, |(), decoder| decoder.skip());
            read.expect("reads");
            assert_eq!(reserved, expected);
        }
        let error = from_slice::<Vec<i32>>(b"XI\x7f\xff\xff\xff\x90").expect_err("a claim");
        assert!(error.is_truncated(), "{error}");
    }

    #[test]
    fn an_object_is_a_map_of_its_fields() {
        let bytes = b"C\x01A\x92\x01a\x01b\x60\x91\x92\x93";
        let mut decoder = Decoder::new(bytes);
        let map: HashMap<String, i32> = FromHessian::decode(&mut decoder).expect("reads");
        assert_eq!(map, HashMap::from([("a".into(), 1), ("b".into(), 2)]));
        assert_eq!(decoder.int().expect("what follows"), 3);
        let map: BTreeMap<String, Value> = from_slice(&bytes[..11]).expect("reads");
        assert_eq!(map.len(), 2);
        // A name is a string, which the key is read from.
        let error = from_slice::<BTreeMap<i32, i32>>(&bytes[..11]).expect_err("no number");
        assert!(
            error
                .to_string()
                .starts_with("\"a\" is no int: want one, or its text, as a key"),
            "{error}"
        );
        assert_eq!(error.offset(), 9);
    }

    #[test]
    fn the_name_of_a_field_is_read_in_every_way() {
        type Read = fn(&mut Decoder<'_>) -> Result<(), DecodeError>;
        let reads: [Read; 5] = [
            |decoder| decoder.str().map(|name| assert_eq!(name, "a")),
            |decoder| decoder.string().map(|name| assert_eq!(name, "a")),
            |decoder| decoder.value().map(|name| assert_eq!(name, "a".into())),
            |decoder| decoder.read_enum().map(|name| assert_eq!(name, "a")),
            |decoder| decoder.skip(),
        ];
        for read in reads {
            let mut decoder = Decoder::new(b"C\x01A\x91\x01a\x60\x91");
            let entry = |(): &mut (), decoder: &mut Decoder<'_>| {
                assert!(!decoder.null()?);
                assert_eq!(decoder.peek()?, Kind::String);
                assert!(!decoder.is_at_end());
                read(decoder)?;
                decoder.int().map(|value| assert_eq!(value, 1))
            };
            decoder.read_map(|| (), entry).expect("reads");
            assert!(decoder.is_at_end());
        }
        let mut decoder = Decoder::new(b"C\x01A\x91\x01a\x60\x91");
        decoder
            .read_map(|| (), |(), _| Ok(()))
            .expect_err("the key was not read");
    }

    #[test]
    fn a_map_ends_where_a_key_may_stand() {
        for bytes in [
            &b"H\x01a\x91"[..],
            b"H\x01aZ",
            b"H\x01a",
            b"W\x91",
            b"U\x01t",
            b"HC\x01A\x90Z",
        ] {
            assert!(from_slice::<Value>(bytes).is_err(), "{bytes:x?}");
        }
    }
}
