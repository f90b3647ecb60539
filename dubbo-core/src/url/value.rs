//! Parameters with a type.

use std::time::Duration;

use crate::units;

/// A parameter's name, type and default.
#[derive(Debug)]
pub struct Key<T> {
    /// The name in the URL.
    pub name: &'static str,
    /// What an absent parameter means.
    pub default: fn() -> T,
}

/// What a parameter's value can be read as.
pub trait UrlValue: Sized {
    /// Reads `text`, or says why it cannot be read.
    fn parse(text: &str) -> Result<Self, String>;
}

macro_rules! integers {
    ($($type:ty),*) => {
        $(impl UrlValue for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| {
                    format!("expected an integer from {} to {}", <$type>::MIN, <$type>::MAX)
                })
            }
        })*
    };
}

integers!(i32, i64, u16, u32, u64, usize);

impl UrlValue for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("expected `true` or `false`".to_owned()),
        }
    }
}

impl UrlValue for String {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl UrlValue for Duration {
    fn parse(text: &str) -> Result<Self, String> {
        units::parse_duration(text).map_err(|error| error.to_string())
    }
}

impl<T: UrlValue> UrlValue for Option<T> {
    fn parse(text: &str) -> Result<Self, String> {
        T::parse(text).map(Some)
    }
}
