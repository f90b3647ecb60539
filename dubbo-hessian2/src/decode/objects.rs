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
                let target = if self.peek()? == Kind::String {
                    let key = self.str()?;
                    shape.fields.iter().position(|name| *name == key)
                } else {
                    self.skip()?;
                    None
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
        let mut name = None;
        if self.peek()? == Kind::String {
            name = Some(self.str()?);
        } else {
            self.read_struct(&SHAPE, |decoder, _| {
                name = Some(decoder.str()?);
                Ok(())
            })?;
        }
        let name =
            name.ok_or_else(|| DecodeError::custom("a constant of an enum without its name"))?;
        self.check(
            name.len(),
            self.options.limits.name,
            "name",
            "bytes in a name",
        )?;
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use crate::Decoder;

    #[test]
    fn a_constant_is_its_name() {
        for bytes in [
            &b"C\x01E\x91\x04name\x60\x03RED"[..],
            b"C\x01E\x92\x07ordinal\x04name\x60\x90\x03RED",
            b"H\x04name\x03RED\x06_class\x01EZ",
            b"\x03RED",
        ] {
            let mut decoder = Decoder::new(bytes);
            assert_eq!(decoder.read_enum().expect("reads"), "RED", "{bytes:x?}");
            assert!(decoder.is_at_end());
        }
        // A reference to a constant, as Java writes the second one.
        let mut decoder = Decoder::new(b"\x7aC\x01E\x91\x04name\x60\x03RED\x51\x91");
        let read = decoder.read_list(
            |_| Vec::new(),
            |names, decoder| {
                names.push(decoder.read_enum()?);
                Ok(())
            },
        );
        assert_eq!(read.expect("reads"), ["RED", "RED"]);
        for bytes in [
            &b"C\x01E\x90\x60"[..],
            b"HZ",
            b"N",
            b"\x91",
            b"C\x01E\x91\x04name\x60N",
        ] {
            assert!(Decoder::new(bytes).read_enum().is_err(), "{bytes:x?}");
        }
    }
}
