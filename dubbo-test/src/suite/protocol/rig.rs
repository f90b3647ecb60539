//! A service that does what its requests say, exported and referred to.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use dubbo_core::{
    attachments::AttachmentValue,
    call::{Call, Stub},
    codegen::Proto,
    protocol::{Exporter, Protocol, ProtocolError},
    provider::Service,
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Status,
    streaming::Streaming,
    url::Url,
};
use tokio::sync::{Notify, Semaphore};

use super::Subject;
use crate::soon;

/// The interface.
pub(super) static ECHO: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = [
        ("Unary", CallKind::Unary),
        ("ServerStream", CallKind::ServerStream),
        ("ClientStream", CallKind::ClientStream),
        ("Bidi", CallKind::BidiStream),
    ];
    Arc::new(ServiceDescriptor::new(
        INTERFACE,
        methods
            .map(|(name, kind)| MethodDescriptor::new(name, kind))
            .to_vec(),
    ))
});

pub(super) const UNARY: usize = 0;
pub(super) const SERVER_STREAM: usize = 1;
pub(super) const CLIENT_STREAM: usize = 2;
pub(super) const BIDI: usize = 3;

const INTERFACE: &str = "dubbo.test.Echo";

/// One exported service and a stub that calls it.
pub(super) struct Rig {
    pub(super) protocol: Arc<dyn Protocol>,
    pub(super) exporter: Box<dyn Exporter>,
    pub(super) stub: Stub,
    pub(super) events: Arc<Events>,
}

/// What the handlers have come to, for tests that wait for it.
#[derive(Debug)]
pub(super) struct Events {
    /// One permit for each handler that has begun to wait.
    pub(super) started: Semaphore,
    /// One permit for each handler that was dropped while it waited.
    pub(super) dropped: Semaphore,
    /// Lets those that wait for it go on.
    pub(super) gate: Notify,
}

impl Rig {
    pub(super) async fn new(subject: Subject) -> Self {
        let protocol = (subject.make)();
        let url = subject.url.with_path(INTERFACE);
        let events = Events::new();
        let exporter = export(&*protocol, &url, &events)
            .await
            .expect("the key is free");
        let stub = stub(&*protocol, exporter.url()).await;
        Self {
            protocol,
            exporter,
            stub,
            events,
        }
    }

    pub(super) fn unary(&self, text: &str) -> Call<'_, Response<String>> {
        unary(&self.stub, text)
    }

    pub(super) fn server_stream(&self, text: &str) -> Call<'_, Response<Streaming<String>>> {
        let request = Request::new(text.to_owned());
        self.stub
            .server_stream::<Proto<String>, Proto<String>>(SERVER_STREAM, request)
    }

    pub(super) async fn started(&self) {
        Events::one(&self.events.started, "the handler to begin").await;
    }

    pub(super) async fn dropped(&self) {
        Events::one(&self.events.dropped, "the handler to be dropped").await;
    }
}

impl Events {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            started: Semaphore::new(0),
            dropped: Semaphore::new(0),
            gate: Notify::new(),
        })
    }

    async fn one(events: &Semaphore, what: &str) {
        let permit = soon(what, events.acquire()).await;
        permit.expect("never closed").forget();
    }

    /// Waits for ever, and tells when that ends.
    async fn hang(&self) -> Response<String> {
        let _told = OnDrop(&self.dropped);
        self.started.add_permits(1);
        std::future::pending().await
    }
}

impl fmt::Debug for Rig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rig")
            .field("url", self.exporter.url())
            .finish_non_exhaustive()
    }
}

struct OnDrop<'a>(&'a Semaphore);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// Exports the service at `url`.
pub(super) async fn export(
    protocol: &dyn Protocol,
    url: &Url,
    events: &Arc<Events>,
) -> Result<Box<dyn Exporter>, ProtocolError> {
    let invoker = service(Arc::clone(events)).into_invoker(url.clone());
    protocol.export(url, Arc::clone(&ECHO), invoker).await
}

/// A stub of the service at `url`.
pub(super) async fn stub(protocol: &dyn Protocol, url: &Url) -> Stub {
    let referred = protocol.refer(url, Arc::clone(&ECHO)).await;
    Stub::new(
        referred.expect("the URL is good"),
        url.service_key(),
        Arc::clone(&ECHO),
    )
}

