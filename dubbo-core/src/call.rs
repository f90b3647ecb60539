//! Calling a service: what a generated client is made of.

use std::{
    borrow::Cow,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::time::Instant;

use crate::{
    attachments::AttachmentValue,
    context::CallContext,
    invocation::{Body, Invocation, PayloadStream, Reply, RpcResult},
    invoker::Invoker,
    payload::{Adapter, CodecError, Payload},
    request::{Request, Response},
    service::{MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
    streaming::Streaming,
};

/// A generated client: made from a [`Stub`] by whoever knows where the providers are.
pub trait Client: Sized {
    /// The interface that it calls.
    fn descriptor() -> &'static Arc<ServiceDescriptor>;

    /// A client that calls through `stub`.
    fn from_stub(stub: Stub) -> Self;
}

/// The invoker of one reference, and the service it stands for. Cheap to clone.
#[derive(Clone)]
pub struct Stub {
    invoker: Arc<dyn Invoker>,
    service: Arc<ServiceKey>,
    descriptor: Arc<ServiceDescriptor>,
}

impl Stub {
    /// Calls `descriptor`'s methods of `service` through `invoker`.
    pub fn new(
        invoker: Arc<dyn Invoker>,
        service: ServiceKey,
        descriptor: Arc<ServiceDescriptor>,
    ) -> Self {
        Self {
            invoker,
            service: Arc::new(service),
            descriptor,
        }
    }

    /// The invoker that calls go through.
    pub fn invoker(&self) -> &Arc<dyn Invoker> {
        &self.invoker
    }

    /// The service that is called.
    pub fn service(&self) -> &Arc<ServiceKey> {
        &self.service
    }

    /// For generated code: a call with one request and one response.
    pub fn unary<Req: Adapter, Resp: Adapter>(
        &self,
        method: usize,
        request: Request<Req::Message>,
    ) -> Call<'_, Response<Resp::Message>> {
        self.call(method, one::<Req>(request), one_reply::<Resp>)
    }

    /// For generated code: a call with one request and a stream of responses.
    pub fn server_stream<Req: Adapter, Resp: Adapter>(
        &self,
        method: usize,
        request: Request<Req::Message>,
    ) -> Call<'_, Response<Streaming<Resp::Message>>> {
        self.call(method, one::<Req>(request), many_replies::<Resp>)
    }

    /// For generated code: a call with a stream of requests and one response.
    pub fn client_stream<Req: Adapter, Resp: Adapter>(
        &self,
        method: usize,
        requests: impl Stream<Item = Req::Message> + Send + 'static,
    ) -> Call<'_, Response<Resp::Message>> {
        self.call(method, many::<Req>(requests), one_reply::<Resp>)
    }

    /// For generated code: a call with streams both ways.
    pub fn bidi_stream<Req: Adapter, Resp: Adapter>(
        &self,
        method: usize,
        requests: impl Stream<Item = Req::Message> + Send + 'static,
    ) -> Call<'_, Response<Streaming<Resp::Message>>> {
        self.call(method, many::<Req>(requests), many_replies::<Resp>)
    }

    fn call<O>(
        &self,
        method: usize,
        (body, attachments): (Body, crate::attachments::Attachments),
        finish: fn(&MethodRef, Reply) -> Result<O, Status>,
    ) -> Call<'_, O> {
        let method = MethodRef::new(Arc::clone(&self.descriptor), method);
        let mut invocation = Invocation::new(Arc::clone(&self.service), method, body);
        invocation.attachments = attachments;
        Call {
            stub: self,
            invocation,
            finish,
        }
    }
}

impl fmt::Debug for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stub")
            .field("service", &self.service)
            .field("invoker", self.invoker.url())
            .finish_non_exhaustive()
    }
}

/// A call that starts when it is awaited. Until then it takes options.
///
/// ```ignore
/// let reply = greeter.greet(request).timeout(Duration::from_millis(200)).attach("tenant", "a").await?;
/// ```
#[must_use = "a call starts when it is awaited"]
pub struct Call<'a, O> {
    stub: &'a Stub,
    invocation: Invocation,
    finish: fn(&MethodRef, Reply) -> Result<O, Status>,
}

