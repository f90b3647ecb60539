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
            field(decoder, target).map_err(|error| decoder.in_field(error, shape, target))
        };
        if let 0x60..=0x6f | b'O' = lead {
            let (index, class) = self.object_header(lead)?;
            self.admit(class)?;
            let binding = self.definitions.binding(class, shape);
            for position in 0..self.definitions.fields(class).len() {
                match self.definitions.target(binding, position) {
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

    /// Begins the object that is next if its fields are those of `shape` in the same order, as they are when both sides
    /// have the same class: a field after the other can be read then, and [`end_in_order`](Self::end_in_order) follows.
    /// [`read_struct`](Self::read_struct) reads all others. Gives the number of the object.
    #[inline]
    pub(crate) fn begin_in_order(
        &mut self,
        shape: &'static Shape,
    ) -> Result<Option<usize>, DecodeError> {
        let lead = self.lead()?;
        if !matches!(lead, 0x60..=0x6f) || !self.is_in_order(usize::from(lead - 0x60), shape) {
            return Ok(None);
        }
        let index = self.open()?;
        self.position += 1;
        Ok(Some(index))
    }

    /// Ends an object after its last field.
    #[inline]
    pub(crate) fn end_in_order(&mut self, index: usize) {
        self.close(index);
    }

    /// Adds to an error where it was: in the field of `shape` at `position`.
    #[cold]
    pub(crate) fn in_field(
        &self,
        error: DecodeError,
        shape: &'static Shape,
        position: usize,
    ) -> DecodeError {
        error
            .or_at(self.position())
            .in_field(shape.class, shape.fields[position])
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
    use std::sync::Arc;

    use crate::{CheckMode, ClassPolicy, DecodeOptions, Decoder, FromHessian, Hessian, from_slice};

    #[derive(Debug, PartialEq, Hessian)]
    #[hessian(class = "A")]
    struct A {
        x: i32,
        #[hessian(default = "seven")]
        y: i32,
    }

    fn seven() -> i32 {
        7
    }

    /// An object of A with `x` and `y`, in this order and in the other.
    fn in_both_orders(x: &[u8], y: &[u8]) -> [Vec<u8>; 2] {
        [
            [b"C\x01A\x92\x01x\x01y\x60".as_slice(), x, y].concat(),
            [b"C\x01A\x92\x01y\x01x\x60".as_slice(), y, x].concat(),
        ]
    }

    #[test]
    fn fields_mean_the_same_in_any_order() {
        for (x, y, expected) in [
            (b"\x91", b"\x92", A { x: 1, y: 2 }),
            (b"N", b"N", A { x: 0, y: 7 }),
        ] {
            for bytes in in_both_orders(x, y) {
                assert_eq!(
                    from_slice::<A>(&bytes).expect("reads"),
                    expected,
                    "{bytes:x?}"
                );
                // Again where a reference says so.
                let twice = [b"\x7a".as_slice(), &bytes, b"\x51\x91"].concat();
                let read = from_slice::<Vec<A>>(&twice).expect("reads");
                assert_eq!(read[0], read[1]);
            }
        }
        for (x, y, field) in [(b"T", b"\x92", "A.x"), (b"\x91", b"T", "A.y")] {
            for bytes in in_both_orders(x, y) {
                let error = from_slice::<A>(&bytes).expect_err("no number").to_string();
                assert!(error.starts_with(field), "{error}");
            }
        }
    }

    #[test]
    fn a_class_is_refused_in_any_order() {
        let options = DecodeOptions {
            classes: Some(Arc::new(ClassPolicy::new(CheckMode::Strict))),
            ..DecodeOptions::DEFAULT
        };
        for bytes in in_both_orders(b"\x91", b"\x92") {
            let mut decoder = Decoder::with_options(&bytes, &options);
            assert!(A::decode(&mut decoder).expect_err("refused").is_refused());
        }
    }

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
