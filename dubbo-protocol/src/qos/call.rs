//! Calls that are typed in: JSON in and out, whatever the service's messages are.

use std::sync::Arc;

use bytes::BytesMut;
use dubbo_core::{
    attachments::Attachments,
    invocation::{Body, Invocation},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodRef, ServiceKey},
    status::Status,
};
use serde::de::IgnoredAny;
use tokio::time::Instant;

use crate::java::{read_json_arguments, told_in_json, write_json_result};

/// Calls `method` of the service that `invoker` serves, with `arguments`: JSON values with commas between them, or nothing.
/// A service of a proto file takes one object, as protobuf's JSON mapping has it. The result is JSON.
///
/// # Errors
///
/// Code 3 for arguments that do not fit, code 12 for a method with streams, and those of the call.
///
/// # Cancel safety
///
/// Dropping the future cancels the call.
pub async fn call_json(
    invoker: &dyn Invoker,
    service: &ServiceKey,
    method: MethodRef,
    arguments: &str,
    attachments: Attachments,
    deadline: Instant,
) -> Result<String, Status> {
    if method.kind() != CallKind::Unary {
        let text =
            format!("{method:?} takes or gives a stream, and only single messages can be typed in");
        return Err(Status::unimplemented(text));
    }
    let (method, payload) = request(method, arguments)?;
    let is_java = method.descriptor().java.is_some();
    let named = format!("{method:?}");
    let service = Arc::new(service.clone());
    let mut invocation = Invocation::new(service, method.clone(), Body::Unary(payload));
    invocation.attachments = attachments;
    invocation.deadline = Some(deadline);
    let calling = invoker.invoke(invocation);
    let late = |_| Status::deadline_exceeded(format!("{named} has not answered in time"));
    let reply = tokio::time::timeout_at(deadline, calling).await;
    let reply = reply.map_err(late)?;
    let reply = reply.map_err(|status| told_in_json(&method, status))?;
    let Body::Unary(payload) = reply.body else {
        return Err(Status::internal(format!("{named} answered with a stream")));
    };
    let mut json = BytesMut::new();
    let written = if is_java {
        write_json_result(&payload, &mut json)
    } else {
        payload.encode(Codec::Json, &mut json)
    };
    let unreadable = |error: String| {
        Status::internal(format!(
            "the result of {named} cannot be written as JSON: {error}"
        ))
    };
    written.map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(json.into()).map_err(|error| unreadable(error.to_string()))
}

fn request(method: MethodRef, arguments: &str) -> Result<(MethodRef, Payload), Status> {
    let refused = |why: String| {
        Status::invalid_argument(format!("the arguments of {method:?} are not usable: {why}"))
    };
    let list = format!("[{arguments}]");
    let values: Vec<IgnoredAny> = serde_json::from_str(&list).map_err(|error| {
        refused(format!(
            "they are no JSON values with commas between: {error}"
        ))
    })?;
    let one = arguments.trim();
    if method.descriptor().java.is_some() {
        let body = if values.len() > 1 { &list } else { one };
        return read_json_arguments(&method, body.as_bytes());
    }
    if values.len() > 1 {
        let text = format!("it takes one message, and there are {}", values.len());
        return Err(refused(text));
    }
    let message = if values.is_empty() { "{}" } else { one };
    let payload = Payload::encoded(Codec::Json, message.to_owned().into());
    Ok((method, payload))
}
