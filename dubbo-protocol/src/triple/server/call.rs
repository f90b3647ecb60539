//! One request from its headers to its answer.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    context::ReplyContext,
    invocation::{Body as Message, Invocation, PayloadStream, Peer, Reply, RpcResult},
    panics::{catch, guard},
    payload::{Payload, Rules},
    service::{CallKind, MethodRef},
    status::{Code, Status},
};
use http::{HeaderMap, HeaderValue, Response, Version, header::CONTENT_TYPE, request::Parts};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    budget::Budget,
    pace::Pace,
    patience::within,
    refusal,
    reply::{
        BIZ_EXCEPTION, Caller, Many, ReplyBody, announce_trailers, expired, poll_item, respond,
    },
    request::Messages,
    rest::RequestBody,
    routes::{Route, Routes},
    site::Site,
};
use crate::triple::{
    compression::Compression,
    exception,
    form::{Arguments, Dialect, Form, is_wrapped, write_result},
    frame::{self, FrameDecoder, Sending},
    headers::{
        GRPC_ACCEPT_ENCODING, GRPC_ENCODING, GRPC_TIMEOUT, GrpcContent, PeerKind,
        TRI_EXCEPTION_CODE,
    },
    timeout,
};

/// A call that can be made: there is a method for it, and time.
pub(super) struct Call<B: RequestBody> {
    answer: Answer,
    route: Arc<Route>,
    peer: Arc<Peer>,
    headers: HeaderMap,
    /// Until they are taken.
    messages: Option<Messages<B>>,
    /// How long its request may take, if it is one message.
    patience: Option<Duration>,
    /// Whether a handler has seen it.
    handled: bool,
    /// Whether its trailers have to be named before they come.
    announces: bool,
}

/// A request that is no call.
pub(super) struct Refused<B> {
    pub(super) head: Parts,
    pub(super) body: B,
    pub(super) answer: Response<ReplyBody>,
}

impl<B: RequestBody> Call<B> {
    /// The call that `head` asks for, whose messages are in `body`.
    ///
    /// # Errors
    ///
    /// The request, and the answer to it if nobody else takes it.
    pub(super) fn of(site: &Site, head: Parts, body: B) -> Result<Self, Box<Refused<B>>> {
        let content = GrpcContent::of(&head.headers);
        let caller = Caller {
            content: content.unwrap_or(GrpcContent::Bare),
            peer: PeerKind::of(&head.headers),
            packing: (site.settings.compression).choose(&head.headers, &GRPC_ACCEPT_ENCODING),
        };
        let asked = match content {
            Some(content) => Asked::of(&site.catalog.routes(), &head).and_then(|asked| {
                if content.suits(&asked.method) {
                    Ok(asked)
                } else {
                    Err(other_form(content, &asked.method))
                }
            }),
            None => Err(unknown_form(&head.headers)),
        };
        let announces = head.version < Version::HTTP_2;
        if announces || head.headers.len() > site.settings.bounds.headers {
            let method = asked.as_ref().ok().map(|asked| &asked.method);
            let refusal = refusal::of_headers(&head, &site.settings);
            if let Some(answer) = refusal.or_else(|| refusal::of_http1(&head, method)) {
                return Err(Box::new(Refused { head, body, answer }));
            }
        }
        let asked = match asked {
            Ok(asked) => asked,
            Err(status) => {
                let answer = caller.failed(&status, &ReplyContext::default());
                return Err(Box::new(Refused { head, body, answer }));
            }
        };
        let decoder = FrameDecoder::new(asked.route.limits.receive, asked.compression);
        let messages = Messages::new(
            body,
            decoder,
            asked.method.clone(),
            caller.content.codec(),
            asked.route.rules.clone(),
            Arc::clone(&site.budget),
        );
        Ok(Self {
            answer: Answer {
                caller,
                form: caller.form(&asked.method),
                sending: Sending {
                    limit: asked.route.limits.send,
                    packing: caller.packing,
                },
                method: asked.method,
                deadline: asked.deadline,
                reply: ReplyContext::default(),
                budget: Arc::clone(&site.budget),
            },
            route: asked.route,
            peer: Arc::clone(&site.peer),
            headers: head.headers,
            messages: Some(messages),
            patience: site.settings.bounds.request,
            handled: false,
            announces,
        })
    }

    /// How soon calls like it are over.
    pub(super) fn pace(&self) -> Option<Pace> {
        self.route.paces.of_method(self.answer.method.index())
    }

    /// Makes the call, and answers it.
    pub(super) async fn run(&mut self) -> Response<ReplyBody> {
        let mut response = self.respond().await;
        if self.announces {
            announce_trailers(&mut response);
        }
        response
    }

