//! Errors as JSON: whatever the status is, it is JSON that says the code, the text and the details as they are.

#![no_main]

use dubbo_core::status::{Code, Detail, Status};
use dubbo_protocol::fuzzing::json_error;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: (u32, &str)| {
    let (number, text) = input;
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().unwrap_or_default();
    let (text, name, value) = (part(), part(), part().as_bytes());
    let code = Code::from_number(number);
    let detail = Detail {
        type_url: name.to_owned(),
        value: value.to_vec().into(),
    };
    let status = Status::new(code, text.to_owned()).with_details(vec![detail]);
    let body = json_error(&status);
    // Escapes are six characters at most, base64 is four of three bytes.
    assert!(body.len() <= 128 + 6 * (text.len() + name.len()) + 2 * value.len());
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(
        body.get("message")
            .and_then(Value::as_str)
            .unwrap_or_default(),
        text
    );
    assert!(body["code"].as_str().is_some_and(|code| !code.is_empty()));
    let detail = &body["details"][0];
    let name = name.strip_prefix("type.googleapis.com/").unwrap_or(name);
    assert_eq!(detail["type"], name);
    let encoded = detail["value"].as_str().expect("a text");
    assert_eq!(encoded.len(), (value.len() * 4).div_ceil(3));
});
