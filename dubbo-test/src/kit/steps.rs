//! What a call meets.

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use dubbo_core::{
    codegen::{ProtoJson, ProtoMessage},
    invocation::{Body, Invocation, PayloadStream, Reply, RpcResult},
    payload::{Adapter, Payload},
    status::Status,
    stream,
};
use serde::{Serialize, de::DeserializeOwned};

use super::script::Shared;

/// Adds steps to those of one method; see [`Script::on`](super::Script::on). One step is for one call.
#[derive(Debug)]
#[must_use = "a script without steps says nothing"]
pub struct Steps<'a> {
    pub(super) shared: &'a Shared,
    pub(super) method: String,
    /// How long the next step waits first.
    pub(super) pause: Duration,
}

impl Steps<'_> {
    /// Lets the next step wait first. Whoever gives up meanwhile is not answered.
    pub fn after(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Answers with a message of a proto file.
    pub fn answers<T>(self, message: T) -> Self
    where
        T: ProtoMessage + Serialize + DeserializeOwned,
    {
        self.answers_as::<ProtoJson<T>>(message)
    }

    /// Answers with a message of any kind; `A` says which, as generated code does.
    pub fn answers_as<A: Adapter>(self, message: A::Message) -> Self {
        let payload = Payload::typed(A::wrap(message));
        self.replies(move |_| Ok(Reply::new(Body::Unary(payload.clone()))))
    }

    /// Answers with a stream of messages of a proto file, which ends well, or with a failure among them.
    pub fn streams<T>(self, items: impl IntoIterator<Item = Result<T, Status>>) -> Self
    where
        T: ProtoMessage + Serialize + DeserializeOwned,
    {
        let payload = |message| Payload::typed(ProtoJson::wrap(message));
        let items = items.into_iter().map(|item| item.map(payload));
        let items: Vec<Result<Payload, Status>> = items.collect();
        self.replies(move |_| {
            let body = PayloadStream::new(stream::iter(items.clone()));
            Ok(Reply::new(Body::Stream(body)))
        })
    }

    /// Fails.
    pub fn fails(self, status: Status) -> Self {
        self.replies(move |_| Err(status.clone()))
    }

    /// Never answers, until the caller gives up.
    pub fn hangs(self) -> Self {
        self.step(Action::Hang)
    }

    /// Lets the call go on to whoever would answer; a script that stands for a service has nobody there, and answers
    /// `unimplemented`.
    pub fn passes(self) -> Self {
        self.step(Action::Pass)
    }

    /// Whatever else a call may get.
    pub fn replies(self, reply: impl Fn(&Invocation) -> RpcResult + Send + Sync + 'static) -> Self {
        self.step(Action::Reply(Arc::new(reply)))
    }

    /// Has the last step be there for `calls` calls in all.
    ///
    /// # Panics
    ///
    /// There is no step yet.
    pub fn times(self, calls: usize) -> Self {
        self.change_last(|steps, last| {
            for _ in 1..calls {
                steps.queue.push_back(last.clone());
            }
            if calls == 0 {
                steps.queue.pop_back();
            }
        });
        self
    }

    /// Has the last step be there for all calls from then on.
    ///
    /// # Panics
    ///
    /// There is no step yet.
    pub fn for_ever(self) -> Self {
        self.change_last(|steps, last| {
            steps.queue.pop_back();
            steps.rest = Some(last);
        });
        self
    }

    fn step(mut self, action: Action) -> Self {
        let pause = std::mem::take(&mut self.pause);
        self.with(|steps| steps.queue.push_back(Step { pause, action }));
        self
    }

    fn change_last(&self, change: impl FnOnce(&mut Planned, Step)) {
        self.with(|steps| {
            let last = steps.queue.back().cloned();
            let last = last.unwrap_or_else(|| panic!("no step of {} to repeat", self.method));
            change(steps, last);
        });
    }

    fn with<T>(&self, change: impl FnOnce(&mut Planned) -> T) -> T {
        let mut planned = self.shared.planned.lock();
        change(planned.entry(self.method.clone()).or_default())
    }
}

/// The steps of one method.
#[derive(Debug, Default)]
pub(super) struct Planned {
    queue: VecDeque<Step>,
    /// For when there is none left.
    rest: Option<Step>,
}

impl Planned {
    pub(super) fn next(&mut self) -> Option<Step> {
        self.queue.pop_front().or_else(|| self.rest.clone())
    }
}

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) pause: Duration,
    pub(super) action: Action,
}

#[derive(Clone)]
pub(super) enum Action {
    Hang,
    Pass,
    Reply(Arc<dyn Fn(&Invocation) -> RpcResult + Send + Sync>),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hang => "Hang",
            Self::Pass => "Pass",
            Self::Reply(_) => "Reply",
        })
    }
}
