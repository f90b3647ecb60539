//! One call from its frame to its answer.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use bytes::BytesMut;
use dubbo_core::{
    attachments::Attachments,
    context::ReplyContext,
    invocation::{Body, Invocation, Reply, RpcResult},
    panics::{catch, poll_guarded},
    payload::{Codec, Payload},
    service::{CallKind, MethodRef},
    status::Status,
};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};

use super::{
    budget::Share,
    connection::Link,
    reply::{Refusal, answer, setting, unreadable_arguments},
    routes::Route,
};
use crate::{
    catalog::Stage,
    dubbo::{
        body::{
            request::{Request, takes_attachments},
            response::{PUSHBACK, take_own},
        },
        frame::{Frame, HESSIAN2},
        status::{
            BAD_REQUEST, BAD_RESPONSE, SERVER_THREADPOOL_EXHAUSTED_ERROR, SERVER_TIMEOUT,
            SERVICE_ERROR,
        },
    },
    java::options,
    pushback,
    reject::CLOSING,
};

/// A call that has come.
pub(super) struct Call {
    pub(super) link: Arc<Link>,
    pub(super) frame: Frame,
    pub(super) arrived: Instant,
    /// Its share of what a connection may have under way.
    pub(super) share: Share,
}

impl Call {
    /// Does the call and answers it, if it is to be answered.
    pub(super) async fn run(mut self) {
        let Some(running) = self.link.server.begin() else {
            let text = format!(
                "too many calls are under way at this provider; none of this one was done. It allows more with {}",
                setting("max-calls")
            );
            return self
                .refuse(&Refusal::new(SERVER_THREADPOOL_EXHAUSTED_ERROR, text))
                .await;
        };
        match self.prepare() {
            Ok((work, invocation)) => {
                let ended = work.run(&self, invocation).await;
                // A peer that is slow to read is no reason to refuse the calls of others.
                drop(running);
                self.answer(&work, ended).await;
            }
            Err(refusal) => {
                drop(running);
                self.refuse(&refusal).await;
            }
        }
        // Only now: what waits to be sent counts as under way.
        drop(self.share);
    }

    fn prepare(&self) -> Result<(Work, Invocation), Refusal> {
        let header = self.frame.header;
        if self.link.server.catalog.stage() >= Stage::Draining {
            let text =
                "this provider is shutting down and takes no more calls; none of this one was done";
            return Err(Refusal::new(SERVER_THREADPOOL_EXHAUSTED_ERROR, text));
        }
        if header.serialization != HESSIAN2 {
            return Err(Refusal::undecodable(&format_args!(
                "the serialization with id {} is not spoken here, only hessian2, which is {HESSIAN2}",
                header.serialization
            )));
        }
        let body = &self.frame.body;
        let rules = &self.link.server.rules;
        let mut request =
            Request::read(body, options(rules)).map_err(|error| Refusal::undecodable(&error))?;
        let routes = self.link.server.catalog.routes();
        let (route, method) = routes.find(&request)?;
        if body.len() > route.payload {
            let what = format_args!("of the request to {method:?}");
            return Err(Refusal::too_large(
                BAD_REQUEST,
                body.len(),
                route.payload,
                &what,
            ));
        }
        refuse_callbacks(&request)?;
        if method.kind() != CallKind::Unary {
            return Err(Refusal::undecodable(&format_args!(
                "{method:?} streams, which this protocol cannot; call it over `tri`"
            )));
        }
        let patience = patience(&request.attachments).filter(|_| header.two_way);
        let deadline = patience.and_then(|patience| self.arrived.checked_add(patience));
        let to_go = deadline.is_some() && is_of_go(&request.attachments);
        request.attachments.retain(|name| {
            let own = |own: &&str| own.eq_ignore_ascii_case(name);
            !OWN_ATTACHMENTS.iter().any(own)
        });
        let payload = Payload::encoded(Codec::Hessian2, request.arguments);
        let payload = payload.with_rules(rules.clone());
        let service = Arc::clone(&route.key);
        let mut invocation = Invocation::new(service, method.clone(), Body::Unary(payload));
        let reply = ReplyContext::default();
        invocation.attachments = request.attachments;
        invocation.deadline = deadline;
        invocation.peer = Some(Arc::clone(&self.link.peer));
        invocation.reply = Some(reply.clone());
        let work = Work {
            route: Arc::clone(route),
            method,
            reply,
            deadline,
            to_go,
            takes_attachments: takes_attachments(&request.protocol),
        };
        Ok((work, invocation))
    }

