//! How the messages of a method are written: as they are, or as hessian values in Triple's wrapper
//! (`docs/spec/triple.md` §7). Which one it is, the method's descriptor says; nothing on the wire does.

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    payload::{Codec, CodecError, Payload, Rules},
    service::{MethodRef, Types},
    status::{Origin, Status},
};

use super::wrapper::{self, Wrapper};
use crate::java::write_json_result;

/// The form of the messages that one side of a call sends.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// The arguments of a method without an IDL.
    Arguments(MethodRef),
    /// The results of a method without an IDL, as JSON.
    Json,
    /// Messages of a proto file.
    Plain(Codec),
    /// The results of a method without an IDL, in the dialect of its caller.
    Results(MethodRef, Dialect),
}

/// What a caller calls hessian2, and how it takes null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// dubbo-go: null has no bytes, or its client fails the call. It cannot read exceptions.
    Go,
    /// Dubbo Java, and this framework: null is a value.
    Java,
}

impl Form {
    /// That of the requests of `method`, where messages of a proto file are written as `codec`.
    pub(crate) fn of_requests(method: &MethodRef, codec: Codec) -> Self {
        if is_wrapped(method) {
            Self::Arguments(method.clone())
        } else {
            Self::Plain(codec)
        }
    }

    /// How long `payload` will be, when that is known.
    pub(super) fn encoded_len(&self, payload: &Payload) -> Option<usize> {
        match self {
            Self::Plain(codec) => payload.encoded_len(*codec),
            Self::Arguments(_) | Self::Json | Self::Results(..) => None,
        }
    }

    /// Appends `payload` to `out`.
    pub(super) fn write(&self, payload: &Payload, out: &mut BytesMut) -> Result<(), CodecError> {
        match self {
            Self::Plain(codec) => payload.encode(*codec, out),
            Self::Json => write_json_result(payload, out),
            Self::Arguments(method) => {
                let values = payload.encode_values(Codec::Hessian2)?;
                let values = values.iter().map(|value| &value[..]);
                let serialize_type = Dialect::Java.serialize_type();
                let descriptor = method.descriptor();
                if method.kind().streams_requests() {
                    wrapper::write(serialize_type, values, [&*descriptor.input], out);
                } else {
                    let parameters = descriptor.java.iter().flat_map(|java| java.parameters());
                    // In Java a stream of results is a parameter.
                    let observer = method.kind().streams_responses().then_some(STREAM_OBSERVER);
                    let types = parameters.map(|name| &**name).chain(observer);
                    wrapper::write(serialize_type, values, types, out);
                }
                Ok(())
            }
            Self::Results(method, dialect) => {
                let mut value = BytesMut::new();
                payload.encode(Codec::Hessian2, &mut value)?;
                write_result(method, *dialect, &value, out);
                Ok(())
            }
        }
    }
}

impl Dialect {
    fn of(method: &MethodRef, wrapper: &Wrapper) -> Result<Self, Status> {
        match &wrapper.serialize_type[..] {
            b"hessian4" => Ok(Self::Java),
            b"hessian2" => Ok(Self::Go),
            b"" => Err(Status::invalid_argument(format!(
                "{method:?} takes hessian values in a TripleRequestWrapper, and the message has no `serializeType`"
            ))),
            other => Err(Status::unimplemented(format!(
                "the serialization `{}` is not supported by {method:?}; send hessian2",
                String::from_utf8_lossy(other)
            ))),
        }
    }

    fn serialize_type(self) -> &'static str {
        match self {
            Self::Java => "hessian4",
            Self::Go => "hessian2",
        }
    }
}

/// A message of the stream of requests for `method`. Hessian values are read by `rules`.
///
/// # Errors
///
/// As [`Arguments::read`]. It is one value: the observers that Java's interface has for it are none.
pub(crate) fn streamed_request(
    method: &MethodRef,
    codec: Codec,
    message: Bytes,
    rules: &Rules,
) -> Result<Payload, Status> {
    if !is_wrapped(method) {
        return Ok(Payload::encoded(codec, message));
    }
    let mut wrapper = read_wrapper(method, message)?;
    Dialect::of(method, &wrapper)?;
    match (wrapper.values.pop(), wrapper.values.len()) {
        (Some(value), 0) => Ok(Payload::encoded(Codec::Hessian2, value).with_rules(rules.clone())),
        (value, more) => Err(Status::invalid_argument(format!(
            "each request of {method:?} is one value, and {} came",
            more + usize::from(value.is_some())
        ))),
    }
}

/// A message of an answer of `method`: of the form `codec`, or hessian values, which are read by `rules`.
///
/// # Errors
///
/// As [`read_result`].
pub(crate) fn reply(
    method: &MethodRef,
    codec: Codec,
    message: Bytes,
    rules: &Rules,
) -> Result<Payload, Status> {
    if is_wrapped(method) {
        let value = read_result(method, message)?;
        Ok(Payload::encoded(Codec::Hessian2, value).with_rules(rules.clone()))
    } else {
        Ok(Payload::encoded(codec, message))
    }
}

