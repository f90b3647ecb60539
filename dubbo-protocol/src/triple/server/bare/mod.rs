//! Calls over plain HTTP: the body is one message, and the headers say the rest (`docs/spec/triple.md` §5).

mod body;
mod content;
pub(super) mod deadline;
mod events;
pub(super) mod query;

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    context::ReplyContext,
    invocation::{Body as Message, Invocation, Peer, Reply, RpcResult},
    panics::{catch, guard},
    payload::{Codec, Payload},
    service::{CallKind, MethodRef},
    status::Status,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, EXPECT, VARY},
    request::Parts,
};
use tokio::time::Instant;

pub(super) use self::{content::Content, events::Events};
use self::{deadline::in_time, query::Query};
use super::{
    budget::{Budget, Share},
    failure::Failure,
    patience::within,
    received::Received,
    refusal,
    reply::{ReplyBody, not_sendable, respond, write_attachments, write_trailers},
    rest::discard,
    routes::Route,
    site::Site,
};
use crate::{
    java::{read_json_arguments, told_in_json},
    triple::{
        compression::{Compression, Packing},
        form::{Arguments, Form, is_wrapped},
        frame::check_sent,
        headers::PeerKind,
    },
};

/// A call of a method that takes one message, in a form that there is.
pub(super) struct Bare {
    route: Arc<Route>,
    method: MethodRef,
    content: Content,
    /// The message, where it is not the body.
    query: Option<Query>,
    caller: PeerKind,
    peer: Arc<Peer>,
    budget: Arc<Budget>,
    /// How long its request may take.
    patience: Option<Duration>,
    /// How an answer of one message is compressed.
    packing: Option<Packing>,
    /// Whether that depends on what the caller takes.
    varies: bool,
    reply: ReplyContext,
}

/// Whether `method` can be called with GET: who wrote its proto file says that a call changes nothing.
pub(super) fn is_got(method: &MethodRef) -> bool {
    method.descriptor().no_side_effects && method.kind() == CallKind::Unary
}

impl Bare {
    /// The call that `head` asks for.
    ///
    /// # Errors
    ///
    /// The answer to a request that is none.
    pub(super) fn of(
        site: &Site,
        (route, method): (Arc<Route>, MethodRef),
        head: &Parts,
    ) -> Result<Self, Box<Response<ReplyBody>>> {
        let caller = PeerKind::of(&head.headers);
        let (content, query) = match head.method {
            Method::POST => {
                let content = Content::of(&head.headers);
                let content = content.filter(|content| content.suits(&method));
                let content =
                    content.ok_or_else(|| Box::new(refusal::unsupported(head, &method)))?;
                (content, None)
            }
            Method::GET if is_got(&method) => {
                let query = Query::read(head.uri.query().unwrap_or_default(), &method).map_err(
                    |failure| Box::new(failure.answer(caller, &ReplyContext::default())),
                )?;
                (query.content, Some(query))
            }
            _ => return Err(Box::new(refusal::not_allowed(head, &method))),
        };
        Ok(Self {
            route,
            method,
            content,
            query,
            caller,
            peer: Arc::clone(&site.peer),
            budget: Arc::clone(&site.budget),
            patience: site.settings.bounds.request,
            packing: (site.settings.compression).choose(&head.headers, &ACCEPT_ENCODING),
            varies: site.settings.compression.sends_any(),
            reply: ReplyContext::default(),
        })
    }

    /// Makes the call, and answers it. Dropping the future cancels the call.
    pub(super) async fn answer(mut self, head: Parts, mut body: Received) -> Response<ReplyBody> {
        let answered = self.call(head.headers, &mut body).await;
        answered.unwrap_or_else(|failure| {
            discard(body);
            failure.answer(self.caller, &self.reply)
        })
    }

    async fn call(
        &mut self,
        mut headers: HeaderMap,
        body: &mut Received,
    ) -> Result<Response<ReplyBody>, Failure> {
        check_version(&headers)?;
        let deadline = deadline::read(&headers, &self.method)?;
        let message = within(self.patience, deadline, self.message(&headers, body));
        let message = in_time(&self.method, deadline, message).await?;
        let (payload, form) = self.request(message)?;
        for name in OF_HTTP {
            headers.remove(name);
        }
        let mut invocation = Invocation::new(
            Arc::clone(&self.route.key),
            self.method.clone(),
            Message::Unary(payload),
        );
        invocation.attachments = Attachments::from_headers(headers);
        invocation.deadline = deadline;
        invocation.peer = Some(Arc::clone(&self.peer));
        invocation.reply = Some(self.reply.clone());
        let called = async {
            let reply = self.invoke(invocation).await;
            reply.map_err(|status| match form {
                Form::Json => told_in_json(&self.method, status).into(),
                _ => Failure::from(status),
            })
        };
        let reply = in_time(&self.method, deadline, called).await?;
        // What goes wrong from here on would go wrong again, after the handler had done its work again.
        self.respond(reply, form, deadline).map_err(Failure::done)
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        // The handler may panic before it has given a future, too.
        let call = catch(&self.method, || self.route.invoker.invoke(invocation))?;
        guard(&self.method, call).await
    }

