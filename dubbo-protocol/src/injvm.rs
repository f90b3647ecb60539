//! Calls within the process: messages are handed over as they are, never encoded.

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use async_trait::async_trait;
use dubbo_core::{
    attachments::Attachments,
    context::ReplyContext,
    invocation::{Body, Invocation, LateTrailers, PayloadStream, Reply, RpcResult},
    invoker::Invoker,
    panics,
    payload::Payload,
    protocol::{Drained, Exporter, Protocol, ProtocolError},
    service::{MethodRef, ServiceDescriptor, ServiceKey, Types},
    status::{Origin, Status},
    url::Url,
};
use futures_core::Stream;
use parking_lot::RwLock;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFutureOwned},
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use crate::reject;

/// The protocol `injvm`: what one value of it exports, references of the same value can call.
///
/// A call runs in the caller's task. Deadlines, cancellation, errors, headers and trailers are as over a wire; only the
/// messages are not copied, so both sides of a service with an IDL must use the same Rust types.
#[derive(Debug, Default)]
pub struct Injvm {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    exported: RwLock<HashMap<ServiceKey, Callee>>,
    calls: TaskTracker,
    abort: CancellationToken,
}

/// A service that is exported.
#[derive(Clone)]
struct Callee {
    service: Arc<ServiceDescriptor>,
    invoker: Arc<dyn Invoker>,
}

#[async_trait]
impl Protocol for Injvm {
    /// There are no ports.
    fn default_port(&self) -> u16 {
        0
    }

    async fn export(
        &self,
        url: &Url,
        service: Arc<ServiceDescriptor>,
        invoker: Arc<dyn Invoker>,
    ) -> Result<Box<dyn Exporter>, ProtocolError> {
        if self.shared.calls.is_closed() {
            return Err(ProtocolError::ShutDown);
        }
        let key = url.service_key();
        let mut exported = self.shared.exported.write();
        if exported.contains_key(&key) {
            return Err(ProtocolError::Duplicate {
                service: key.to_string(),
                address: HERE.to_owned(),
            });
        }
        exported.insert(key.clone(), Callee { service, invoker });
        Ok(Box::new(Exported {
            url: url.clone(),
            key,
            shared: Arc::clone(&self.shared),
        }))
    }

    async fn refer(
        &self,
        url: &Url,
        _service: Arc<ServiceDescriptor>,
    ) -> Result<Arc<dyn Invoker>, ProtocolError> {
        if self.shared.calls.is_closed() {
            return Err(ProtocolError::ShutDown);
        }
        Ok(Arc::new(Referred {
            url: url.clone(),
            key: url.service_key(),
            shared: Arc::clone(&self.shared),
            in_flight: Arc::default(),
        }))
    }

    async fn drain(&self, deadline: Instant) -> Drained {
        let calls = &self.shared.calls;
        calls.close();
        let mut drained = Drained::default();
        if timeout_at(deadline, calls.wait()).await.is_err() {
            drained.aborted = calls.len();
            self.shared.abort.cancel();
            // Each call ends when its caller polls it next.
        }
        self.shared.exported.write().clear();
        drained
    }

    /// References have nothing of their own that outlives the services.
    async fn close(&self, _deadline: Instant) -> Drained {
        Drained::default()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.exported.read().keys()).finish()
    }
}

struct Exported {
    url: Url,
    key: ServiceKey,
    shared: Arc<Shared>,
}

#[async_trait]
impl Exporter for Exported {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn unexport(self: Box<Self>) {
        self.shared.exported.write().remove(&self.key);
    }
}

/// A reference. It finds the service anew for each call, which may name another group or version.
struct Referred {
    url: Url,
    key: ServiceKey,
    shared: Arc<Shared>,
    in_flight: Arc<AtomicUsize>,
}

#[async_trait]
impl Invoker for Referred {
    fn url(&self) -> &Url {
        &self.url
    }

    fn is_available(&self) -> bool {
        !self.shared.calls.is_closed() && self.shared.exported.read().contains_key(&self.key)
    }

    fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    async fn invoke(&self, mut invocation: Invocation) -> RpcResult {
        // What fails at once waits for nothing: a caller that tries again would keep the thread from all other tasks.
        tokio::task::consume_budget().await;
        let callee = self.shared.find(&invocation)?;
        let method = callee.method(&invocation.method)?;
        let now = Instant::now();
        let call = Carried {
            method: invocation.method.clone(),
            deadline: invocation.attempt_deadline(now),
            context: ReplyContext::default(),
            abort: self.shared.abort.clone(),
            _counted: InFlight::new(self),
        };
        if call.deadline.is_some_and(|at| at <= now) {
            return Err(call.late().not_processed());
        }
        invocation.method = method;
        // Values for filters of the caller's side stay there, as they do with every protocol.
        invocation.extensions = http::Extensions::new();
        invocation.deadline = call.deadline;
        invocation.timeout = None;
        invocation.peer = None;
        invocation.reply = Some(call.context.clone());

        let work = run(&*callee.invoker, invocation);
        let work = async {
            tokio::select! {
                answer = work => answer.map_err(|status| call.failed(status)),
                () = call.abort.cancelled() => Err(call.cut()),
            }
        };
        let answer = match call.deadline {
            Some(at) => timeout_at(at, work)
                .await
                .unwrap_or_else(|_| Err(call.late())),
            None => work.await,
        };
        Ok(call.received(answer?).await)
    }
}

impl Shared {
    /// Who serves `invocation`.
    fn find(&self, invocation: &Invocation) -> Result<Callee, Status> {
        let method = &invocation.method;
        if self.calls.is_closed() {
            let text = format!("{method:?} {HERE}: the protocol is shutting down");
            return Err(Status::unavailable(text).not_processed());
        }
        let exported = self.exported.read();
        exported.get(&*invocation.service).cloned().ok_or_else(|| {
            let mut keys: Vec<_> = exported.keys().map(ToString::to_string).collect();
            keys.sort_unstable();
            let text = format!(
                "{method:?} {HERE}: no service `{}` is exported; exported: {}",
                invocation.service,
                if keys.is_empty() {
                    "none".to_owned()
                } else {
                    keys.join(", ")
                }
            );
            Status::unimplemented(text)
        })
    }
}

impl Callee {
    /// Its method that a caller means who may have described the service otherwise: with the methods that it calls
    /// alone, in another order, or with other Java types.
    fn method(&self, meant: &MethodRef) -> Result<MethodRef, Status> {
        if Arc::ptr_eq(&self.service, meant.service()) {
            return Ok(meant.clone());
        }
        let name = meant.name();
        let missing = |why: String| Status::unimplemented(format!("{meant:?} {HERE}: {why}"));
        let Some(java) = &meant.descriptor().java else {
            let found = self.service.find(name);
            return found.ok_or_else(|| missing("the service has no such method".to_owned()));
        };
        if let Some(found) = self.service.find_exact(name, java.descriptor()) {
            return Ok(found);
        }
        let found = self
            .service
            .find_overload(name, Types::Named(java.parameters()));
        found.map_err(|error| missing(error.to_string()))
    }
}

/// Calls `callee`; a panic in it, or on the way to its future, is an error of this call alone.
async fn run(callee: &dyn Invoker, invocation: Invocation) -> RpcResult {
    let method = invocation.method.clone();
    let mut invocation = Some(invocation);
    let mut call = None;
    std::future::poll_fn(|cx| {
        panics::poll_guarded(&method, cx, |cx| {
            if let Some(invocation) = invocation.take() {
                call = Some(callee.invoke(invocation));
            }
            match &mut call {
                Some(call) => call.as_mut().poll(cx),
                None => Poll::Pending,
            }
        })
    })
    .await
    .unwrap_or_else(Err)
}

/// A call under way, until its answer or the end of its reply stream.
struct Carried {
    method: MethodRef,
    deadline: Option<Instant>,
    context: ReplyContext,
    abort: CancellationToken,
    _counted: InFlight,
}

impl Carried {
    /// What the caller gets of `reply`.
    async fn received(self, mut reply: Reply) -> Reply {
        match reply.body {
            Body::Unary(_) => {
                reply.headers.extend(&self.context.take_headers());
                reply.trailers.extend(&self.context.take_trailers());
                reply
            }
            Body::Stream(mut items) => {
                // What the stream says on its way to an item that is there already goes along, as over a wire.
                let first = std::future::poll_fn(|cx| {
                    Poll::Ready(match poll_item(&self.method, &mut items, cx) {
                        Poll::Ready(item) => Some(item),
                        Poll::Pending => None,
                    })
                })
                .await;
                reply.headers.extend(&self.context.take_headers());
                let late = LateTrailers::expected();
                let replies = Replies(Some(Open {
                    first,
                    items,
                    trailers: std::mem::take(&mut reply.trailers),
                    late: late.clone(),
                    expiry: self.deadline.map(|at| Box::pin(sleep_until(at))),
                    cut: Box::pin(self.abort.clone().cancelled_owned()),
                    call: self,
                }));
                reply.body = Body::Stream(PayloadStream::with_trailers(replies, late));
                reply
            }
        }
    }

