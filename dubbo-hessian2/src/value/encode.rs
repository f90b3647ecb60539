//! Writing a value as Java wrote it.

use std::{borrow::Cow, sync::Arc};

use super::{Value, nodes::Container};
use crate::{EncodeError, Encoder, JavaType, ToHessian};

impl ToHessian for Value {
    fn encode(&self, encoder: &mut Encoder) -> Result<(), EncodeError> {
        match self {
            Self::Null => encoder.null(),
            Self::Bool(value) => encoder.bool(*value),
            Self::Int(value) => encoder.int(*value),
            Self::Long(value) => encoder.long(*value),
            Self::Double(value) => encoder.double(*value),
            Self::Date(milliseconds) => encoder.date(*milliseconds),
            Self::String(text) => encoder.str(text),
            Self::Bytes(bytes) => encoder.bytes(bytes),
            Self::List(list) => {
                if !is_written(list, || Container::List(Arc::clone(list)), encoder) {
                    encoder.enter()?;
                    let length = list.items().len();
                    if list.is_variable() {
                        encoder.begin_variable_list(list.type_name());
                    } else if i32::try_from(length).is_ok() {
                        encoder.begin_list(list.type_name(), length);
                    } else {
                        return Err(EncodeError::length(length));
                    }
                    list.items()
                        .iter()
                        .try_for_each(|item| item.encode(encoder))?;
                    if list.is_variable() {
                        encoder.end_map();
                    }
                    encoder.leave();
                }
            }
            Self::Map(map) => {
                if !is_written(map, || Container::Map(Arc::clone(map)), encoder) {
                    encoder.enter()?;
                    encoder.begin_map(map.type_name());
                    for (key, value) in map.entries() {
                        key.encode(encoder)?;
                        value.encode(encoder)?;
                    }
                    encoder.end_map();
                    encoder.leave();
                }
            }
            Self::Object(object) => {
                if !is_written(object, || Container::Object(Arc::clone(object)), encoder) {
                    encoder.enter()?;
                    encoder.begin_class(object.class_definition());
                    object
                        .values()
                        .iter()
                        .try_for_each(|value| value.encode(encoder))?;
                    encoder.leave();
                }
            }
            // Inside its target, which was begun, this is a reference; a part that was taken out writes the target.
            Self::Back(back) => back
                .target()
                .ok_or_else(EncodeError::dangling)?
                .encode(encoder)?,
        }
        Ok(())
    }
}

/// Whether a container was begun before; if so, a reference to it was written.
fn is_written<T>(
    container: &Arc<T>,
    keep: impl FnOnce() -> Container,
    encoder: &mut Encoder,
) -> bool {
    // What nothing else refers to is met once.
    if Arc::strong_count(container) == 1 && Arc::weak_count(container) == 0 {
        return false;
    }
    let written = encoder.reference(Arc::as_ptr(container).addr());
    if !written {
        encoder.keep(keep().into_any());
    }
    written
}

impl JavaType for Value {
    fn java_name() -> Cow<'static, str> {
        "java.lang.Object".into()
    }

    fn array_type() -> Cow<'static, str> {
        "[object".into()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Value, from_slice, to_vec};

    #[test]
    fn one_list_in_two_places_is_written_once() {
        let list = Value::list([1.into()]);
        let both = Value::list([list.clone(), list.clone()]);
        assert_eq!(to_vec(&both).expect("encodes"), b"\x7a\x79\x91\x51\x91");
        let equal = Value::list([list, Value::list([1.into()])]);
        assert_eq!(to_vec(&equal).expect("encodes"), b"\x7a\x79\x91\x79\x91");
    }

    #[test]
    fn what_was_read_is_written_as_it_was() {
        for bytes in [
            &b"W\x91\x92Z"[..],
            b"U\x01t\x91Z",
            b"V\x01t\x98\x90\x90\x90\x90\x90\x90\x90\x90",
            b"\x7a\x70\x01tM\x90Z",
            b"\x79\x51\x90",
            b"H\x51\x90\x51\x90Z",
            b"\x7aC\x01A\x91\x01x\x60\x51\x91\x60\x51\x91",
            b"C\x01A\x92\x01x\x01x\x60\x91\x92",
            b"C\x06object\x90\x60",
            // The same name with other fields is another class.
            b"\x7bC\x01A\x90\x60C\x01A\x91\x01x\x61N\x60",
        ] {
            let value: Value = from_slice(bytes).expect("reads");
            assert_eq!(to_vec(&value).expect("encodes"), bytes, "{value:?}");
        }
    }

    #[test]
    fn a_part_of_a_cycle_writes_the_rest_of_it() {
        // A = [B], B = [back to A].
        let whole: Value = from_slice(b"\x79\x79\x51\x90").expect("reads");
        let part = whole.as_list().expect("A")[0].clone();
        assert_eq!(to_vec(&part).expect("encodes"), b"\x79\x79\x51\x90");
        drop(whole);
        let error = to_vec(&part).expect_err("A is gone");
        assert!(error.to_string().contains("no longer exists"), "{error}");
        assert_eq!(format!("{part:?}"), "[gone]");
    }
}
