//! `$invoke`, `$invokeAsync` and `$echo` on the side of the provider.

use std::{borrow::Cow, error::Error};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Adapter, Codec, Payload},
    provider::Service,
    request::Request,
    service::{CallKind, JavaSignature, MethodRef, Types},
    status::{Origin, Status},
};
use dubbo_hessian2::{
    ToHessian, Value,
    java::{
        bean,
        generic::{ClassKey, generalize},
        json::{from_json, to_json},
    },
};

use super::{ECHO, GENERIC, GenericMode, INVOKE, INVOKE_ASYNC, UnknownGenericMode, built_ins};
use crate::java::{
    args::Args, class_name::class_name, describe::MethodSpec, exception::reduced, message::append,
    ret::Ret,
};

/// The same service with what every Dubbo service answers beside its own methods: `$invoke` and `$invokeAsync`, by which
/// generic callers reach all of them that are no streams, and `$echo` (`docs/spec/dubbo-protocol.md` §13).
pub fn with_built_ins(service: Service) -> Service {
    let first = service.descriptor().methods().len();
    let own = service.clone();
    let own_too = service.clone();
    service
        .extend(built_ins().map(MethodSpec::build))
        .raw(first + INVOKE, move |invocation| {
            invoke(own.clone(), invocation)
        })
        .raw(first + INVOKE_ASYNC, move |invocation| {
            invoke(own_too.clone(), invocation)
        })
        .unary::<Args<(Value,)>, Ret<Value>, _, _>(
            first + ECHO,
            async |request: Request<(Value,)>| Ok(request.into_message().0.into()),
        )
        .build()
}

/// What `$invoke` takes: the name of a method, the types of its parameters, and the arguments.
pub(super) type Asked<A> = (String, Option<Box<[String]>>, Box<[A]>);

/// Calls the method that `invocation` asks for, with its attachments and until its deadline.
async fn invoke(own: Service, mut invocation: Invocation) -> RpcResult {
    let asked = invocation.method;
    let unusable =
        |why: String| Status::invalid_argument(format!("{asked:?} cannot be done: {why}"));
    let Body::Unary(payload) = invocation.body else {
        return Err(unusable("its arguments are a stream".to_owned()));
    };
    let rules = payload.rules().clone();
    let (name, types, args) = payload
        .decode::<Args<Asked<Value>>>()
        .map_err(|error| unusable(error.to_string()).with_source(error))?
        .unwrap();
    let mode = invocation.attachments.get(GENERIC).unwrap_or_default();
    let mode: GenericMode = mode.parse().map_err(|error: UnknownGenericMode| {
        Status::unimplemented(format!("{asked:?} of `{name}`: {error}"))
    })?;

    let method = find(&own, &name, types.as_deref(), args.len())?;
    let request = request(&method, mode, args.into_vec())?;
    invocation.body = Body::Unary(request.with_rules(rules));
    invocation.method = method.clone();
    match own.invoke(invocation).await {
        Ok(reply) => answer(&method, mode, reply),
        // The class of an exception is one that a generic caller need not have.
        Err(status) => Err(reduced(status)),
    }
}

/// The method that a generic caller means.
fn find(
    own: &Service,
    name: &str,
    types: Option<&[String]>,
    arguments: usize,
) -> Result<MethodRef, Status> {
    let service = own.descriptor();
    // dubbo-go sends an empty array where it means none.
    let types = types.filter(|types| !types.is_empty() || arguments == 0);
    if let Some(types) = types
        && types.len() != arguments
    {
        return Err(Status::invalid_argument(format!(
            "`{}` was asked for `{name}` with {} parameter types and {arguments} arguments",
            service.interface(),
            types.len()
        )));
    }
    let found = match types {
        Some(types) => {
            let types: Vec<Cow<'_, str>> = types.iter().map(|name| class_name(&**name)).collect();
            service.find_overload(name, Types::Named(&types))
        }
        None => service.find_overload(name, Types::Count(arguments)),
    };
    let method =
        found.map_err(|error| Status::unimplemented(error.to_string()).with_source(error))?;
    if method.kind() != CallKind::Unary {
        let text = format!("{method:?} is a stream, and generic calls have one message each way");
        return Err(Status::unimplemented(text));
    }
    Ok(method)
}

