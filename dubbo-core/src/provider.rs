//! Serving a service: what a generated server is made of.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

use crate::{
    context::CallContext,
    invocation::{Body, Invocation, PayloadStream, Reply, RpcResult},
    invoker::Invoker,
    payload::{Adapter, CodecError, Payload},
    request::{Request, Response},
    service::{MethodDescriptor, MethodRef, ServiceDescriptor},
    status::Status,
    streaming::Streaming,
    url::Url,
};

/// An implementation of an interface, ready to be exported. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    descriptor: Arc<ServiceDescriptor>,
    handlers: Arc<[Option<Handler>]>,
    implementation: &'static str,
}

type Handler = Arc<dyn Fn(Invocation) -> HandlerFuture + Send + Sync>;
type HandlerFuture = Pin<Box<dyn Future<Output = RpcResult> + Send>>;

impl Service {
    /// Starts an implementation of `descriptor`. `implementation` names the type behind it: configurations find the
    /// service by it.
    pub fn builder(
        descriptor: Arc<ServiceDescriptor>,
        implementation: &'static str,
    ) -> ServiceBuilder {
        ServiceBuilder {
            handlers: descriptor.methods().iter().map(|_| None).collect(),
            descriptor,
            implementation,
        }
    }

    /// Starts from this implementation and adds `methods` behind its own: what a framework answers for every service.
    pub fn extend(self, methods: impl IntoIterator<Item = MethodDescriptor>) -> ServiceBuilder {
        let mut all = self.descriptor.methods().to_vec();
        all.extend(methods);
        let mut handlers = self.handlers.to_vec();
        handlers.resize(all.len(), None);
        ServiceBuilder {
            descriptor: Arc::new(ServiceDescriptor::clone(&self.descriptor).with_methods(all)),
            handlers,
            implementation: self.implementation,
        }
    }

    /// Lets the handler of the invocation's method do it.
    pub async fn invoke(&self, invocation: Invocation) -> RpcResult {
        self.call(invocation).await
    }

    fn call(&self, invocation: Invocation) -> HandlerFuture {
        if let Some(Some(handler)) = self.handlers.get(invocation.method.index()) {
            return handler(invocation);
        }
        let text = format!("{:?} has no implementation here", invocation.method);
        Box::pin(std::future::ready(Err(Status::unimplemented(text))))
    }

    /// The same implementation under another interface name.
    pub fn with_interface(mut self, interface: &str) -> Self {
        if self.descriptor.interface() != interface {
            let renamed = ServiceDescriptor::clone(&self.descriptor);
            self.descriptor = Arc::new(renamed.with_interface(interface.to_owned()));
        }
        self
    }

    /// The interface.
    pub fn descriptor(&self) -> &Arc<ServiceDescriptor> {
        &self.descriptor
    }

    /// The name of the type behind it, without its path.
    pub fn implementation(&self) -> &'static str {
        let name = self.implementation;
        let name = name.split_once('<').map_or(name, |(before, _)| before);
        name.rsplit("::").next().unwrap_or(name)
    }

    /// The service as the invoker at `url`.
    pub fn into_invoker(self, url: Url) -> Arc<dyn Invoker> {
        Arc::new(Bound { service: self, url })
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("interface", &self.descriptor.interface())
            .field("implementation", &self.implementation())
            .finish_non_exhaustive()
    }
}

/// Collects the handlers of a [`Service`], by the position of the method in the descriptor.
///
/// A method without handler answers `unimplemented`.
pub struct ServiceBuilder {
    descriptor: Arc<ServiceDescriptor>,
    handlers: Vec<Option<Handler>>,
    implementation: &'static str,
}

