//! What is known of services and messages at run time: descriptors, from a server or from a file.

mod reflection;
mod text;

use std::{fs, path::Path, sync::Arc};

use dubbo::{CallKind, MethodDescriptor, ServiceDescriptor};
use prost_reflect::DescriptorPool;

use crate::fail::Failure;

pub(crate) use self::{
    reflection::Reflection,
    text::{service_json, service_text},
};

/// The descriptors of a file that `protoc --include_imports --descriptor_set_out` wrote.
pub(crate) fn of_file(path: &Path) -> Result<DescriptorPool, Failure> {
    let bytes = fs::read(path)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    DescriptorPool::decode(&bytes[..]).map_err(|error| {
        let path = path.display();
        Failure::usage(format!("{path} is no set of descriptors: {error}"))
            .advise("write it with `protoc --include_imports --descriptor_set_out=FILE`")
    })
}

/// The service called `name`, which may be without its package if that leaves no doubt.
pub(crate) fn service(
    pool: &DescriptorPool,
    name: &str,
) -> Result<prost_reflect::ServiceDescriptor, Failure> {
    if let Some(service) = pool.get_service_by_name(name) {
        return Ok(service);
    }
    let names: Vec<_> = pool
        .services()
        .map(|service| service.full_name().to_owned())
        .collect();
    Err(Failure::usage(format!("there is no service `{name}`"))
        .advise(format!("there is {}", listed(&names))))
}

/// The position of the method called `name`: as it is called, or with another first letter.
pub(crate) fn method(
    service: &prost_reflect::ServiceDescriptor,
    name: &str,
) -> Result<prost_reflect::MethodDescriptor, Failure> {
    let mut methods = service.methods();
    let found = methods.find(|method| method.name() == name);
    let found = found.or_else(|| {
        let mut methods = service.methods();
        methods.find(|method| method.name().eq_ignore_ascii_case(name))
    });
    found.ok_or_else(|| {
        let names: Vec<_> = service
            .methods()
            .map(|method| method.name().to_owned())
            .collect();
        let service = service.full_name();
        Failure::usage(format!("{service} has no method `{name}`"))
            .advise(format!("it has {}", listed(&names)))
    })
}

/// The service as the framework knows services.
pub(crate) fn described(service: &prost_reflect::ServiceDescriptor) -> Arc<ServiceDescriptor> {
    let methods = service.methods().map(|method| {
        let kind = match (method.is_client_streaming(), method.is_server_streaming()) {
            (false, false) => CallKind::Unary,
            (true, false) => CallKind::ClientStream,
            (false, true) => CallKind::ServerStream,
            (true, true) => CallKind::BidiStream,
        };
        let mut described = MethodDescriptor::new(method.name().to_owned(), kind);
        described.input = method.input().full_name().to_owned().into();
        described.output = method.output().full_name().to_owned().into();
        described
    });
    let methods: Vec<_> = methods.collect();
    let name = service.full_name().to_owned();
    Arc::new(ServiceDescriptor::new(name, methods))
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        names => names.join(", "),
    }
}
