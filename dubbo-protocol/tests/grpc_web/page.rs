//! What a page sends, and how it reads what comes back.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use prost::Message as _;

use crate::{
    greeter::{GreetRequest, GreetResponse},
    support::{Answer, Caller},
};

/// A body, envelope by envelope.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) messages: Vec<Vec<u8>>,
    /// Those in the body; `None` without any.
    pub(crate) trailers: Option<String>,
}

impl Read {
    /// Reads the body of `answer`, in whichever form its content type says.
    pub(crate) fn of(answer: &Answer) -> Self {
        let content = answer.header("content-type").expect("a content type");
        assert!(content.starts_with("application/grpc-web"), "{content}");
        let body = if content.starts_with("application/grpc-web-text") {
            text(answer.text())
        } else {
            answer.body.clone()
        };
        Self::bytes(&body)
    }

    fn bytes(mut body: &[u8]) -> Self {
        let (mut messages, mut trailers) = (Vec::new(), None);
        while let Some((prefix, rest)) = body.split_first_chunk::<5>() {
            assert_eq!(trailers, None, "trailers are the last there is");
            let [flags, len @ ..] = *prefix;
            let (content, rest) = rest.split_at(u32::from_be_bytes(len) as usize);
            match flags {
                0 => messages.push(content.to_vec()),
                0x80 => trailers = Some(String::from_utf8(content.to_vec()).expect("text")),
                other => panic!("flags {other:#x}"),
            }
            body = rest;
        }
        assert_eq!(body, b"");
        Self { messages, trailers }
    }

    /// The greetings of messages in protobuf.
    pub(crate) fn greetings(&self) -> Vec<String> {
        let messages = self.messages.iter();
        let messages = messages.map(|message| GreetResponse::decode(&message[..]));
        messages
            .map(|message| message.expect("a greeting").greeting)
            .collect()
    }

    /// A trailer in the body.
    pub(crate) fn trailer(&self, name: &str) -> Option<&str> {
        let lines = self.trailers.as_deref().expect("trailers");
        let lines = lines.strip_suffix("\r\n").expect("every line has an end");
        let mut pairs = lines
            .split("\r\n")
            .map(|line| line.split_once(": ").expect("a name and a value"));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// Asks as a page does.
pub(crate) async fn ask(
    caller: &mut Caller,
    path: &str,
    content: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Answer {
    let own = [("content-type", content), ("x-grpc-web", "1")];
    let headers = [&own, headers].concat();
    caller
        .call("POST", path, &headers, body.as_ref().to_vec())
        .await
}

/// `message` in its envelope.
pub(crate) fn envelope(flags: u8, message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).expect("short");
    [&[flags][..], &len.to_be_bytes(), message].concat()
}

/// A request to greet `name`, in its envelope.
pub(crate) fn request(name: &str) -> Vec<u8> {
    let name = name.to_owned();
    envelope(0, &GreetRequest { name }.encode_to_vec())
}

/// Reads base64 that is padded wherever its sender had no more.
fn text(text: &str) -> Vec<u8> {
    let fours = text.as_bytes().chunks(4);
    fours
        .flat_map(|four| STANDARD.decode(four).expect("base64"))
        .collect()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) const WEB: &str = "application/grpc-web+proto";
pub(crate) const TEXT: &str = "application/grpc-web-text+proto";
