//! What servers say about their services, as it is compared.

use interop::reflection::{ServerReflectionResponse, server_reflection_response::MessageResponse};
use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
    ServiceDescriptorProto,
};
use serde_json::{Value, json};

/// The answer in `bytes`.
pub(crate) fn read(bytes: &[u8]) -> String {
    ServerReflectionResponse::decode(bytes)
        .map_or_else(|e| format!("{bytes:02x?}: {e}"), |answer| shown(&answer))
}

/// An answer: instead of files what they define, for which there are several forms.
pub(crate) fn shown(answer: &ServerReflectionResponse) -> String {
    let mut value = serde_json::to_value(answer).expect("JSON");
    if let Some(MessageResponse::FileDescriptorResponse(files)) = &answer.message_response {
        let files = files.file_descriptor_proto.iter();
        value["file_descriptor_response"] = files.map(|bytes| file(bytes)).collect();
    }
    value.to_string()
}

fn file(bytes: &[u8]) -> Value {
    let file = FileDescriptorProto::decode(bytes).expect("a file");
    json!({
        "name": file.name(),
        "package": file.package(),
        "imports": file.dependency,
        "syntax": file.syntax(),
        "messages": file.message_type.iter().map(message).collect::<Value>(),
        "enums": file.enum_type.iter().map(values).collect::<Value>(),
        "services": file.service.iter().map(service).collect::<Value>(),
        "extensions": file.extension.iter().map(field).collect::<Value>(),
    })
}

fn message(message: &DescriptorProto) -> Value {
    let oneofs = message.oneof_decl.iter();
    json!({
        "name": message.name(),
        "fields": message.field.iter().map(field).collect::<Value>(),
        "messages": message.nested_type.iter().map(self::message).collect::<Value>(),
        "enums": message.enum_type.iter().map(values).collect::<Value>(),
        "oneofs": oneofs.map(prost_types::OneofDescriptorProto::name).collect::<Value>(),
    })
}

fn field(field: &FieldDescriptorProto) -> Value {
    json!({
        "name": field.name(),
        "json": field.json_name(),
        "number": field.number(),
        "label": field.label().as_str_name(),
        "type": field.r#type().as_str_name(),
        "of": field.type_name(),
        "oneof": field.oneof_index,
    })
}

fn values(of: &EnumDescriptorProto) -> Value {
    let values = of.value.iter();
    let values: Value = values
        .map(|value| json!([value.name(), value.number()]))
        .collect();
    json!({"name": of.name(), "values": values})
}

fn service(service: &ServiceDescriptorProto) -> Value {
    let methods = service.method.iter().map(|method| {
        json!({
            "name": method.name(),
            "takes": [method.input_type(), method.client_streaming()],
            "gives": [method.output_type(), method.server_streaming()],
        })
    });
    json!({"name": service.name(), "methods": methods.collect::<Value>()})
}
