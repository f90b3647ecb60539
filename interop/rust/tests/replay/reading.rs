//! What the two directions of a call say, by `docs/spec/triple.md` and not by our own code.

use std::collections::{BTreeMap, HashMap};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use percent_encoding::percent_decode;
use prost::Message;

use crate::{
    messages, plain,
    record::{End, Half, Headers, text},
    sheet::Sheet,
};

/// What a response says, as it is compared between servers.
pub(crate) fn answer(path: &str, half: &Half) -> Sheet {
    let mut sheet = Sheet::default();
    let content = content(&half.headers);
    let nothing = Headers::default();
    // A block that is first and last holds what otherwise stands in trailers.
    let (first, last) = match &half.trailers {
        Some(trailers) => (&half.headers, trailers),
        None if half.headers.value("grpc-status").is_some() => (&nothing, &half.headers),
        None => (&half.headers, &nothing),
    };
    sheet.put(
        "http status",
        half.headers.text(":status").unwrap_or_default(),
    );
    if content == "application/grpc" {
        messages::put_responses(&mut sheet, path, half);
    } else {
        plain::put(&mut sheet, path, half);
    }
    sheet.put("content", content);
    sheet.put_lists("header", &attachments(first));
    sheet.put_lists("trailer", &attachments(last));
    if let Some(outcome) = Outcome::of(last) {
        outcome.put_in(&mut sheet);
    }
    for block in [&half.headers, last] {
        if let Some(code) = block.text("tri-exception-code") {
            sheet.put("exception code", code);
        }
    }
    sheet.put("end", end(&half.end));
    sheet
}

/// What a request says, as it is compared between clients. Of one that was `cut_short` only as many messages as the
/// other has can be compared, and not whether it was half-closed.
pub(crate) fn request(path: &str, half: &Half, cut_short: Option<usize>) -> Sheet {
    let mut sheet = Sheet::default();
    for name in [
        ":path",
        "content-type",
        "grpc-encoding",
        "te",
        "tri-service-group",
        "tri-service-version",
    ] {
        if let Some(value) = half.headers.text(name) {
            sheet.put(name, value);
        }
    }
    sheet.put("deadline", half.headers.value("grpc-timeout").is_some());
    sheet.put_lists("attachment", &attachments(&half.headers));
    messages::put_requests(&mut sheet, path, half, cut_short);
    if cut_short.is_none() {
        sheet.put("half-closed", half.end == End::Complete);
    }
    sheet
}

/// An outcome as `grpc-status` and what stands beside it tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: u32,
    pub(crate) message: String,
    pub(crate) details: Vec<String>,
}

impl Outcome {
    /// The outcome in a block. What the details say wins over what stands beside them (§3.3).
    pub(crate) fn of(block: &Headers) -> Option<Self> {
        let code = block.text("grpc-status")?.parse().expect("a number");
        let raw = block.value("grpc-message").unwrap_or_default();
        let message = text(&percent_decode(raw).collect::<Vec<_>>());
        let mut outcome = Self {
            code,
            message,
            details: Vec::new(),
        };
        if let Some(value) = block.text("grpc-status-details-bin") {
            let bytes = STANDARD_NO_PAD
                .decode(value.trim_end_matches('='))
                .expect("base64");
            let inner = RpcStatus::decode(&bytes[..]).expect("a google.rpc.Status");
            outcome.code = u32::try_from(inner.code).expect("a code");
            outcome.message = inner.message;
            outcome.details = inner.details.iter().map(detail).collect();
        }
        Some(outcome)
    }

    pub(crate) fn put_in(&self, sheet: &mut Sheet) {
        sheet.put("code", self.code);
        sheet.put("text", &self.message);
        sheet.put_all("detail", &self.details);
    }
}

/// A detail as it is compared.
pub(crate) fn shown_detail(type_url: &str, value: &[u8]) -> String {
    format!("{type_url} {value:02x?}")
}

