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
        match header.length {
            Some(length) => {
                for index in 0..length {
                    item(&mut list, self).map_err(|error| self.in_item(error, index))?;
                }
            }
            None => {
                let mut index = 0;
                while !self.ends()? {
                    item(&mut list, self).map_err(|error| self.in_item(error, index))?;
                    index += 1;
                }
            }
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

    /// Whether the end of a map, or of a list without a length, is next; if so it is read.
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
