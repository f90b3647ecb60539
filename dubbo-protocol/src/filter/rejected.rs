//! What happens to a call that a filter turns down.

use std::sync::Arc;

use bytes::Bytes;
use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext, ExtensionPoint},
    invocation::{Body, Invocation, PayloadStream, Reply, RpcResult},
    payload::{Codec, Payload},
    status::Status,
    stream,
    url::{Key, Url},
};

/// Decides what the caller gets for a call that a limit or the end of the program turned down: by the names under
/// `tps.limit.rejected.handler`, `execute.limit.rejected.handler` and `reject-handler` of the shutdown.
///
/// The built-in one, `default` or `log`, returns the refusal. dubbo-go's returns an empty result, as if the call had
/// worked; `compat.go-empty-reject=true` among the parameters of a service restores that.
pub trait RejectedHandler: Send + Sync + 'static {
    /// The answer to `invocation`, which was turned down with `refusal`: not processed, with a code, and with the time
    /// after which it may be tried again.
    fn reject(&self, invocation: &Invocation, refusal: Status) -> RpcResult;
}

impl ExtensionPoint for dyn RejectedHandler {
    const KIND: &'static str = "rejected handler";
}

/// The handler that `key` of the context's URL names.
pub(super) fn handler(
    cx: &ExtensionContext<'_>,
    key: &str,
) -> Result<Arc<dyn RejectedHandler>, BoxError> {
    let name = cx.url.param(key).filter(|name| !name.is_empty());
    let name = name.unwrap_or("default");
    Ok(cx.extensions.create::<dyn RejectedHandler>(name, cx.url)?)
}

struct Refuse;

impl RejectedHandler for Refuse {
    fn reject(&self, _: &Invocation, refusal: Status) -> RpcResult {
        Err(refusal)
    }
}

/// What dubbo-go answers.
struct AnswerNothing;

impl RejectedHandler for AnswerNothing {
    fn reject(&self, invocation: &Invocation, refusal: Status) -> RpcResult {
        tracing::warn!(%refusal, "an empty answer is given");
        let method = &invocation.method;
        if method.kind().streams_responses() {
            let none = stream::iter(std::iter::empty());
            return Ok(Reply::new(Body::Stream(PayloadStream::new(none))));
        }
        let nothing = match method.descriptor().java {
            Some(_) => Payload::encoded(Codec::Hessian2, Bytes::from_static(b"N")),
            None => Payload::encoded(Codec::Protobuf, Bytes::new()),
        };
        Ok(Reply::new(Body::Unary(nothing)))
    }
}

fn make(url: &Url) -> Result<Arc<dyn RejectedHandler>, BoxError> {
    Ok(if url.get(&GO_EMPTY_REJECT)? {
        Arc::new(AnswerNothing)
    } else {
        Arc::new(Refuse)
    })
}

extension!(dyn RejectedHandler, "default" | "log", |cx| make(cx.url));

const GO_EMPTY_REJECT: Key<bool> = Key {
    name: "compat.go-empty-reject",
    default: || false,
};
