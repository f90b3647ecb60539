//! Interfaces without an IDL, as they are known at run time.

use std::borrow::Cow;

use dubbo_core::service::{CallKind, MethodDescriptor, ServiceDescriptor};
use dubbo_hessian2::JavaType;

use super::{args::Arguments, class_name::class_name};

/// A method of a Java interface: its name, and what Java calls its parameters and its result.
#[derive(Debug, Clone)]
pub struct MethodSpec {
    name: Cow<'static, str>,
    kind: CallKind,
    parameters: Option<Vec<Cow<'static, str>>>,
    requests: Option<Cow<'static, str>>,
    returns: Option<Cow<'static, str>>,
    one_way: bool,
    idempotent: bool,
}

impl MethodSpec {
    /// The method `name`. Until told otherwise it has no parameters and no result.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            kind: CallKind::Unary,
            parameters: None,
            requests: None,
            returns: None,
            one_way: false,
            idempotent: false,
        }
    }

    /// The types of its parameters, as `Class.getName()` gives them and
    /// [`JavaType::java_name`](dubbo_hessian2::JavaType::java_name) does.
    pub fn parameters(mut self, names: impl IntoIterator<Item = Cow<'static, str>>) -> Self {
        self.parameters = Some(names.into_iter().collect());
        self
    }

    /// The same, where Java has other types than the Rust types would tell: as `Class.getName()` gives them, or arrays
    /// as in Java's source, `int[]` and `java.lang.String[]`.
    pub fn parameters_as(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.parameters(names.into_iter().map(class_name))
    }

    /// The type of the items of a stream of requests.
    pub fn requests(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.requests = Some(name.into());
        self
    }

    /// The type of its result; for a stream, of the items.
    pub fn returns(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.returns = Some(name.into());
        self
    }

    /// Which sides are streams.
    pub fn kind(mut self, kind: CallKind) -> Self {
        self.kind = kind;
        self
    }

    /// Callers do not wait for an answer.
    pub fn oneway(mut self) -> Self {
        self.one_way = true;
        self
    }

    /// Repeating a call does no harm.
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// What Rust types say where nothing else was said.
    pub(super) fn typed<A: Arguments, R: JavaType>(mut self, kind: CallKind) -> Self {
        self.kind = kind;
        self.parameters.get_or_insert_with(A::types);
        self.returns.get_or_insert_with(R::java_name);
        self
    }

    pub(super) fn build(self) -> MethodDescriptor {
        let parameters = if self.kind.streams_requests() {
            // `StreamObserver<Item> method(StreamObserver<Result>)`
            vec![Cow::Borrowed(STREAM_OBSERVER)]
        } else {
            self.parameters.unwrap_or_default()
        };
        let returns = self.returns.unwrap_or(Cow::Borrowed("void"));
        MethodDescriptor {
            input: self.requests.unwrap_or_default(),
            idempotent: self.idempotent,
            one_way: self.one_way,
            ..MethodDescriptor::java(self.name, self.kind, parameters, returns)
        }
    }
}

impl From<&'static str> for MethodSpec {
    fn from(name: &'static str) -> Self {
        Self::new(name)
    }
}

/// Describes `interface`; `version` and `group` are those that it is served and called at unless a configuration says
/// otherwise.
///
/// # Panics
///
/// When two methods have one name and the same parameters: callers could reach one of them only.
pub fn descriptor(
    interface: impl Into<Cow<'static, str>>,
    version: Option<&'static str>,
    group: Option<&'static str>,
    methods: Vec<MethodSpec>,
) -> ServiceDescriptor {
    let interface = interface.into();
    let methods: Vec<_> = methods.into_iter().map(MethodSpec::build).collect();
    for (index, method) in methods.iter().enumerate() {
        let same = |other: &&MethodDescriptor| {
            other.name == method.name && other.java == method.java && other.kind == method.kind
        };
        if let Some(twice) = methods[..index].iter().find(same) {
            let parameters = twice
                .java
                .as_deref()
                .map_or_else(String::new, ToString::to_string);
            panic!(
                "`{interface}` has two methods `{}({parameters})`",
                twice.name
            );
        }
    }
    ServiceDescriptor::new(interface, methods).with_defaults(group, version)
}

const STREAM_OBSERVER: &str = "org.apache.dubbo.common.stream.StreamObserver";

#[cfg(test)]
mod tests {
    use super::*;

    fn described(method: MethodSpec) -> (String, String, CallKind) {
        let method = method.build();
        let java = method.java.expect("of Java");
        (
            java.descriptor().to_owned(),
            method.output.into_owned(),
            method.kind,
        )
    }

    #[test]
    fn rust_types_say_what_was_not_said_otherwise() {
        type A = (String, Vec<String>, Box<[i32]>, Option<i64>);
        let method = || MethodSpec::new("m");
        let own = "Ljava/lang/String;Ljava/util/List;[ILjava/lang/Long;";
        for (method, parameters, returns) in [
            (method().typed::<A, Vec<u8>>(CallKind::Unary), own, "[B"),
            (method().typed::<(), ()>(CallKind::Unary), "", "void"),
            (
                method()
                    .parameters_as(["int[][]", "java.lang.String[]"])
                    .returns("java.util.Collection")
                    .typed::<A, Vec<u8>>(CallKind::Unary),
                "[[I[Ljava/lang/String;",
                "java.util.Collection",
            ),
            (method(), "", "void"),
            (method().parameters_as([]), "", "void"),
        ] {
            let want = (parameters.to_owned(), returns.to_owned(), CallKind::Unary);
            assert_eq!(described(method), want);
        }
        let method = method()
            .oneway()
            .idempotent()
            .typed::<(String,), ()>(CallKind::Unary);
        let method = method.build();
        assert!(method.one_way && method.idempotent);
    }

    #[test]
    fn a_stream_of_requests_is_an_observer_in_java() {
        for (kind, parameters) in [
            (CallKind::ServerStream, "Ljava/lang/String;"),
            (
                CallKind::ClientStream,
                "Lorg/apache/dubbo/common/stream/StreamObserver;",
            ),
            (
                CallKind::BidiStream,
                "Lorg/apache/dubbo/common/stream/StreamObserver;",
            ),
        ] {
            let method = MethodSpec::new("m").typed::<(String,), i32>(kind);
            let want = (parameters.to_owned(), "int".to_owned(), kind);
            assert_eq!(described(method), want);
        }
    }

    #[test]
    fn version_and_group_are_those_of_the_definition() {
        let service = descriptor("x.Users", Some("1.0.0"), Some("g"), vec!["get".into()]);
        assert_eq!(
            (service.version(), service.group()),
            (Some("1.0.0"), Some("g"))
        );
        assert!(service.is_java());
    }

    #[test]
    #[should_panic(expected = "`x.Users` has two methods `get(java.lang.String)`")]
    fn two_methods_that_callers_cannot_tell_apart_are_refused() {
        let get = || MethodSpec::new("get").parameters_as(["java.lang.String"]);
        let other = MethodSpec::new("get").parameters_as(["int"]);
        descriptor("x.Users", None, None, vec![get(), other, get()]);
    }
}