    async fn answer(&mut self, work: &Work, ended: Ended) {
        if !self.frame.header.two_way {
            if let Ended::Done(Err(status)) = ended {
                let remote = self.link.peer.remote;
                tracing::debug!(%remote, method = ?work.method, %status, "a one-way call failed");
            }
            return;
        }
        let frame = match ended {
            Ended::Done(result) => {
                let closing = self.link.server.catalog.stage() >= Stage::Leaving;
                catch(&work.method, || work.answer(self, result, closing))
                    .unwrap_or_else(|panicked| Err(broken_down(&panicked)))
            }
            Ended::Panicked(status) => Err(broken_down(&status)),
            // It would find nobody waiting, and dubbo-go ends the connection over it (`docs/spec/dubbo-protocol.md` §8).
            Ended::Late if work.to_go => return,
            Ended::Late => {
                let text = format!(
                    "{:?} was stopped when the caller's timeout was over",
                    work.method
                );
                Err(Refusal::new(SERVER_TIMEOUT, text))
            }
            Ended::Gone => return,
        };
        match frame {
            Ok(frame) => self.send(frame, work.last_moment()).await,
            Err(refusal) => self.refuse_by(&refusal, work.last_moment()).await,
        }
    }

    async fn refuse(&mut self, refusal: &Refusal) {
        self.refuse_by(refusal, None).await;
    }

    async fn refuse_by(&mut self, refusal: &Refusal, last_moment: Option<Instant>) {
        let header = self.frame.header;
        tracing::debug!(
            remote = %self.link.peer.remote, id = header.id, status = refusal.status, text = refusal.text,
            "a call is refused"
        );
        if header.two_way {
            self.send(refusal.answer(header), last_moment).await;
        }
    }

    async fn send(&mut self, frame: BytesMut, last_moment: Option<Instant>) {
        self.share.grow(self.frame.body.len() + frame.len());
        let sending = self.link.send(frame);
        match last_moment {
            None => sending.await,
            // Too late is as good as never.
            Some(at) => timeout_at(at, sending).await.unwrap_or_default(),
        }
    }
}

/// A call that can be made.
struct Work {
    route: Arc<Route>,
    method: MethodRef,
    reply: ReplyContext,
    deadline: Option<Instant>,
    /// The caller is dubbo-go, and has a deadline.
    to_go: bool,
    takes_attachments: bool,
}

/// How a call ended.
enum Ended {
    Done(RpcResult),
    /// Nobody waits for the answer any more: the connection is gone.
    Gone,
    /// The deadline came first.
    Late,
    Panicked(Status),
}

