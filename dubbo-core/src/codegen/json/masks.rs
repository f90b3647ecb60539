//! `FieldMask`: one text, with the names of JSON and commas between.

use pbjson_types::FieldMask;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Unexpected},
    ser,
};

use super::{ReadAs, WriteAs};

/// Field masks.
#[derive(Debug)]
pub struct Masks;

impl WriteAs<Masks> for FieldMask {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let paths = self.paths.iter().map(|path| {
            written(path).ok_or_else(|| {
                ser::Error::custom(format!("{path:?} in a field mask has no form in JSON"))
            })
        });
        let paths: Vec<_> = paths.collect::<Result<_, _>>()?;
        paths.join(",").serialize(serializer)
    }
}

impl<'de> ReadAs<'de, Masks> for FieldMask {
    fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let paths = text.split(',').filter(|_| !text.is_empty()).map(|path| {
            read(path).ok_or_else(|| {
                let expected = "names in lowerCamelCase with points and commas between";
                de::Error::invalid_value(Unexpected::Str(&text), &expected)
            })
        });
        let paths = paths.collect::<Result<_, _>>()?;
        Ok(Self { paths })
    }
}

/// `a.b_c` as `a.bC`; `None` if that could not be read back.
fn written(path: &str) -> Option<String> {
    let mut text = String::with_capacity(path.len());
    let mut letters = path.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '_' => {
                let next = letters.next().filter(char::is_ascii_lowercase)?;
                text.push(next.to_ascii_uppercase());
            }
            letter if letter.is_ascii_uppercase() => return None,
            letter => text.push(letter),
        }
    }
    Some(text)
}

/// `a.bC` as `a.b_c`.
fn read(path: &str) -> Option<String> {
    let mut text = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        match letter {
            'A'..='Z' => text.extend(['_', letter.to_ascii_lowercase()]),
            'a'..='z' | '0'..='9' | '.' => text.push(letter),
            _ => return None,
        }
    }
    (!text.is_empty()).then_some(text)
}
