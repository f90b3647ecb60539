//! What is served: services of proto files that are compiled here.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use dubbo_core::{
    protocol::{Exporter, Protocol as _, ProtocolError},
    provider::Service,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    url::Url,
};
use dubbo_protocol::TripleProtocol;

/// A shop, whose files import each other and well-known types.
pub(crate) const SHOP: [(&str, &str); 2] = [
    (
        "shop/orders.proto",
        r#"
            syntax = "proto3";
            package shop;
            import "shop/goods.proto";
            import "google/protobuf/timestamp.proto";
            service Orders {
                rpc Place(Order) returns (Order);
            }
            message Order {
                message Line {
                    Good good = 1;
                    uint32 count = 2;
                }
                enum State {
                    STATE_UNSPECIFIED = 0;
                    PAID = 1;
                }
                repeated Line lines = 1;
                State state = 2;
                google.protobuf.Timestamp at = 3;
                oneof payment {
                    string card = 4;
                    string invoice = 5;
                }
            }
        "#,
    ),
    (
        "shop/goods.proto",
        r#"
            syntax = "proto2";
            package shop;
            message Good {
                optional string name = 1;
                extensions 100 to 200;
            }
            extend Good {
                optional string colour = 101;
            }
            message Sizes {
                extend Good {
                    optional int32 size = 100;
                }
            }
            enum Season {
                SUMMER = 1;
            }
        "#,
    ),
];

/// The service `interface` of the first of `protos`, with its descriptors and those of its imports.
pub(crate) fn service(interface: &'static str, protos: &[(&str, &str)]) -> Service {
    let methods = vec![MethodDescriptor::new("Place", CallKind::Unary)];
    let descriptor = ServiceDescriptor::new(interface, methods);
    let descriptor = descriptor.with_file_descriptor_set(compiled(protos));
    Service::builder(Arc::new(descriptor), "Test").build()
}

/// A service of a Java interface, which has no files.
pub(crate) fn java(interface: &'static str) -> Service {
    let method = MethodDescriptor::java(
        "getUser",
        CallKind::Unary,
        ["java.lang.String"],
        "java.lang.Object",
    );
    let descriptor = ServiceDescriptor::new(interface, vec![method]);
    Service::builder(Arc::new(descriptor), "Test").build()
}

/// The encoded file descriptors of the first of `protos` and its imports. They live as long as the test.
fn compiled(protos: &[(&str, &str)]) -> &'static [u8] {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = format!("reflection-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    for (name, text) in protos {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(&file, text).expect("written");
    }
    let mut compiler = protox::Compiler::new([&folder as &Path]).expect("a folder");
    compiler.include_imports(true);
    compiler
        .open_file(folder.join(protos[0].0))
        .expect("a proto file");
    std::fs::remove_dir_all(&folder).expect("removed");
    compiler.encode_file_descriptor_set().leak()
}

/// A protocol value with services on one port.
pub(crate) struct Provider {
    pub(crate) protocol: TripleProtocol,
    pub(crate) address: SocketAddr,
    pub(crate) exporters: Vec<Box<dyn Exporter>>,
}

impl Provider {
    /// Exports `services` on a free port.
    pub(crate) async fn of(services: impl IntoIterator<Item = Service>) -> Self {
        Self::with(&[], services).await
    }

    /// Exports them with parameters of their URLs.
    pub(crate) async fn with(
        params: &[(&'static str, &str)],
        services: impl IntoIterator<Item = Service>,
    ) -> Self {
        let mut provider = Self {
            protocol: TripleProtocol::default(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            exporters: Vec::new(),
        };
        for service in services {
            provider.export(params, service).await.expect("exported");
        }
        provider
    }

    /// Exports one more service.
    pub(crate) async fn export(
        &mut self,
        params: &[(&'static str, &str)],
        service: Service,
    ) -> Result<(), ProtocolError> {
        let descriptor = Arc::clone(service.descriptor());
        let url = Url::new("tri", "127.0.0.1")
            .with_port(self.address.port())
            .with_path(descriptor.interface());
        let url = params
            .iter()
            .fold(url, |url, (name, value)| url.with_param(*name, *value));
        let invoker = service.into_invoker(url.clone());
        let exporter = self.protocol.export(&url, descriptor, invoker).await?;
        self.address.set_port(exporter.url().port().expect("bound"));
        self.exporters.push(exporter);
        Ok(())
    }
}
