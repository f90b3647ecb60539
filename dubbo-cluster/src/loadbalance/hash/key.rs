//! What of a call is hashed.

use dubbo_core::{
    invocation::{Body, Invocation},
    payload::Payload,
    url::UrlValue,
};
use md5::{Context, Digest};

/// What of a call is hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HashKey {
    /// These arguments, one after the other.
    Arguments(Box<[usize]>),
    /// This attachment.
    Attachment(Box<str>),
    /// The name of the method.
    Method,
}

impl HashKey {
    /// The hash of `invocation`; `None` when it has nothing of what is hashed.
    ///
    /// An argument is hashed as its [text](Payload::text). One that has none, such as a protobuf message, is hashed as its
    /// encoded bytes; so is what is passed on encoded, which shows its arguments only to who decodes it.
    pub(super) fn hash(&self, invocation: &Invocation) -> Option<u32> {
        let mut hasher = Context::new();
        match self {
            Self::Arguments(indexes) => {
                let Body::Unary(payload) = &invocation.body else {
                    return None;
                };
                let mut any = false;
                for &index in indexes {
                    any |= add_argument(&mut hasher, payload, index);
                }
                if !any {
                    return None;
                }
            }
            Self::Attachment(name) => hasher.consume(invocation.attachments.get(name)?),
            Self::Method => hasher.consume(invocation.method.name()),
        }
        Some(positions(&hasher.finalize())[0])
    }
}

/// Whether there is such an argument.
fn add_argument(hasher: &mut Context, payload: &Payload, index: usize) -> bool {
    if let Some(text) = payload.text(index) {
        hasher.consume(text.as_bytes());
        return true;
    }
    let bytes = payload.value_bytes(index);
    if let Some(bytes) = &bytes {
        hasher.consume(bytes);
    }
    bytes.is_some()
}

/// The four positions on the ring that a digest stands for.
pub(super) fn positions(digest: &Digest) -> [u32; 4] {
    let bytes = &digest.0;
    [0, 4, 8, 12].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte])))
}

/// `arg:n`, `attachment:name` or `method`.
impl UrlValue for HashKey {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "expected `arg:0`, `attachment:name` or `method`".to_owned();
        match text.split_once(':') {
            None if text == "method" => Ok(Self::Method),
            Some(("arg", index)) => {
                let index = index.parse().map_err(|_| wrong())?;
                Ok(Self::Arguments([index].into()))
            }
            Some(("attachment", name)) if !name.is_empty() => Ok(Self::Attachment(name.into())),
            _ => Err(wrong()),
        }
    }
}

/// The numbers of arguments, from 0: `0,2`.
#[derive(Debug)]
pub(super) struct Indexes(pub(super) Box<[usize]>);

impl UrlValue for Indexes {
    fn parse(text: &str) -> Result<Self, String> {
        let indexes = text.split(',').map(|index| index.trim().parse());
        let indexes = indexes.collect::<Result<_, _>>();
        let wrong = "expected numbers of arguments, counted from 0, such as `0,2`";
        indexes.map(Self).map_err(|_| wrong.to_owned())
    }
}
