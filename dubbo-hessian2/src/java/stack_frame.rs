//! `java.lang.StackTraceElement`.

use std::{fmt, sync::Arc};

use super::{
    InvalidValue,
    object::{field, java_object},
};
use crate::{DecodeError, Value};

/// One line of a stack trace. `Display` is Java's: `com.x.Main.run(Main.java:7)`.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct StackFrame {
    /// The class whose code it is.
    pub declaring_class: Arc<str>,
    /// The method; `<init>` for a constructor.
    pub method: Arc<str>,
    /// The source file.
    pub file: Option<Arc<str>>,
    /// The line; negative if unknown, −2 in a native method.
    pub line: i32,
    /// The class loader; Java 9 and later, as the fields below.
    pub class_loader: Option<Arc<str>>,
    /// The module.
    pub module: Option<Arc<str>>,
    /// The version of the module.
    pub module_version: Option<Arc<str>>,
    /// Bits that tell Java which of loader and module version to leave out when it prints.
    pub format: i32,
}

impl StackFrame {
    /// A line of code in no module.
    pub fn new(
        declaring_class: impl Into<Arc<str>>,
        method: impl Into<Arc<str>>,
        file: impl Into<Arc<str>>,
        line: i32,
    ) -> Self {
        Self {
            declaring_class: declaring_class.into(),
            method: method.into(),
            file: Some(file.into()),
            line,
            ..Self::default()
        }
    }

    /// From an object of any JDK, or from the map of a generic call; what is missing stays empty.
    pub(super) fn from_value(value: &Value) -> Self {
        let text = |name: &str| match field(value, name) {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        };
        let number = |name: &str| {
            let number = field(value, name).and_then(Value::as_i64);
            number.and_then(|number| i32::try_from(number).ok())
        };
        Self {
            declaring_class: text("declaringClass")
                .or_else(|| text("className"))
                .unwrap_or_default(),
            method: text("methodName").unwrap_or_default(),
            file: text("fileName"),
            line: number("lineNumber").unwrap_or(UNKNOWN_LINE),
            class_loader: text("classLoaderName"),
            module: text("moduleName"),
            module_version: text("moduleVersion"),
            format: number("format").unwrap_or_default(),
        }
    }
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}(", self.declaring_class, self.method)?;
        match (&self.file, self.line) {
            (_, -2) => f.write_str("Native Method")?,
            (Some(file), 0..) => write!(f, "{file}:{}", self.line)?,
            (Some(file), _) => f.write_str(file)?,
            (None, _) => f.write_str("Unknown Source")?,
        }
        f.write_str(")")
    }
}

java_object! {
    StackFrame,
    java "java.lang.StackTraceElement",
    class "java.lang.StackTraceElement" {
        format: i32 = "format",
        line: i32 = "lineNumber",
        file: Option<Arc<str>> = "fileName",
        method: Option<Arc<str>> = "methodName",
        declaring_class: Option<Arc<str>> = "declaringClass",
        module_version: Option<Arc<str>> = "moduleVersion",
        module: Option<Arc<str>> = "moduleName",
        class_loader: Option<Arc<str>> = "classLoaderName",
    }
    parts |frame| (
        frame.format,
        frame.line,
        frame.file.clone(),
        Some(frame.method.clone()),
        Some(frame.declaring_class.clone()),
        frame.module_version.clone(),
        frame.module.clone(),
        frame.class_loader.clone(),
    ),
    build |format, line, file, method: Option<_>, declaring_class: Option<_>, module_version, module, class_loader| {
        Ok::<_, InvalidValue>(Self {
            declaring_class: declaring_class.unwrap_or_default(),
            method: method.unwrap_or_default(),
            file,
            line,
            class_loader,
            module,
            module_version,
            format,
        })
    },
    other |decoder| {
        let kind = decoder.peek()?;
        Err(DecodeError::custom(format!("a line of a stack trace is an object, this is {kind}")))
    },
}

const UNKNOWN_LINE: i32 = -1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_shown_as_java_prints_it() {
        let frame = StackFrame::new("a.B", "m", "B.java", 7);
        assert_eq!(frame.to_string(), "a.B.m(B.java:7)");
        let show = |file: Option<&str>, line| {
            StackFrame {
                file: file.map(Into::into),
                line,
                ..frame.clone()
            }
            .to_string()
        };
        assert_eq!(show(Some("B.java"), -1), "a.B.m(B.java)");
        assert_eq!(show(None, 7), "a.B.m(Unknown Source)");
        assert_eq!(show(None, -2), "a.B.m(Native Method)");
    }
}
