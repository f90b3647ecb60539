//! What a service is called and what it can do: its key and its methods.

use std::{borrow::Cow, fmt, str::FromStr, sync::Arc};

/// Names one exported or referenced service: interface, group and version.
///
/// Written `[group/]interface[:version]` (`docs/spec/registry.md` §1.1). Empty parts are absent parts.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceKey {
    interface: Arc<str>,
    group: Option<Arc<str>>,
    version: Option<Arc<str>>,
}

impl ServiceKey {
    /// A key without group and version.
    pub fn new(interface: impl Into<Arc<str>>) -> Self {
        Self {
            interface: interface.into(),
            group: None,
            version: None,
        }
    }

    /// The same key in `group`; an empty group is none.
    pub fn with_group(mut self, group: &str) -> Self {
        self.group = non_empty(group);
        self
    }

    /// The same key at `version`; an empty version is none.
    pub fn with_version(mut self, version: &str) -> Self {
        self.version = non_empty(version);
        self
    }

    /// The interface's full name, such as `greet.Greeter`.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The group, if there is one.
    pub fn group(&self) -> Option<&str> {
        self.group.as_deref()
    }

    /// The version, if there is one.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = &self.group {
            write!(f, "{group}/")?;
        }
        f.write_str(&self.interface)?;
        if let Some(version) = &self.version {
            write!(f, ":{version}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceKey({self})")
    }
}

impl FromStr for ServiceKey {
    type Err = ServiceKeyError;

    fn from_str(text: &str) -> Result<Self, ServiceKeyError> {
        let (group, rest) = text.split_once('/').unwrap_or(("", text));
        let (interface, version) = rest.rsplit_once(':').unwrap_or((rest, ""));
        if interface.is_empty() {
            return Err(ServiceKeyError(text.to_owned()));
        }
        Ok(Self::new(interface).with_group(group).with_version(version))
    }
}

/// A text that names no interface where `[group/]interface[:version]` is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no interface; expected `[group/]interface[:version]`")]
pub struct ServiceKeyError(String);

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
        }
    }
}

/// An interface: its name, its methods, and where it came from a proto file, the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDescriptor {
    interface: Cow<'static, str>,
    methods: Cow<'static, [MethodDescriptor]>,
    file_descriptor_set: Option<&'static [u8]>,
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
        }
    }

    /// Adds the encoded `google.protobuf.FileDescriptorSet` that reflection serves.
    pub fn with_file_descriptor_set(mut self, encoded: &'static [u8]) -> Self {
        self.file_descriptor_set = Some(encoded);
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

    /// The methods in the order of the definition.
    pub fn methods(&self) -> &[MethodDescriptor] {
        &self.methods
    }

    /// The encoded `google.protobuf.FileDescriptorSet`, when the interface came from a proto file.
    pub fn file_descriptor_set(&self) -> Option<&'static [u8]> {
        self.file_descriptor_set
    }

    /// Finds a method: by its exact name, else by its name with the first letter in the other case.
    ///
    /// `docs/spec/triple.md` §1.5: Java callers write `sayHello` where Go and proto files have `SayHello`. Nothing
    /// else is lenient, and an exact match always wins.
    pub fn find(self: &Arc<Self>, name: &str) -> Option<MethodRef> {
        let exact = self.methods.iter().position(|m| m.name == name);
        let index = exact.or_else(|| {
            self.methods
                .iter()
                .position(|m| same_but_first_letter(&m.name, name))
        })?;
        Some(MethodRef::new(Arc::clone(self), index))
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

fn non_empty(text: &str) -> Option<Arc<str>> {
    (!text.is_empty()).then(|| text.into())
}

fn same_but_first_letter(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.chars(), b.chars());
    match (a.next(), b.next()) {
        (Some(x), Some(y)) => x.to_lowercase().eq(y.to_lowercase()) && a.as_str() == b.as_str(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_back_what_it_writes() {
        for text in ["a.B", "g/a.B", "a.B:1.0", "g/a.B:1.0.0"] {
            let key: ServiceKey = text.parse().expect(text);
            assert_eq!(key.to_string(), text);
        }
        for text in ["", "g/", ":1.0", "g/:1"] {
            assert!(text.parse::<ServiceKey>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn only_the_first_letter_of_a_method_is_lenient_and_exact_wins() {
        let service = Arc::new(ServiceDescriptor::new(
            "a.B",
            ["Greet", "lowerCase", "LowerCase", "Éa"]
                .map(|name| MethodDescriptor::new(name, CallKind::Unary))
                .to_vec(),
        ));
        for (asked, found) in [
            ("Greet", Some("Greet")),
            ("greet", Some("Greet")),
            ("GREET", None),
            ("lowerCase", Some("lowerCase")),
            ("LowerCase", Some("LowerCase")),
            ("lowercase", None),
            ("éa", Some("Éa")),
            ("", None),
        ] {
            let got = service.find(asked);
            assert_eq!(got.as_ref().map(MethodRef::name), found, "{asked}");
        }
    }
}
