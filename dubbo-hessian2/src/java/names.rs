//! Classes that are a text with rules: `Locale`, `Class`, `Currency`, `URI`, `File`.

use std::{fmt, path::Path, str::FromStr, sync::Arc};

use super::{
    InvalidValue,
    object::{from_text, java_object},
};
use crate::JavaType;

macro_rules! name {
    (
        $(#[$doc:meta])* $name:ident,
        java $java:literal, class $class:literal, field $field:literal,
        valid $valid:expr, want $want:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Wants ", $want, ".")]
            pub fn new(text: &str) -> Result<Self, InvalidValue> {
                text.parse()
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidValue;

            fn from_str(text: &str) -> Result<Self, InvalidValue> {
                let valid: fn(&str) -> bool = $valid;
                if valid(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidValue::new($java, text, $want))
                }
            }
        }

        java_object! {
            $name, java $java, class $class { text: String = $field }
            parts |name| (name.0.to_string(),),
            build |text: String| text.parse::<Self>(),
            other from_text,
        }
    };
}

name! {
    /// `java.util.Locale`, as its `toString` has it: `zh_CN`; empty for the root locale.
    Locale,
    java "java.util.Locale", class "com.alibaba.com.caucho.hessian.io.LocaleHandle", field "value",
    valid |text| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-#".contains(&byte)),
    want "letters and digits in parts that are joined by `_`, as in zh_CN"
}

name! {
    /// `java.lang.Class`, by its name: `java.lang.String`, `int`, `[I`. It is a name only: nothing is ever loaded.
    ClassName,
    java "java.lang.Class", class "java.lang.Class", field "name",
    valid |text| !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control()),
    want "a name without blanks, as in java.lang.String"
}

impl ClassName {
    /// What Java calls `T`.
    pub fn of<T: JavaType>() -> Self {
        Self(T::java_name().into())
    }
}

name! {
    /// `java.util.Currency`, by its ISO 4217 code: `USD`. Whether the code is assigned is for the peer to say.
    Currency,
    java "java.util.Currency", class "java.util.Currency", field "currencyCode",
    valid |text| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()),
    want "three capital letters, as in USD"
}

name! {
    /// `java.net.URI`.
    Uri,
    java "java.net.URI", class "java.net.URI", field "string",
    valid |text| !text.contains(|c: char| c.is_whitespace() || c.is_control()),
    want "a text without blanks, as in http://host/path"
}

name! {
    /// `java.io.File`, by its path in the peer's notation.
    File,
    java "java.io.File", class "java.io.File", field "value",
    valid |text| !text.contains('\0'),
    want "a path without NUL, as in /tmp/x"
}

impl TryFrom<&Path> for File {
    type Error = InvalidValue;

    /// The path must be UTF-8.
    fn try_from(path: &Path) -> Result<Self, InvalidValue> {
        path.to_str()
            .ok_or_else(|| {
                InvalidValue::new("java.io.File", path.to_string_lossy(), "a path in UTF-8")
            })
            .and_then(Self::new)
    }
}

impl AsRef<Path> for File {
    fn as_ref(&self) -> &Path {
        Path::new(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_rules() {
        for (text, [locale, class, currency, uri, file]) in [
            ("", [true, false, false, true, true]),
            ("zh_CN", [true, true, false, true, true]),
            ("zh_TW_#Hant", [true, true, false, true, true]),
            ("USD", [true, true, true, true, true]),
            ("usd", [true, true, false, true, true]),
            ("[I", [false, true, false, true, true]),
            ("a.B$C", [false, true, false, true, true]),
            ("http://h/p", [false, true, false, true, true]),
            ("/tmp/a b", [false, false, false, false, true]),
            ("a\n", [false, false, false, false, true]),
            ("a\0", [false, false, false, false, false]),
        ] {
            assert_eq!(Locale::new(text).is_ok(), locale, "Locale {text:?}");
            assert_eq!(ClassName::new(text).is_ok(), class, "Class {text:?}");
            assert_eq!(Currency::new(text).is_ok(), currency, "Currency {text:?}");
            assert_eq!(Uri::new(text).is_ok(), uri, "URI {text:?}");
            assert_eq!(File::new(text).is_ok(), file, "File {text:?}");
        }
        assert_eq!(ClassName::of::<String>().as_str(), "java.lang.String");
        let file = File::try_from(Path::new("/tmp/x")).expect("UTF-8");
        assert_eq!(Path::new("/tmp/x"), file.as_ref());
    }
}