    /// The one message, as it was before its caller compressed it.
    async fn message(&self, headers: &HeaderMap, body: &mut Received) -> Result<Bytes, Failure> {
        let limit = self.route.limits.receive;
        let inflated = |bytes, compression| {
            body::inflated(bytes, compression, limit)
                .map_err(|failure| failure.of_method(&self.method))
        };
        if let Some(query) = &self.query {
            return inflated(query.message.clone(), query.compression);
        }
        let compression = Compression::announced(headers, &CONTENT_ENCODING)
            .map_err(|error| Status::unimplemented(error.to_string()).with_source(error))?;
        let share = Share::of(Arc::clone(&self.budget));
        let bytes = body::whole(body, limit, share).await;
        let bytes = bytes.map_err(|failure| failure.of_method(&self.method))?;
        inflated(bytes, compression)
    }

    /// What the handler takes, and how its answer is written. It may be another method of the same name.
    fn request(&mut self, message: Bytes) -> Result<(Payload, Form), Status> {
        let wrapped = is_wrapped(&self.method);
        match self.content.codec() {
            Codec::Json if wrapped => {
                let (method, payload) = read_json_arguments(&self.method, &message)?;
                self.method = method;
                Ok((payload.with_rules(self.route.rules.clone()), Form::Json))
            }
            Codec::Json if message.is_empty() => Err(Status::invalid_argument(format!(
                "the body is empty, and the message of {:?} in JSON is `{{}}` at least",
                self.method
            ))),
            _ if wrapped => {
                let Arguments {
                    method,
                    dialect,
                    payload,
                } = Arguments::read(&self.method, message, &self.route.rules)?;
                self.method = method.clone();
                Ok((payload, Form::Results(method, dialect)))
            }
            codec => Ok((Payload::encoded(codec, message), Form::Plain(codec))),
        }
    }

    fn respond(
        &self,
        reply: Reply,
        form: Form,
        deadline: Option<Instant>,
    ) -> Result<Response<ReplyBody>, Failure> {
        let mut headers = HeaderMap::with_capacity(2);
        let stream = match reply.body {
            Message::Unary(payload) => {
                let body = self.write(&payload, &form)?;
                self.write_headers(&reply.headers, &mut headers)?;
                let trailers = [&reply.trailers, &self.reply.take_trailers()];
                write_trailers(&trailers, self.caller, &mut headers).map_err(not_sendable)?;
                headers.insert(CONTENT_TYPE, self.content.value());
                let body = self.budget.hold(self.packed(body, &mut headers))?;
                return Ok(respond(headers, ReplyBody::Plain(body)));
            }
            Message::Stream(stream) => stream,
        };
        if !self.method.kind().streams_responses() {
            let text = format!(
                "{:?} answers with one message, and was given a stream to answer with",
                self.method
            );
            return Err(Status::internal(text).into());
        }
        let limit = self.route.limits.send;
        let events = Events::new(&self.method, stream, form, limit, self.caller, deadline)?;
        self.write_headers(&reply.headers, &mut headers)?;
        Events::write_headers(&mut headers);
        Ok(respond(headers, ReplyBody::Events(Box::new(events))))
    }

    fn write(&self, payload: &Payload, form: &Form) -> Result<Bytes, Status> {
        let limit = self.route.limits.send;
        let known = form.encoded_len(payload).unwrap_or(0);
        check_sent(known, limit)?;
        let mut body = BytesMut::with_capacity(known);
        form.write(payload, &mut body)
            .map_err(|error| Status::internal(error.to_string()).with_source(error))?;
        check_sent(body.len(), limit)?;
        Ok(body.freeze())
    }

    /// The body as it is sent, which `headers` say.
    fn packed(&self, body: Bytes, headers: &mut HeaderMap) -> Bytes {
        headers.insert(ACCEPT_ENCODING, Compression::OFFER);
        if self.varies {
            headers.append(VARY, VARIES_BY_ENCODING);
        }
        let Some(packing) = self.packing else {
            return body;
        };
        let Some(packed) = packing.pack(&body) else {
            return body;
        };
        headers.insert(CONTENT_ENCODING, packing.compression.header());
        packed.into()
    }

    fn write_headers(&self, own: &Attachments, headers: &mut HeaderMap) -> Result<(), Status> {
        let from_context = self.reply.take_headers();
        [own, &from_context]
            .into_iter()
            .try_for_each(|attachments| write_attachments(attachments, self.caller, headers))
            .map_err(not_sendable)
    }
}

/// Refuses another version of the protocol; who names none has this one.
fn check_version(headers: &HeaderMap) -> Result<(), Status> {
    for (name, version) in VERSIONS {
        if let Some(other) = headers.get(&name)
            && other.as_bytes() != version.as_bytes()
        {
            return Err(Status::invalid_argument(format!(
                "`{name}` is {other:?}, and {version} is what there is"
            )));
        }
    }
    Ok(())
}

/// The protocols that are spoken here: Triple's own, and Connect's, which it is made of.
const VERSIONS: [(HeaderName, &str); 2] = [
    (HeaderName::from_static("triple-protocol-version"), "0.1.0"),
    (CONNECT_VERSION, "1"),
];

const VARIES_BY_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");

const CONNECT_VERSION: HeaderName = HeaderName::from_static("connect-protocol-version");

/// Headers that only calls over plain HTTP have, and that are no attachments.
const OF_HTTP: [HeaderName; 3] = [CONNECT_VERSION, deadline::CONNECT_TIMEOUT, EXPECT];
