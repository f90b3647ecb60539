//! Hessian values as they are compared: as text, in which what has no order is sorted.

use std::{collections::HashMap, fmt::Write as _, sync::Arc};

use dubbo::hessian2::{Object, ToHessian, Value, from_slice};

/// How much of a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// All that is on the wire.
    Wire,
    /// What a type of Rust keeps of it: no names of collections, and numbers of any width.
    Caller,
}

/// `value` as text.
pub(crate) fn shown(value: &Value, detail: Detail) -> String {
    let mut printer = Printer {
        detail,
        seen: HashMap::new(),
        out: String::new(),
    };
    printer.value(value);
    printer.out
}

/// What a caller got, as text.
pub(crate) fn told(value: &impl ToHessian) -> String {
    match Value::of(value) {
        Ok(value) => shown(&value, Detail::Caller),
        Err(error) => error.to_string(),
    }
}

/// The one value in `bytes`; no bytes are null to dubbo-go (`docs/spec/triple.md` §7.6).
pub(crate) fn read(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    from_slice(bytes).unwrap_or_else(|error| panic!("{bytes:02x?}: {error}"))
}

/// `bytes` as digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// Whether everybody who writes `value` has to write the same bytes: objects have their fields in any order, and maps
/// their entries.
pub(crate) fn has_one_form(value: &Value) -> bool {
    match value {
        Value::Map(map) => map.entries().iter().all(|(key, value)| {
            map.entries().len() == 1 && has_one_form(key) && has_one_form(value)
        }),
        Value::List(list) => list.items().iter().all(has_one_form),
        Value::Object(_) | Value::Back(_) => false,
        _ => true,
    }
}

/// An exception: its class, and its message, which may be null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thrown {
    pub(crate) class: String,
    pub(crate) message: Option<String>,
}

impl Thrown {
    /// The exception that `value` is; for one of a generic call, the one that it stands for
    /// (`docs/spec/dubbo-protocol.md` §13.4).
    pub(crate) fn of(value: &Value) -> Option<Self> {
        let object = value.as_object().filter(|object| is_thrown(object))?;
        let text = |field: &str| Some(object.get(field)?.as_str()?.to_owned());
        Some(if object.class().ends_with(".GenericException") {
            Self {
                class: text("exceptionClass")?,
                message: text("exceptionMessage"),
            }
        } else {
            Self {
                class: object.class().to_owned(),
                message: text("detailMessage"),
            }
        })
    }
}

struct Printer {
    detail: Detail,
    /// The containers that were begun, by their address, and in which order.
    seen: HashMap<usize, usize>,
    out: String,
}

impl Printer {
    fn value(&mut self, value: &Value) {
        if let Some(address) = address(value) {
            let next = self.seen.len();
            let number = *self.seen.entry(address).or_insert(next);
            if number < next {
                self.text(format_args!("see {number}"));
                return;
            }
        }
        match value {
            Value::Null => self.text(format_args!("null")),
            Value::Bool(value) => self.text(format_args!("{value}")),
            Value::Int(value) => self.text(format_args!("{value}")),
            Value::Long(value) => {
                let width = if self.detail == Detail::Wire { "L" } else { "" };
                self.text(format_args!("{value}{width}"));
            }
            Value::Double(value) => self.text(format_args!("{value:?}")),
            Value::Date(millis) => self.text(format_args!("date {millis}")),
            Value::String(text) => self.text(format_args!("{text:?}")),
            Value::Bytes(bytes) => self.text(format_args!("bytes {}", hex(bytes))),
            Value::List(list) => self.list(list.type_name(), list.items()),
            Value::Map(map) => self.map(map.type_name(), map.entries()),
            Value::Object(object) => self.object(object),
            Value::Back(back) => match back.target() {
                Some(target) => self.value(&target),
                None => self.text(format_args!("what is gone")),
            },
        }
    }

    fn list(&mut self, type_name: Option<&str>, items: &[Value]) {
        self.name(type_name);
        self.out.push('[');
        let mut items: Vec<_> = items.iter().collect();
        if type_name.is_some_and(|name| name.ends_with("Set")) {
            items.sort_by_cached_key(|item| shown(item, self.detail));
        }
        for item in items {
            self.value(item);
            self.out.push(',');
        }
        self.out.push(']');
    }

    fn map(&mut self, type_name: Option<&str>, entries: &[(Value, Value)]) {
        self.name(type_name);
        self.out.push('{');
        let mut entries: Vec<_> = entries.iter().collect();
        entries.sort_by_cached_key(|(key, _)| shown(key, self.detail));
        for (key, value) in entries {
            self.value(key);
            self.out.push(':');
            self.value(value);
            self.out.push(',');
        }
        self.out.push('}');
    }

    /// Of an exception, not where it was thrown.
    fn object(&mut self, object: &Arc<Object>) {
        self.text(format_args!("{}(", object.class()));
        let thrown = is_thrown(object);
        let mut fields: Vec<_> = object.fields().collect();
        fields.sort_by_key(|(name, _)| *name);
        for (name, value) in fields {
            let stack = thrown && ["stackTrace", "suppressedExceptions"].contains(&name);
            // Without a cause, Java names the exception itself, and dubbo-go nothing.
            let no_cause = thrown
                && name == "cause"
                && address(value).is_none_or(|at| at == Arc::as_ptr(object).addr());
            if stack || no_cause {
                continue;
            }
            self.text(format_args!("{name}:"));
            self.value(value);
            self.out.push(',');
        }
        self.out.push(')');
    }

    fn name(&mut self, type_name: Option<&str>) {
        if let Some(name) = type_name.filter(|_| self.detail == Detail::Wire) {
            self.out.push_str(name);
        }
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
    }
}

fn is_thrown(object: &Object) -> bool {
    object.get("stackTrace").is_some() && object.get("detailMessage").is_some()
}

/// Where a container is, if that matters.
fn address(value: &Value) -> Option<usize> {
    match value {
        Value::List(list) => Some(Arc::as_ptr(list).addr()),
        Value::Map(map) => Some(Arc::as_ptr(map).addr()),
        // An enum's constant is the same however often it is written.
        Value::Object(object)
            if object
                .class_definition()
                .fields()
                .iter()
                .map(|f| &**f)
                .eq(["name"]) =>
        {
            None
        }
        Value::Object(object) => Some(Arc::as_ptr(object).addr()),
        Value::Back(back) => address(&back.target()?),
        _ => None,
    }
}

#[test]
fn what_has_no_order_is_sorted_and_what_is_shared_is_told_once() {
    let shared = Value::typed_list("[int", [1.into(), 2_i64.into()]);
    let value = Value::map([
        ("b".into(), shared.clone()),
        ("a".into(), shared),
        (
            "c".into(),
            Value::typed_list("java.util.HashSet", ["y".into(), "x".into()]),
        ),
    ]);
    assert_eq!(
        shown(&value, Detail::Wire),
        r#"{"a":[int[1,2L,],"b":see 1,"c":java.util.HashSet["x","y",],}"#
    );
    assert_eq!(
        shown(&value, Detail::Caller),
        r#"{"a":[1,2,],"b":see 1,"c":["x","y",],}"#
    );
    let own_cause = b"C\x01E\x94\x05cause\x0astackTrace\x0ddetailMessage\x04code`Q\x90N\x02no\x97";
    let thrown = read(&own_cause[..]);
    assert_eq!(
        shown(&thrown, Detail::Wire),
        r#"E(code:7,detailMessage:"no",)"#
    );
    assert!(has_one_form(&5.into()) && !has_one_form(&thrown));
}
