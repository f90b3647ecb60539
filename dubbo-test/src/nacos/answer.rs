//! How answers look, and the three ways to refuse.

use serde_json::{Value, json};

use super::wire::Payload;

/// The answer to a request that was done: `fields` and the codes of success.
pub(super) fn success(kind: &str, mut fields: Value) -> Payload {
    fields["resultCode"] = json!(200);
    fields["errorCode"] = json!(0);
    fields["success"] = json!(true);
    Payload::new(kind, &fields)
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// In the type of the answer, which then lacks what the answer is about; otherwise as `ErrorResponse`.
    typed: bool,
    result: i32,
    code: i32,
    text: String,
}

impl Refusal {
    /// Of a check before the handler or of the handler itself: in the type of the answer.
    pub(super) fn typed(code: i32, text: impl Into<String>) -> Self {
        Self {
            typed: true,
            result: FAIL,
            code,
            text: text.into(),
        }
    }

    /// What a handler throws.
    pub(super) fn thrown(code: i32, text: impl Into<String>) -> Self {
        Self {
            typed: false,
            result: code,
            code,
            text: text.into(),
        }
    }

    /// Of the dispatcher, which did not get as far as a handler.
    pub(super) fn undelivered(code: i32, text: impl Into<String>) -> Self {
        Self {
            typed: false,
            result: FAIL,
            code,
            text: text.into(),
        }
    }

    /// `kind` is the type of the answer that it is instead of.
    pub(super) fn into_payload(self, kind: &str) -> Payload {
        let kind = if self.typed { kind } else { "ErrorResponse" };
        let mut body = primitives(kind);
        body["resultCode"] = json!(self.result);
        body["errorCode"] = json!(self.code);
        body["message"] = json!(self.text);
        body["success"] = json!(false);
        Payload::new(kind, &body)
    }
}

/// Numbers and booleans are there even in an answer that says nothing: those of Java are never absent.
fn primitives(kind: &str) -> Value {
    match kind {
        "ConfigQueryResponse" => json!({"lastModified": 0, "beta": false}),
        "ServiceListResponse" => json!({"count": 0}),
        _ => json!({}),
    }
}

const FAIL: i32 = 500;
