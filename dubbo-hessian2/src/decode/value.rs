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
        let lead = self.lead()?;
        match lead {
            REFERENCE => {
                self.count_node()?;
                return self.referenced_value();
            }
            b'H' | b'M' => return self.container(lead, Self::map_value),
            b'O' | 0x60..=0x6f => return self.container(lead, Self::object_value),
            b'U'..=b'X' | 0x70..=0x7f => return self.container(lead, Self::list_value),
            _ => self.count_node()?,
        }
        if let Some(text) = self.short_str() {
            return Ok(Value::String(text.into()));
        }
        Ok(match self.kind_of(lead)? {
            Kind::Null => {
                self.position += 1;
                Value::Null
            }
            Kind::Bool => Value::Bool(self.bool()?),
            Kind::Date => Value::Date(self.date()?),
            Kind::String => Value::String(self.str()?.into()),
            Kind::Bytes => Value::Bytes(self.bytes()?.into_owned().into()),
            _ => match self.number("a number")? {
                Number::Int(value) => Value::Int(value),
                Number::Long(value) => Value::Long(value),
                Number::Double(value) => Value::Double(value),
            },
        })
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
            items.push(self.value()?);
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
        self.made.begin(index);
        let count = self.definitions.fields(class).len();
        let mut fields = Vec::with_capacity(count.min(RESERVED_ELEMENTS));
        for _ in 0..count {
            fields.push(self.value()?);
        }
        let class = self.definitions.class(class);
        Ok((index, Container::Object(Object::new(class, fields).into())))
    }
}
