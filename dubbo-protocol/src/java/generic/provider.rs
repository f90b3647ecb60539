//! `$invoke`, `$invokeAsync` and `$echo` on the side of the provider.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    invocation::{Body, Invocation, Reply, RpcResult},
    payload::{Adapter, Codec, CodecError, Message, Payload},
    provider::Service,
    request::Request,
    service::{CallKind, MethodRef, Types},
    status::Status,
};
use dubbo_hessian2::{
    ToHessian, Value,
    java::{
        bean,
        generic::{ClassKey, generalize},
        json::{from_json, to_json},
    },
};

use super::{ECHO, GENERIC, GenericMode, INVOKE, INVOKE_ASYNC, built_ins};
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
    let (name, types, args) = payload
        .decode::<Args<Asked<Value>>>()
        .map_err(|error| unusable(error.to_string()).with_source(error))?
        .unwrap();
    let mode = invocation.attachments.get(GENERIC).unwrap_or_default();
    let mode: GenericMode = mode.parse().map_err(|error: super::UnknownGenericMode| {
        Status::unimplemented(format!("{asked:?} of `{name}`: {error}"))
    })?;

    let method = find(&own, &name, types.as_deref(), args.len())?;
    invocation.body = Body::Unary(request(&method, mode, args)?);
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
    let method = found.map_err(|error| {
        let untyped = if types.is_none() {
            "; the call names no parameter types"
        } else {
            ""
        };
        Status::unimplemented(format!("{error}{untyped}")).with_source(error)
    })?;
    if method.kind() != CallKind::Unary {
        let text = format!("{method:?} is a stream, and generic calls have one message each way");
        return Err(Status::unimplemented(text));
    }
    Ok(method)
}

/// The arguments as the handler of `method` takes them.
fn request(method: &MethodRef, mode: GenericMode, args: Box<[Value]>) -> Result<Payload, Status> {
    let Some(java) = method.descriptor().java.as_deref() else {
        return match (mode, &*args) {
            (GenericMode::ProtobufJson, [Value::String(text)]) => {
                let json = Bytes::copy_from_slice(text.as_bytes());
                Ok(Payload::encoded(Codec::Json, json))
            }
            (GenericMode::ProtobufJson, _) => Err(Status::invalid_argument(format!(
                "{method:?} takes one argument, which is JSON text, with generic={mode}"
            ))),
            _ => Err(other_kind(method, mode, GenericMode::ProtobufJson.name())),
        };
    };
    let types = java.parameters();
    let convert = |convert: &dyn Fn(&str, Value) -> Result<Value, String>| {
        let converted = args.iter().cloned().enumerate().map(|(index, arg)| {
            let java_type = types.get(index).map_or("", |name| &**name);
            convert(java_type, arg).map_err(|why| {
                let (place, count) = (index + 1, args.len());
                let text = format!(
                    "argument {place} of {count} of {method:?} cannot be read with generic={mode}: {why}"
                );
                Status::invalid_argument(text)
            })
        });
        converted.collect::<Result<Box<[Value]>, Status>>()
    };
    let args = match mode {
        GenericMode::Map | GenericMode::RawReturn => args,
        GenericMode::Bean => {
            convert(&|_, arg| bean::restore(&arg).map_err(|error| error.to_string()))?
        }
        GenericMode::Gson => convert(&of_gson)?,
        GenericMode::ProtobufJson => {
            return Err(other_kind(method, mode, "true, gson, bean or raw.return"));
        }
    };
    Ok(Payload::typed(Values(args)))
}

/// What the handler of `method` gave, as the caller wants it.
fn answer(method: &MethodRef, mode: GenericMode, mut reply: Reply) -> RpcResult {
    let Body::Unary(payload) = reply.body else {
        let text = format!("{method:?} answered with a stream where one result was due");
        return Err(Status::internal(text));
    };
    let failed = |why: String| {
        Status::internal(format!(
            "the result of {method:?} cannot be written with generic={mode}: {why}"
        ))
    };
    let value = |payload: Payload| {
        let value = payload.decode::<Ret<Value>>();
        value
            .map(Ret::unwrap)
            .map_err(|error| failed(error.to_string()))
    };
    let payload = match mode {
        GenericMode::RawReturn => payload,
        GenericMode::Map => result(
            generalize(&value(payload)?, ClassKey::Include).map_err(|e| failed(e.to_string()))?,
        ),
        GenericMode::Bean => {
            result(bean::describe(&value(payload)?).map_err(|e| failed(e.to_string()))?)
        }
        GenericMode::Gson => result(
            to_json(&value(payload)?)
                .map_err(|e| failed(e.to_string()))?
                .into(),
        ),
        GenericMode::ProtobufJson => {
            let mut json = BytesMut::new();
            payload
                .encode(Codec::Json, &mut json)
                .map_err(|error| failed(error.to_string()))?;
            let json = String::from_utf8(json.into()).map_err(|error| failed(error.to_string()))?;
            result(json.into())
        }
    };
    reply.body = Body::Unary(payload);
    Ok(reply)
}

fn result(value: Value) -> Payload {
    Payload::typed(Ret::wrap(value))
}

/// An argument of gson's. Text that is no JSON is a string where the method takes one, as gson has it.
fn of_gson(java_type: &str, arg: Value) -> Result<Value, String> {
    let text = match &arg {
        Value::Null => return Ok(arg),
        Value::String(text) => text,
        other => return Err(format!("it is {}, not JSON text", other.kind())),
    };
    let parsed = from_json(text);
    if java_type != "java.lang.String" {
        return parsed.map_err(|error| error.to_string());
    }
    Ok(match parsed {
        Ok(parsed @ (Value::Null | Value::String(_) | Value::List(_) | Value::Map(_))) => parsed,
        _ => arg,
    })
}

fn other_kind(method: &MethodRef, mode: GenericMode, instead: &str) -> Status {
    let kind = if method.descriptor().java.is_some() {
        "hessian values"
    } else {
        "messages of an IDL"
    };
    Status::unimplemented(format!(
        "{method:?} takes {kind}, which generic={mode} is not for; use {instead}"
    ))
}

/// Arguments of any shape. Handlers read them as their own types.
#[derive(Debug)]
struct Values(Box<[Value]>);

impl Message for Values {
    fn encode(&self, codec: Codec, dst: &mut BytesMut) -> Result<(), CodecError> {
        append::<Self>(codec, dst, |encoder| {
            self.0.iter().try_for_each(|value| value.encode(encoder))
        })
    }

    fn values(&self) -> usize {
        self.0.len()
    }

    fn encode_value(
        &self,
        index: usize,
        codec: Codec,
        dst: &mut BytesMut,
    ) -> Result<(), CodecError> {
        append::<Self>(codec, dst, |encoder| self.0[index].encode(encoder))
    }
}
