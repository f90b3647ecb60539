//! `dedup`: a call that its caller sends again, with the key of the first time, is done once.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::BytesMut;
use dubbo_core::{
    attachments::Attachments,
    extension::ExtensionContext,
    filter::{Filter, Next},
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Codec, Payload},
    status::{Code, Retry, Status},
    url::{Key, Url, UrlError},
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

/// Answers a call whose `dubbo-idempotency-key` it knows with what the first call of that key was answered.
///
/// `docs/spec/cluster.md` §7.3. While the first one is being served the others wait for it, each until its own deadline.
/// What is kept for [`dedup.ttl`](TTL) is a response of up to 64 KiB, that there was a larger one, or an error that another
/// try would meet again; after any other error, and after a caller that gave up, the next call of the key is served.
/// Streams, and calls without a key, pass.
///
/// What is known belongs to this process: another provider does not know it. A change of rules keeps it.
pub(crate) struct Dedup {
    ttl: Duration,
    known: Arc<Known>,
}

impl Dedup {
    fn new(cx: &ExtensionContext<'_>) -> Result<Self, UrlError> {
        Ok(Self {
            ttl: cx.url.get(&TTL)?,
            known: cx.shared(),
        })
    }

    async fn once(&self, name: Name, invocation: Invocation, next: Next<'_>) -> RpcResult {
        loop {
            let waiting = match self.known.begin(&name, Instant::now()) {
                Begun::Known(outcome) => return outcome.to_result(),
                Begun::Mine(first) => {
                    let result = next.run(invocation).await;
                    first.end(&result, self.ttl);
                    return result;
                }
                Begun::Waiting(waiting) => waiting,
            };
            if let Some(outcome) = outcome_of(waiting, invocation.deadline).await? {
                return outcome.to_result();
            }
        }
    }
}

#[async_trait]
impl Filter for Dedup {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let key = invocation.attachments.get(IDEMPOTENCY_KEY);
        let is_stream = matches!(invocation.body, Body::Stream(_))
            || invocation.method.kind().streams_responses();
        let Some(key) = key.filter(|key| !key.is_empty() && !is_stream) else {
            return next.run(invocation).await;
        };
        if key.len() > LONGEST_KEY {
            let message = format!(
                "attachment `{IDEMPOTENCY_KEY}` has {} bytes, and may have {LONGEST_KEY}",
                key.len()
            );
            return Err(Status::new(Code::InvalidArgument, message).not_processed());
        }
        let name = Name::of(next.url(), &invocation, key);
        self.once(name, invocation, next).await
    }
}

/// What the first one came to; `None` when it came to nothing, and the call has to be served.
async fn outcome_of(
    mut waiting: watch::Receiver<Option<Outcome>>,
    deadline: Option<Instant>,
) -> Result<Option<Outcome>, Status> {
    let ended = async {
        let ended = waiting.wait_for(Option::is_some).await;
        ended.ok().and_then(|outcome| outcome.clone())
    };
    let Some(deadline) = deadline else {
        return Ok(ended.await);
    };
    tokio::time::timeout_at(deadline, ended).await.map_err(|_| {
        Status::deadline_exceeded(
            "another call with the same idempotency key was still being served when the deadline passed",
        )
    })
}

/// What is known in one instance. Bounded: the oldest that has ended makes room.
#[derive(Default)]
struct Known(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_name: HashMap<Name, Entry>,
    /// Those that have ended, in the order in which they did.
    ended: VecDeque<(Instant, Name)>,
}

enum Entry {
    Serving(watch::Receiver<Option<Outcome>>),
    Ended(Outcome),
}

/// A key, of one method of one service.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Name(Arc<(String, String, String)>);

enum Begun {
    Known(Outcome),
    Mine(First),
    Waiting(watch::Receiver<Option<Outcome>>),
}

/// The first call of a key. Dropping it forgets the key.
struct First {
    known: Arc<Known>,
    name: Name,
    tell: watch::Sender<Option<Outcome>>,
}

#[derive(Clone)]
enum Outcome {
    Failed(Status),
    Replied {
        headers: Attachments,
        trailers: Attachments,
        payload: Payload,
    },
    TooLarge,
}

