use dubbo_core::yaml::{Node, Value};

/// Lays `over` on `base`: maps are merged key by key, at every depth; a list or a text replaces what was there. A key
/// without a value changes nothing. Every value keeps its own place.
pub(super) fn merge(base: &mut Node, over: &Node) {
    if over.is_null() {
        return;
    }
    let (Value::Map(own), Value::Map(entries)) = (&mut base.value, &over.value) else {
        *base = over.clone();
        return;
    };
    for entry in entries {
        match own.get_mut(&entry.key) {
            Some(value) if value.as_map().is_some() && entry.value.as_map().is_some() => {
                merge(value, &entry.value);
            }
            Some(_) if entry.value.is_null() => {}
            _ => own.put(entry.clone()),
        }
    }
}
