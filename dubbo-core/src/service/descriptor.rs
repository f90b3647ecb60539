//! What a service can do: its methods.

use std::{borrow::Cow, fmt, sync::Arc};

use super::{JavaSignature, TypeDescription};

/// Which sides of a call are streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// One message each way.
    Unary,
    /// Many requests, one response.
    ClientStream,
    /// One request, many responses.
    ServerStream,
    /// Many messages both ways, in any order.
    BidiStream,
}

impl CallKind {
    /// Whether the caller sends a stream.
    pub const fn streams_requests(self) -> bool {
        matches!(self, Self::ClientStream | Self::BidiStream)
    }

    /// Whether the callee answers with a stream.
    pub const fn streams_responses(self) -> bool {
        matches!(self, Self::ServerStream | Self::BidiStream)
    }
}

/// One method of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodDescriptor {
    /// The name on the wire, as the interface definition spells it.
    pub name: Cow<'static, str>,
    /// Which sides are streams.
    pub kind: CallKind,
    /// The full name of the request type; empty when there is none.
    pub input: Cow<'static, str>,
    /// The full name of the response type; empty when there is none.
    pub output: Cow<'static, str>,
    /// Whether the definition promises that repeating a call does no harm.
    pub idempotent: bool,
    /// Whether it promises that a call changes nothing (`NO_SIDE_EFFECTS` in a proto file), so that HTTP's `GET` can make
    /// one. Such a method is [`idempotent`](Self::idempotent) as well.
    pub no_side_effects: bool,
    /// Whether callers do not wait for an answer. Protocols that cannot do without one wait all the same.
    pub one_way: bool,
    /// What Java calls its parameters, for a method without an IDL: its messages are hessian values, and its name may be
    /// that of several methods. `None` for a method of a proto file.
    pub java: Option<Arc<JavaSignature>>,
}

impl MethodDescriptor {
    /// A method without type names that promises nothing.
    pub fn new(name: impl Into<Cow<'static, str>>, kind: CallKind) -> Self {
        Self {
            name: name.into(),
            kind,
            input: Cow::Borrowed(""),
            output: Cow::Borrowed(""),
            idempotent: false,
            no_side_effects: false,
            one_way: false,
            java: None,
        }
    }

    /// A method of a Java interface, with the Java types of its parameters ([`JavaSignature::new`]) and of its result.
    pub fn java(
        name: impl Into<Cow<'static, str>>,
        kind: CallKind,
        parameters: impl IntoIterator<Item = impl Into<Cow<'static, str>>>,
        returns: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            output: returns.into(),
            java: Some(Arc::new(JavaSignature::new(parameters))),
            ..Self::new(name, kind)
        }
    }
}

/// An interface: its name, its methods, and where it came from a proto file, the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDescriptor {
    interface: Cow<'static, str>,
    methods: Cow<'static, [MethodDescriptor]>,
    file_descriptor_set: Option<&'static [u8]>,
    group: Option<Cow<'static, str>>,
    version: Option<Cow<'static, str>>,
    types: Option<Arc<[TypeDescription]>>,
}

impl ServiceDescriptor {
    /// Describes `interface` with `methods`.
    pub fn new(
        interface: impl Into<Cow<'static, str>>,
        methods: impl Into<Cow<'static, [MethodDescriptor]>>,
    ) -> Self {
        Self {
            interface: interface.into(),
            methods: methods.into(),
            file_descriptor_set: None,
            group: None,
            version: None,
            types: None,
        }
    }

    /// Says in which group and at which version the definition wants to be served and called; configurations win.
    pub fn with_defaults(
        mut self,
        group: Option<&'static str>,
        version: Option<&'static str>,
    ) -> Self {
        self.group = group.map(Cow::Borrowed);
        self.version = version.map(Cow::Borrowed);
        self
    }

    /// The same interface with these methods.
    pub(crate) fn with_methods(mut self, methods: Vec<MethodDescriptor>) -> Self {
        self.methods = Cow::Owned(methods);
        self
    }

    /// Adds the encoded `google.protobuf.FileDescriptorSet` that reflection serves.
    pub fn with_file_descriptor_set(mut self, encoded: &'static [u8]) -> Self {
        self.file_descriptor_set = Some(encoded);
        self
    }

    /// Adds what the Java types in the declarations of the methods are made of.
    pub fn with_types(mut self, types: Vec<TypeDescription>) -> Self {
        self.types = Some(types.into());
        self
    }

    /// The same methods under another interface name, such as the Java name of a proto service.
    pub fn with_interface(mut self, interface: impl Into<Cow<'static, str>>) -> Self {
        self.interface = interface.into();
        self
    }

    /// The interface's full name.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The group that the definition wants.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The version that the definition wants.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether its messages are hessian values, because it was not made from a proto file. A service has one kind of
    /// methods of its own.
    pub fn is_java(&self) -> bool {
        self.methods
            .first()
            .is_some_and(|method| method.java.is_some())
    }

    /// The names of the interface's own methods, each once: without those that every service has, which begin with `$`.
    pub fn method_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::with_capacity(self.methods.len());
        for method in &*self.methods {
            if !method.name.starts_with('$') && !names.contains(&&*method.name) {
                names.push(&method.name);
            }
        }
        names
    }

    /// The methods in the order of the definition.
    pub fn methods(&self) -> &[MethodDescriptor] {
        &self.methods
    }

    /// What the Java types in the declarations of the methods are made of; nothing for an interface of a proto file.
    pub fn types(&self) -> &[TypeDescription] {
        self.types.as_deref().unwrap_or_default()
    }

    /// The encoded `google.protobuf.FileDescriptorSet`, when the interface came from a proto file.
    pub fn file_descriptor_set(&self) -> Option<&'static [u8]> {
        self.file_descriptor_set
    }
}

/// A method of a known service; cheap to clone.
#[derive(Clone)]
pub struct MethodRef {
    service: Arc<ServiceDescriptor>,
    index: u32,
}

impl MethodRef {
    /// The method at `index` of `service`.
    ///
    /// # Panics
    ///
    /// When `service` has no such method: generated code and [`ServiceDescriptor::find`] never ask for one.
    pub fn new(service: Arc<ServiceDescriptor>, index: usize) -> Self {
        assert!(
            index < service.methods.len(),
            "{} has no method {index}",
            service.interface
        );
        let index = u32::try_from(index).expect("invariant: a service has fewer than 2^32 methods");
        Self { service, index }
    }

    /// Its position in [`ServiceDescriptor::methods`]: the key of per-method tables.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The service that it belongs to.
    pub fn service(&self) -> &Arc<ServiceDescriptor> {
        &self.service
    }

    /// Its descriptor.
    pub fn descriptor(&self) -> &MethodDescriptor {
        &self.service.methods[self.index()]
    }

    /// Its name on the wire.
    pub fn name(&self) -> &str {
        &self.descriptor().name
    }

    /// Which of its sides are streams.
    pub fn kind(&self) -> CallKind {
        self.descriptor().kind
    }
}

impl fmt::Debug for MethodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.service.interface, self.name())
    }
}
