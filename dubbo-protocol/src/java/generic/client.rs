//! Calling any method of any service.

use std::sync::Arc;

use dubbo_core::{
    call::{Call, Stub},
    invoker::Invoker,
    payload::Adapter,
    request::{Request, Response},
    service::{ServiceDescriptor, ServiceKey},
    status::Status,
};
use dubbo_hessian2::{
    FromHessian, Value,
    java::{Date, json::from_json},
};

use super::{
    ECHO, GENERIC, GenericMode, INVOKE,
    answer::{Answer, Bean, Json, Plain, Text, Typed, Wanted},
    argument::Argument,
    built_ins,
    provider::Asked,
};
use crate::java::{Args, Ret, descriptor};

/// A client of any interface: it calls methods by name, with values of any shape.
///
/// ```no_run
/// # use dubbo_protocol::java::GenericClient;
/// # async fn call(client: GenericClient) -> Result<(), dubbo_core::status::Status> {
/// let types = Some(&["java.lang.String"][..]);
/// let user = client.invoke("getUser", types, vec!["u1".into()]).await?;
/// println!("{:?}", user.message());
/// let json = client.invoke_json("getUser", None, r#"["u1"]"#)?.await?;
/// println!("{}", json.message());
/// # Ok(())
/// # }
/// ```
///
/// The types of the parameters are those that Java declares: `int`, `java.lang.String`, `java.lang.String[]`,
/// `com.x.User`. `None` is null on the wire: providers then go by the name and the number of arguments, which is not
/// enough for a name that several methods have, and dubbo-go 3.3.2 refuses it over Triple.
///
/// An exception is a status that holds its class and message: [`thrown`](crate::java::thrown).
#[derive(Debug, Clone)]
pub struct GenericClient {
    stub: Stub,
    mode: GenericMode,
}

impl GenericClient {
    /// What there is to call on every service called `interface`: for what refers to it.
    pub fn descriptor(interface: &str) -> ServiceDescriptor {
        descriptor(interface.to_owned(), None, None, built_ins().into())
    }

    /// Calls methods of `service` through `invoker`.
    pub fn new(invoker: Arc<dyn Invoker>, service: ServiceKey) -> Self {
        let descriptor = Arc::new(Self::descriptor(service.interface()));
        Self {
            stub: Stub::new(invoker, service, descriptor),
            mode: GenericMode::default(),
        }
    }

    /// In what form values travel. [`GenericMode::Map`], the default, is what every peer understands.
    pub fn with_mode(mut self, mode: GenericMode) -> Self {
        self.mode = mode;
        self
    }

    /// Calls `method`; the result comes as a value of any shape.
    ///
    /// With [`GenericMode::Map`] an object is a map of its fields with its class under `class`.
    pub fn invoke(
        &self,
        method: &str,
        types: Option<&[&str]>,
        args: Vec<Value>,
    ) -> Call<'_, Response<Value>> {
        self.invoke_as(method, types, args)
    }

    /// Calls `method`; the result comes as a `T`, which reads an object from the map that stands for it.
    pub fn invoke_as<T: FromHessian + Send + Sync + 'static>(
        &self,
        method: &str,
        types: Option<&[&str]>,
        args: Vec<Value>,
    ) -> Call<'_, Response<T>> {
        self.call::<Typed<T>>(method, types, args)
    }

    /// Calls `method` with the arguments in `args`, the text of a JSON array; the result comes as JSON text.
    ///
    /// How values are written is told at [`dubbo_hessian2::java::json`]. The call itself goes in the client's mode:
    /// [`GenericMode::Map`] is good for JSON too. An argument of the type `java.util.Date` may be ISO 8601 text; inside of
    /// objects, a Java provider reads dates as `2017-07-14 02:40:00` only.
    ///
    /// # Errors
    ///
    /// Code 3, before any call: `args` is no JSON array.
    pub fn invoke_json(
        &self,
        method: &str,
        types: Option<&[&str]>,
        args: &str,
    ) -> Result<Call<'_, Response<String>>, Status> {
        let unusable = |why: &str| {
            let text = format!("the arguments of `{method}` are not a JSON array: {why}");
            Status::invalid_argument(text)
        };
        let args = from_json(args).map_err(|error| unusable(&error.to_string()))?;
        let args = args
            .as_list()
            .ok_or_else(|| unusable(&format!("they are {}", args.kind())))?;
        let of = |index: usize| types.and_then(|types| types.get(index).copied());
        let args = args.iter().enumerate();
        let args = args.map(|(index, arg)| dated(of(index), arg.clone()));
        Ok(self.call::<Json>(method, types, args.collect()))
    }

    /// Asks the provider to send `value` back.
    pub fn echo(&self, value: impl Into<Value>) -> Call<'_, Response<Value>> {
        let request = Request::new((value.into(),));
        self.stub.unary::<Args<(Value,)>, Ret<Value>>(ECHO, request)
    }

    fn call<W: Wanted>(
        &self,
        method: &str,
        types: Option<&[&str]>,
        args: Vec<Value>,
    ) -> Call<'_, Response<W::Message>> {
        let mode = self.mode;
        let types = types.map(|types| types.iter().map(|&name| name.to_owned()).collect());
        let args = args.into_iter().map(|value| Argument { value, mode });
        let asked: Asked<Argument> = (method.to_owned(), types, args.collect());
        let request = Request::new(asked).attach(GENERIC, mode.name());
        match mode {
            GenericMode::Map | GenericMode::RawReturn => self.ask::<Answer<Plain, W>>(request),
            GenericMode::Bean => self.ask::<Answer<Bean, W>>(request),
            GenericMode::Gson | GenericMode::ProtobufJson => self.ask::<Answer<Text, W>>(request),
        }
    }

    fn ask<A: Adapter>(&self, request: Request<Asked<Argument>>) -> Call<'_, Response<A::Message>> {
        self.stub.unary::<Args<Asked<Argument>>, A>(INVOKE, request)
    }
}