    async fn respond(&mut self) -> Response<ReplyBody> {
        let answered = match self.invoke().await {
            // What goes wrong from here on would go wrong again, after the handler had done its work again.
            Ok(reply) => self.answer.with(reply).map_err(Status::done),
            Err(status) => Err(status),
        };
        answered.unwrap_or_else(|status| {
            if self.handled
                && let Some(thrown) = self.answer.thrown(&status)
            {
                return thrown;
            }
            self.answer.caller.failed(&status, &self.answer.reply)
        })
    }

    async fn invoke(&mut self) -> RpcResult {
        let mut late = None;
        let streamed = self
            .messages
            .take_if(|_| self.answer.method.kind().streams_requests());
        let body = match (streamed, &mut self.messages) {
            (Some(messages), _) => Message::Stream(PayloadStream::new(messages)),
            (None, Some(messages)) => {
                let message = within(self.patience, self.answer.deadline, messages.only());
                let message = self.answer.in_time(&mut late, message).await;
                let message = message.map_err(|status| self.answer.of_method(status))?;
                Message::Unary(self.answer.request(message, &self.route.rules)?)
            }
            (None, None) => return Err(Status::internal("the request was read already")),
        };
        self.handled = true;
        let answer = &self.answer;
        let call = catch(&answer.method, || {
            let service = Arc::clone(&self.route.key);
            let mut invocation = Invocation::new(service, answer.method.clone(), body);
            invocation.attachments = Attachments::from_headers(std::mem::take(&mut self.headers));
            invocation.deadline = answer.deadline;
            invocation.peer = Some(Arc::clone(&self.peer));
            invocation.reply = Some(answer.reply.clone());
            // The handler may panic before it has given a future, too.
            self.route.invoker.invoke(invocation)
        })?;
        answer.in_time(&mut late, guard(&answer.method, call)).await
    }
}

/// What a caller asks for.
struct Asked {
    route: Arc<Route>,
    method: MethodRef,
    compression: Option<Compression>,
    deadline: Option<Instant>,
}

impl Asked {
    fn of(routes: &Routes, head: &Parts) -> Result<Self, Status> {
        let (route, method) = routes.find(&head.uri, &head.headers)?;
        let compression = Compression::announced(&head.headers, &GRPC_ENCODING)
            .map_err(|error| Status::unimplemented(error.to_string()).with_source(error))?;
        let deadline = deadline(&head.headers, &method)?;
        Ok(Self {
            route,
            method,
            compression,
            deadline,
        })
    }
}

/// How a call that works is answered.
struct Answer {
    caller: Caller,
    form: Form,
    sending: Sending,
    method: MethodRef,
    deadline: Option<Instant>,
    reply: ReplyContext,
    budget: Arc<Budget>,
}

impl Answer {
    /// Says which call met a limit: many have one in common.
    fn of_method(&self, status: Status) -> Status {
        if status.code() == Code::ResourceExhausted {
            status.context(format_args!("the request of {:?}", self.method))
        } else {
            status
        }
    }

    /// The one request in `message`. It may be for another method of the same name, and say how to answer.
    fn request(&mut self, message: Bytes, rules: &Rules) -> Result<Payload, Status> {
        if !is_wrapped(&self.method) {
            return Ok(Payload::encoded(self.caller.content.codec(), message));
        }
        let Arguments {
            method,
            dialect,
            payload,
        } = Arguments::read(&self.method, message, rules)?;
        self.form = Form::Results(method.clone(), dialect);
        self.method = method;
        Ok(payload)
    }

    /// The answer with the exception that a handler failed with, to a caller that takes one as the result of this method
    /// (`docs/spec/triple.md` §7.6). Trailers would give its text alone.
    fn thrown(&self, status: &Status) -> Option<Response<ReplyBody>> {
        let Form::Results(method, Dialect::Java) = &self.form else {
            return None;
        };
        let threw = exception::is_thrown(status);
        if !threw || method.kind() != CallKind::Unary {
            return None;
        }
        let thrown = exception::encode(status)
            .inspect_err(|error| tracing::warn!(%error, "an exception is told by its text alone"))
            .ok()?;
        let mut envelope = BytesMut::new();
        frame::append_with(self.sending.limit, &mut envelope, |out| {
            write_result(method, Dialect::Java, &thrown, out);
            Ok(())
        })
        .ok()?;
        let mut headers = self
            .caller
            .headers([&self.reply.take_headers(), &Attachments::new()])
            .ok()?;
        let code = match status.code() {
            Code::Business | Code::Unknown => BIZ_EXCEPTION,
            other => HeaderValue::from(other.number()),
        };
        headers.insert(TRI_EXCEPTION_CODE, code);
        let trailers = [&self.reply.take_trailers(), status.attachments()];
        let trailers = self.caller.success(&trailers).ok()?;
        Some(respond(
            headers,
            ReplyBody::one(envelope.freeze(), trailers),
        ))
    }

