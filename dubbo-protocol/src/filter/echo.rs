use std::sync::Arc;

use dubbo_core::{
    extension,
    filter::{Filter, Next},
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Adapter as _, Payload},
    status::Status,
};
use dubbo_hessian2::Value;

use super::{Calling, at_once, context::strip};
use crate::java::{Args, Ret};

/// Answers `$echo`, whatever stands behind it: whether a provider is there is not a question of tokens and limits. What
/// applications see of the attachments comes back, too, as from dubbo-go.
struct Echo;

impl Filter for Echo {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        if invocation.method.name() != "$echo" {
            return next.run(invocation);
        }
        at_once(echo(invocation))
    }
}

fn echo(invocation: Invocation) -> RpcResult {
    let Body::Unary(payload) = invocation.body else {
        return Err(Status::invalid_argument(
            "`$echo` takes one value, not a stream",
        ));
    };
    let value = payload.decode::<Args<(Value,)>>();
    let (value,) = value
        .map_err(|error| {
            Status::invalid_argument(format!("`$echo` takes one value: {error}")).with_source(error)
        })?
        .unwrap();
    let mut reply = Reply::new(Body::Unary(Payload::typed(Ret::wrap(value))));
    reply.trailers = invocation.attachments;
    strip(&mut reply.trailers);
    Ok(reply)
}

extension!(dyn Filter, "echo", |_cx| Ok(Arc::new(Echo)));