impl ServiceBuilder {
    /// A handler with one request and one response.
    pub fn unary<Req: Adapter, Resp: Adapter, F, Fut>(self, method: usize, handler: F) -> Self
    where
        F: Fn(Request<Req::Message>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Resp::Message>, Status>> + Send + 'static,
    {
        self.handle(method, move |invocation| {
            let called = one_request::<Req>(invocation).map(&handler);
            Box::pin(async move { Ok(one_reply::<Resp>(called?.await?)) })
        })
    }

    /// A handler with one request and a stream of responses.
    pub fn server_stream<Req: Adapter, Resp: Adapter, F, Fut>(
        self,
        method: usize,
        handler: F,
    ) -> Self
    where
        F: Fn(Request<Req::Message>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Streaming<Resp::Message>>, Status>> + Send + 'static,
    {
        self.handle(method, move |invocation| {
            let called = one_request::<Req>(invocation).map(&handler);
            Box::pin(async move { Ok(many_replies::<Resp>(called?.await?)) })
        })
    }

    /// A handler with a stream of requests and one response.
    pub fn client_stream<Req: Adapter, Resp: Adapter, F, Fut>(
        self,
        method: usize,
        handler: F,
    ) -> Self
    where
        F: Fn(Request<Streaming<Req::Message>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Resp::Message>, Status>> + Send + 'static,
    {
        self.handle(method, move |invocation| {
            let called = many_requests::<Req>(invocation).map(&handler);
            Box::pin(async move { Ok(one_reply::<Resp>(called?.await?)) })
        })
    }

    /// A handler with streams both ways.
    pub fn bidi_stream<Req: Adapter, Resp: Adapter, F, Fut>(self, method: usize, handler: F) -> Self
    where
        F: Fn(Request<Streaming<Req::Message>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Streaming<Resp::Message>>, Status>> + Send + 'static,
    {
        self.handle(method, move |invocation| {
            let called = many_requests::<Req>(invocation).map(&handler);
            Box::pin(async move { Ok(many_replies::<Resp>(called?.await?)) })
        })
    }

    /// A handler that takes calls as filters do: any kind, nothing decoded.
    pub fn raw<F, Fut>(self, method: usize, handler: F) -> Self
    where
        F: Fn(Invocation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RpcResult> + Send + 'static,
    {
        self.handle(method, move |invocation| Box::pin(handler(invocation)))
    }

    /// The service.
    pub fn build(self) -> Service {
        Service {
            descriptor: self.descriptor,
            handlers: self.handlers.into(),
            implementation: self.implementation,
        }
    }

    fn handle(
        mut self,
        method: usize,
        handler: impl Fn(Invocation) -> HandlerFuture + Send + Sync + 'static,
    ) -> Self {
        self.handlers[method] = Some(Arc::new(handler));
        self
    }
}

impl fmt::Debug for ServiceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceBuilder")
            .field("interface", &self.descriptor.interface())
            .finish_non_exhaustive()
    }
}

struct Bound {
    service: Service,
    url: Url,
}

impl Invoker for Bound {
    fn url(&self) -> &Url {
        &self.url
    }

    fn invoke<'a, 'b>(
        &'a self,
        invocation: Invocation,
    ) -> Pin<Box<dyn Future<Output = RpcResult> + Send + 'b>>
    where
        'a: 'b,
    {
        self.service.call(invocation)
    }
}

fn one_request<Req: Adapter>(invocation: Invocation) -> Result<Request<Req::Message>, Status> {
    let context = CallContext::of(&invocation);
    let method = invocation.method;
    let Body::Unary(payload) = invocation.body else {
        return Err(Status::internal(format!(
            "{method:?} takes one request, not a stream"
        )));
    };
    let message = payload
        .decode::<Req>()
        .map_err(|error| unusable(&method, error))?;
    Ok(Request::received(
        message.unwrap(),
        invocation.attachments,
        context,
    ))
}

fn many_requests<Req: Adapter>(
    invocation: Invocation,
) -> Result<Request<Streaming<Req::Message>>, Status> {
    let context = CallContext::of(&invocation);
    let method = invocation.method;
    let Body::Stream(body) = invocation.body else {
        return Err(Status::internal(format!(
            "{method:?} takes a stream of requests"
        )));
    };
    let stream = Streaming::received::<Req>(body, move |error| unusable(&method, error));
    Ok(Request::received(stream, invocation.attachments, context))
}

/// What a request is that cannot be read, alone or in a stream (`docs/spec/triple.md` §5.4). How its type is called in Rust
/// says nothing to its caller.
fn unusable(method: &MethodRef, error: CodecError) -> Status {
    let why = match &error {
        CodecError::Decode { source, .. } => source.to_string(),
        other => other.to_string(),
    };
    Status::invalid_argument(format!("the request of {method:?} is not usable: {why}"))
        .with_source(error)
}

fn one_reply<Resp: Adapter>(response: Response<Resp::Message>) -> Reply {
    let (message, headers, trailers) = response.into_parts();
    let mut reply = Reply::new(Body::Unary(Payload::typed(Resp::wrap(message))));
    reply.headers = headers;
    reply.trailers = trailers;
    reply
}

fn many_replies<Resp: Adapter>(response: Response<Streaming<Resp::Message>>) -> Reply {
    let (stream, headers, trailers) = response.into_parts();
    let payloads = Mapped::new(stream, |item: Result<Resp::Message, Status>| {
        item.map(|message| Payload::typed(Resp::wrap(message)))
    });
    let mut reply = Reply::new(Body::Stream(PayloadStream::new(payloads)));
    reply.headers = headers;
    reply.trailers = trailers;
    reply
}

/// A stream with each item changed.
pub(crate) struct Mapped<S, F> {
    items: Pin<Box<S>>,
    change: F,
}

impl<S, F> Mapped<S, F> {
    pub(crate) fn new(items: S, change: F) -> Self {
        Self {
            items: Box::pin(items),
            change,
        }
    }
}

/// `change` is never pinned.
impl<S, F> Unpin for Mapped<S, F> {}

impl<S: Stream, T, F: FnMut(S::Item) -> T> Stream for Mapped<S, F> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        this.items
            .as_mut()
            .poll_next(cx)
            .map(|item| item.map(&mut this.change))
    }
}