impl Known {
    fn begin(self: &Arc<Self>, name: &Name, now: Instant) -> Begun {
        let mut entries = self.0.lock();
        entries.forget(now);
        match entries.by_name.get(name) {
            Some(Entry::Ended(outcome)) => Begun::Known(outcome.clone()),
            Some(Entry::Serving(waiting)) => Begun::Waiting(waiting.clone()),
            None => {
                let (tell, waiting) = watch::channel(None);
                let entry = Entry::Serving(waiting);
                entries.by_name.insert(name.clone(), entry);
                Begun::Mine(First {
                    known: Arc::clone(self),
                    name: name.clone(),
                    tell,
                })
            }
        }
    }
}

impl Entries {
    fn forget(&mut self, now: Instant) {
        while let Some((until, _)) = self.ended.front()
            && (*until <= now || self.ended.len() > MOST)
        {
            if let Some((_, name)) = self.ended.pop_front() {
                self.by_name.remove(&name);
            }
        }
    }
}

impl First {
    fn end(self, result: &RpcResult, ttl: Duration) {
        let Some(outcome) = Outcome::of(result) else {
            return;
        };
        let mut entries = self.known.0.lock();
        let entry = Entry::Ended(outcome.clone());
        entries.by_name.insert(self.name.clone(), entry);
        entries
            .ended
            .push_back((Instant::now() + ttl, self.name.clone()));
        drop(entries);
        self.tell.send_replace(Some(outcome));
    }
}

impl Drop for First {
    fn drop(&mut self) {
        let mut entries = self.known.0.lock();
        if let Some(Entry::Serving(_)) = entries.by_name.get(&self.name) {
            entries.by_name.remove(&self.name);
        }
    }
}

impl Name {
    fn of(url: &Url, invocation: &Invocation, key: &str) -> Self {
        let service = url.service_key().to_string();
        let method = invocation.method.name().to_owned();
        Self(Arc::new((service, method, key.to_owned())))
    }
}

impl Outcome {
    /// What is worth keeping.
    fn of(result: &RpcResult) -> Option<Self> {
        match result {
            Err(status) => {
                let stays = !status.is_not_processed() && status.retry() == Retry::Never;
                (stays && status.code() != Code::Canceled).then(|| Self::Failed(status.clone()))
            }
            Ok(Reply {
                headers,
                trailers,
                body: Body::Unary(payload),
                ..
            }) => Some(if is_small(payload) {
                Self::Replied {
                    headers: headers.clone(),
                    trailers: trailers.clone(),
                    payload: payload.clone(),
                }
            } else {
                Self::TooLarge
            }),
            Ok(_) => None,
        }
    }

    fn to_result(&self) -> RpcResult {
        match self.clone() {
            Self::Failed(status) => Err(status),
            Self::Replied {
                headers,
                trailers,
                payload,
            } => {
                let mut reply = Reply::new(Body::Unary(payload));
                (reply.headers, reply.trailers) = (headers, trailers);
                Ok(reply)
            }
            Self::TooLarge => Err(Status::new(
                Code::AlreadyExists,
                format!(
                    "the call with this idempotency key was done before, and its response, of more than \
                     {LARGEST_RESPONSE} bytes, was not kept"
                ),
            )
            .done()),
        }
    }
}

fn is_small(payload: &Payload) -> bool {
    let known = [Codec::Protobuf, Codec::Hessian2]
        .into_iter()
        .find_map(|codec| payload.encoded_len(codec));
    let measured = || {
        let mut bytes = BytesMut::new();
        let forms = [Codec::Protobuf, Codec::Hessian2, Codec::Json];
        let encoded = forms
            .iter()
            .any(|&codec| payload.encode(codec, &mut bytes).is_ok());
        encoded.then_some(bytes.len())
    };
    known
        .or_else(measured)
        .is_some_and(|length| length <= LARGEST_RESPONSE)
}

impl fmt::Debug for Dedup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dedup")
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

dubbo_core::extension!(dyn Filter, "dedup", |cx| Ok(Arc::new(Dedup::new(cx)?)));

/// `docs/spec/cluster.md` §7.4.
const IDEMPOTENCY_KEY: &str = "dubbo-idempotency-key";

/// `dedup.ttl`, by default 5 min: how long an outcome is kept.
const TTL: Key<Duration> = Key {
    name: "dedup.ttl",
    default: || Duration::from_mins(5),
};

const LONGEST_KEY: usize = 256;
const LARGEST_RESPONSE: usize = 64 << 10;

/// How many outcomes are kept.
const MOST: usize = 10_000;

#[cfg(test)]
mod tests;
