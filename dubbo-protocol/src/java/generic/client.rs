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
use dubbo_hessian2::{FromHessian, Value, java::json::from_json};

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
    /// [`GenericMode::Map`] is good for JSON too.
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
        Ok(self.call::<Json>(method, types, args.to_vec()))
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