/// Whether the messages of `method` are hessian values in a wrapper.
pub(crate) fn is_wrapped(method: &MethodRef) -> bool {
    method.descriptor().java.is_some()
}

/// The result of `method` that is encoded in `value`, in a wrapper.
pub(crate) fn write_result(method: &MethodRef, dialect: Dialect, value: &[u8], out: &mut BytesMut) {
    let value = (dialect == Dialect::Java || value != NULL).then_some(value);
    let output = &*method.descriptor().output;
    wrapper::write(dialect.serialize_type(), value, [output], out);
}

/// A request for `method`, or for another of its name.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) method: MethodRef,
    pub(crate) dialect: Dialect,
    pub(crate) payload: Payload,
}

impl Arguments {
    /// Reads the wrapper in `message`. Its values are read by `rules`.
    ///
    /// # Errors
    ///
    /// Code 3 when it is none, or has too few or too many arguments; 12 for another serialization, and when the types
    /// are of no method of that name.
    pub(crate) fn read(method: &MethodRef, message: Bytes, rules: &Rules) -> Result<Self, Status> {
        let wrapper = read_wrapper(method, message)?;
        let dialect = Dialect::of(method, &wrapper)?;
        let method = meant(method, &wrapper)?;
        let wanted = method.descriptor().java.as_ref();
        let wanted = wanted.map_or(0, |java| java.parameters().len());
        if wrapper.values.len() != wanted {
            return Err(Status::invalid_argument(format!(
                "{method:?} takes {wanted} arguments, and {} came",
                wrapper.values.len()
            )));
        }
        Ok(Self {
            method,
            dialect,
            payload: Payload::values(Codec::Hessian2, wrapper.values).with_rules(rules.clone()),
        })
    }
}

/// The value of a result of `method` that came in `message`; hessian's null when there is none.
///
/// # Errors
///
/// Code 13: the answer is no wrapper, or of a serialization that was not asked for.
pub(crate) fn read_result(method: &MethodRef, message: Bytes) -> Result<Bytes, Status> {
    let broken = |status: Status| {
        let text = format!(
            "the answer of {method:?} cannot be read: {}",
            status.message()
        );
        Status::internal(text)
            .with_origin(Origin::Transport)
            .with_source(status)
            .done()
    };
    let mut wrapper = read_wrapper(method, message).map_err(broken)?;
    Dialect::of(method, &wrapper).map_err(broken)?;
    match wrapper.values.len() {
        0 => Ok(Bytes::from_static(NULL)),
        1 => Ok(wrapper.values.pop().filter(|value| !value.is_empty()))
            .map(|value| value.unwrap_or(Bytes::from_static(NULL))),
        many => Err(broken(Status::internal(format!("it has {many} values")))),
    }
}

fn read_wrapper(method: &MethodRef, message: Bytes) -> Result<Wrapper, Status> {
    Wrapper::read(message).map_err(|error| {
        let text = format!(
            "{method:?} has hessian values, and the message is no Triple wrapper around them: {error}"
        );
        Status::invalid_argument(text).with_source(error)
    })
}

/// The method that the types in `wrapper` are of, among those called like `method`.
fn meant(method: &MethodRef, wrapper: &Wrapper) -> Result<MethodRef, Status> {
    // The names of streams' observers have no value.
    let types = &wrapper.types[..wrapper.types.len().min(wrapper.values.len())];
    let signature = method.descriptor().java.as_deref();
    let parameters = signature.map_or(&[][..], |java| java.parameters());
    if parameters.iter().map(|name| name.as_bytes()).eq(types) {
        return Ok(method.clone());
    }
    let methods = method.service().methods().iter();
    let alone = methods.filter(|other| other.name == method.name()).count() == 1;
    if alone {
        // Whatever is wrong with its arguments is told by their count.
        return Ok(method.clone());
    }
    let names: Vec<_> = types
        .iter()
        .map(|name| String::from_utf8_lossy(name))
        .collect();
    let types = if names.len() == wrapper.values.len() {
        Types::Named(&names)
    } else {
        Types::Count(wrapper.values.len())
    };
    let found = method.service().find_overload(method.name(), types);
    found.map_err(|error| Status::unimplemented(error.to_string()).with_source(error))
}

