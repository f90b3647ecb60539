//! Calls with JSON in place of hessian: what callers over plain HTTP write (`docs/spec/triple.md` §5.5). How values are
//! written is told at [`dubbo_hessian2::java::json`].

use std::{borrow::Cow, error::Error};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    payload::{Adapter, Codec, CodecError, Payload},
    service::{JavaSignature, MethodRef},
    status::Status,
};
use dubbo_hessian2::{
    Map, ToHessian as _, Value,
    java::json::{from_json, to_json},
};

use super::{args::BadArgument, message::append, ret::Ret};

/// The arguments in `body` for `method`, or for another of its name that they fit better: nothing for none, the argument
/// itself for one, a list or an object by name for several.
///
/// # Errors
///
/// Code 3: what is wrong with the JSON, or with which argument.
pub(crate) fn read_json_arguments(
    method: &MethodRef,
    body: &[u8],
) -> Result<(MethodRef, Payload), Status> {
    let unusable = |why: &str| {
        Status::invalid_argument(format!("the request of {method:?} is not usable: {why}"))
    };
    let text = str::from_utf8(body).map_err(|error| unusable(&error.to_string()))?;
    let given = if text.trim().is_empty() {
        None
    } else {
        Some(from_json(text).map_err(|error| unusable(&error.to_string()))?)
    };
    let overloads = overloads(method);
    let (method, arguments) = match &overloads[..] {
        [method] => {
            let arguments = arguments(method, given).map_err(|why| unusable(&why))?;
            (method.clone(), arguments)
        }
        _ => fitting(&overloads, given.as_ref()).map_err(|why| unusable(&why))?,
    };
    let payload = encoded(&arguments).map_err(|error| unusable(&error.to_string()))?;
    Ok((method, payload))
}

/// `status` in the terms of a caller who sent the arguments of `method` as JSON: a handler that could not read one of them
/// knows neither its name nor where in the body it stood, but where it was in hessian.
pub(crate) fn told_in_json(method: &MethodRef, status: Status) -> Status {
    let source = status.source().and_then(<dyn Error>::downcast_ref);
    let Some(CodecError::Decode { source, .. }) = source else {
        return status;
    };
    let bad = source.downcast_ref::<BadArgument>();
    let Some((bad, why)) = bad.and_then(|bad| Some((bad, bad.why.as_ref()?))) else {
        return status;
    };
    let java = method.descriptor().java.as_deref();
    let (path, place, reason) = (why.path(), place(java, bad.index), why.reason());
    let within = if path.is_empty() {
        String::new()
    } else {
        format!(", at `{path}`")
    };
    let text = format!("the request of {method:?} is not usable: {place}{within}: {reason}");
    Status::invalid_argument(text).with_source(status)
}

/// Appends the result in `payload` to `out`, as JSON.
///
/// # Errors
///
/// It has no form in JSON.
pub(crate) fn write_json_result(payload: &Payload, out: &mut BytesMut) -> Result<(), CodecError> {
    let result = payload.clone().decode::<Ret<Value>>()?.unwrap();
    let json = to_json(&result);
    let json = json.map_err(|error| CodecError::encode::<Value>(Codec::Json, error))?;
    out.extend_from_slice(json.as_bytes());
    Ok(())
}

/// All methods called like `method`.
fn overloads(method: &MethodRef) -> Vec<MethodRef> {
    let service = method.service();
    let all = service.methods().iter().enumerate();
    let same = all.filter(|(_, other)| other.name == method.name());
    same.map(|(index, _)| MethodRef::new(service.clone(), index))
        .collect()
}

/// The one of several methods that `given` fits, and its arguments.
fn fitting(
    overloads: &[MethodRef],
    given: Option<&Value>,
) -> Result<(MethodRef, Vec<Value>), String> {
    let fitting = overloads.iter().filter_map(|method| {
        let arguments = arguments(method, given.cloned()).ok()?;
        Some((method.clone(), arguments))
    });
    let mut fitting: Vec<_> = fitting.collect();
    match (fitting.pop(), fitting.len()) {
        (Some(one), 0) => Ok(one),
        (found, _) => {
            let fits = if found.is_some() { "several" } else { "none" };
            let signatures = overloads.iter().map(signature).collect::<Vec<_>>();
            Err(format!(
                "there are several methods of that name, and the body fits {fits} of them: {}",
                signatures.join(", ")
            ))
        }
    }
}

