//! Services without an IDL, made of closures.

use std::{fmt, sync::Arc};

use dubbo_core::{
    provider::{Service, ServiceBuilder},
    request::{Request, Response},
    service::CallKind,
    status::Status,
    streaming::Streaming,
};

use super::{
    args::{Args, Arguments, JavaValue},
    describe::{Declared, MethodSpec, descriptor},
    ret::Ret,
};

/// An implementation of a Java interface, made of closures: what `#[dubbo::service]` is sugar for.
///
/// The Java types of the parameters and the result are those of the Rust types; where Java has others, a [`MethodSpec`]
/// stands in place of the name.
///
/// ```
/// use dubbo_core::{provider::Service, request::Request};
/// use dubbo_protocol::java::{JavaService, MethodSpec};
///
/// let service: Service = JavaService::new("com.example.Greeter")
///     .version("1.0.0")
///     .method("sayHello", async |call: Request<(String,)>| {
///         let (name,) = call.into_message();
///         Ok(format!("Hello, {name}").into())
///     })
///     .method(
///         MethodSpec::new("greetAll").parameters_as(["java.util.Collection"]),
///         async |call: Request<(Vec<String>,)>| Ok(call.into_message().0.join(", ").into()),
///     )
///     .into();
/// assert_eq!(service.descriptor().method_names(), ["sayHello", "greetAll"]);
/// ```
pub struct JavaService {
    interface: &'static str,
    version: Option<&'static str>,
    group: Option<&'static str>,
    methods: Vec<MethodSpec>,
    handlers: Vec<AddHandler>,
}

/// Adds the handler of the method at a position.
type AddHandler = Box<dyn FnOnce(ServiceBuilder, usize) -> ServiceBuilder>;

impl JavaService {
    /// An implementation of `interface`, the full name in Java, without methods. Configurations find it by that name.
    pub fn new(interface: &'static str) -> Self {
        Self {
            interface,
            version: None,
            group: None,
            methods: Vec::new(),
            handlers: Vec::new(),
        }
    }

    /// The version that it is served at, unless a configuration says otherwise.
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = Some(version);
        self
    }

    /// The group that it is served in, unless a configuration says otherwise.
    pub fn group(mut self, group: &'static str) -> Self {
        self.group = Some(group);
        self
    }

    /// Adds a method that takes `A`, a tuple, and returns `R`.
    pub fn method<A, R, F, Fut>(self, method: impl Into<MethodSpec>, handler: F) -> Self
    where
        A: Arguments,
        R: JavaValue,
        F: Fn(Request<A>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<R>, Status>> + Send + 'static,
    {
        let method = method.into().typed::<A, R>(CallKind::Unary);
        self.add(method, |builder, index| {
            builder.unary::<Args<A>, Ret<R>, _, _>(index, handler)
        })
    }

    /// Adds a method that takes `A`, a tuple, and answers with a stream of `R`:
    /// `void method(A, StreamObserver<R>)`. Triple only.
    pub fn server_stream<A, R, F, Fut>(self, method: impl Into<MethodSpec>, handler: F) -> Self
    where
        A: Arguments,
        R: JavaValue,
        F: Fn(Request<A>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Streaming<R>>, Status>> + Send + 'static,
    {
        let method = method.into().typed::<A, R>(CallKind::ServerStream);
        self.add(method, |builder, index| {
            builder.server_stream::<Args<A>, Ret<R>, _, _>(index, handler)
        })
    }

    /// Adds a method that takes a stream of `T` and returns one `R`. Triple only.
    pub fn client_stream<T, R, F, Fut>(self, method: impl Into<MethodSpec>, handler: F) -> Self
    where
        T: JavaValue,
        R: JavaValue,
        F: Fn(Request<Streaming<T>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<R>, Status>> + Send + 'static,
    {
        let method = method.into().requests(Declared::of::<T>());
        let method = method.typed::<(), R>(CallKind::ClientStream);
        self.add(method, |builder, index| {
            builder.client_stream::<Ret<T>, Ret<R>, _, _>(index, handler)
        })
    }

    /// Adds a method that takes a stream of `T` and answers with a stream of `R`:
    /// `StreamObserver<T> method(StreamObserver<R>)`. Triple only.
    pub fn bidi_stream<T, R, F, Fut>(self, method: impl Into<MethodSpec>, handler: F) -> Self
    where
        T: JavaValue,
        R: JavaValue,
        F: Fn(Request<Streaming<T>>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response<Streaming<R>>, Status>> + Send + 'static,
    {
        let method = method.into().requests(Declared::of::<T>());
        let method = method.typed::<(), R>(CallKind::BidiStream);
        self.add(method, |builder, index| {
            builder.bidi_stream::<Ret<T>, Ret<R>, _, _>(index, handler)
        })
    }

    /// The service.
    ///
    /// # Panics
    ///
    /// When two methods have one name and the same parameters.
    pub fn build(self) -> Service {
        let descriptor = descriptor(self.interface, self.version, self.group, self.methods);
        let builder = Service::builder(Arc::new(descriptor), self.interface);
        let handlers = self.handlers.into_iter().enumerate();
        handlers
            .fold(builder, |builder, (index, add)| add(builder, index))
            .build()
    }

    fn add(
        mut self,
        method: MethodSpec,
        handler: impl FnOnce(ServiceBuilder, usize) -> ServiceBuilder + 'static,
    ) -> Self {
        self.methods.push(method);
        self.handlers.push(Box::new(handler));
        self
    }
}

impl From<JavaService> for Service {
    fn from(service: JavaService) -> Self {
        service.build()
    }
}

impl fmt::Debug for JavaService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JavaService")
            .field("interface", &self.interface)
            .field("methods", &self.methods)
            .finish_non_exhaustive()
    }
}
