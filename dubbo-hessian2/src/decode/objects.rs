//! Objects and enums (`docs/spec/hessian2.md` §5, §9.3).

use std::borrow::Cow;

use super::{Decoder, Kind};
use crate::{DecodeError, Shape};

impl<'a> Decoder<'a> {
    /// An object of any class as the Rust type of `shape`, or a map with such keys, which is how generic calls send
    /// one.
    ///
    /// `field` is called with the position in `shape` of each field that it has, the decoder standing at the value;
    /// other fields are skipped. A name that occurs twice is given twice: the last one counts. An error gets
    /// the names of class and field.
    pub fn read_struct(
        &mut self,
        shape: &'static Shape,
        mut field: impl FnMut(&mut Self, usize) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let back = self.follow()?;
        let lead = self.lead()?;
        let mut read = |decoder: &mut Self, target: usize| {
            field(decoder, target).map_err(|error| {
                error
                    .or_at(decoder.position())
                    .in_field(shape.class, shape.fields[target])
            })
        };
        if let 0x60..=0x6f | b'O' = lead {
            let (index, class) = self.object_header(lead)?;
            self.admit(class)?;
            let targets = self.definitions.targets(class, shape);
            for position in 0..self.definitions.fields(class).len() {
                match self.definitions.target(targets, position) {
                    Some(target) => read(self, target)?,
                    None => self.skip()?,
                }
            }
            self.close(index);
        } else {
            if !matches!(lead, b'H' | b'M') {
                return Err(self.unexpected("an object", lead));
            }
            let header = self.map_header(lead)?;
            while !self.ends()? {
                let target = match self.peek()? {
                    Kind::String => {
                        let key = self.str()?;
                        shape.fields.iter().position(|name| *name == key)
                    }
                    _ => {
                        self.skip()?;
                        None
                    }
                };
                match target {
                    Some(target) => read(self, target)?,
                    None => self.skip()?,
                }
            }
            self.close(header.index);
        }
        self.resume(back);
        Ok(())
    }

    /// The name of an enum's constant: an object or a map with the field `name`, or a plain string.
    pub fn read_enum(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        static SHAPE: Shape = Shape {
            class: "java.lang.Enum",
            fields: &["name"],
        };
        if self.peek()? == Kind::String {
            return self.str();
        }
        let mut name = None;
        self.read_struct(&SHAPE, |decoder, _| {
            name = Some(decoder.str()?);
            Ok(())
        })?;
        name.ok_or_else(|| DecodeError::custom("a constant of an enum without its name"))
    }
}
