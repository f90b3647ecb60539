//! A script, and what was seen while it ran.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo_core::{
    attachments::Attachments,
    call::Client,
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    provider::Service,
    service::ServiceDescriptor,
    status::Status,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::steps::{Action, Planned, Steps};
use crate::soon;

/// What calls meet, method by method; see the [module](super). Clones are handles to the same script.
#[derive(Debug, Clone, Default)]
pub struct Script(Arc<Shared>);

/// A call that came.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Seen {
    /// The method's name, as it is on the wire.
    pub method: String,
    /// What travelled beside the message.
    pub attachments: Attachments,
    /// How much time it had left, if it was bounded.
    pub time: Option<Duration>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) planned: Mutex<HashMap<String, Planned>>,
    seen: watch::Sender<Vec<Seen>>,
}

impl Script {
    /// Nothing planned: a filter lets all calls pass, a service answers none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds steps for the calls of `method`, called as on the wire: `Greet`, `getUser`.
    pub fn on(&self, method: &str) -> Steps<'_> {
        Steps {
            shared: &self.0,
            method: method.to_owned(),
            pause: Duration::ZERO,
        }
    }

    /// A service that `C` is a client of, with nothing behind it but this script: a call that it says nothing of fails with
    /// `unimplemented`, and so does one whose step [passes](Steps::passes).
    ///
    /// # Panics
    ///
    /// Steps are planned for a method that the service does not have.
    pub fn service<C: Client>(&self) -> Service {
        let descriptor = C::descriptor();
        self.check(descriptor);
        let mut builder = Service::builder(Arc::clone(descriptor), "Script");
        for method in 0..descriptor.methods().len() {
            let script = self.clone();
            builder = builder.raw(method, move |invocation| {
                let script = script.clone();
                async move { script.answer(invocation).await }
            });
        }
        builder.build()
    }

    /// The calls that came so far, in their order.
    pub fn seen(&self) -> Vec<Seen> {
        self.0.seen.borrow().clone()
    }

    /// How many calls of `method` came so far.
    pub fn count(&self, method: &str) -> usize {
        let seen = self.0.seen.borrow();
        seen.iter().filter(|call| call.method == method).count()
    }

    /// Waits until `calls` calls of `method` have come, in all.
    ///
    /// # Panics
    ///
    /// They do not come within [`PATIENCE`](crate::PATIENCE).
    pub async fn called(&self, method: &str, calls: usize) {
        let mut seen = self.0.seen.subscribe();
        let enough = |seen: &Vec<Seen>| {
            let these = seen.iter().filter(|call| call.method == method);
            these.count() >= calls
        };
        let waited = soon("enough calls of a script", seen.wait_for(enough)).await;
        drop(waited);
    }

    fn check(&self, descriptor: &ServiceDescriptor) {
        for planned in self.0.planned.lock().keys() {
            let known = descriptor.methods().iter();
            assert!(
                known.clone().any(|method| method.name == *planned),
                "{} has no method {planned}: it has {}",
                descriptor.interface(),
                known
                    .map(|method| &*method.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            );
        }
    }

    async fn answer(&self, invocation: Invocation) -> RpcResult {
        let method = invocation.method.name().to_owned();
        match self.meet(invocation).await {
            Met::Answer(answer) => answer,
            Met::Passes(_) => Err(Status::unimplemented(format!(
                "no step of the script for call {} of {method}",
                self.count(&method)
            ))),
        }
    }

    /// Notes the call, and has it take its step.
    async fn meet(&self, invocation: Invocation) -> Met {
        let method = invocation.method.name();
        let now = tokio::time::Instant::now();
        self.0.seen.send_modify(|seen| {
            let deadline = invocation.attempt_deadline(now);
            seen.push(Seen {
                method: method.to_owned(),
                attachments: invocation.attachments.clone(),
                time: deadline.map(|deadline| deadline.saturating_duration_since(now)),
            });
        });
        let step = self
            .0
            .planned
            .lock()
            .get_mut(method)
            .and_then(Planned::next);
        let Some(step) = step else {
            return Met::Passes(invocation);
        };
        if !step.pause.is_zero() {
            tokio::time::sleep(step.pause).await;
        }
        match step.action {
            Action::Hang => std::future::pending().await,
            Action::Pass => Met::Passes(invocation),
            Action::Reply(reply) => Met::Answer(reply(&invocation)),
        }
    }
}

/// A call that the script says nothing of goes on.
#[async_trait]
impl Filter for Script {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        match self.meet(invocation).await {
            Met::Answer(answer) => answer,
            Met::Passes(invocation) => next.run(invocation).await,
        }
    }
}

enum Met {
    Answer(RpcResult),
    Passes(Invocation),
}