/// The arguments as the handler of `method` takes them.
fn request(method: &MethodRef, mode: GenericMode, args: Vec<Value>) -> Result<Payload, Status> {
    let of_idl = method.descriptor().java.is_none();
    match (of_idl, mode, &*args) {
        (true, GenericMode::ProtobufJson, [Value::String(text)]) => {
            let json = Bytes::copy_from_slice(text.as_bytes());
            Ok(Payload::encoded(Codec::Json, json))
        }
        (true, GenericMode::ProtobufJson, _) => Err(Status::invalid_argument(format!(
            "{method:?} takes one argument, which is JSON text, with generic={mode}"
        ))),
        (true, ..) => Err(Status::unimplemented(format!(
            "{method:?} takes messages of an IDL, which generic={mode} is not for; use protobuf-json"
        ))),
        (false, GenericMode::ProtobufJson, _) => Err(Status::unimplemented(format!(
            "{method:?} takes hessian values, which generic={mode} is not for; use true, gson, bean or raw.return"
        ))),
        (false, ..) => encoded(method, mode, args),
    }
}

/// The arguments as if their caller had called `method` itself, from the form that they have in `mode`.
fn encoded(method: &MethodRef, mode: GenericMode, mut args: Vec<Value>) -> Result<Payload, Status> {
    let java = method.descriptor().java.as_deref();
    let types = java.map_or(&[][..], JavaSignature::parameters);
    let count = args.len();
    for (index, arg) in args.iter_mut().enumerate() {
        let read = match mode {
            GenericMode::Bean => bean::restore(arg).map_err(|error| error.to_string()),
            GenericMode::Gson => of_gson(types.get(index).map(|name| &**name), arg),
            GenericMode::Map | GenericMode::ProtobufJson | GenericMode::RawReturn => break,
        };
        *arg = read.map_err(|why| {
            let place = index + 1;
            Status::invalid_argument(format!(
                "argument {place} of {count} of {method:?} cannot be read with generic={mode}: {why}"
            ))
        })?;
    }
    let mut bytes = BytesMut::new();
    append::<Value>(Codec::Hessian2, &mut bytes, |encoder| {
        args.iter().try_for_each(|value| value.encode(encoder))
    })
    .map_err(|error| {
        Status::invalid_argument(format!(
            "the arguments of {method:?} cannot be read with generic={mode}: {error}"
        ))
        .with_source(error)
    })?;
    Ok(Payload::encoded(Codec::Hessian2, bytes.freeze()))
}

/// What the handler of `method` gave, as the caller wants it.
fn answer(method: &MethodRef, mode: GenericMode, mut reply: Reply) -> RpcResult {
    let written = match reply.body {
        Body::Unary(payload) => result(mode, payload),
        Body::Stream(_) => Err("it is a stream".into()),
    };
    let payload = written.map_err(|error| {
        let text =
            format!("the result of {method:?} cannot be written with generic={mode}: {error}");
        // The handler has done its work: another try would do it again and fail again.
        Status::internal(text).with_origin(Origin::Business)
    })?;
    reply.body = Body::Unary(payload);
    Ok(reply)
}

fn result(mode: GenericMode, payload: Payload) -> Result<Payload, Box<dyn Error + Send + Sync>> {
    let value = |payload: Payload| payload.decode::<Ret<Value>>().map(Ret::unwrap);
    let result = match mode {
        GenericMode::Bean => bean::describe(&value(payload)?)?,
        GenericMode::Gson => to_json(&value(payload)?)?.into(),
        GenericMode::Map => generalize(&value(payload)?, ClassKey::Include)?,
        GenericMode::ProtobufJson => {
            let mut json = BytesMut::new();
            payload.encode(Codec::Json, &mut json)?;
            String::from_utf8(json.into())?.into()
        }
        GenericMode::RawReturn => return Ok(payload),
    };
    Ok(Payload::typed(Ret::wrap(result)))
}

/// An argument of gson's. Text that is no JSON is a string where the method takes one, as gson has it.
fn of_gson(java_type: Option<&str>, arg: &Value) -> Result<Value, String> {
    let text = match arg {
        Value::Null => return Ok(Value::Null),
        Value::String(text) => text,
        other => return Err(format!("it is {}, not JSON text", other.kind())),
    };
    let parsed = from_json(text);
    if java_type != Some("java.lang.String") {
        return parsed.map_err(|error| error.to_string());
    }
    Ok(match parsed {
        Ok(parsed @ (Value::Null | Value::String(_) | Value::List(_) | Value::Map(_))) => parsed,
        _ => arg.clone(),
    })
}
