//! What a proto file says of its service.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dubbo_core::service::{MethodDescriptor, ServiceDescriptor};
use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet, MessageOptions,
    field_descriptor_proto::{Label, Type},
};

use super::{
    model::{MethodDefinition, STREAM_OBSERVER, TypeDefinition},
    names::{camel_case, scope, within},
};

/// The methods of `descriptor`, except for those that every service has, and their types.
pub(super) fn describe(
    descriptor: &ServiceDescriptor,
) -> (Vec<MethodDefinition>, Vec<TypeDefinition>) {
    let set = descriptor.file_descriptor_set().unwrap_or_default();
    let set = FileDescriptorSet::decode(set).unwrap_or_else(|error| {
        tracing::warn!(
            interface = descriptor.interface(), %error,
            "the file descriptors of this service cannot be read; its definition has only the names of its messages"
        );
        FileDescriptorSet::default()
    });
    let files = Files::new(&set);
    let mut types = Types {
        files: &files,
        done: BTreeMap::new(),
        waiting: BTreeSet::new(),
    };
    let own = descriptor.methods().iter();
    let own = own.filter(|method| !method.name.starts_with('$'));
    let methods = own.map(|method| define(method, &mut types)).collect();
    (methods, types.finish())
}

fn define(method: &MethodDescriptor, types: &mut Types<'_>) -> MethodDefinition {
    let input = types.refer(&method.input);
    let output = types.refer(&method.output);
    let (parameters, result) = if method.kind.streams_requests() {
        let observer = types.plain(STREAM_OBSERVER);
        (vec![observer.clone()], observer)
    } else if method.kind.streams_responses() {
        (
            vec![input, types.plain(STREAM_OBSERVER)],
            types.plain("void"),
        )
    } else {
        (vec![input], output)
    };
    MethodDefinition {
        name: method.name.clone().into_owned(),
        parameter_types: parameters,
        return_type: result,
        ..MethodDefinition::default()
    }
}

/// The types of a set of files, by their full names in proto.
struct Files<'s>(HashMap<String, Found<'s>>);

struct Found<'s> {
    /// What Java calls it.
    java: String,
    ty: Source<'s>,
}

#[derive(Clone, Copy)]
enum Source<'s> {
    Enum(&'s EnumDescriptorProto),
    Message(&'s DescriptorProto),
}

impl<'s> Files<'s> {
    fn new(set: &'s FileDescriptorSet) -> Self {
        let mut files = Self(HashMap::new());
        for file in &set.file {
            let (proto, java) = (file.package(), scope(file));
            for ty in &file.enum_type {
                files.add(proto, &java, ty.name(), Source::Enum(ty));
            }
            for message in &file.message_type {
                files.add_message(proto, &java, message);
            }
        }
        files
    }

    fn add_message(&mut self, proto: &str, java: &str, message: &'s DescriptorProto) {
        self.add(proto, java, message.name(), Source::Message(message));
        let (proto, java) = (within(proto, message.name()), within(java, message.name()));
        for ty in &message.enum_type {
            self.add(&proto, &java, ty.name(), Source::Enum(ty));
        }
        for nested in &message.nested_type {
            self.add_message(&proto, &java, nested);
        }
    }

    fn add(&mut self, proto: &str, java: &str, name: &str, ty: Source<'s>) {
        let java = within(java, name);
        self.0.insert(within(proto, name), Found { java, ty });
    }

    fn message(&self, name: &str) -> Option<&'s DescriptorProto> {
        match self.0.get(name)?.ty {
            Source::Message(message) => Some(message),
            Source::Enum(_) => None,
        }
    }
}

/// The types that are referred to. Each is described once, however it refers to itself.
struct Types<'f> {
    files: &'f Files<'f>,
    /// By the names that Java has.
    done: BTreeMap<String, TypeDefinition>,
    /// Full names in proto.
    waiting: BTreeSet<String>,
}

