//! One call that nobody tries again by itself, with all it takes to make it once more.

use std::{fmt, str::FromStr, time::Duration};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::{AttachmentValue, Attachments},
    invocation::{Body, Invocation},
    payload::{Codec, CodecError, Payload},
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    status::Code,
};
use std::sync::Arc;

use super::clock;
use crate::resend::{
    idempotency::{self, IDEMPOTENCY_KEY, REQUEST_ID},
    queue::Priority,
};

/// A call that nobody tries again by itself: what was called with what, how it failed, and what may become of it
/// (`docs/spec/cluster.md` §7.12).
///
/// Times are milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Tells it from others, for ever. Letters sort by it as they were written, to the millisecond.
    pub id: LetterId,
    /// The id of the logical call, the same on every attempt and replay.
    pub request_id: String,
    /// What providers know a repeated call by.
    pub idempotency_key: Option<String>,
    /// The service as the caller named it.
    pub service: ServiceKey,
    /// The method.
    pub method: String,
    /// The JVM's descriptor of the parameters, for a method without an IDL: several may have one name.
    pub signature: Option<String>,
    /// The arguments.
    pub arguments: Arguments,
    /// What travelled beside them, without what belongs to one attempt.
    pub attachments: Vec<(String, AttachmentValue)>,
    /// When it failed first.
    pub first_failure: u64,
    /// How the newest attempts went: at most 16.
    pub attempts: Vec<Attempt>,
    /// The code of the last one.
    pub code: Code,
    /// Why it is here.
    pub reason: Reason,
    /// The policy by which it was tried again; empty without one.
    pub policy: String,
    /// How urgent it is among others that are replayed.
    pub priority: Priority,
    /// No replay before this.
    pub not_before: Option<u64>,
    /// No replay after this.
    pub expires_at: Option<u64>,
    /// The pool of the call; empty is the default one.
    pub pool: String,
    /// Whether replays leave it alone until somebody releases it.
    pub held: bool,
    /// The processes in which a replay of it has failed, each once.
    pub failed_in: Vec<u64>,
}

/// One attempt of a dead letter.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// When it had failed.
    pub at: u64,
    /// Whom it went to, `tri://10.0.0.1:50051`; empty when nobody was there.
    pub node: String,
    /// How long it took.
    pub elapsed: Duration,
    /// How it failed.
    pub code: Code,
    /// What it said, at most 256 characters.
    pub message: String,
}

/// The arguments of a call, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// Each by itself, as methods without an IDL have them.
    Values(Codec, Vec<Bytes>),
    /// All in one message.
    Whole(Codec, Bytes),
}

/// Why a call is a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The budget of retries was used up.
    Budget,
    /// All attempts failed.
    Exhausted,
    /// Its time was over before it worked.
    Expired,
    /// It failed in a way that another attempt cannot change.
    NonRetryable,
    /// The queue of replays had no room for it.
    QueueFull,
    /// The program ended before it worked.
    Shutdown,
}

impl Reason {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 6] = [
        Self::Budget,
        Self::Exhausted,
        Self::Expired,
        Self::NonRetryable,
        Self::QueueFull,
        Self::Shutdown,
    ];

    /// The name in configurations, metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Exhausted => "exhausted",
            Self::Expired => "expired",
            Self::NonRetryable => "non-retryable",
            Self::QueueFull => "queue-full",
            Self::Shutdown => "shutdown",
        }
    }
}

impl DeadLetter {
    /// A letter about `call`, which failed for `reason`, without attempts.
    ///
    /// # Errors
    ///
    /// Its requests are a stream, or cannot be encoded.
    pub(crate) fn about(call: &Invocation, reason: Reason) -> Result<Self, Unwritable> {
        let text = |name| call.attachments.get(name).map(str::to_owned);
        let id = LetterId::new();
        Ok(Self {
            id,
            request_id: text(REQUEST_ID).unwrap_or_else(|| id.to_string()),
            idempotency_key: text(IDEMPOTENCY_KEY),
            service: ServiceKey::clone(&call.service),
            method: call.method.name().to_owned(),
            signature: signature(&call.method),
            arguments: Arguments::of(call)?,
            attachments: call
                .attachments
                .iter()
                .filter(|(name, _)| !is_of_one_attempt(name))
                .map(|(name, value)| (name.into_owned(), value))
                .collect(),
            first_failure: clock::now(),
            attempts: Vec::new(),
            code: Code::Unknown,
            reason,
            policy: String::new(),
            priority: Priority::default(),
            not_before: None,
            expires_at: None,
            pool: text(POOL).unwrap_or_default(),
            held: false,
            failed_in: Vec::new(),
        })
    }

    /// Adds an attempt.
    pub(crate) fn tried(&mut self, attempt: Attempt) {
        self.code = attempt.code;
        if self.attempts.len() == KEPT {
            self.attempts.remove(0);
        }
        self.attempts.push(attempt);
    }

