//! A service that is exported, and how tests call it.

use std::{net::SocketAddr, sync::Arc};

use dubbo_core::{
    protocol::{Exporter, Protocol as _, ProtocolError},
    provider::Service,
    request::{Request, Response},
    status::Status,
    url::Url,
};
use dubbo_hessian2::java::Throwable;
use dubbo_protocol::{
    DubboProtocol,
    java::{JavaService, exception, with_built_ins},
};
use dubbo_test::peer::dubbo::{Call, Connection};

pub(crate) const GREETER: &str = Call::PATH;
pub(crate) const STRING: &str = "Ljava/lang/String;";

/// Greets, sums, fails.
pub(crate) fn greeter() -> JavaService {
    JavaService::new(GREETER)
        .method("greet", async |call: Request<(Option<String>,)>| {
            let (name,) = call.into_message();
            Ok(name.map(|name| format!("hello {name}")).into())
        })
        .method("sum", async |call: Request<(i32, i32)>| {
            let (a, b) = call.into_message();
            Ok((a + b).into())
        })
        .method("sum", async |call: Request<(i64, i64)>| {
            let (a, b) = call.into_message();
            Ok((a + b).into())
        })
        .method("rest", async |_: Request<()>| Ok(().into()))
        .method("fail", async |call: Request<(String,)>| {
            let (how,) = call.into_message();
            Err::<Response<String>, _>(match how.as_str() {
                "business" => Status::business("no such name"),
                "java" => exception(Throwable::new("com.x.NoSuchName", "7")),
                "denied" => Status::permission_denied("not you"),
                _ => panic!("lost {how}"),
            })
        })
}

/// What is exported, and where.
pub(crate) struct Provider {
    pub(crate) protocol: DubboProtocol,
    pub(crate) address: SocketAddr,
    pub(crate) exporters: Vec<Box<dyn Exporter>>,
}

impl Provider {
    /// Exports `service` on a free port.
    pub(crate) async fn of(service: impl Into<Service>) -> Self {
        Self::at(&url(), service).await
    }

    /// Exports `service` as `url` says.
    pub(crate) async fn at(url: &Url, service: impl Into<Service>) -> Self {
        let protocol = DubboProtocol::default();
        let exporter = export(&protocol, url, service).await.expect("exported");
        let port = exporter.url().port().expect("a bound port");
        Self {
            protocol,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            exporters: vec![exporter],
        }
    }

    /// A connection of a consumer.
    pub(crate) async fn connect(&self) -> Connection {
        Connection::connect(self.address).await
    }
}

pub(crate) async fn export(
    protocol: &DubboProtocol,
    url: &Url,
    service: impl Into<Service>,
) -> Result<Box<dyn Exporter>, ProtocolError> {
    let service = with_built_ins(service.into());
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url.clone());
    protocol.export(url, descriptor, invoker).await
}

/// Where the greeter is exported unless a test says otherwise.
pub(crate) fn url() -> Url {
    Url::new("dubbo", "127.0.0.1")
        .with_port(0)
        .with_path(GREETER)
}
