//! A provider behind filters, for tests.

use std::{
    collections::VecDeque,
    future::pending,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    context::ReplyContext,
    extension::{ExtensionError, Extensions},
    filter::{Chain, Filter},
    invocation::{Body, Invocation, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};
use parking_lot::Mutex;

/// The interface of all calls.
pub(in crate::filter) const INTERFACE: &str = "test.Greeter";

/// A provider of [`INTERFACE`], and the plugins of its instance.
pub(in crate::filter) struct Provider {
    end: Arc<End>,
    extensions: Extensions,
}

impl Provider {
    /// One that answers what `answer` says.
    pub(in crate::filter) fn new(
        answer: impl Fn(Invocation) -> RpcResult + Send + Sync + 'static,
    ) -> Self {
        Self::that(Behaviour::Answers(Box::new(answer)))
    }

    /// One that sends back what it got.
    pub(in crate::filter) fn echoing() -> Self {
        Self::new(|invocation| Ok(Reply::new(invocation.body)))
    }

    /// One that works and fails as said, call by call.
    pub(in crate::filter) fn answering(answers: Vec<Result<(), Status>>) -> Self {
        let answers = Mutex::new(VecDeque::from(answers));
        Self::new(move |invocation| {
            let answer = answers.lock().pop_front().expect("an answer is left");
            answer.map(|()| Reply::new(invocation.body))
        })
    }

    /// One that answers after a while.
    pub(in crate::filter) fn slow(after: Duration) -> Self {
        Self::that(Behaviour::Waits(after))
    }

    /// One that never answers.
    pub(in crate::filter) fn hanging() -> Self {
        Self::that(Behaviour::Hangs)
    }

    fn that(behaviour: Behaviour) -> Self {
        Self {
            end: Arc::new(End {
                url: Url::new("tri", "10.0.0.1").with_port(20880),
                behaviour,
                calls: AtomicUsize::new(0),
                last: Mutex::default(),
            }),
            extensions: Extensions::linked().expect("no duplicates"),
        }
    }

    /// The plugins.
    pub(in crate::filter) fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// It behind the filter called `name`, at a provider with these parameters.
    pub(in crate::filter) fn chain(&self, name: &str, params: &str) -> Arc<dyn Invoker> {
        self.try_chain(name, params).expect("it can be made")
    }

    pub(in crate::filter) fn try_chain(
        &self,
        name: &str,
        params: &str,
    ) -> Result<Arc<dyn Invoker>, ExtensionError> {
        self.try_chain_of(name, &format!("side=provider&{params}"))
    }

    /// It behind the filter called `name`, with these parameters alone.
    pub(in crate::filter) fn chain_of(&self, name: &str, params: &str) -> Arc<dyn Invoker> {
        self.try_chain_of(name, params).expect("it can be made")
    }

    fn try_chain_of(&self, name: &str, params: &str) -> Result<Arc<dyn Invoker>, ExtensionError> {
        let filter = self.extensions.create::<dyn Filter>(name, &url(params))?;
        Ok(self.behind(vec![filter]))
    }

    /// It behind `filters`.
    pub(in crate::filter) fn behind(&self, filters: Vec<Arc<dyn Filter>>) -> Arc<dyn Invoker> {
        Chain::wrap(filters, Arc::clone(&self.end) as _)
    }

    /// What a call through the filter called `name` comes to.
    pub(in crate::filter) async fn through(&self, name: &str, params: &str) -> RpcResult {
        self.chain(name, params).invoke(invocation()).await
    }

    /// How many calls came.
    pub(in crate::filter) fn calls(&self) -> usize {
        self.end.calls.load(Ordering::Relaxed)
    }

    /// The attachments of the last one.
    pub(in crate::filter) fn last_attachments(&self) -> Attachments {
        self.end.last.lock().clone()
    }
}

/// A URL of [`INTERFACE`] with these parameters.
pub(in crate::filter) fn url(params: &str) -> Url {
    let text = format!(
        "tri://10.0.0.1:20880/{INTERFACE}?interface={INTERFACE}&methods=Greet,Find&{params}"
    );
    text.trim_end_matches('&').parse().expect("a URL")
}

/// A call of `Greet`.
pub(in crate::filter) fn invocation() -> Invocation {
    invocation_of("Greet")
}

/// A call of a method of [`INTERFACE`] at a provider.
pub(in crate::filter) fn invocation_of(method: &str) -> Invocation {
    let method = SERVICE.find(method).expect("a method");
    let body = Body::Unary(Payload::encoded(
        Codec::Protobuf,
        Bytes::from_static(b"\x0a\x01x"),
    ));
    let mut call = Invocation::new(Arc::new(ServiceKey::new(INTERFACE)), method, body);
    call.reply = Some(ReplyContext::default());
    call
}

static SERVICE: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let mut methods: Vec<_> = ["Greet", "Find", "Other"]
        .map(|name| MethodDescriptor::new(name, CallKind::Unary))
        .into();
    methods.push(MethodDescriptor::new("Chat", CallKind::BidiStream));
    let echo = (
        "$echo",
        CallKind::Unary,
        ["java.lang.Object"],
        "java.lang.Object",
    );
    methods.push(MethodDescriptor::java(echo.0, echo.1, echo.2, echo.3));
    Arc::new(ServiceDescriptor::new(INTERFACE, methods))
});

struct End {
    url: Url,
    behaviour: Behaviour,
    calls: AtomicUsize,
    last: Mutex<Attachments>,
}

enum Behaviour {
    Answers(Box<dyn Fn(Invocation) -> RpcResult + Send + Sync>),
    Hangs,
    Waits(Duration),
}

#[async_trait]
impl Invoker for End {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        self.calls.fetch_add(1, Ordering::Relaxed);
        *self.last.lock() = invocation.attachments.clone();
        match &self.behaviour {
            Behaviour::Answers(answer) => answer(invocation),
            Behaviour::Hangs => pending().await,
            Behaviour::Waits(after) => {
                tokio::time::sleep(*after).await;
                Ok(Reply::new(invocation.body))
            }
        }
    }
}
