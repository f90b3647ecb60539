//! What a program knows of its services at run time.

use std::sync::Arc;

use dubbo_core::{
    call::Client as _,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
};
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

use crate::generated::{
    ROOT_DESCRIPTOR,
    greet::{ELSEWHERE_DESCRIPTOR, GREETER_DESCRIPTOR, GreeterClient},
    legacy::ARCHIVE_DESCRIPTOR,
    std::STD_DESCRIPTOR,
    unlucky::UNLUCKY_DESCRIPTOR,
};

#[test]
fn methods_have_their_wire_names_kinds_and_types() {
    assert_eq!(GREETER_DESCRIPTOR.interface(), "greet.Greeter");
    let (request, response) = ("greet.GreetRequest", "greet.GreetResponse");
    for (method, name, kind, idempotent, no_side_effects) in [
        (0, "Greet", CallKind::Unary, false, false),
        (1, "GreetServerStream", CallKind::ServerStream, false, false),
        (2, "GreetClientStream", CallKind::ClientStream, false, false),
        (3, "GreetBidi", CallKind::BidiStream, false, false),
        (4, "lowerCase", CallKind::Unary, true, true),
        (5, "OldGreet", CallKind::Unary, true, false),
    ] {
        let want = MethodDescriptor {
            input: request.into(),
            output: response.into(),
            idempotent,
            no_side_effects,
            ..MethodDescriptor::new(name, kind)
        };
        assert_eq!(GREETER_DESCRIPTOR.methods()[method], want);
    }
    assert_eq!(names(&UNLUCKY_DESCRIPTOR)[..3], ["type", "Self", "Clone"]);
}

#[test]
fn types_are_named_in_full_wherever_they_come_from() {
    for (service, method, input, output) in [
        (&ELSEWHERE_DESCRIPTOR, 0, "rich.v1.Rich", "rich.v1.Rich"),
        (
            &ELSEWHERE_DESCRIPTOR,
            1,
            "google.protobuf.Empty",
            "google.protobuf.StringValue",
        ),
        (
            &ELSEWHERE_DESCRIPTOR,
            2,
            "rich.v1.Rich.Part",
            "rich.v1.Rich.Part",
        ),
        (&ROOT_DESCRIPTOR, 0, "Rootless", "Rootless.Inner"),
        (&STD_DESCRIPTOR, 0, "unlucky.T", "std.serde.Error"),
    ] {
        let method = &service.methods()[method];
        assert_eq!((&*method.input, &*method.output), (input, output));
    }
    assert_eq!(ROOT_DESCRIPTOR.interface(), "Root");
}

#[test]
fn a_client_knows_the_descriptor_of_its_service() {
    assert!(Arc::ptr_eq(
        GreeterClient::descriptor(),
        &GREETER_DESCRIPTOR
    ));
}

#[test]
fn embedded_files_are_complete_and_in_order() {
    for (service, file) in [
        (&GREETER_DESCRIPTOR, "greet.proto"),
        (&ROOT_DESCRIPTOR, "rootless.proto"),
        (&ARCHIVE_DESCRIPTOR, "legacy.proto"),
        (&STD_DESCRIPTOR, "unlucky/std.proto"),
    ] {
        let encoded = service
            .file_descriptor_set()
            .expect("generated services have one");
        let set = FileDescriptorSet::decode(encoded).expect("it is well formed");
        assert_eq!(set.file.last().map(FileDescriptorProto::name), Some(file));
        for (index, file) in set.file.iter().enumerate() {
            let before = &set.file[..index];
            for import in &file.dependency {
                assert!(
                    before.iter().any(|other| other.name() == import),
                    "{import}"
                );
            }
            assert_eq!(file.source_code_info, None, "comments take room");
        }
    }
}

fn names(service: &ServiceDescriptor) -> Vec<&str> {
    service
        .methods()
        .iter()
        .map(|method| &*method.name)
        .collect()
}