    /// What the caller gets to know of a failure: the trailers too, and not that some other call further on was not
    /// processed. This one was, unless a filter of the service turned it down.
    fn failed(&self, status: Status) -> Status {
        let origin = match status.origin() {
            Origin::Business => Origin::Business,
            _ => Origin::Remote,
        };
        let mut status = if status.is_not_processed() {
            Status::new(status.code(), status.message().to_owned())
                .with_details(status.details().to_vec())
                .with_attachments(status.attachments().clone())
                .with_pushback(status.pushback())
                .with_source(status)
        } else {
            status
        };
        status
            .attachments_mut()
            .extend(&self.context.take_headers());
        status
            .attachments_mut()
            .extend(&self.context.take_trailers());
        reject::read(status.with_origin(origin))
    }

    fn late(&self) -> Status {
        Status::deadline_exceeded(format!("{:?} {HERE}: no answer in time", self.method))
    }

    fn cut(&self) -> Status {
        let text = format!(
            "{:?} {HERE}: cut by the shutdown of the protocol",
            self.method
        );
        Status::unavailable(text).with_origin(Origin::Transport)
    }
}

/// One call among those of its reference and of the protocol.
struct InFlight {
    count: Arc<AtomicUsize>,
    _of_protocol: TaskTrackerToken,
}

impl InFlight {
    fn new(reference: &Referred) -> Self {
        reference.in_flight.fetch_add(1, Ordering::Relaxed);
        Self {
            count: Arc::clone(&reference.in_flight),
            _of_protocol: reference.shared.calls.token(),
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The reply stream of a call; `None` once it has ended. Dropping it drops the handler's side.
struct Replies(Option<Open>);

struct Open {
    /// An item that was there together with the headers.
    first: Option<Item>,
    items: PayloadStream,
    trailers: Attachments,
    late: LateTrailers,
    expiry: Option<Pin<Box<Sleep>>>,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    call: Carried,
}

/// What a stream gives, its end included.
type Item = Option<Result<Payload, Status>>;

impl Open {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(first.map(|item| item.map_err(|status| self.failed(status))));
        }
        if let Some(expiry) = &mut self.expiry
            && expiry.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Some(Err(self.call.late())));
        }
        if self.cut.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(self.call.cut())));
        }
        let item = ready!(poll_item(&self.call.method, &mut self.items, cx));
        Poll::Ready(item.map(|item| item.map_err(|status| self.failed(status))))
    }

    fn failed(&mut self, status: Status) -> Status {
        let mut status = self.call.failed(status);
        status.attachments_mut().extend(&self.take_trailers());
        status
    }

    fn take_trailers(&mut self) -> Attachments {
        let mut trailers = std::mem::take(&mut self.trailers);
        if let Some(late) = self.items.trailers().get() {
            trailers.extend(late);
        }
        trailers.extend(&self.call.context.take_trailers());
        trailers
    }
}

impl Stream for Replies {
    type Item = Result<Payload, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(open) = &mut self.0 else {
            return Poll::Ready(None);
        };
        let item = ready!(open.poll(cx));
        match &item {
            Some(Ok(_)) => return Poll::Ready(item),
            Some(Err(status)) => open.late.set(status.attachments().clone()),
            None => {
                let trailers = open.take_trailers();
                open.late.set(trailers);
            }
        }
        self.0 = None;
        Poll::Ready(item)
    }
}

/// Polls the handler's stream; a panic in it is an item.
fn poll_item(method: &MethodRef, items: &mut PayloadStream, cx: &mut Context<'_>) -> Poll<Item> {
    panics::poll_guarded(method, cx, |cx| Pin::new(items).poll_next(cx))
        .map(|item| item.unwrap_or_else(|panicked| Some(Err(panicked))))
}

dubbo_core::extension!(dyn Protocol, "injvm", |_cx| Ok(Arc::new(Injvm::default())));

/// What stands for an address in texts.
const HERE: &str = "in this process";

#[cfg(test)]
mod tests;