impl<O> Call<'_, O> {
    /// How long one attempt may take, instead of the configured time. A cluster that tries again starts a new attempt;
    /// [`deadline`](Self::deadline) bounds them together.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.invocation.timeout = Some(timeout);
        self
    }

    /// When the call must be over, however many attempts that leaves time for.
    pub fn deadline(mut self, deadline: Instant) -> Self {
        let sooner = self
            .invocation
            .deadline
            .map_or(deadline, |d| d.min(deadline));
        self.invocation.deadline = Some(sooner);
        self
    }

    /// Bounds the call by the deadline of the call that is being served.
    pub fn within(self, context: &CallContext) -> Self {
        match context.deadline() {
            Some(deadline) => self.deadline(deadline),
            None => self,
        }
    }

    /// Adds an attachment.
    pub fn attach(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: impl Into<AttachmentValue>,
    ) -> Self {
        self.invocation.attachments.append(name, value);
        self
    }

    /// Calls the service in `group`, instead of the configured one. Only a provider that is listed for the reference is
    /// called: with a registry, refer to the other group instead.
    pub fn group(self, group: &str) -> Self {
        self.of(|key| key.with_group(group))
    }

    /// Calls the service at `version`, instead of the configured one; as [`group`](Self::group).
    pub fn version(self, version: &str) -> Self {
        self.of(|key| key.with_version(version))
    }

    fn of(mut self, change: impl FnOnce(ServiceKey) -> ServiceKey) -> Self {
        let key = ServiceKey::clone(&self.invocation.service);
        self.invocation.service = Arc::new(change(key));
        self
    }
}

impl<'a, O> IntoFuture for Call<'a, O> {
    type Output = Result<O, Status>;
    type IntoFuture = CallFuture<'a, O>;

    fn into_future(self) -> CallFuture<'a, O> {
        CallFuture {
            method: self.invocation.method.clone(),
            call: self.stub.invoker.invoke(self.invocation),
            finish: self.finish,
        }
    }
}

impl<O> fmt::Debug for Call<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&self.invocation).finish()
    }
}

/// A call under way.
///
/// # Cancel safety
///
/// Dropping it cancels the call; whether the provider has done it by then cannot be known.
#[must_use = "futures do nothing unless they are awaited"]
pub struct CallFuture<'a, O> {
    method: MethodRef,
    call: Pin<Box<dyn Future<Output = RpcResult> + Send + 'a>>,
    finish: fn(&MethodRef, Reply) -> Result<O, Status>,
}

impl<O> Future for CallFuture<'_, O> {
    type Output = Result<O, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = ready!(self.call.as_mut().poll(cx));
        Poll::Ready(result.and_then(|reply| (self.finish)(&self.method, reply)))
    }
}

impl<O> fmt::Debug for CallFuture<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallFuture").finish_non_exhaustive()
    }
}

fn one<Req: Adapter>(request: Request<Req::Message>) -> (Body, crate::attachments::Attachments) {
    let (message, attachments) = request.into_parts();
    (Body::Unary(Payload::typed(Req::wrap(message))), attachments)
}

fn many<Req: Adapter>(
    requests: impl Stream<Item = Req::Message> + Send + 'static,
) -> (Body, crate::attachments::Attachments) {
    let payloads =
        crate::provider::Mapped::new(requests, |message| Ok(Payload::typed(Req::wrap(message))));
    (
        Body::Stream(PayloadStream::new(payloads)),
        crate::attachments::Attachments::new(),
    )
}

fn one_reply<Resp: Adapter>(
    method: &MethodRef,
    reply: Reply,
) -> Result<Response<Resp::Message>, Status> {
    let Body::Unary(payload) = reply.body else {
        return Err(Status::internal(format!(
            "{method:?}: got a stream where one response was due"
        )));
    };
    let message = payload
        .decode::<Resp>()
        .map_err(|error| unusable(method, error))?;
    Ok(Response::with_parts(
        message.unwrap(),
        reply.headers,
        reply.trailers,
    ))
}

fn many_replies<Resp: Adapter>(
    method: &MethodRef,
    reply: Reply,
) -> Result<Response<Streaming<Resp::Message>>, Status> {
    let Body::Stream(body) = reply.body else {
        return Err(Status::internal(format!(
            "{method:?}: got one response where a stream was due"
        )));
    };
    let method = method.clone();
    let stream = Streaming::received::<Resp>(body, move |error| unusable(&method, error));
    Ok(Response::with_parts(stream, reply.headers, reply.trailers))
}

/// What a response is that cannot be read, alone or in a stream.
fn unusable(method: &MethodRef, error: CodecError) -> Status {
    Status::internal(format!(
        "the response of {method:?} cannot be used: {error}"
    ))
    .with_source(error)
}
