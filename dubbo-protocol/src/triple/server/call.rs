//! One request from its headers to its answer.

use std::{future::poll_fn, sync::Arc, task::Poll};

use dubbo_core::{
    attachments::Attachments,
    context::ReplyContext,
    invocation::{Body, Invocation, PayloadStream, Peer, RpcResult},
    invoker::Invoker,
    panics::poll_guarded,
    payload::Payload,
    service::MethodRef,
    status::Status,
};
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HeaderName},
    request::Parts,
};
use hyper::body::Incoming;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{
    reply::{Caller, Many, ReplyBody, expired, plain, poll_item, respond},
    request::Messages,
    routes::{Route, Routes},
};
use crate::triple::{
    frame::{self, Encoding, FrameDecoder},
    headers::{GRPC_TIMEOUT, GrpcContent, PeerKind, encoding, is_grpc},
    timeout,
};

/// Answers one request. Dropping the future cancels the call.
pub(super) async fn answer(
    routes: Arc<Routes>,
    peer: Arc<Peer>,
    request: Request<Incoming>,
) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    if head.method != Method::POST || !is_grpc(&head.headers) {
        return refuse(&routes, &head);
    }
    let caller = Caller {
        content: GrpcContent::of(&head.headers).unwrap_or(GrpcContent::Bare),
        peer: PeerKind::of(&head.headers),
    };
    let call = match Call::prepare(&routes, caller, &head) {
        Ok(call) => call,
        Err(status) => return caller.failed(&status, &ReplyContext::default()),
    };
    drop(routes);
    match call.run(peer, head.headers, body).await {
        Ok(response) => response,
        Err(status) => caller.failed(&status, &call.reply),
    }
}

/// A call that can be made: there is a method for it, and time.
struct Call {
    caller: Caller,
    route: Arc<Route>,
    method: MethodRef,
    encoding: Option<Encoding>,
    deadline: Option<Instant>,
    reply: ReplyContext,
}

impl Call {
    fn prepare(routes: &Routes, caller: Caller, head: &Parts) -> Result<Self, Status> {
        if GrpcContent::of(&head.headers).is_none() {
            return Err(Status::unimplemented(format!(
                "messages of content type {:?} are not served here; use application/grpc+proto or \
                 application/grpc+json",
                head.headers.get(CONTENT_TYPE)
            )));
        }
        let (route, method) = routes.find(&head.uri, &head.headers)?;
        let encoding = encoding(&head.headers).map_err(|name| {
            Status::unimplemented(format!(
                "the compression {name:?} is not known here; use gzip or identity"
            ))
        })?;
        let deadline = deadline(&head.headers, &method)?;
        Ok(Self {
            caller,
            route,
            method,
            encoding,
            deadline,
            reply: ReplyContext::default(),
        })
    }

    async fn run(
        &self,
        peer: Arc<Peer>,
        headers: HeaderMap,
        body: Incoming,
    ) -> Result<Response<ReplyBody>, Status> {
        let work = async {
            let decoder = FrameDecoder::new(self.route.limits.receive, self.encoding);
            let messages = Messages::new(body, decoder, self.caller.content.codec());
            let body = if self.method.kind().streams_requests() {
                Body::Stream(PayloadStream::new(messages))
            } else {
                Body::Unary(messages.only().await?)
            };
            let service = Arc::clone(&self.route.key);
            let mut invocation = Invocation::new(service, self.method.clone(), body);
            invocation.attachments = Attachments::from_headers(headers);
            invocation.deadline = self.deadline;
            invocation.peer = Some(peer);
            invocation.reply = Some(self.reply.clone());
            invoke(&*self.route.invoker, invocation).await
        };
        let reply = match self.deadline {
            None => work.await,
            Some(at) => timeout_at(at, work)
                .await
                .unwrap_or_else(|_| Err(expired(&self.method))),
        }?;
        match reply.body {
            Body::Unary(payload) => self.one(&payload, &reply.headers, &reply.trailers),
            Body::Stream(stream) if self.method.kind().streams_responses() => {
                self.many(stream, &reply.headers, reply.trailers).await
            }
            Body::Stream(_) => Err(Status::internal(format!(
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
        let codec = self.caller.content.codec();
        let envelope = frame::encode(payload, codec, self.route.limits.send)?;
        let headers = self.caller.headers([headers, &self.reply.take_headers()])?;
        let trailers = self
            .caller
            .success(&[trailers, &self.reply.take_trailers()])?;
        Ok(respond(headers, ReplyBody::one(envelope, trailers)))
    }

    /// Headers go out as soon as the handler has returned, because a caller may wait for them before it sends its first
    /// message. If the first answer is there by then, headers that the stream set on its way to it go along.
    async fn many(
        &self,
        mut stream: PayloadStream,
        headers: &Attachments,
        trailers: Attachments,
    ) -> Result<Response<ReplyBody>, Status> {
        let next = poll_fn(|cx| {
            Poll::Ready(match poll_item(&mut stream, cx) {
                Poll::Ready(item) => Some(item),
                Poll::Pending => None,
            })
        })
        .await;
        let headers = self.caller.headers([headers, &self.reply.take_headers()])?;
        let many = Many {
            caller: self.caller,
            send_limit: self.route.limits.send,
            method: self.method.clone(),
            reply: self.reply.clone(),
            trailers,
            deadline: self.deadline.map(|at| Box::pin(sleep_until(at))),
            next,
            stream: Some(stream),
        };
        Ok(respond(headers, ReplyBody::Many(Box::new(many))))
    }
}

/// Calls `invoker`; a panic in it, or on the way to its future, is an error of this call alone.
async fn invoke(invoker: &dyn Invoker, invocation: Invocation) -> RpcResult {
    let mut invocation = Some(invocation);
    let mut call = None;
    poll_fn(|cx| {
        poll_guarded(cx, |cx| {
            if let Some(invocation) = invocation.take() {
                call = Some(invoker.invoke(invocation));
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

/// Turns away what is no gRPC call.
fn refuse(routes: &Routes, head: &Parts) -> Response<ReplyBody> {
    if let Err(status) = routes.find(&head.uri, &head.headers) {
        return plain(StatusCode::NOT_FOUND, status.message().to_owned());
    }
    if head.method != Method::POST {
        let text = format!("{} is not served here, only POST\n", head.method);
        return with(plain(StatusCode::METHOD_NOT_ALLOWED, text), ALLOW, "POST");
    }
    let text = match head.headers.get(CONTENT_TYPE) {
        Some(content) => format!("content type {content:?} is not served here"),
        None => "the request has no content type".to_owned(),
    };
    let text = format!("{text}; calls without gRPC framing, such as JSON, are not supported\n");
    let response = plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
    with(response, ACCEPT_POST, GrpcContent::LIST)
}

fn with(
    mut response: Response<ReplyBody>,
    name: HeaderName,
    value: &'static str,
) -> Response<ReplyBody> {
    let value = HeaderValue::from_static(value);
    response.headers_mut().insert(name, value);
    response
}

const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");
