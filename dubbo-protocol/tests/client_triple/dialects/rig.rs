//! A provider of ours that speaks everything, and stubs that speak one thing each.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use dubbo_core::{
    call::{Call, Stub},
    codegen::ProtoJson,
    extension::Extensions,
    protocol::{Exporter, Protocol},
    provider::Service,
    request::{Request, Response},
    status::{Detail, Status},
    streaming::Streaming,
    tls::TlsFiles,
    url::Url,
};
use dubbo_test::{
    certificates::{Authority, Installed},
    soon,
};
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use crate::support::{self, GREETER};

/// The dialects and what carries them, as parameters of a reference.
pub(crate) const WAYS: [&str; 4] = [
    "triple.dialect=grpc-web",
    "triple.dialect=grpc-web&triple.http-version=1.1",
    "triple.dialect=connect",
    "triple.dialect=connect&triple.http-version=1.1",
];

/// Those that have streams.
pub(crate) const STREAMING_WAYS: [&str; 2] = [WAYS[0], WAYS[1]];

/// What an HTTP/1.1 connection carries.
pub(crate) const HTTP1_WAYS: [&str; 2] = [WAYS[1], WAYS[3]];

pub(crate) type Text = ProtoJson<String>;

/// A greeter.
pub(crate) struct Rig {
    protocol: Arc<dyn Protocol>,
    pub(crate) address: SocketAddr,
    /// One item for each call that was cancelled.
    pub(crate) cancelled: mpsc::UnboundedReceiver<()>,
    _exporter: Box<dyn Exporter>,
    _files: Option<Installed>,
}

impl Rig {
    pub(crate) async fn plain() -> Self {
        Self::with("", None).await
    }

    /// With parameters of the provider.
    pub(crate) async fn of(query: &str) -> Self {
        Self::with(query, None).await
    }

    /// Both ends show certificates.
    pub(crate) async fn secure() -> Self {
        let authority = Authority::new();
        let files = Installed::new(&[&authority], &authority.issue(&["127.0.0.1"]));
        Self::with("", Some(files)).await
    }

    async fn with(query: &str, files: Option<Installed>) -> Self {
        let extensions = Extensions::linked().expect("no name is there twice");
        if let Some(files) = &files {
            let mut tls = TlsFiles::none();
            tls.ca_cert = Some(files.ca());
            tls.cert = Some(files.cert());
            tls.key = Some(files.key());
            extensions.share(tls);
        }
        let protocol = extensions.create("tri", &Url::new("tri", "127.0.0.1"));
        let protocol: Arc<dyn Protocol> = protocol.expect("it is linked");
        let url: Url = format!("tri://127.0.0.1:0/greet.Greeter?{query}")
            .parse()
            .expect("a good URL");
        let (gone, cancelled) = mpsc::unbounded_channel();
        let invoker = service(gone).into_invoker(url.clone());
        let exporter = protocol.export(&url, Arc::clone(&GREETER), invoker).await;
        let exporter = exporter.expect("the port is free");
        let port = exporter.url().port().expect("a bound port");
        Self {
            protocol,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            cancelled,
            _exporter: exporter,
            _files: files,
        }
    }

    /// A stub that calls as `query` says.
    pub(crate) async fn stub(&self, query: &str) -> Stub {
        support::stub(&*self.protocol, self.address, query).await
    }
}

pub(crate) fn greet<'a>(stub: &'a Stub, text: &str) -> Call<'a, Response<String>> {
    stub.unary::<Text, Text>(0, Request::new(text.to_owned()))
}

pub(crate) fn many<'a>(stub: &'a Stub, text: &str) -> Call<'a, Response<Streaming<String>>> {
    stub.server_stream::<Text, Text>(1, Request::new(text.to_owned()))
}

/// All answers of a stream, or how it failed.
pub(crate) async fn all(replies: &mut Streaming<String>) -> Result<Vec<String>, Status> {
    let mut messages = Vec::new();
    while let Some(message) = soon("a message", replies.message()).await? {
        messages.push(message);
    }
    Ok(messages)
}

/// What is told when a handler is dropped before its end.
struct Gone(Option<mpsc::UnboundedSender<()>>);

impl Drop for Gone {
    fn drop(&mut self) {
        if let Some(gone) = self.0.take() {
            let _ = gone.send(());
        }
    }
}

fn service(gone: mpsc::UnboundedSender<()>) -> Service {
    Service::builder(Arc::clone(&GREETER), "Greeter")
        .unary::<Text, Text, _, _>(0, move |request| {
            let gone = gone.clone();
            async move { answer(&request, gone).await }
        })
        .server_stream::<Text, Text, _, _>(1, |request| async move {
            let reply = request.context().reply();
            reply.header("x-head", "h").expect("nothing is sent yet");
            reply.trailer("x-tail", "t");
            let items = (0..3).map(|n| Ok(format!("m{n}")));
            let fails = request.message() == "fail";
            let end = fails.then(|| Err(failure()));
            Ok(Response::stream(stream::iter(items.chain(end))))
        })
        .client_stream::<Text, Text, _, _>(2, |request| async move {
            let mut requests = request.into_message();
            let mut all = Vec::new();
            while let Some(text) = requests.message().await? {
                all.push(text);
            }
            Ok(all.join("+").into())
        })
        .bidi_stream::<Text, Text, _, _>(3, |request| async move {
            let replies = request
                .into_message()
                .map(|text| text.map(|text| format!("re {text}")));
            Ok(Response::stream(replies))
        })
        .build()
}

async fn answer(
    request: &Request<String>,
    gone: mpsc::UnboundedSender<()>,
) -> Result<Response<String>, Status> {
    let reply = request.context().reply();
    let user = request.attachments().get("userId").unwrap_or("nobody");
    reply
        .header("x-head", user.to_owned())
        .expect("nothing is sent yet");
    reply.trailer("x-tail", "t");
    match &**request.message() {
        "fail" => Err(failure()),
        "business" => Err(Status::business("no such user")),
        "busy" => Err(Status::resource_exhausted("busy").with_pushback(Duration::from_secs(2))),
        "hang" => {
            let _gone = Gone(Some(gone));
            std::future::pending().await
        }
        "deadline" => {
            let has = request.context().deadline().is_some();
            Ok(has.to_string().into())
        }
        text => Ok(format!("hello {text}").into()),
    }
}

/// With everything that a status has.
fn failure() -> Status {
    let mut status = Status::not_found("50% <no> é").with_details(vec![Detail {
        type_url: "type.googleapis.com/x.Why".to_owned(),
        value: vec![8, 1].into(),
    }]);
    status.attachments_mut().insert("reason", "7");
    status
}
