//! Passing over a value, so that everything it defines is known.

use super::{Decoder, Kind};
use crate::DecodeError;

impl Decoder<'_> {
    /// Reads one value of any kind and drops it. What it contains can be referred to later.
    pub fn skip(&mut self) -> Result<(), DecodeError> {
        let lead = self.lead()?;
        if lead == super::REFERENCE {
            return self.reference().map(drop);
        }
        match self.kind_of(lead)? {
            Kind::Null => self.null().map(drop),
            Kind::Bool => self.bool().map(drop),
            Kind::Int | Kind::Long | Kind::Double => self.number("a number").map(drop),
            Kind::Date => self.date().map(drop),
            Kind::String => self.str().map(drop),
            Kind::Bytes => self.bytes().map(drop),
            Kind::List | Kind::Map | Kind::Object => self.skip_container(lead),
        }
    }

    fn skip_container(&mut self, lead: u8) -> Result<(), DecodeError> {
        if let Some(index) = self.was_read() {
            self.pass(index);
            return Ok(());
        }
        let index = match lead {
            b'H' | b'M' => {
                let header = self.map_header(lead)?;
                while !self.ends()? {
                    self.skip()?;
                    self.skip()?;
                }
                header.index
            }
            0x60..=0x6f | b'O' => {
                let (index, class) = self.object_header(lead)?;
                for _ in self.definitions.fields(class) {
                    self.skip()?;
                }
                index
            }
            _ => {
                let header = self.list_header(lead)?;
                let mut index = 0;
                while self.continues(header.length, index)? {
                    self.skip()?;
                    index += 1;
                }
                header.index
            }
        };
        self.close(index);
        Ok(())
    }
}