impl Work {
    async fn run(&self, call: &Call, invocation: Invocation) -> Ended {
        // The handler may panic before it has given a future, too.
        let mut handler = match catch(&self.method, || self.route.invoker.invoke(invocation)) {
            Ok(handler) => handler,
            Err(panicked) => return Ended::Panicked(panicked),
        };
        // Whoever makes a one-way call may hang up at once.
        let gone = if call.frame.header.two_way {
            &call.link.gone
        } else {
            &call.link.server.cut
        };
        let mut gone = pin!(gone.cancelled());
        let mut late: Option<Pin<Box<Sleep>>> = None;
        poll_fn(|cx| {
            match poll_guarded(&self.method, cx, |cx| handler.as_mut().poll(cx)) {
                Poll::Ready(Ok(result)) => return Poll::Ready(Ended::Done(result)),
                Poll::Ready(Err(panicked)) => return Poll::Ready(Ended::Panicked(panicked)),
                Poll::Pending => {}
            }
            if gone.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ended::Gone);
            }
            let Some(at) = self.deadline else {
                return Poll::Pending;
            };
            let late = late.get_or_insert_with(|| Box::pin(sleep_until(at)));
            late.as_mut().poll(cx).map(|()| Ended::Late)
        })
        .await
    }

    fn answer(&self, call: &Call, result: RpcResult, closing: bool) -> Result<BytesMut, Refusal> {
        let (result, mut beside) = match result {
            Ok(Reply {
                headers,
                trailers,
                body: Body::Unary(payload),
                ..
            }) => {
                let mut beside = headers;
                beside.extend(&trailers);
                (Ok(payload), beside)
            }
            Ok(_) => {
                let text = format!(
                    "{:?} was given a stream to answer with, which this protocol cannot send",
                    self.method
                );
                return Err(Refusal::new(BAD_RESPONSE, text));
            }
            Err(status) => {
                if let Some(refusal) = unreadable_arguments(&status) {
                    return Err(refusal);
                }
                let beside = status.attachments().clone();
                (Err(status), beside)
            }
        };
        beside.extend(&self.reply.take_headers());
        beside.extend(&self.reply.take_trailers());
        // Whatever they are of, this server has said none of it.
        take_own(&mut beside);
        if closing {
            beside.insert(CLOSING, "true");
        }
        if let Some(wait) = result.as_ref().err().and_then(pushback::written) {
            beside.insert(PUSHBACK, wait.to_string());
        }
        let beside = self.takes_attachments.then_some(&beside);
        answer(
            call.frame.header,
            result.as_ref(),
            beside,
            self.route.payload,
            &self.method,
        )
    }

    /// When an answer must not be sent any more.
    fn last_moment(&self) -> Option<Instant> {
        let deadline = self.deadline.filter(|_| self.to_go)?;
        deadline.checked_add(GRACE)
    }
}

/// A parameter that the caller wants to be called back by is announced beside a null
/// (`docs/spec/dubbo-protocol.md` §17).
fn refuse_callbacks(request: &Request<'_>) -> Result<(), Refusal> {
    let callback = request.nulls.iter().find(|index| {
        let name = format!("sys_callback_arg-{index}");
        request.attachments.contains(&name)
    });
    match callback {
        None => Ok(()),
        Some(index) => Err(Refusal::undecodable(&format_args!(
            "argument {index} of `{}` is a callback, which is not supported here",
            request.method
        ))),
    }
}

/// How long the caller waits: 0 and less, and what is no number, is for ever (`docs/spec/dubbo-protocol.md` §6).
fn patience(attachments: &Attachments) -> Option<Duration> {
    let millis = ["timeout", "_TO"].into_iter().filter_map(|name| {
        let millis = attachments.get(name)?.parse::<u64>().ok()?;
        (millis > 0).then(|| Duration::from_millis(millis))
    });
    millis.min()
}

/// Its proxies send an environment and its generated stubs an empty count of retries (`docs/spec/dubbo-protocol.md` §6.2).
fn is_of_go(attachments: &Attachments) -> bool {
    attachments.contains("environment") || attachments.get("retries") == Some("")
}

fn broken_down(panicked: &Status) -> Refusal {
    Refusal::new(SERVICE_ERROR, panicked.message())
}

/// What is said by the deadline, the service key, and the protocol itself. Java hides them from applications too; others
/// that it hides, such as `token`, are for filters to read.
const OWN_ATTACHMENTS: [&str; 8] = [
    "_TO",
    "async",
    "dubbo",
    "group",
    "interface",
    "path",
    "timeout",
    "version",
];

/// How long after its timeout dubbo-go may still know of a call.
const GRACE: Duration = Duration::from_secs(1);
