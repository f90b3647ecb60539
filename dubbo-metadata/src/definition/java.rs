//! What a Java interface says of itself.

use std::{borrow::Cow, collections::BTreeMap};

use dubbo_core::service::{JavaSignature, MethodDescriptor, ServiceDescriptor, TypeDescription};
use dubbo_hessian2::Types;

use super::model::{MethodDefinition, STREAM_OBSERVER, TypeDefinition};

/// The methods of `descriptor`, except for those that every service has, and their types.
pub(super) fn describe(
    descriptor: &ServiceDescriptor,
) -> (Vec<MethodDefinition>, Vec<TypeDefinition>) {
    // What is known by its name alone.
    let mut names = Types::default();
    let own = descriptor.methods().iter();
    let own = own.filter(|method| !method.name.starts_with('$'));
    let methods = own.map(|method| define(method, &mut names)).collect();
    let described = descriptor.types().iter().map(TypeDefinition::from);
    let mut types: BTreeMap<String, TypeDefinition> =
        described.map(|ty| (ty.name.clone(), ty)).collect();
    for (name, shape) in names {
        let name = name.into_owned();
        types.entry(name.clone()).or_insert_with(|| TypeDefinition {
            items: texts(&shape.items),
            ..TypeDefinition::named(name)
        });
    }
    (methods, types.into_values().collect())
}

fn define(method: &MethodDescriptor, names: &mut Types) -> MethodDefinition {
    let java = method.java.as_deref();
    let (mut parameters, mut result) =
        if let Some(declaration) = java.and_then(JavaSignature::declaration) {
            (declaration.parameters.clone(), declaration.result.clone())
        } else {
            let parameters = java.map_or(&[][..], JavaSignature::parameters);
            let parameters = parameters.iter().map(|name| names.named(name.clone()));
            let parameters: Vec<Cow<'static, str>> = parameters.collect();
            (parameters, names.named(method.output.clone()))
        };
    if method.kind.streams_requests() {
        // `StreamObserver<A> method(StreamObserver<R>)`
        parameters = vec![names.named(STREAM_OBSERVER)];
        result = names.named(STREAM_OBSERVER);
    } else if method.kind.streams_responses() {
        // `void method(A, StreamObserver<R>)`
        parameters.push(names.named(STREAM_OBSERVER));
        result = names.named("void");
    }
    MethodDefinition {
        name: method.name.clone().into_owned(),
        parameter_types: texts(&parameters),
        return_type: result.into_owned(),
        ..MethodDefinition::default()
    }
}

impl From<&TypeDescription> for TypeDefinition {
    fn from(description: &TypeDescription) -> Self {
        let properties = description.properties.iter();
        Self {
            enums: texts(&description.constants),
            items: texts(&description.items),
            properties: properties
                .map(|(name, ty)| (name.to_string(), ty.to_string()))
                .collect(),
            name: description.name.to_string(),
        }
    }
}

fn texts(names: &[Cow<'static, str>]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}