    /// Does `work`, unless the caller's deadline is sooner. `late` is the timer, once there has to be one.
    async fn in_time<T>(
        &self,
        late: &mut Option<Pin<Box<Sleep>>>,
        work: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let mut work = pin!(work);
        poll_fn(|cx| match (work.as_mut().poll(cx), self.deadline) {
            (Poll::Ready(done), _) => Poll::Ready(done),
            (Poll::Pending, None) => Poll::Pending,
            (Poll::Pending, Some(at)) => {
                let late = late.get_or_insert_with(|| Box::pin(sleep_until(at)));
                ready!(late.as_mut().poll(cx));
                Poll::Ready(Err(expired(&self.method)))
            }
        })
        .await
    }

    fn with(&self, reply: Reply) -> Result<Response<ReplyBody>, Status> {
        match reply.body {
            Message::Unary(payload) => self.one(&payload, &reply.headers, &reply.trailers),
            Message::Stream(stream) if self.method.kind().streams_responses() => {
                self.many(stream, &reply.headers, reply.trailers)
            }
            Message::Stream(_) => Err(Status::internal(format!(
                "{:?} answers with one message, and was given a stream to answer with",
                self.method
            ))),
        }
    }

    fn one(
        &self,
        payload: &Payload,
        headers: &Attachments,
        trailers: &Attachments,
    ) -> Result<Response<ReplyBody>, Status> {
        let envelope = frame::encode(payload, &self.form, self.sending)?;
        let envelope = self.budget.hold(envelope)?;
        let headers = self.caller.headers([headers, &self.reply.take_headers()])?;
        let trailers = self
            .caller
            .success(&[trailers, &self.reply.take_trailers()])?;
        Ok(respond(headers, ReplyBody::one(envelope, trailers)))
    }

    /// Headers go out as soon as the handler has returned, because a caller may wait for them before it sends its first
    /// message. If the first answer is there by then, headers that the stream set on its way to it go along.
    fn many(
        &self,
        mut stream: PayloadStream,
        headers: &Attachments,
        trailers: Attachments,
    ) -> Result<Response<ReplyBody>, Status> {
        // Nobody needs to be woken: the body is polled right after its headers are sent.
        let mut now = Context::from_waker(Waker::noop());
        let next = match poll_item(&self.method, &mut stream, &mut now) {
            Poll::Ready(item) => Some(item),
            Poll::Pending => None,
        };
        let headers = self.caller.headers([headers, &self.reply.take_headers()])?;
        let many = Many {
            caller: self.caller,
            form: self.form.clone(),
            sending: self.sending,
            method: self.method.clone(),
            reply: self.reply.clone(),
            budget: Arc::clone(&self.budget),
            trailers,
            deadline: self.deadline.map(|at| Box::pin(sleep_until(at))),
            next,
            stream: Some(stream),
        };
        Ok(respond(headers, ReplyBody::Many(Box::new(many))))
    }
}

/// When the caller stops waiting.
///
/// # Errors
///
/// Code 3 for a value that cannot be read, 4 when that time has come already.
fn deadline(headers: &HeaderMap, method: &MethodRef) -> Result<Option<Instant>, Status> {
    let Some(value) = headers.get(GRPC_TIMEOUT) else {
        return Ok(None);
    };
    let remaining = timeout::parse(value.as_bytes())
        .map_err(|error| Status::invalid_argument(error.to_string()).with_source(error))?;
    if remaining.is_zero() {
        return Err(expired(method));
    }
    // Beyond what a clock can tell is for ever.
    Ok(Instant::now().checked_add(remaining))
}

/// A gRPC call whose messages nobody here can read.
fn unknown_form(headers: &HeaderMap) -> Status {
    let content = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    Status::unimplemented(format!(
        "messages of content type {:?} are not served here; use one of {}",
        String::from_utf8_lossy(content.unwrap_or_default()),
        GrpcContent::ALL.map(GrpcContent::text).join(", ")
    ))
}

/// A gRPC call whose messages are not what the method has.
fn other_form(content: GrpcContent, method: &MethodRef) -> Status {
    let has = if is_wrapped(method) {
        "hessian2 values in a Triple wrapper"
    } else {
        "those of a proto file"
    };
    Status::unimplemented(format!(
        "messages of content type {:?} are not served by {method:?}: its messages are {has}",
        content.value()
    ))
}
