//! Documents as others read them.

mod java;
mod pages;
mod proto;
mod valid;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use dubbo_core::service::{CallKind, MethodDescriptor, ServiceDescriptor};
use prost::Message as _;
use serde_json::Value;

use super::*;

/// A service as it is exported under `key`.
fn documented(key: &str, descriptor: ServiceDescriptor) -> Documented {
    Documented {
        key: key.parse().expect(key),
        group: DEFAULT_GROUP.to_owned(),
        descriptor: Arc::new(descriptor),
    }
}

fn api(services: Vec<Documented>) -> OpenApi {
    OpenApi::new(Settings::default(), services)
}

fn json(document: &Document) -> Value {
    serde_json::from_str(&document.write(Format::Json)).expect("JSON")
}

/// The document about all of `services`, which is a valid one.
fn all(services: Vec<Documented>, version: Version) -> Value {
    let document = api(services).document(&Filter::default(), version);
    let document = json(&document.expect("services"));
    valid::check(&document);
    document
}

/// The encoded file descriptors of `proto`, with its comments. They live as long as the test.
fn compiled(name: &str, proto: &str) -> &'static [u8] {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = format!("openapi-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    std::fs::write(&file, proto).expect("written");
    let mut compiler = protox::Compiler::new([&folder as &Path]).expect("a folder");
    compiler.include_imports(true).include_source_info(true);
    compiler.open_file(&file).expect("a proto file");
    std::fs::remove_dir_all(&folder).expect("removed");
    compiler.encode_file_descriptor_set().leak()
}

/// The service `interface`, as generated code describes it.
fn described(set: &'static [u8], interface: &str) -> ServiceDescriptor {
    let files = prost_types::FileDescriptorSet::decode(set).expect("a set");
    let services = files.file.iter().flat_map(|file| {
        let package = file.package();
        file.service
            .iter()
            .map(move |service| (format!("{package}.{}", service.name()), service))
    });
    let (_, service) = services
        .into_iter()
        .find(|(name, _)| name == interface)
        .expect(interface);
    let full = |name: &str| name.trim_start_matches('.').to_owned();
    let methods = service.method.iter().map(|method| {
        let kind = match (method.client_streaming(), method.server_streaming()) {
            (false, false) => CallKind::Unary,
            (false, true) => CallKind::ServerStream,
            (true, false) => CallKind::ClientStream,
            (true, true) => CallKind::BidiStream,
        };
        MethodDescriptor {
            input: full(method.input_type()).into(),
            output: full(method.output_type()).into(),
            ..MethodDescriptor::new(method.name().to_owned(), kind)
        }
    });
    ServiceDescriptor::new(interface.to_owned(), methods.collect::<Vec<_>>())
        .with_file_descriptor_set(set)
}

fn shop() -> ServiceDescriptor {
    described(
        compiled("shop.proto", include_str!("shop.proto")),
        "shop.v1.Orders",
    )
}