const NULL: &[u8] = b"N";
const STREAM_OBSERVER: &str = "org.apache.dubbo.common.stream.StreamObserver";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dubbo_core::{
        service::{CallKind, MethodDescriptor, ServiceDescriptor},
        status::Code,
    };

    use super::*;

    fn users() -> Arc<ServiceDescriptor> {
        let method = |name: &'static str, kind, parameters: &[&'static str]| {
            MethodDescriptor::java(name, kind, parameters.iter().copied(), "x.User")
        };
        Arc::new(ServiceDescriptor::new(
            "x.Users",
            vec![
                method("get", CallKind::Unary, &["java.lang.String"]),
                method("find", CallKind::Unary, &["int"]),
                method("find", CallKind::Unary, &["java.lang.String"]),
                method("all", CallKind::ServerStream, &["java.lang.String"]),
                method("each", CallKind::BidiStream, &[STREAM_OBSERVER]),
            ],
        ))
    }

    fn message(serialize_type: &str, values: &[&[u8]], types: &[&str]) -> Bytes {
        let mut out = BytesMut::new();
        let types = types.iter().copied();
        wrapper::write(serialize_type, values.iter().copied(), types, &mut out);
        out.freeze()
    }

    fn read(index: usize, message: Bytes) -> Result<(usize, Dialect), (Code, String)> {
        let method = MethodRef::new(users(), index);
        Arguments::read(&method, message, &Rules::NONE)
            .map(|read| (read.method.index(), read.dialect))
            .map_err(|status| (status.code(), status.message().to_owned()))
    }

    #[test]
    fn the_types_choose_among_methods_of_one_name() {
        for (index, types, want) in [
            (1, &["int"][..], 1),
            (1, &["java.lang.String"], 2),
            (0, &["V"], 0),
            (0, &[], 0),
            (3, &["java.lang.String", "x.StreamObserver"], 3),
        ] {
            let got = read(index, message("hessian4", &[b"\x01a"], types));
            assert_eq!(got, Ok((want, Dialect::Java)), "{types:?}");
        }
        let (code, text) = read(1, message("hessian2", &[b"T"], &["boolean"])).expect_err("none");
        assert_eq!(code, Code::Unimplemented);
        assert!(text.contains("find(int), find(java.lang.String)"), "{text}");
    }

    #[test]
    fn what_is_no_call_of_the_method_is_refused_in_words() {
        for (bytes, want, part) in [
            (
                message("fastjson2", &[b"a"], &[]),
                Code::Unimplemented,
                "`fastjson2`",
            ),
            (
                message("", &[b"a"], &[]),
                Code::InvalidArgument,
                "serializeType",
            ),
            (
                message("hessian2", &[], &[]),
                Code::InvalidArgument,
                "takes 1 arguments, and 0 came",
            ),
            (
                message("hessian2", &[b"N", b"N"], &[]),
                Code::InvalidArgument,
                "and 2 came",
            ),
            (
                Bytes::from_static(b"\x22\x01a"),
                Code::InvalidArgument,
                "no Triple wrapper",
            ),
        ] {
            let (code, text) = read(0, bytes).expect_err("refused");
            assert_eq!(code, want, "{text}");
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn null_has_the_form_that_each_peer_can_read() {
        let method = MethodRef::new(users(), 0);
        for (dialect, want) in [
            (
                Dialect::Java,
                &b"\x0a\x08hessian4\x12\x01N\x1a\x06x.User"[..],
            ),
            (Dialect::Go, b"\x0a\x08hessian2\x1a\x06x.User"),
        ] {
            let payload = Payload::encoded(Codec::Hessian2, Bytes::from_static(NULL));
            let mut out = BytesMut::new();
            let form = Form::Results(method.clone(), dialect);
            form.write(&payload, &mut out).expect("it is encoded");
            assert_eq!(out, want);
            assert_eq!(read_result(&method, out.freeze()).expect("null"), NULL);
        }
        let empty = message("hessian2", &[b""], &["V"]);
        assert_eq!(read_result(&method, empty).expect("null"), NULL);
    }

    #[test]
    fn a_stream_of_results_is_a_parameter_to_java() {
        let form = Form::of_requests(&MethodRef::new(users(), 3), Codec::Json);
        let payload = Payload::values(Codec::Hessian2, vec![Bytes::from_static(b"\x01p")]);
        let mut out = BytesMut::new();
        form.write(&payload, &mut out).expect("it is encoded");
        let want = message(
            "hessian4",
            &[b"\x01p"],
            &["java.lang.String", STREAM_OBSERVER],
        );
        assert_eq!(out, want);
    }

    #[test]
    fn a_request_of_a_stream_is_one_value() {
        let method = MethodRef::new(users(), 4);
        let one = message("hessian4", &[b"\x01a"], &["x.User"]);
        let payload = streamed_request(&method, Codec::Protobuf, one, &Rules::NONE).expect("one");
        assert_eq!(payload.encoded_len(Codec::Hessian2), Some(2));
        for values in [&[][..], &[&b"N"[..], b"N"]] {
            let message = message("hessian4", values, &[]);
            let status = streamed_request(&method, Codec::Protobuf, message, &Rules::NONE)
                .expect_err("not one");
            assert_eq!(status.code(), Code::InvalidArgument);
        }
    }
}
