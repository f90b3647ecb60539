//! Schemas of protobuf messages: those of their JSON form, with the names of the proto file, as it is written.

use std::sync::Arc;

use prost_types::{
    DescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto, FieldOptions, MessageOptions,
    field_descriptor_proto::{Label, Type},
};

use super::{
    Schemas, Source, Universe, list_of, map_of,
    protos::Found,
    typed,
    well_known::{double, float, int32, int64, uint32, uint64},
};
use crate::openapi::tree::Map;

impl Schemas {
    /// The schema of the message called `name`, or a reference to it. One that no file describes can be any object.
    pub(in super::super) fn proto(&mut self, universe: &Arc<Universe>, name: &str) -> Map {
        if let Some(schema) = self.well_known(name) {
            return schema;
        }
        if universe.message(name).is_none() {
            return typed("object");
        }
        self.refer(Source::Message(Arc::clone(universe), name.to_owned()))
    }

    /// What stands behind a reference to the message called `name`.
    pub(super) fn message(&mut self, universe: &Arc<Universe>, name: &str) -> Map {
        let Some(Found {
            descriptor,
            comments,
        }) = universe.message(name)
        else {
            return typed("object");
        };
        let mut properties = Vec::new();
        let mut required = Vec::new();
        for (index, field) in (0..).zip(&descriptor.field) {
            let schema = self.field(universe, descriptor, field);
            let options = field.options.as_ref();
            let deprecated = options.is_some_and(FieldOptions::deprecated);
            let annotations = Map::default()
                .with_some("description", comments.at(&[FIELDS, index]))
                .with_some("deprecated", deprecated.then_some(true));
            properties.push((field.name(), self.annotated(schema, annotations)));
            if field.label() == Label::Required {
                required.push(field.name());
            }
        }
        let options = descriptor.options.as_ref();
        let deprecated = options.is_some_and(MessageOptions::deprecated);
        typed("object")
            .with_some("description", description(comments.own(), descriptor))
            .with_some("deprecated", deprecated.then_some(true))
            .with_any("properties", properties.into_iter().collect::<Map>())
            .with_any("required", required)
    }

    fn field(
        &mut self,
        universe: &Arc<Universe>,
        message: &DescriptorProto,
        field: &FieldDescriptorProto,
    ) -> Map {
        if field.label() != Label::Repeated {
            return self.single(universe, field);
        }
        match entry_of(message, field).map(|entry| &entry.field[..]) {
            Some([_, value]) => map_of(self.single(universe, value)),
            _ => list_of(self.single(universe, field)),
        }
    }

    fn single(&mut self, universe: &Arc<Universe>, field: &FieldDescriptorProto) -> Map {
        let name = field.type_name().trim_start_matches('.');
        match field.r#type() {
            Type::Bool => typed("boolean"),
            Type::Bytes => self.base64(),
            Type::Double => double(),
            Type::Enum if name == NULL_VALUE => self.null(),
            Type::Enum => self.refer(Source::Enum(Arc::clone(universe), name.to_owned())),
            Type::Fixed32 | Type::Uint32 => uint32(),
            Type::Fixed64 | Type::Uint64 => uint64(),
            Type::Float => float(),
            Type::Group | Type::Message => self.proto(universe, name),
            Type::Int32 | Type::Sfixed32 | Type::Sint32 => int32(),
            Type::Int64 | Type::Sfixed64 | Type::Sint64 => int64(),
            Type::String => typed("string"),
        }
    }
}

/// The schema of the enum called `name`: its constants are written by their names.
pub(super) fn enumeration(universe: &Universe, name: &str) -> Map {
    let Some(Found {
        descriptor,
        comments,
    }) = universe.enumeration(name)
    else {
        return typed("string");
    };
    let mut text: Vec<String> = comments.own().map(str::to_owned).into_iter().collect();
    for (index, value) in (0..).zip(&descriptor.value) {
        if let Some(comment) = comments.at(&[VALUES, index]) {
            text.push(format!("`{}`: {comment}", value.name()));
        }
    }
    let names: Vec<_> = descriptor
        .value
        .iter()
        .map(EnumValueDescriptorProto::name)
        .collect();
    typed("string")
        .with_any("description", text.join("\n\n"))
        .with("enum", names)
}

/// The message behind `field`, if that is a map.
fn entry_of<'d>(
    message: &'d DescriptorProto,
    field: &FieldDescriptorProto,
) -> Option<&'d DescriptorProto> {
    let (_, name) = field.type_name().rsplit_once('.')?;
    let nested = message.nested_type.iter();
    nested
        .filter(|nested| {
            let options = nested.options.as_ref();
            options.is_some_and(MessageOptions::map_entry)
        })
        .find(|nested| nested.name() == name)
}

/// The comment, and which fields exclude each other: OpenAPI can only say that in a form that few tools read.
fn description(comment: Option<&str>, message: &DescriptorProto) -> Option<String> {
    let mut text: Vec<String> = comment.map(str::to_owned).into_iter().collect();
    for (index, oneof) in (0..).zip(&message.oneof_decl) {
        let members: Vec<_> = message
            .field
            .iter()
            .filter(|field| field.oneof_index == Some(index) && !field.proto3_optional())
            .map(|field| format!("`{}`", field.name()))
            .collect();
        if !members.is_empty() {
            let members = members.join(", ");
            text.push(format!("`{}` is at most one of {members}.", oneof.name()));
        }
    }
    (!text.is_empty()).then(|| text.join("\n\n"))
}

const NULL_VALUE: &str = "google.protobuf.NullValue";

/// Numbers of fields of `DescriptorProto` and `EnumDescriptorProto`.
const FIELDS: i32 = 2;
const VALUES: i32 = 2;
