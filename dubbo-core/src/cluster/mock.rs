//! What stands in for the providers of a service.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    invocation::{Invocation, RpcResult},
    provider::Service,
    service::{MethodRef, ServiceDescriptor},
    status::Status,
};

/// Answers a call in place of the providers: when they fail it, or without asking them (`docs/spec/cluster.md` §1.8).
///
/// A reference names it with the parameter `mock`. An implementation of the service is one, and so is a closure:
///
/// ```
/// use std::sync::Arc;
///
/// use dubbo_core::{
///     cluster::Mock,
///     invocation::{Body, Invocation, Reply},
///     payload::{Codec, Payload},
///     status::Status,
/// };
///
/// let nobody = |_call: Invocation, failure: Option<Status>| async move {
///     match failure {
///         Some(failure) => Err(failure),
///         None => Ok(Reply::new(Body::Unary(Payload::encoded(Codec::Json, "{}".into())))),
///     }
/// };
/// let mock: Arc<dyn Mock> = Arc::new(nobody);
/// ```
#[async_trait]
pub trait Mock: Send + Sync + 'static {
    /// Answers `invocation`, which the providers failed with `failure`; `None`: they were not asked.
    ///
    /// # Errors
    ///
    /// What the caller gets instead of an answer.
    async fn answer(&self, invocation: Invocation, failure: Option<Status>) -> RpcResult;
}

#[async_trait]
impl<F, Fut> Mock for F
where
    F: Fn(Invocation, Option<Status>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = RpcResult> + Send,
{
    async fn answer(&self, invocation: Invocation, failure: Option<Status>) -> RpcResult {
        self(invocation, failure).await
    }
}

#[async_trait]
impl Mock for Service {
    /// Has the handler of the method do it.
    async fn answer(&self, mut invocation: Invocation, _failure: Option<Status>) -> RpcResult {
        let own = own_method(self.descriptor(), &invocation.method);
        invocation.method = own.ok_or_else(|| {
            let method = &invocation.method;
            Status::unimplemented(format!("the mock of {method:?} has no such method"))
        })?;
        self.invoke(invocation).await
    }
}

/// The caller has a descriptor of its own, which may know more methods.
fn own_method(own: &Arc<ServiceDescriptor>, method: &MethodRef) -> Option<MethodRef> {
    match &method.descriptor().java {
        Some(java) => own.find_exact(method.name(), java.descriptor()),
        None => own.find(method.name()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;

    use super::*;
    use crate::{
        invocation::{Body, Reply},
        payload::{Codec, Payload},
        service::{CallKind, MethodDescriptor, ServiceKey},
        status::Code,
    };

    fn of(methods: &[&'static str]) -> Arc<ServiceDescriptor> {
        let methods = methods.iter();
        let methods = methods.map(|name| MethodDescriptor::new(*name, CallKind::Unary));
        Arc::new(ServiceDescriptor::new("a.B", methods.collect::<Vec<_>>()))
    }

    fn call(method: &str) -> Invocation {
        let method = of(&["First", "Second", "Third"]).find(method);
        let body = Body::Unary(Payload::encoded(Codec::Protobuf, Bytes::new()));
        Invocation::new(
            Arc::new(ServiceKey::new("a.B")),
            method.expect("is there"),
            body,
        )
    }

    #[tokio::test]
    async fn an_implementation_answers_by_the_names_of_its_methods() {
        let service = Service::builder(of(&["Second", "First"]), "Fallback")
            .raw(1, async |call: Invocation| {
                Err(Status::business(call.method.name()))
            })
            .build();
        for (method, want) in [
            ("First", Code::Business),
            ("Second", Code::Unimplemented),
            ("Third", Code::Unimplemented),
        ] {
            let status = service.answer(call(method), None).await.expect_err(method);
            assert_eq!(status.code(), want, "{status}");
        }
    }

    #[tokio::test]
    async fn a_closure_knows_why_it_is_asked() {
        let mock = |call: Invocation, failure: Option<Status>| async move {
            failure.map_or(Ok(Reply::new(call.body)), Err)
        };
        assert!(mock.answer(call("First"), None).await.is_ok());
        let failure = Status::unavailable("down");
        let status = mock.answer(call("First"), Some(failure)).await;
        assert_eq!(status.expect_err("given back").message(), "down");
    }
}
