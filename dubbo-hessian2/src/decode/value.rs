//! Values of any shape.

use super::{Decoder, REFERENCE, made::MadeValue, numbers::Number};
use crate::{
    Back, DecodeError, Kind, List, Map, Object, Value, error::Problem, limits::RESERVED_ELEMENTS,
    value::Container,
};

/// A container and its number.
type Numbered = (usize, Container);

impl Decoder<'_> {
    /// A value of any kind. References share what they refer to.
    pub fn value(&mut self) -> Result<Value, DecodeError> {
        let mut read = Value::Null;
        self.put_value(|value| read = value)?;
        Ok(read)
    }

    /// Reads a value and puts it where it belongs: made there, it is not copied, which takes longer than reading it.
    #[inline]
    fn put_value(&mut self, put: impl FnOnce(Value)) -> Result<(), DecodeError> {
        let lead = self.lead()?;
        match lead {
            b'H' | b'M' => put(self.container(lead, Self::map_value)?),
            b'O' | 0x60..=0x6f => put(self.container(lead, Self::object_value)?),
            b'U'..=b'X' | 0x70..=0x7f => put(self.container(lead, Self::list_value)?),
            _ => {
                self.count_node()?;
                return self.put_plain_value(lead, put);
            }
        }
        Ok(())
    }

    /// The same for what is no container.
    #[inline]
    fn put_plain_value(&mut self, lead: u8, put: impl FnOnce(Value)) -> Result<(), DecodeError> {
        if let Some(text) = self.short_str() {
            put(Value::String(text.into()));
            return Ok(());
        }
        if lead == REFERENCE {
            put(self.referenced_value()?);
            return Ok(());
        }
        match self.kind_of(lead)? {
            Kind::Null => {
                self.position += 1;
                put(Value::Null);
            }
            Kind::Bool => put(Value::Bool(self.bool()?)),
            Kind::Date => put(Value::Date(self.date()?)),
            Kind::String => put(Value::String(self.str()?.into())),
            Kind::Bytes => put(Value::Bytes(self.bytes()?.into_owned().into())),
            _ => match self.number("a number")? {
                Number::Int(value) => put(Value::Int(value)),
                Number::Long(value) => put(Value::Long(value)),
                Number::Double(value) => put(Value::Double(value)),
            },
        }
        Ok(())
    }

    fn referenced_value(&mut self) -> Result<Value, DecodeError> {
        let start = self.position;
        let index = self.reference()?;
        if let Some(value) = self.made_value(index, start)? {
            return Ok(value);
        }
        // It was read as something else; from now on it is a value too.
        let back = self.jump(index, start)?;
        let value = self.value()?;
        self.resume(Some(back));
        Ok(value)
    }

    /// What container `index` became, or a reference back to it while it is being read.
    fn made_value(&mut self, index: usize, at: usize) -> Result<Option<Value>, DecodeError> {
        if self.references.is_open(index) {
            let back = self
                .made
                .back(index)
                .ok_or_else(|| DecodeError::new(Problem::Cyclic, at))?;
            return Ok(Some(Value::Back(Back::new(back))));
        }
        Ok(match self.made.value(index) {
            Some(MadeValue::Done(container)) => Some(container.clone().into()),
            _ => None,
        })
    }

    /// The container that is next, once.
    fn container(
        &mut self,
        lead: u8,
        read: fn(&mut Self, u8) -> Result<Numbered, DecodeError>,
    ) -> Result<Value, DecodeError> {
        if let Some(index) = self.was_read()
            && let Some(value) = self.made_value(index, self.position)?
        {
            self.pass(index);
            return Ok(value);
        }
        let (index, container) = read(self, lead)?;
        self.close(index);
        self.made.end(index, &container);
        Ok(container.into())
    }

    fn list_value(&mut self, lead: u8) -> Result<Numbered, DecodeError> {
        let header = self.list_header(lead)?;
        self.made.begin(header.index);
        let type_name = header
            .type_ref
            .and_then(|name| self.definitions.type_name(name));
        let mut items = Vec::with_capacity(header.length.unwrap_or(0).min(RESERVED_ELEMENTS));
        while self.continues(header.length, items.len())? {
            if let Err(error) = self.put_value(|value| items.push(value)) {
                return Err(error.in_item(items.len()));
            }
        }
        let list = List::new(type_name, items, header.length.is_none());
        Ok((header.index, Container::List(list.into())))
    }

    fn map_value(&mut self, lead: u8) -> Result<Numbered, DecodeError> {
        let header = self.map_header(lead)?;
        self.made.begin(header.index);
        let type_name = header
            .type_ref
            .and_then(|name| self.definitions.type_name(name));
        let mut entries = Vec::new();
        while !self.ends()? {
            let key = self.value()?;
            entries.push((key, self.value()?));
        }
        Ok((
            header.index,
            Container::Map(Map::new(type_name, entries).into()),
        ))
    }

    fn object_value(&mut self, lead: u8) -> Result<Numbered, DecodeError> {
        let (index, class) = self.object_header(lead)?;
        // It stays data, and is told of.
        self.admits(class);
        self.made.begin(index);
        let count = self.definitions.fields(class).len();
        let mut fields = Vec::with_capacity(count.min(RESERVED_ELEMENTS));
        for _ in 0..count {
            if let Err(error) = self.put_value(|value| fields.push(value)) {
                let (class, field) = self.definitions.names(class, fields.len());
                return Err(error.in_field(class, field));
            }
        }
        let class = self.definitions.class(class);
        Ok((index, Container::Object(Object::new(class, fields).into())))
    }
}

#[cfg(test)]
mod tests {
    use crate::{DecodeOptions, Decoder, Limits, Value, from_slice};

    #[test]
    fn an_error_tells_in_which_field_it_is() {
        let error =
            from_slice::<Value>(b"\x7a\x90C\x01A\x92\x01x\x01y\x60N\x79\x40").expect_err("broken");
        let text = "[1] A.y[0]: no value starts with the byte 0x40 (at byte 13)";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn every_value_counts() {
        let limits = Limits {
            nodes: 10,
            ..Limits::DEFAULT
        };
        let options = DecodeOptions {
            limits,
            ..DecodeOptions::DEFAULT
        };
        for (bytes, within) in [
            (&b"X\x99\x90\x90\x90\x90\x90\x90\x90\x90\x90"[..], true),
            (b"X\x9a\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", false),
            (
                b"X\x98\x79\x90\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91",
                true,
            ),
            (
                b"X\x99\x79\x90\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91\x51\x91",
                false,
            ),
            (b"HN\x78N\x78N\x78N\x78NNZ", false),
            (b"C\x01A\x9a\0\0\0\0\0\0\0\0\0\0N", false),
        ] {
            let read = Decoder::with_options(bytes, &options).value();
            assert_eq!(read.is_ok(), within, "{bytes:x?}: {read:?}");
            assert!(read.err().is_none_or(|error| error.is_limit()));
        }
    }

    #[test]
    fn a_type_without_a_name_is_none() {
        for bytes in [&b"\x70\0"[..], b"M\0Z"] {
            let value: Value = from_slice(bytes).expect("reads");
            let list = value.as_typed_list().and_then(|list| list.type_name());
            assert_eq!(
                list.or_else(|| value.as_typed_map().and_then(|map| map.type_name())),
                None
            );
        }
    }
}
