//! The service that most tests call, and how it is exported.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use dubbo_core::{
    codegen::ProtoJson,
    protocol::{Exporter, Protocol as _},
    provider::{Service, ServiceBuilder},
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::Status,
    streaming::Streaming,
    url::Url,
};
use dubbo_protocol::TripleProtocol;
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GreetRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct GreetResponse {
    #[prost(string, tag = "1")]
    pub(crate) greeting: String,
}

pub(crate) type Req = ProtoJson<GreetRequest>;
pub(crate) type Resp = ProtoJson<GreetResponse>;

pub(crate) const INTERFACE: &str = "greet.GreetService";
pub(crate) const GREET: usize = 0;
pub(crate) const GREET_STREAM: usize = 1;
pub(crate) const GREET_MANY: usize = 2;
pub(crate) const GREET_BIDI: usize = 3;

pub(crate) fn hello(name: &str) -> GreetResponse {
    GreetResponse {
        greeting: format!("hello {name}"),
    }
}

/// A service of that interface without any handler yet.
pub(crate) fn builder() -> ServiceBuilder {
    let methods = [
        ("Greet", CallKind::Unary),
        ("GreetStream", CallKind::ServerStream),
        ("GreetMany", CallKind::ClientStream),
        ("GreetBidi", CallKind::BidiStream),
    ]
    .map(|(name, kind)| MethodDescriptor::new(name, kind));
    let descriptor = ServiceDescriptor::new(INTERFACE, methods.to_vec());
    Service::builder(Arc::new(descriptor), "Greeter")
}

/// A service whose one handler is `greet`.
pub(crate) fn unary<F, Fut>(greet: F) -> Service
where
    F: Fn(Request<GreetRequest>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Response<GreetResponse>, Status>> + Send + 'static,
{
    builder().unary::<Req, Resp, _, _>(GREET, greet).build()
}

/// A service whose one handler streams what `items` gives.
pub(crate) fn server_stream<F>(items: F) -> Service
where
    F: Fn(Request<GreetRequest>) -> Response<Streaming<GreetResponse>> + Send + Sync + 'static,
{
    builder()
        .server_stream::<Req, Resp, _, _>(GREET_STREAM, move |request| {
            std::future::ready(Ok(items(request)))
        })
        .build()
}

/// Answers each name with a greeting: at once, as three messages, all together, or one by one.
pub(crate) fn greeter() -> Service {
    builder()
        .unary::<Req, Resp, _, _>(GREET, |request| async move {
            Ok(hello(&request.message().name).into())
        })
        .server_stream::<Req, Resp, _, _>(GREET_STREAM, |_request| async {
            let items = (0..3).map(|n| {
                let greeting = format!("m{n}");
                Ok(GreetResponse { greeting })
            });
            Ok(Response::stream(futures_util::stream::iter(items)))
        })
        .client_stream::<Req, Resp, _, _>(GREET_MANY, |request| async move {
            let mut names = Vec::new();
            let mut requests = request.into_message();
            while let Some(request) = requests.message().await? {
                names.push(request.name);
            }
            Ok(hello(&names.join("+")).into())
        })
        .bidi_stream::<Req, Resp, _, _>(GREET_BIDI, |request| async move {
            let greetings = futures_util::StreamExt::map(request.into_message(), |request| {
                request.map(|request| hello(&request.name))
            });
            Ok(Response::stream(greetings))
        })
        .build()
}

/// A protocol value with services on one port.
pub(crate) struct Provider {
    pub(crate) protocol: TripleProtocol,
    pub(crate) address: SocketAddr,
    pub(crate) exporters: Vec<Box<dyn Exporter>>,
}

impl Provider {
    /// Exports `service` on a free port.
    pub(crate) async fn of(service: Service) -> Self {
        Self::at(&url(), service).await
    }

    /// Exports `service` as `url` says.
    pub(crate) async fn at(url: &Url, service: Service) -> Self {
        let protocol = TripleProtocol::default();
        let exporter = export(&protocol, url, service).await;
        let port = exporter.url().port().expect("a bound port");
        Self {
            protocol,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            exporters: vec![exporter],
        }
    }

    /// Exports one more service on the same port.
    pub(crate) async fn also(&mut self, url: &Url, service: Service) {
        let url = url.with_port(self.address.port());
        self.exporters
            .push(export(&self.protocol, &url, service).await);
    }
}

pub(crate) async fn export(
    protocol: &TripleProtocol,
    url: &Url,
    service: Service,
) -> Box<dyn Exporter> {
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url.clone());
    protocol
        .export(url, descriptor, invoker)
        .await
        .expect("exported")
}

/// Where the greeter is exported unless a test says otherwise.
pub(crate) fn url() -> Url {
    Url::new("tri", "127.0.0.1")
        .with_port(0)
        .with_path(INTERFACE)
}

/// Waits for something that is due, so that a test which would hang fails instead.
pub(crate) async fn due<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), event)
        .await
        .expect("nothing happened for 20 s")
}
