//! What a filter keeps for each method of the service that it stands before.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, OnceLock},
};

use dubbo_core::{
    extension::BoxError,
    service::{MethodRef, ServiceDescriptor},
    url::Url,
};

/// What a URL says for each method, read once.
#[derive(Debug)]
pub(super) struct PerMethod<T> {
    named: HashMap<Box<str>, T>,
    other: T,
}

impl<T> PerMethod<T> {
    /// Reads with `read`, which gets the name of a method; an empty one stands for all that are not named by the URL.
    ///
    /// # Errors
    ///
    /// Those of `read`.
    pub(super) fn read(
        url: &Url,
        read: impl Fn(&str) -> Result<T, BoxError>,
    ) -> Result<Self, BoxError> {
        let listed = url.param("methods").unwrap_or_default().split(',');
        let mut names: BTreeSet<&str> = listed.map(str::trim).collect();
        // A rule may name others, with what belongs to them alone.
        names.extend(url.params().filter_map(|(key, _)| {
            let (name, _) = key.strip_prefix("methods.")?.split_once('.')?;
            Some(name)
        }));
        names.retain(|name| !name.is_empty() && *name != "*");
        let all = names.into_iter().map(|name| Ok((name.into(), read(name)?)));
        Ok(Self {
            named: all.collect::<Result<_, BoxError>>()?,
            other: read("")?,
        })
    }

    /// What holds for `method`.
    pub(super) fn get(&self, method: &MethodRef) -> &T {
        self.named.get(method.name()).unwrap_or(&self.other)
    }
}

/// One `T` for each method of the service that is called first; methods of any other share one.
#[derive(Debug)]
pub(super) struct ByMethod<T>(OnceLock<Made<T>>);

#[derive(Debug)]
struct Made<T> {
    service: Arc<ServiceDescriptor>,
    methods: Box<[T]>,
    other: T,
}

impl<T> ByMethod<T> {
    pub(super) fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The one of `method`. All are made with the first call, each by its name.
    pub(super) fn get(&self, method: &MethodRef, make: impl Fn(&str) -> T) -> &T {
        let all = self.0.get_or_init(|| {
            let methods = method.service().methods().iter();
            Made {
                service: Arc::clone(method.service()),
                methods: methods.map(|method| make(&method.name)).collect(),
                other: make("*"),
            }
        });
        let own = Arc::ptr_eq(&all.service, method.service());
        let own = own.then(|| all.methods.get(method.index())).flatten();
        own.unwrap_or(&all.other)
    }
}