/// JSON has no dates, and Java takes few texts for one.
fn dated(java_type: Option<&str>, value: Value) -> Value {
    let text = value
        .as_str()
        .filter(|_| java_type == Some("java.util.Date"));
    let date = text.and_then(|text| text.parse::<Date>().ok());
    date.map_or(value, |date| Value::Date(date.millis()))
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use dubbo_core::payload::{Codec, Message as _};

    use super::*;

    fn written(mode: GenericMode, types: Option<&[&str]>, value: Value) -> BytesMut {
        let types = types.map(|types| types.iter().map(|&name| name.to_owned()).collect());
        let argument = Argument { value, mode };
        let asked: Asked<Argument> = ("sayHello".to_owned(), types, [argument].into());
        let mut bytes = BytesMut::new();
        let args = Args::wrap(asked);
        args.encode(Codec::Hessian2, &mut bytes).expect("written");
        bytes
    }

    #[test]
    fn the_arguments_of_the_method_that_is_asked_for_are_the_ones_that_are_seen() {
        let argument = |value: Value| Argument {
            value,
            mode: GenericMode::Gson,
        };
        let asked: Asked<Argument> = (
            "sayHello".to_owned(),
            None,
            [argument("world".into()), argument(7.into())].into(),
        );
        let args = Args::wrap(asked);
        assert_eq!(args.text(0).as_deref(), Some("world"));
        assert_eq!(args.text(1).as_deref(), Some("7"));
        assert_eq!(args.text(2), None);
    }

    /// The arguments of vector V-P of `docs/spec/dubbo-protocol.md` §22.
    #[test]
    fn arguments_are_typed_arrays_as_java_writes_them() {
        let types = &["java.lang.String"][..];
        for mode in [GenericMode::Map, GenericMode::RawReturn] {
            assert_eq!(
                &written(mode, Some(types), "world".into())[..],
                b"\x08sayHello\x71\x07[string\x10java.lang.String\x71\x07[object\x05world"
            );
        }
        assert_eq!(
            &written(GenericMode::Map, None, "world".into())[..],
            b"\x08sayHelloN\x71\x07[object\x05world",
            "null types are null"
        );
        assert_eq!(
            &written(GenericMode::Gson, Some(&[]), "world".into())[..],
            b"\x08sayHello\x70\x07[string\x71\x07[object\x07\"world\""
        );
    }

    #[test]
    fn a_text_is_a_date_where_java_wants_one() {
        let (date, text) = (Some("java.util.Date"), "2017-07-14T02:40:00.123Z");
        for (java_type, value, want) in [
            (date, text.into(), Value::Date(1_500_000_000_123)),
            (
                date,
                "2017-07-14 02:40:00".into(),
                "2017-07-14 02:40:00".into(),
            ),
            (date, 7.into(), 7.into()),
            (date, Value::Null, Value::Null),
            (Some("java.lang.String"), text.into(), text.into()),
            (None, text.into(), text.into()),
        ] {
            assert_eq!(dated(java_type, value), want, "{java_type:?}");
        }
    }

    #[test]
    fn the_built_in_methods_have_the_signatures_that_java_looks_for() {
        let service = Arc::new(GenericClient::descriptor("x.Users"));
        let invoke = "Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/Object;";
        for (index, name, descriptor) in [
            (INVOKE, "$invoke", invoke),
            (1, "$invokeAsync", invoke),
            (ECHO, "$echo", "Ljava/lang/Object;"),
        ] {
            let found = service.find_exact(name, descriptor).expect(name);
            assert_eq!(found.index(), index);
        }
        assert_eq!(service.method_names(), Vec::<&str>::new());
    }
}