impl Types<'_> {
    /// What Java calls the type whose full name in proto is `name`.
    fn refer(&mut self, name: &str) -> String {
        let name = name.trim_start_matches('.');
        let Some(found) = self.files.0.get(name) else {
            return self.plain(name);
        };
        if !self.done.contains_key(&found.java) {
            self.waiting.insert(name.to_owned());
        }
        found.java.clone()
    }

    /// A type that is nothing but its name.
    fn plain(&mut self, name: &str) -> String {
        self.composed(name.to_owned(), Vec::new())
    }

    fn composed(&mut self, name: String, items: Vec<String>) -> String {
        let definition = self.done.entry(name.clone());
        definition.or_insert_with(|| TypeDefinition {
            items,
            ..TypeDefinition::named(name.clone())
        });
        name
    }

    fn finish(mut self) -> Vec<TypeDefinition> {
        while let Some(name) = self.waiting.pop_first() {
            let Some(Found { java, ty }) = self.files.0.get(&name) else {
                continue;
            };
            // Known from now on, also to itself.
            self.done
                .insert(java.clone(), TypeDefinition::named(java.clone()));
            let mut definition = TypeDefinition::named(java.clone());
            match ty {
                Source::Enum(ty) => {
                    let constants = ty.value.iter().map(|value| value.name().to_owned());
                    definition.enums = constants.collect();
                }
                Source::Message(message) => {
                    let fields = message.field.iter();
                    definition.properties = fields
                        .map(|field| (property(field), self.field(field)))
                        .collect();
                }
            }
            self.done.insert(java.clone(), definition);
        }
        self.done.into_values().collect()
    }

    /// The Java type of a field.
    fn field(&mut self, field: &FieldDescriptorProto) -> String {
        if field.label() != Label::Repeated {
            return self.single(field);
        }
        let entry = self
            .files
            .message(field.type_name().trim_start_matches('.'));
        let entry = entry.filter(|message| {
            let options = message.options.as_ref();
            options.is_some_and(MessageOptions::map_entry)
        });
        if let Some(entry) = entry {
            let items: Vec<_> = entry.field.iter().map(|part| self.boxed(part)).collect();
            return self.composed(format!("java.util.Map<{}>", items.join(",")), items);
        }
        let item = self.boxed(field);
        self.composed(format!("java.util.List<{item}>"), vec![item])
    }

    fn single(&mut self, field: &FieldDescriptorProto) -> String {
        match scalar(field.r#type()) {
            Some((name, _)) => self.plain(name),
            None => self.refer(field.type_name()),
        }
    }

    fn boxed(&mut self, field: &FieldDescriptorProto) -> String {
        match scalar(field.r#type()) {
            Some((_, boxed)) => self.plain(boxed),
            None => self.refer(field.type_name()),
        }
    }
}

/// What a field is called in Java and in JSON.
fn property(field: &FieldDescriptorProto) -> String {
    match field.json_name() {
        "" => camel_case(field.name()),
        name => name.to_owned(),
    }
}

/// What Java has for a type, alone and in collections; none for messages and enums.
fn scalar(ty: Type) -> Option<(&'static str, &'static str)> {
    Some(match ty {
        Type::Bool => ("boolean", "java.lang.Boolean"),
        Type::Bytes => (BYTE_STRING, BYTE_STRING),
        Type::Double => ("double", "java.lang.Double"),
        Type::Fixed32 | Type::Int32 | Type::Sfixed32 | Type::Sint32 | Type::Uint32 => {
            ("int", "java.lang.Integer")
        }
        Type::Fixed64 | Type::Int64 | Type::Sfixed64 | Type::Sint64 | Type::Uint64 => {
            ("long", "java.lang.Long")
        }
        Type::Float => ("float", "java.lang.Float"),
        Type::String => ("java.lang.String", "java.lang.String"),
        Type::Enum | Type::Group | Type::Message => return None,
    })
}

const BYTE_STRING: &str = "com.google.protobuf.ByteString";
