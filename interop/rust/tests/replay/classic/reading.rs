//! What answers and requests say, as they are compared.

use dubbo::hessian2::{Decoder, Value};
use dubbo_test::peer::dubbo::Frame;

use super::calls::{HESSIAN, Request, SERIALIZATION, types};
use crate::{
    reading::NO_ATTACHMENTS,
    sheet::Sheet,
    values::{Detail, Thrown, has_one_form, hex, shown},
};

/// The body of an answer (`docs/spec/dubbo-protocol.md` §3, §5).
#[derive(Debug)]
pub(crate) enum Said {
    Exception(Value),
    Refused(String),
    Value(Value),
    /// In another serialization than hessian.
    Unread,
}

/// What `frame` says, and the attachments with it.
pub(crate) fn read(frame: &Frame) -> (Said, Option<Vec<(Value, Value)>>) {
    let decoder = &mut Decoder::new(&frame.body);
    if frame.status != 20 {
        return (Said::Refused(decoder.string().expect("a text")), None);
    }
    if frame.flags & SERIALIZATION != HESSIAN {
        return (Said::Unread, None);
    }
    let kind = decoder.int().expect("a kind");
    let said = match kind {
        0 | 3 => Said::Exception(decoder.value().expect("an exception")),
        2 | 5 => Said::Value(Value::Null),
        _ => Said::Value(decoder.value().expect("a value")),
    };
    let attachments = (kind > 2).then(|| {
        let map = decoder.value().expect("attachments");
        map.as_map().unwrap_or_default().to_vec()
    });
    (said, attachments)
}

/// An answer to `request`, as it is compared between servers. dubbo-go sends back what came (§5.2).
pub(crate) fn answer(request: &Frame, answer: Option<&Frame>) -> Sheet {
    let mut sheet = Sheet::default();
    let Some(frame) = answer else {
        sheet.put("status", "no answer");
        return sheet;
    };
    sheet.put("status", frame.status);
    sheet.put("serialization", frame.flags & SERIALIZATION);
    let (said, attachments) = read(frame);
    match said {
        Said::Refused(text) => sheet.put("text", text),
        Said::Exception(value) => sheet.put("exception", shown(&value, Detail::Wire)),
        Said::Value(value) => {
            sheet.put("message", shown(&value, Detail::Wire));
            if has_one_form(&value) {
                sheet.put("bytes", bytes(&value, &frame.body));
            }
        }
        Said::Unread => sheet.put("message", "in another serialization"),
    }
    let came = Request::of(request).map(|request| request.attachments);
    let came = came.unwrap_or_default();
    sheet.put("with attachments", attachments.is_some());
    for (name, value) in attachments.unwrap_or_default() {
        let name = name.as_str().expect("a name");
        let back = came.iter().any(|(other, _)| other == name);
        if !back && !OWN_OF_GO.contains(&name) {
            sheet.put(format!("attachment {name}"), shown(&value, Detail::Wire));
        }
    }
    sheet
}

/// A request, as it is compared between clients: what a provider finds a method by, and the arguments.
pub(crate) fn request(frame: &Frame) -> Sheet {
    let mut sheet = Sheet::default();
    sheet.put("two-way", frame.is_two_way());
    let Some(request) = Request::of(frame) else {
        sheet.put("serialization", frame.flags & SERIALIZATION);
        return sheet;
    };
    sheet.put("path", &request.path);
    // Java's name for none.
    sheet.put("version", request.version.replace("0.0.0", ""));
    sheet.put("method", &request.method);
    sheet.put("types", types(&request.descriptor).join(", "));
    sheet.put_all(
        "message",
        request
            .arguments
            .iter()
            .map(|value| shown(value, Detail::Wire)),
    );
    for name in ["path", "interface", "group", "generic"] {
        if let Some(value) = request.attachment(name) {
            sheet.put(format!("attachment {name}"), value);
        }
    }
    sheet
}

/// Whether an error in `frame` has a text that comes from the provider.
pub(crate) fn has_text(frame: &Frame) -> bool {
    frame.status != 20 || frame.flags & SERIALIZATION == HESSIAN
}

/// What a provider says of itself beside an answer.
const OF_THE_PROTOCOL: [&str; 3] = [
    "closing",
    "dubbo",
    "dubbo-go-graceful-shutdown-provider-counted",
];

/// What a caller has to be told of `frame`, an answer, and what of it is to be found in a text of ours.
pub(crate) fn meant(frame: &Frame) -> (Sheet, Option<String>) {
    let mut sheet = Sheet::default();
    let mut told = None;
    let mut quoted = None;
    let (said, attachments) = read(frame);
    for (name, value) in attachments.unwrap_or_default() {
        let name = name.as_str().expect("a name");
        if !NO_ATTACHMENTS.contains(&name) && !OF_THE_PROTOCOL.contains(&name) {
            sheet.put(format!("attachment {name}"), format!("{:?}", texts(&value)));
        }
    }
    match said {
        Said::Value(value) => {
            sheet.put("code", 0);
            told = Some(shown(&value, Detail::Caller));
        }
        Said::Exception(value) => {
            let thrown = Thrown::of(&value).expect("an exception");
            if thrown.class.ends_with(".RpcException") {
                let object = value.as_object();
                let number = object.and_then(|object| object.get("code")?.as_i64());
                sheet.put("code", of_framework(number));
                sheet.put("text", thrown.message.unwrap_or_default());
                sheet.put_all("detail", Vec::<String>::new());
            } else {
                sheet.put("code", BUSINESS);
                sheet.put_thrown(&thrown.class, thrown.message.as_deref());
            }
        }
        Said::Refused(text) => {
            sheet.put("code", of_status(frame.status));
            sheet.put("text", &text);
            sheet.put_all("detail", Vec::<String>::new());
            quoted = Some(text);
        }
        Said::Unread => {
            sheet.put("code", DATA_LOSS);
            sheet.put_all("detail", Vec::<String>::new());
        }
    }
    sheet.put_all("message", told);
    (sheet, quoted)
}

/// An attachment as callers print it: a list has several values.
fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| {
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| shown(value, Detail::Caller))
    };
    value.as_list().map_or_else(
        || vec![text(value)],
        |items| items.iter().map(text).collect(),
    )
}

/// The value's part of the body: behind the kind, and as long as it is when it is written again.
fn bytes(value: &Value, body: &[u8]) -> String {
    if value.is_null() {
        return String::new();
    }
    let mut decoder = Decoder::new(&body[1..]);
    decoder.skip().expect("a value");
    hex(&body[1..=decoder.position()])
}

/// The code of an `RpcException` (`docs/spec/dubbo-protocol.md` §14.1, `docs/spec/cluster.md` §7.3).
fn of_framework(number: Option<i64>) -> u32 {
    match number {
        Some(4) => 7,
        Some(7) => 8,
        other => panic!("no recorded exception has {other:?}"),
    }
}

/// The code of a status (`docs/spec/dubbo-protocol.md` §14.2).
fn of_status(status: u8) -> u32 {
    match status {
        25 => 11,
        40 => 3,
        50 => DATA_LOSS,
        70 => 13,
        other => panic!("no recorded answer has {other}"),
    }
}

const BUSINESS: u32 = 17;
const DATA_LOSS: u32 = 15;

/// What dubbo-go adds to every answer (§5.2).
const OWN_OF_GO: [&str; 3] = [
    "dubbo-go-graceful-shutdown-provider-counted",
    "local-addr",
    "remote-addr",
];