/// The arguments of `method` in `given`.
fn arguments(method: &MethodRef, given: Option<Value>) -> Result<Vec<Value>, String> {
    let java = method.descriptor().java.as_deref();
    let (types, names) = java.map_or((&[][..], &[][..]), |java| (java.parameters(), java.names()));
    match (types, given) {
        ([], None) => Ok(Vec::new()),
        ([], Some(Value::List(list))) if list.items().is_empty() => Ok(Vec::new()),
        ([], Some(Value::Map(map))) if map.entries().is_empty() => Ok(Vec::new()),
        ([], Some(_)) => Err("it takes no argument, and the body has one".to_owned()),
        (_, None) => Err(format!("{} is missing: the body is empty", place(java, 0))),
        ([one], Some(Value::List(list))) if !takes_list(one) => in_order(java, 1, list.items()),
        ([one], Some(Value::Map(map))) if !takes_object(one) && !names.is_empty() => {
            by_name(method, names, &map)
        }
        ([_], Some(argument)) => Ok(vec![argument]),
        (_, Some(Value::List(list))) => in_order(java, types.len(), list.items()),
        (_, Some(Value::Map(_))) if names.is_empty() => Err(format!(
            "it takes {} arguments, whose names are not known here: write them as a list",
            types.len()
        )),
        (_, Some(Value::Map(map))) => by_name(method, names, &map),
        (_, Some(_)) => Err(format!(
            "it takes {} arguments, and the body is one value: it is {}",
            types.len(),
            signature(method)
        )),
    }
}

