//! Bodies without gRPC's envelopes (`docs/spec/triple.md` §5).

use serde_json::Value;

use crate::{
    body::{self, envelope},
    messages,
    record::{Half, text},
    sheet::Sheet,
};

/// Puts down the body of an answer, which came from `path`: a message, a stream of events, an error, or text.
pub(crate) fn put(sheet: &mut Sheet, path: &str, half: &Half) {
    let data = if half.headers.value("content-encoding") == Some(b"gzip") {
        body::inflated(&half.data)
    } else {
        half.data.clone()
    };
    let content = half.headers.text("content-type").unwrap_or_default();
    let succeeded = half.headers.value(":status") == Some(b"200");
    match content.split(';').next().unwrap_or_default() {
        "application/json" if succeeded => sheet.put_all("message", [sorted(&data)]),
        "application/json" => put_error(sheet, &data),
        "application/hessian2" | "application/proto" => {
            let message = Half {
                data: envelope(&data),
                ..Half::default()
            };
            messages::put_responses(sheet, path, &message);
        }
        "text/event-stream" => {
            let events = text(&data);
            sheet.put_all("event", events.split_terminator("\n\n").map(event));
        }
        _ if data.is_empty() => {}
        _ => sheet.put("body", text(&data)),
    }
}

/// JSON as it is, but for white space and the order of its fields.
pub(crate) fn sorted(bytes: &[u8]) -> String {
    let value: Result<Value, _> = serde_json::from_slice(bytes);
    value.map_or_else(
        |e| format!("{}: {e}", text(bytes)),
        |value| value.to_string(),
    )
}

/// Both forms of an error (§5.2, §5.5). What a detail is in words does not count.
fn put_error(sheet: &mut Sheet, data: &[u8]) {
    let error: Value = serde_json::from_slice(data).unwrap_or_default();
    let field = |name: &str| error[name].as_str();
    if let Some(code) = field("code") {
        sheet.put("code", code);
    }
    sheet.put("text", field("message").unwrap_or_default());
    let details = error["details"].as_array().into_iter().flatten();
    sheet.put_all(
        "detail",
        details.map(|d| format!("{} {}", d["type"], d["value"])),
    );
}

fn event(event: &str) -> String {
    match event.strip_prefix("data:") {
        Some(data) => sorted(data.as_bytes()),
        None => event.to_owned(),
    }
}

#[test]
fn both_forms_of_errors_are_taken_apart() {
    let told = |data: &str| {
        let mut sheet = Sheet::default();
        put_error(&mut sheet, data.as_bytes());
        sheet
    };
    let mut want = Sheet::default();
    want.put("text", "m");
    want.put("detail count", 0);
    assert_eq!(told(r#"{"message":"m","status":"404"}"#), want);
    want.put("code", "unknown");
    want.put("detail 0", r#""a.B" "AA""#);
    want.put("detail count", 1);
    let ours =
        r#"{"code":"unknown","message":"m","details":[{"type":"a.B","value":"AA","debug":1}]}"#;
    assert_eq!(told(ours), want);
}