pub(super) fn unary<'a>(stub: &'a Stub, text: &str) -> Call<'a, Response<String>> {
    stub.unary::<Proto<String>, Proto<String>>(UNARY, Request::new(text.to_owned()))
}

fn service(events: Arc<Events>) -> Service {
    type Text = Proto<String>;
    let streaming = Arc::clone(&events);
    Service::builder(Arc::clone(&ECHO), "Echo")
        .unary::<Text, Text, _, _>(UNARY, move |request| answer(Arc::clone(&events), request))
        .server_stream::<Text, Text, _, _>(SERVER_STREAM, move |request| {
            std::future::ready(Ok(many(Arc::clone(&streaming), &request)))
        })
        .client_stream::<Text, Text, _, _>(CLIENT_STREAM, join)
        .bidi_stream::<Text, Text, _, _>(BIDI, echo_each)
        .build()
}

async fn answer(events: Arc<Events>, request: Request<String>) -> Result<Response<String>, Status> {
    let reply = request.context().reply().clone();
    match request.message().as_str() {
        "business" => Err(Status::business("out of stock")),
        "fail" => {
            reply.trailer("x-why", "because");
            let status = Status::not_found("no such thing: 50% + \u{e9}\n");
            Err(status.with_detail(&"which".to_owned()))
        }
        "gate" => {
            events.started.add_permits(1);
            events.gate.notified().await;
            Ok(Response::new("opened".to_owned()))
        }
        "hang" => Ok(events.hang().await),
        "meta" => {
            let attachments = request.attachments();
            let text = [
                attachments.get("Plain").unwrap_or("none").to_owned(),
                attachments.all("multi").collect::<Vec<_>>().join("+"),
                format!("{:?}", attachments.get_bin("blob").as_deref()),
            ]
            .join(",");
            reply
                .header("x-early", "1")
                .map_err(|error| Status::internal(error.to_string()))?;
            reply.trailer("x-late", "2");
            Ok(Response::new(text).header("x-header", "\u{e9}").trailer(
                "x-trailer",
                AttachmentValue::from(Bytes::from_static(&[0, 255])),
            ))
        }
        "panic" => panic!("on purpose"),
        "time" => {
            let left = request.context().deadline().is_some();
            Ok(Response::new(left.to_string()))
        }
        text => Ok(Response::new(text.to_owned())),
    }
}

/// `a b c` is three messages; `fail` among them ends it with an error, `hang` never ends it.
fn many(events: Arc<Events>, request: &Request<String>) -> Response<Streaming<String>> {
    let context = request.context().clone();
    let words: Vec<_> = request
        .message()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let (sender, stream) = Streaming::channel(1);
    let _ = context.reply().header("x-early", "1");
    let feeding = async move {
        for word in words {
            match word.as_str() {
                "fail" => {
                    let _ = sender.fail(Status::data_loss("the rest is gone")).await;
                    return;
                }
                "hang" => drop(events.hang().await),
                _ => {
                    if sender.send(word).await.is_err() {
                        return;
                    }
                }
            }
        }
        context.reply().trailer("x-late", "2");
    };
    let fed = Fed {
        feeding: Some(Box::pin(feeding)),
        stream,
    };
    Response::new(Streaming::new(fed)).trailer("x-trailer", "3")
}

/// A stream that is fed by a future which lives and dies with it.
struct Fed {
    feeding: Option<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>>,
    stream: Streaming<String>,
}

impl futures_core::Stream for Fed {
    type Item = Result<String, Status>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        if let Some(feeding) = &mut self.feeding
            && feeding.as_mut().poll(cx).is_ready()
        {
            self.feeding = None;
        }
        std::pin::Pin::new(&mut self.stream).poll_next(cx)
    }
}

/// All messages in one.
async fn join(request: Request<Streaming<String>>) -> Result<Response<String>, Status> {
    let mut stream = request.into_message();
    let mut all = Vec::new();
    while let Some(message) = stream.message().await? {
        all.push(message);
    }
    Ok(Response::new(all.join(" ")))
}

/// Each message back, as it comes.
async fn echo_each(
    request: Request<Streaming<String>>,
) -> Result<Response<Streaming<String>>, Status> {
    Ok(Response::new(Streaming::new(request.into_message())))
}
