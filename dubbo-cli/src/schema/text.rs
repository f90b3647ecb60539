//! A service and its messages as a proto file has them, and as JSON.

use std::collections::BTreeSet;

use prost_reflect::{
    Cardinality, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
    ServiceDescriptor,
};
use serde_json::{Value, json};

/// The service, then each message and enum that its methods need, in the order in which they are met.
pub(crate) fn service_text(service: &ServiceDescriptor) -> String {
    let types = Types::of(service);
    let names = Names(service.package_name());
    let mut text = String::new();
    if !service.package_name().is_empty() {
        text = format!("package {};\n\n", service.package_name());
    }
    let methods: String = service
        .methods()
        .map(|method| format!("  {}\n", rpc(&method, &names)))
        .collect();
    text += &format!("service {} {{\n{methods}}}\n", service.name());
    for message in &types.messages {
        text += &format!("\n{}", message_text(message, &names));
    }
    for definition in &types.enums {
        text += &format!("\n{}", enum_text(definition, &names));
    }
    text.trim_end().to_owned()
}

/// The same as JSON.
pub(crate) fn service_json(service: &ServiceDescriptor) -> Value {
    let types = Types::of(service);
    let methods = service.methods().map(|method| {
        json!({
            "name": method.name(),
            "input": method.input().full_name(),
            "output": method.output().full_name(),
            "clientStreaming": method.is_client_streaming(),
            "serverStreaming": method.is_server_streaming(),
        })
    });
    let messages = types.messages.iter().map(|message| {
        let fields = message.fields().map(|field| {
            json!({
                "name": field.name(),
                "jsonName": field.json_name(),
                "number": field.number(),
                "type": type_name(&field, &Names("")),
                "repeated": field.is_list(),
            })
        });
        json!({"name": message.full_name(), "fields": fields.collect::<Vec<_>>()})
    });
    let enums = types.enums.iter().map(|definition| {
        let values = definition.values();
        let values = values.map(|value| json!({"name": value.name(), "number": value.number()}));
        json!({"name": definition.full_name(), "values": values.collect::<Vec<_>>()})
    });
    json!({
        "service": service.full_name(),
        "methods": methods.collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
        "enums": enums.collect::<Vec<_>>(),
    })
}

/// What the methods of a service need, but for what protobuf itself defines.
#[derive(Default)]
struct Types {
    messages: Vec<MessageDescriptor>,
    enums: Vec<EnumDescriptor>,
    seen: BTreeSet<String>,
}

impl Types {
    fn of(service: &ServiceDescriptor) -> Self {
        let mut types = Self::default();
        for method in service.methods() {
            types.add(method.input());
            types.add(method.output());
        }
        let mut next = 0;
        while let Some(message) = types.messages.get(next).cloned() {
            next += 1;
            message.fields().for_each(|field| types.add_of(&field));
        }
        types
    }

    fn add_of(&mut self, field: &FieldDescriptor) {
        match field.kind() {
            Kind::Message(entry) if entry.is_map_entry() => {
                self.add_of(&entry.map_entry_value_field());
            }
            Kind::Message(message) => self.add(message),
            Kind::Enum(definition) if self.is_new(definition.full_name()) => {
                self.enums.push(definition);
            }
            _ => {}
        }
    }

    fn add(&mut self, message: MessageDescriptor) {
        if self.is_new(message.full_name()) {
            self.messages.push(message);
        }
    }

    fn is_new(&mut self, name: &str) -> bool {
        !name.starts_with("google.protobuf.") && self.seen.insert(name.to_owned())
    }
}

/// What types are called within one package.
struct Names<'a>(&'a str);

impl Names<'_> {
    fn of(&self, full: &str) -> String {
        let inside = full
            .strip_prefix(self.0)
            .and_then(|rest| rest.strip_prefix('.'));
        inside.unwrap_or(full).to_owned()
    }
}

fn rpc(method: &MethodDescriptor, names: &Names<'_>) -> String {
    let stream = |streams| if streams { "stream " } else { "" };
    format!(
        "rpc {}({}{}) returns ({}{});",
        method.name(),
        stream(method.is_client_streaming()),
        names.of(method.input().full_name()),
        stream(method.is_server_streaming()),
        names.of(method.output().full_name()),
    )
}

fn message_text(message: &MessageDescriptor, names: &Names<'_>) -> String {
    let mut text = format!("message {} {{\n", names.of(message.full_name()));
    let mut oneofs = BTreeSet::new();
    for field in message.fields() {
        match field
            .containing_oneof()
            .filter(|oneof| !oneof.is_synthetic())
        {
            None => text += &format!("  {}\n", field_text(&field, names)),
            Some(oneof) if oneofs.insert(oneof.name().to_owned()) => {
                text += &format!("  oneof {} {{\n", oneof.name());
                for field in oneof.fields() {
                    text += &format!("    {}\n", field_text(&field, names));
                }
                text += "  }\n";
            }
            Some(_) => {}
        }
    }
    text + "}\n"
}

fn field_text(field: &FieldDescriptor, names: &Names<'_>) -> String {
    let is_optional = field.field_descriptor_proto().proto3_optional();
    let label = match field.cardinality() {
        Cardinality::Repeated if !field.is_map() => "repeated ",
        Cardinality::Required => "required ",
        _ if is_optional => "optional ",
        _ => "",
    };
    let (name, number) = (field.name(), field.number());
    format!("{label}{} {name} = {number};", type_name(field, names))
}

fn type_name(field: &FieldDescriptor, names: &Names<'_>) -> String {
    match field.kind() {
        Kind::Message(entry) if entry.is_map_entry() => {
            let (key, value) = (entry.map_entry_key_field(), entry.map_entry_value_field());
            format!(
                "map<{}, {}>",
                type_name(&key, names),
                type_name(&value, names)
            )
        }
        Kind::Message(message) => names.of(message.full_name()),
        Kind::Enum(definition) => names.of(definition.full_name()),
        scalar => format!("{scalar:?}"),
    }
}

fn enum_text(definition: &EnumDescriptor, names: &Names<'_>) -> String {
    let values: String = definition
        .values()
        .map(|value| format!("  {} = {};\n", value.name(), value.number()))
        .collect();
    format!("enum {} {{\n{values}}}\n", names.of(definition.full_name()))
}
