//! Interfaces without an IDL, as they are known at run time.

use std::{borrow::Cow, sync::Arc};

use dubbo_core::service::{
    CallKind, Declaration, JavaSignature, MethodDescriptor, ServiceDescriptor, TypeDescription,
};
use dubbo_hessian2::{JavaType, Types};

use super::{args::Arguments, class_name::class_name};

/// A method of a Java interface: its name, and what Java calls its parameters and its result.
#[derive(Debug, Clone)]
pub struct MethodSpec {
    name: Cow<'static, str>,
    kind: CallKind,
    parameters: Option<Vec<Declared>>,
    names: Vec<Cow<'static, str>>,
    requests: Option<Declared>,
    returns: Option<Declared>,
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
            names: Vec::new(),
            requests: None,
            returns: None,
            one_way: false,
            idempotent: false,
        }
    }

    /// The types of its parameters: [`Declared::of`] Rust types, or names as `Class.getName()` gives them.
    pub fn parameters(mut self, types: impl IntoIterator<Item = impl Into<Declared>>) -> Self {
        self.parameters = Some(types.into_iter().map(Into::into).collect());
        self
    }

    /// The same, where Java has other types than the Rust types would tell: as `Class.getName()` gives them, or arrays
    /// as in Java's source, `int[]` and `java.lang.String[]`.
    pub fn parameters_as(self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.parameters(names.into_iter().map(class_name))
    }

    /// What its parameters are called: who calls it with JSON may give them by name. No other call depends on it.
    pub fn names(mut self, names: impl IntoIterator<Item = impl Into<Cow<'static, str>>>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// The type of the items of a stream of requests.
    pub fn requests(mut self, item: impl Into<Declared>) -> Self {
        self.requests = Some(item.into());
        self
    }

    /// The type of its result; for a stream, of the items.
    pub fn returns(mut self, result: impl Into<Declared>) -> Self {
        self.returns = Some(result.into());
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
        self.returns.get_or_insert_with(Declared::of::<R>);
        self
    }

    /// The method, of whose types nobody asks what they are made of.
    pub(super) fn build(self) -> MethodDescriptor {
        self.build_in(&mut Types::default())
    }

    /// The method, and in `types` what its types are made of.
    fn build_in(self, types: &mut Types) -> MethodDescriptor {
        let parameters = if self.kind.streams_requests() {
            // `StreamObserver<Item> method(StreamObserver<Result>)`
            vec![STREAM_OBSERVER.into()]
        } else {
            self.parameters.unwrap_or_default()
        };
        let returns = self.returns.unwrap_or_else(|| "void".into());
        let input = self.requests.map(|requests| {
            requests.describe(types);
            requests.name
        });
        let declaration = Declaration {
            parameters: parameters.iter().map(|p| p.describe(types)).collect(),
            result: returns.describe(types),
        };
        let names = parameters.into_iter().map(|parameter| parameter.name);
        let mut method = MethodDescriptor {
            input: input.unwrap_or_default(),
            idempotent: self.idempotent,
            one_way: self.one_way,
            ..MethodDescriptor::java(self.name, self.kind, names, returns.name)
        };
        method.java = method.java.map(|java| {
            let java = Arc::unwrap_or_clone(java).declared(declaration);
            Arc::new(if self.names.is_empty() {
                java
            } else {
                java.named(self.names)
            })
        });
        method
    }
}

impl From<&'static str> for MethodSpec {
    fn from(name: &'static str) -> Self {
        Self::new(name)
    }
}

/// A type in the declaration of a method: what Java calls it, and what it is made of.
#[derive(Debug, Clone)]
pub struct Declared {
    name: Cow<'static, str>,
    describe: Option<fn(&mut Types) -> Cow<'static, str>>,
}

impl Declared {
    /// What Java has for `T`.
    pub fn of<T: JavaType + ?Sized>() -> Self {
        Self {
            name: T::java_name(),
            describe: Some(T::describe),
        }
    }

    /// What Java calls it, as `Class.getName()` gives it.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn describe(&self, types: &mut Types) -> Cow<'static, str> {
        match self.describe {
            Some(describe) => describe(types),
            None => types.named(self.name.clone()),
        }
    }
}

/// A type of which nothing is known but its name, as `Class.getName()` gives it.
impl From<&'static str> for Declared {
    fn from(name: &'static str) -> Self {
        Cow::Borrowed(name).into()
    }
}

/// A type of which nothing is known but its name, as `Class.getName()` gives it.
impl From<Cow<'static, str>> for Declared {
    fn from(name: Cow<'static, str>) -> Self {
        Self {
            name,
            describe: None,
        }
    }
}

/// Describes `interface`; `version` and `group` are those that it is served and called at unless a configuration says
/// otherwise.
///
/// # Panics
///
/// When two methods have one name and the same parameters: callers could reach one of them only. When a method has another
/// number of names for its parameters than of parameters.
pub fn descriptor(
    interface: impl Into<Cow<'static, str>>,
    version: Option<&'static str>,
    group: Option<&'static str>,
    methods: Vec<MethodSpec>,
) -> ServiceDescriptor {
    let interface = interface.into();
    let mut types = Types::default();
    let methods = methods
        .into_iter()
        .map(|method| method.build_in(&mut types));
    let methods: Vec<MethodDescriptor> = methods.collect();
    for (index, method) in methods.iter().enumerate() {
        let same = |other: &&MethodDescriptor| {
            other.name == method.name
                && erased(other) == erased(method)
                && other.kind == method.kind
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
    let types = types.into_iter().map(|(name, shape)| TypeDescription {
        name,
        items: shape.items,
        constants: shape.constants,
        properties: shape.properties,
    });
    ServiceDescriptor::new(interface, methods)
        .with_defaults(group, version)
        .with_types(types.collect())
}

/// The parameters as callers name them: without type arguments.
fn erased(method: &MethodDescriptor) -> Option<&str> {
    method.java.as_deref().map(JavaSignature::descriptor)
}

const STREAM_OBSERVER: &str = "org.apache.dubbo.common.stream.StreamObserver";

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

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
    fn what_javas_source_says_is_kept_beside_the_names_of_classes() {
        type A = (Vec<String>, Box<[i32]>, HashMap<String, Option<i64>>);
        let service = descriptor(
            "x.Users",
            None,
            None,
            vec![
                MethodSpec::new("a").typed::<A, Vec<u8>>(CallKind::Unary),
                MethodSpec::new("b")
                    .parameters_as(["java.util.Map", "x.Outer$Inner"])
                    .returns("[I"),
                MethodSpec::new("c")
                    .requests(Declared::of::<i16>())
                    .typed::<(), f32>(CallKind::BidiStream),
            ],
        );
        let declared = |index: usize| {
            let java = service.methods()[index].java.as_deref();
            let declaration = java.and_then(JavaSignature::declaration);
            declaration.map(|it| (it.parameters.join(" "), it.result.to_string()))
        };
        let of = |parameters: &str, result: &str| Some((parameters.to_owned(), result.to_owned()));
        assert_eq!(
            declared(0),
            of(
                "java.util.List<java.lang.String> int[] java.util.Map<java.lang.String,java.lang.Long>",
                "byte[]"
            )
        );
        assert_eq!(declared(1), of("java.util.Map x.Outer.Inner", "int[]"));
        assert_eq!(declared(2), of(STREAM_OBSERVER, "float"));
        let names: Vec<&str> = service.types().iter().map(|ty| &*ty.name).collect();
        for name in [
            "java.util.List<java.lang.String>",
            "int[]",
            "int",
            "short",
            "float",
        ] {
            assert!(names.contains(&name), "{name} in {names:?}");
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