/// The attachments in a block: with the names that a Java peer started from (§4.3), binary values in unpadded base64,
/// without what each framework says about itself on every call.
pub(crate) fn attachments(block: &Headers) -> BTreeMap<String, Vec<String>> {
    let spellings: HashMap<String, String> = block
        .value("tri-header-convert")
        .map(|value| percent_decode(value).collect::<Vec<_>>())
        .map(|json| serde_json::from_slice(&json).expect("a JSON object"))
        .unwrap_or_default();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let names = block.regular();
    for (name, value) in names.filter(|(name, _)| !NO_ATTACHMENTS.contains(&name.as_str())) {
        let mut value = text(value);
        if name.ends_with("-bin") {
            value.truncate(value.trim_end_matches('=').len());
        }
        let name = spellings.get(name).unwrap_or(name).clone();
        found.entry(name).or_default().push(value);
    }
    found
}

/// The content type without what comes after `application/grpc`: Java's answers leave it out (§2.2).
fn content(headers: &Headers) -> String {
    let full = headers.text("content-type").unwrap_or_default();
    if full.starts_with("application/grpc") && !full.starts_with("application/grpc-web") {
        "application/grpc".to_owned()
    } else {
        full
    }
}

fn end(end: &End) -> String {
    match end {
        End::Complete => "complete".to_owned(),
        End::Open => "open".to_owned(),
        End::GoneAway => "connection given up".to_owned(),
        End::Reset {
            by_client: true, ..
        } => "cancelled".to_owned(),
        End::Reset { code, .. } => format!("reset with {code}"),
    }
}

fn detail(any: &pbjson_types::Any) -> String {
    shown_detail(&any.type_url, &any.value)
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<pbjson_types::Any>,
}

/// What belongs to HTTP, gRPC and Triple (§3); what clients of Dubbo say on every call (§3.1, §4.1); and the label of a
/// case, of which the recordings were cleaned.
pub(crate) const NO_ATTACHMENTS: [&str; 25] = [
    "accept-encoding",
    "alt-svc",
    "content-length",
    "content-type",
    "date",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-message",
    "grpc-status",
    "grpc-status-details-bin",
    "grpc-timeout",
    "interface",
    "interop-case",
    "retries",
    "te",
    "timeout",
    "trailer",
    "tri-consumer-appname",
    "tri-exception-code",
    "tri-header-convert",
    "tri-service-group",
    "tri-service-timeout",
    "tri-service-version",
    "user-agent",
    "x-content-type-options",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_win_over_what_stands_beside_them() {
        let outcome = Outcome::of(&Headers::of(&[
            ("grpc-status", "2"),
            ("grpc-message", "50%25 %C3%A9"),
        ]));
        let outcome = outcome.expect("there");
        assert_eq!((outcome.code, outcome.message.as_str()), (2, "50% é"));
        let outcome = Outcome::of(&Headers::of(&[
            ("grpc-status", "2"),
            ("grpc-status-details-bin", "CBESBGJvb20"),
        ]));
        let outcome = outcome.expect("there");
        assert_eq!((outcome.code, outcome.message.as_str()), (17, "boom"));
        assert_eq!(Outcome::of(&Headers::of(&[])), None);
    }

    #[test]
    fn attachments_are_what_no_protocol_says() {
        let found = attachments(&Headers::of(&[
            (":path", "/x"),
            ("userid", "7"),
            ("timeout", "3s"),
            ("blob-bin", "AAE="),
            ("k", "b"),
            ("k", "a"),
            ("tri-header-convert", "%7B%22userid%22%3A%22userId%22%7D"),
        ]));
        let list = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect::<Vec<_>>();
        let want = [
            ("blob-bin", list(&["AAE"])),
            ("k", list(&["b", "a"])),
            ("userId", list(&["7"])),
        ];
        assert_eq!(found, want.map(|(n, v)| (n.to_owned(), v)).into());
    }

    #[test]
    fn one_block_says_the_same_as_two() {
        let status = [("grpc-status", "5"), ("k", "v")];
        let head = [(":status", "200"), ("content-type", "application/grpc")];
        let one = Half {
            headers: Headers::of(&[head, status].concat()),
            end: End::Complete,
            ..Half::default()
        };
        let two = Half {
            headers: Headers::of(&head),
            trailers: Some(Headers::of(&status)),
            end: End::Complete,
            ..Half::default()
        };
        assert_eq!(answer("/x/Greet", &one), answer("/x/Greet", &two));
    }
}
