//! Messages of services without protobuf: hessian values in `TripleRequestWrapper` and `TripleResponseWrapper`
//! (`docs/spec/triple.md` §7.1).

use dubbo::hessian2::Value;
use prost::Message;

use crate::{
    body,
    sheet::Sheet,
    values::{Detail, Thrown, has_one_form, hex, read, shown},
};

/// Either message: dubbo-go answers with the one for requests, and their fields have the same numbers.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Wrapper {
    #[prost(string, tag = "1")]
    pub(crate) serialize_type: String,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) values: Vec<Vec<u8>>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) types: Vec<String>,
}

/// The wrappers in `data`.
pub(crate) fn all(data: &[u8]) -> Vec<Wrapper> {
    let messages = body::messages(data);
    let decode = |bytes: &Vec<u8>| Wrapper::decode(&bytes[..]).expect("a wrapper");
    messages.iter().map(decode).collect()
}

/// Puts the first `limit` requests in `data` down.
pub(crate) fn put_requests(sheet: &mut Sheet, data: &[u8], limit: Option<usize>) {
    let mut all = all(data);
    all.truncate(limit.unwrap_or(usize::MAX));
    for wrapper in &mut all {
        // Java's name for the same (§7.2).
        if wrapper.serialize_type == "hessian4" {
            "hessian2".clone_into(&mut wrapper.serialize_type);
        }
    }
    put(sheet, &all);
}

/// Puts the responses in `data` down.
pub(crate) fn put_responses(sheet: &mut Sheet, data: &[u8]) {
    put(sheet, &all(data));
}

/// The results in `data`, as a caller gets them.
pub(crate) fn results(data: &[u8]) -> Vec<Value> {
    let all = all(data);
    all.iter().map(Wrapper::value).collect()
}

/// The exception in `data`.
pub(crate) fn thrown(data: &[u8]) -> Option<Thrown> {
    Thrown::of(&all(data).first()?.value())
}

fn put(sheet: &mut Sheet, all: &[Wrapper]) {
    let values: Vec<Vec<_>> = all
        .iter()
        .map(|wrapper| {
            wrapper
                .values
                .iter()
                .map(|bytes| wrapper.read(bytes))
                .collect()
        })
        .collect();
    sheet.put_all(
        "serialization",
        all.iter().map(|wrapper| &wrapper.serialize_type),
    );
    sheet.put_all("types", all.iter().map(|wrapper| wrapper.types.join(", ")));
    sheet.put_all("message", values.iter().map(|values| told(values)));
    let bytes = all.iter().zip(&values).map(|(wrapper, values)| {
        let all = wrapper.values.iter().zip(values);
        let one_form = all.filter(|(_, value)| has_one_form(value));
        let bytes: Vec<_> = one_form.map(|(bytes, _)| hex(bytes)).collect();
        bytes.join(" ")
    });
    sheet.put_all("bytes", bytes);
}

fn told(values: &[Value]) -> String {
    let values: Vec<_> = values
        .iter()
        .map(|value| shown(value, Detail::Wire))
        .collect();
    // What is absent is null.
    if values.is_empty() {
        "null".to_owned()
    } else {
        values.join(" and ")
    }
}

impl Wrapper {
    /// Whether its values are no hessian ones.
    pub(crate) fn is_msgpack(&self) -> bool {
        self.serialize_type == "msgpack"
    }

    fn value(&self) -> Value {
        let first = self.values.first();
        first.map_or(Value::Null, |bytes| self.read(bytes))
    }

    fn read(&self, bytes: &[u8]) -> Value {
        if self.is_msgpack() {
            // Nothing of ours reads it.
            return format!("msgpack {}", hex(bytes)).into();
        }
        read(bytes)
    }
}