/// The arguments in an object that has them under the names of the parameters.
fn by_name(method: &MethodRef, names: &[Cow<'_, str>], given: &Map) -> Result<Vec<Value>, String> {
    let known = |key: &Value| names.iter().any(|name| key.as_str() == Some(name));
    if let Some((key, _)) = given.entries().iter().find(|(key, _)| !known(key)) {
        return Err(format!(
            "it has no argument called {:?}: it is {}",
            key.as_str().unwrap_or_default(),
            signature(method)
        ));
    }
    let java = method.descriptor().java.as_deref();
    let arguments = names.iter().enumerate().map(|(index, name)| {
        let argument = given.get(name).cloned();
        argument.ok_or_else(|| format!("{} is missing", place(java, index)))
    });
    arguments.collect()
}

/// The arguments in a list of as many as there are parameters.
fn in_order(
    java: Option<&JavaSignature>,
    wanted: usize,
    given: &[Value],
) -> Result<Vec<Value>, String> {
    if let Some(missing) = (given.len()..wanted).next() {
        return Err(format!("{} is missing", place(java, missing)));
    }
    if given.len() > wanted {
        return Err(format!(
            "argument {} is one too many: it takes {wanted}, and {} came",
            wanted + 1,
            given.len()
        ));
    }
    Ok(given.to_vec())
}

/// Whether a list can be a value of this type, so that it is not taken for a list of arguments.
fn takes_list(java_type: &str) -> bool {
    let collection = java_type.strip_prefix("java.util.");
    java_type.starts_with('[')
        || matches!(java_type, "java.lang.Iterable" | "java.lang.Object")
        || collection.is_some_and(|name| COLLECTIONS.iter().any(|kind| name.ends_with(kind)))
}

/// Whether an object can be a value of this type, so that it is not taken for arguments by name.
fn takes_object(java_type: &str) -> bool {
    let scalar = java_type.starts_with("java.lang.") || PRIMITIVES.contains(&java_type);
    java_type == "java.lang.Object" || !(scalar || takes_list(java_type))
}

/// Which of the arguments.
fn place(java: Option<&JavaSignature>, index: usize) -> String {
    let types = java.map_or(&[][..], JavaSignature::parameters);
    let name = java.and_then(|java| java.names().get(index));
    let name = name.map_or_else(String::new, |name| format!(", `{name}`"));
    let java_type = types.get(index).map_or("", |name| name);
    format!(
        "argument {} of {}{name} (`{java_type}`)",
        index + 1,
        types.len()
    )
}

/// The method as its callers know it.
fn signature(method: &MethodRef) -> String {
    let java = method.descriptor().java.as_deref();
    let types = java.map_or(&[][..], JavaSignature::parameters).iter();
    let parameters = types.enumerate().map(|(index, java_type)| {
        let name = java.and_then(|java| java.names().get(index));
        name.map_or_else(
            || java_type.to_string(),
            |name| format!("{java_type} {name}"),
        )
    });
    let parameters = parameters.collect::<Vec<_>>().join(", ");
    format!("`{}({parameters})`", method.name())
}

/// The arguments as a caller of Triple sends them: each by itself.
fn encoded(arguments: &[Value]) -> Result<Payload, CodecError> {
    let values = arguments.iter().map(|value| {
        let mut bytes = BytesMut::new();
        append::<Value>(Codec::Hessian2, &mut bytes, |encoder| value.encode(encoder))?;
        Ok(bytes.freeze())
    });
    let values: Vec<Bytes> = values.collect::<Result<_, CodecError>>()?;
    Ok(Payload::values(Codec::Hessian2, values))
}

/// How the names of Java's collections end.
const COLLECTIONS: [&str; 7] = [
    "Collection",
    "Deque",
    "List",
    "Queue",
    "Set",
    "Stack",
    "Vector",
];

const PRIMITIVES: [&str; 8] = [
    "boolean", "byte", "char", "double", "float", "int", "long", "short",
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::{
        service::{CallKind, ServiceDescriptor},
        status::Code,
    };

    use super::*;
    use crate::java::{Args, MethodSpec, descriptor};

    fn users() -> Arc<ServiceDescriptor> {
        let text = "java.lang.String";
        Arc::new(descriptor(
            "x.Users",
            None,
            None,
            vec![
                MethodSpec::new("ping"),
                MethodSpec::new("get").parameters([text]).names(["id"]),
                MethodSpec::new("add")
                    .parameters(["x.User"])
                    .names(["user"]),
                MethodSpec::new("all").parameters(["java.util.List"]),
                MethodSpec::new("sum").parameters(["[I"]),
                MethodSpec::new("greet")
                    .parameters([text, text])
                    .names(["name", "message"]),
                MethodSpec::new("unnamed").parameters([text, "int"]),
                MethodSpec::new("find").parameters([text]).names(["name"]),
                MethodSpec::new("find")
                    .parameters([text, "int"])
                    .names(["name", "age"]),
                MethodSpec::new("same").parameters(["int"]).names(["a"]),
                MethodSpec::new("same").parameters([text]).names(["a"]),
            ],
        ))
    }

    /// How many parameters the chosen method has, and the arguments.
    fn read(name: &str, body: &str) -> Result<(usize, Vec<String>), String> {
        let method = users().find(name).expect(name);
        assert_eq!(method.kind(), CallKind::Unary);
        let read = read_json_arguments(&method, body.as_bytes());
        let (method, payload) = read.map_err(|status| {
            assert_eq!(status.code(), Code::InvalidArgument);
            status.message().to_owned()
        })?;
        let java = method.descriptor().java.clone().expect("of Java");
        let json = |value: &Value| to_json(value).expect("JSON");
        let values = match java.parameters().len() {
            0 => vec![],
            1 => {
                let (one,) = payload.decode::<Args<(Value,)>>().expect("one").unwrap();
                vec![json(&one)]
            }
            _ => {
                let two = payload.decode::<Args<(Value, Value)>>();
                let (one, other) = two.expect("two").unwrap();
                vec![json(&one), json(&other)]
            }
        };
        Ok((java.parameters().len(), values))
    }

    #[test]
    fn arguments_stand_alone_in_a_list_or_by_name() {
        for (method, body, want) in [
            ("ping", "", &[][..]),
            ("ping", " \n", &[]),
            ("ping", "[]", &[]),
            ("ping", "{}", &[]),
            ("get", "\"Dubbo\"", &["\"Dubbo\""]),
            ("get", "[\"Dubbo\"]", &["\"Dubbo\""]),
            ("get", "null", &["null"]),
            ("get", "{\"id\":\"Dubbo\"}", &["\"Dubbo\""]),
            (
                "add",
                "{\"name\":\"u\",\"age\":1}",
                &["{\"name\":\"u\",\"age\":1}"],
            ),
            ("add", "[{\"name\":\"u\"}]", &["{\"name\":\"u\"}"]),
            ("all", "[\"a\",\"b\"]", &["[\"a\",\"b\"]"]),
            ("all", "[]", &["[]"]),
            ("sum", "[1]", &["[1]"]),
            ("greet", "[\"Dubbo\",\"hi\"]", &["\"Dubbo\"", "\"hi\""]),
            (
                "greet",
                "{\"message\":\"hi\",\"name\":\"Dubbo\"}",
                &["\"Dubbo\"", "\"hi\""],
            ),
            ("greet", "[null,null]", &["null", "null"]),
            ("unnamed", "[\"a\",1]", &["\"a\"", "1"]),
            ("find", "\"a\"", &["\"a\""]),
            ("find", "[\"a\",1]", &["\"a\"", "1"]),
            ("find", "{\"name\":\"a\"}", &["\"a\""]),
            ("find", "{\"name\":\"a\",\"age\":1}", &["\"a\"", "1"]),
        ] {
            let want: Vec<_> = want.iter().map(ToString::to_string).collect();
            assert_eq!(
                read(method, body),
                Ok((want.len(), want)),
                "{method} {body}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_the_name_of_the_argument() {
        for (method, body, part) in [
            ("ping", "1", "takes no argument"),
            (
                "get",
                "",
                "argument 1 of 1, `id` (`java.lang.String`) is missing: the body is empty",
            ),
            (
                "get",
                "[]",
                "argument 1 of 1, `id` (`java.lang.String`) is missing",
            ),
            (
                "get",
                "[1,2]",
                "argument 2 is one too many: it takes 1, and 2 came",
            ),
            (
                "greet",
                "[\"a\"]",
                "argument 2 of 2, `message` (`java.lang.String`) is missing",
            ),
            (
                "greet",
                "{\"name\":\"a\"}",
                "argument 2 of 2, `message` (`java.lang.String`) is missing",
            ),
            (
                "greet",
                "[1,2,3]",
                "argument 3 is one too many: it takes 2, and 3 came",
            ),
            (
                "greet",
                "{\"name\":1,\"message\":2,\"mesage\":3}",
                "no argument called \"mesage\": it is `greet(java.lang.String name, java.lang.String message)`",
            ),
            (
                "greet",
                "\"Dubbo\"",
                "takes 2 arguments, and the body is one value",
            ),
            (
                "unnamed",
                "{\"a\":1}",
                "takes 2 arguments, whose names are not known here",
            ),
            (
                "find",
                "[1,2,3]",
                "fits none of them: `find(java.lang.String name)`, `find(java.lang.String name, int age)`",
            ),
            (
                "same",
                "7",
                "fits several of them: `same(int a)`, `same(java.lang.String a)`",
            ),
            ("get", "{\"name\":1}", "no argument called \"name\""),
            ("greet", "[1,2", "x.Users/greet"),
            ("greet", "{bad", "not usable"),
        ] {
            let error = read(method, body).expect_err(body);
            assert!(error.contains(part), "{method} {body}: {error}");
        }
        let method = users().find("get").expect("there");
        assert!(read_json_arguments(&method, b"\"\xff\"").is_err());
    }
}