    /// The method that it means, if `service` has it.
    pub(crate) fn method_in(&self, service: &Arc<ServiceDescriptor>) -> Option<MethodRef> {
        match &self.signature {
            Some(signature) => service.find_exact(&self.method, signature),
            None => service.find(&self.method),
        }
    }

    /// The call once more, as if made now.
    pub(crate) fn call(&self, method: MethodRef) -> Invocation {
        let payload = match &self.arguments {
            Arguments::Values(codec, values) => Payload::values(*codec, values.as_slice()),
            Arguments::Whole(codec, bytes) => Payload::encoded(*codec, bytes.clone()),
        };
        let service = Arc::new(self.service.clone());
        let mut call = Invocation::new(service, method, Body::Unary(payload));
        call.attachments = self.attachments.iter().cloned().collect();
        call.attachments.insert(REQUEST_ID, self.request_id.clone());
        if let Some(key) = &self.idempotency_key {
            call.attachments.insert(IDEMPOTENCY_KEY, key.clone());
        }
        call
    }
}

impl Attempt {
    /// One that has failed just now.
    pub(crate) fn failed(node: String, elapsed: Duration, code: Code, message: &str) -> Self {
        Self {
            at: clock::now(),
            node,
            elapsed,
            code,
            message: message.chars().take(LONGEST_MESSAGE).collect(),
        }
    }
}

impl Arguments {
    fn of(call: &Invocation) -> Result<Self, Unwritable> {
        let Body::Unary(payload) = &call.body else {
            return Err(Unwritable::Stream);
        };
        if call.method.descriptor().java.is_some() {
            let codec = Codec::Hessian2;
            return Ok(Self::Values(codec, payload.encode_values(codec)?));
        }
        let codec = Codec::Protobuf;
        let mut bytes = BytesMut::with_capacity(payload.encoded_len(codec).unwrap_or(0));
        match payload.encode(codec, &mut bytes) {
            Ok(()) => Ok(Self::Whole(codec, bytes.freeze())),
            // It came as JSON, and goes on as that.
            Err(CodecError::Transcode { have, .. }) => {
                payload.encode(have, &mut bytes)?;
                Ok(Self::Whole(have, bytes.freeze()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// How many bytes they are.
    pub fn len(&self) -> usize {
        match self {
            Self::Values(_, values) => values.iter().map(Bytes::len).sum(),
            Self::Whole(_, bytes) => bytes.len(),
        }
    }

    /// Whether they are no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A call that cannot become a dead letter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unwritable {
    /// Its arguments cannot be encoded.
    #[error("its arguments cannot be written down: {0}")]
    Codec(#[from] CodecError),
    /// It has a stream of requests, which is gone once sent.
    #[error("its requests are a stream, which is gone once sent")]
    Stream,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Tells a dead letter from all others: a UUID of version 7, so that later ones are greater.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LetterId(u128);

impl LetterId {
    /// A new one.
    pub(crate) fn new() -> Self {
        let fresh = idempotency::fresh().parse();
        fresh.expect("invariant: a UUID is 32 digits")
    }

    /// The id of this number.
    pub(crate) const fn of_number(number: u128) -> Self {
        Self(number)
    }

    /// The id as a number.
    pub const fn number(self) -> u128 {
        self.0
    }
}

impl fmt::Display for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        let parts = [
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..],
        ];
        f.write_str(&parts.join("-"))
    }
}

impl fmt::Debug for LetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for LetterId {
    type Err = NoLetterId;

    fn from_str(text: &str) -> Result<Self, NoLetterId> {
        let digits: String = text.chars().filter(|digit| *digit != '-').collect();
        let number = (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok());
        number
            .flatten()
            .map(Self)
            .ok_or_else(|| NoLetterId(text.to_owned()))
    }
}

/// A text that is no id of a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id of a dead letter, which is 32 hexadecimal digits with or without `-`")]
pub struct NoLetterId(String);

fn signature(method: &MethodRef) -> Option<String> {
    let java = method.descriptor().java.as_ref();
    java.map(|java| java.descriptor().to_owned())
}

/// Takes off `attachments` what belongs to the attempt that was made with them.
pub(crate) fn strip(attachments: &mut Attachments) {
    attachments.retain(|name| !is_of_one_attempt(name));
}

fn is_of_one_attempt(name: &str) -> bool {
    OF_ONE_ATTEMPT
        .iter()
        .any(|other| other.eq_ignore_ascii_case(name))
}

const POOL: &str = "dubbo-retry-pool";

/// What counts or bounds one attempt, and is wrong on the next.
const OF_ONE_ATTEMPT: [&str; 7] = [
    "_to",
    "dubbo-attempt",
    "dubbo-attempt-cause",
    "grpc-previous-rpc-attempts",
    "grpc-timeout",
    "retries",
    "timeout",
];

/// How many attempts are kept.
const KEPT: usize = 16;

/// How many characters of a message are kept.
const LONGEST_MESSAGE: usize = 256;
