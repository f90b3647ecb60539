//! What a cluster knows about one reference.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use super::LoadBalance;
use crate::{
    extension::Extensions,
    service::{MethodDescriptor, MethodRef, ServiceDescriptor, ServiceKey},
    url::Url,
};

/// What a cluster needs to know about one reference.
#[non_exhaustive]
pub struct ClusterConfig {
    /// The service it refers to.
    pub service: ServiceKey,
    /// The consumer's URL, with the rules applied that override it: where a cluster finds options of its own, with
    /// [`per_method`](Self::per_method).
    pub url: Url,
    /// The plugins of the instance, and what they share.
    pub extensions: Extensions,
    descriptor: Arc<ServiceDescriptor>,
    methods: PerMethod<MethodConfig>,
}

impl ClusterConfig {
    /// `default` for every method of `descriptor`, but for those in `methods`, by name.
    pub fn new(
        service: ServiceKey,
        descriptor: &Arc<ServiceDescriptor>,
        url: Url,
        default: MethodConfig,
        methods: &HashMap<String, MethodConfig>,
    ) -> Self {
        let of = |method: &MethodDescriptor| methods.get(&*method.name).unwrap_or(&default).clone();
        Self {
            service,
            url,
            extensions: Extensions::none(),
            methods: PerMethod {
                methods: descriptor.methods().iter().map(of).collect(),
                default,
            },
            descriptor: Arc::clone(descriptor),
        }
    }

    /// The same in an instance with these plugins; without them it is in one of its own.
    pub fn with_extensions(self, extensions: Extensions) -> Self {
        Self { extensions, ..self }
    }

    /// The options of `method`.
    pub fn method(&self, method: &MethodRef) -> &MethodConfig {
        self.methods.get(method)
    }

    /// What the service can do.
    pub fn descriptor(&self) -> &Arc<ServiceDescriptor> {
        &self.descriptor
    }

    /// A value for each method, made once, so that calls parse nothing: `read` is given the name of a method and finds its
    /// options with [`Url::get_for`] in [`url`](Self::url). It is also asked for the empty name, which stands for methods
    /// that the service does not know.
    ///
    /// # Errors
    ///
    /// The first of `read`.
    pub fn per_method<T, E>(
        &self,
        mut read: impl FnMut(&str) -> Result<T, E>,
    ) -> Result<PerMethod<T>, E> {
        let methods = self.descriptor.methods().iter();
        Ok(PerMethod {
            methods: methods
                .map(|method| read(&method.name))
                .collect::<Result<_, E>>()?,
            default: read("")?,
        })
    }
}

impl fmt::Debug for ClusterConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterConfig")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

/// One value for each method of a service.
#[derive(Debug, Clone)]
pub struct PerMethod<T> {
    methods: Box<[T]>,
    default: T,
}

impl<T> PerMethod<T> {
    /// That of `method`.
    pub fn get(&self, method: &MethodRef) -> &T {
        self.methods.get(method.index()).unwrap_or(&self.default)
    }

    /// What `make` makes of each.
    ///
    /// # Errors
    ///
    /// The first of `make`.
    pub fn try_map<'a, U, E>(
        &'a self,
        mut make: impl FnMut(&'a T) -> Result<U, E>,
    ) -> Result<PerMethod<U>, E> {
        Ok(PerMethod {
            methods: self
                .methods
                .iter()
                .map(&mut make)
                .collect::<Result<_, E>>()?,
            default: make(&self.default)?,
        })
    }

    /// All of them, and last the one for methods that the service does not know.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.methods.iter().chain([&self.default])
    }
}

/// How calls of one method are made.
#[derive(Clone)]
pub struct MethodConfig {
    /// How long one attempt of a unary call may take; `None` is for ever.
    pub timeout: Option<Duration>,
    /// How often a failed call is tried again, if somebody says so. A negative number is one for
    /// [`retries_or`](Self::retries_or); a cluster may have a meaning for it.
    pub retries: Option<i32>,
    /// Whether calls stay with the provider that served the last one.
    pub sticky: bool,
    /// Chooses the provider.
    pub load_balance: Arc<dyn LoadBalance>,
}

impl MethodConfig {
    /// How often a failed call is tried again: `default` when nobody says, and 0 for a negative number.
    pub fn retries_or(&self, default: u32) -> u32 {
        self.retries
            .map_or(default, |retries| u32::try_from(retries).unwrap_or(0))
    }
}

impl fmt::Debug for MethodConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MethodConfig")
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("sticky", &self.sticky)
            .finish_non_exhaustive()
    }
}
