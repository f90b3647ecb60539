//! Plugins by name: what is linked into the program, and what an instance adds or replaces.
//!
//! A crate submits its plugins with [`extension!`](crate::extension!); the table of them is the only thing in the
//! process that is global, and nothing changes it. Everything else belongs to an [`Extensions`] value.
//!
//! A crate whose plugins should be linked must be named in the program's code, not only in its manifest: write
//! `use my_plugins as _;`, or the linker leaves the whole crate out without a word.
//!
//! Plugins of one instance can have something in common without knowing each other, such as the listening ports that
//! protocols share: each asks for it by its type, with [`ExtensionContext::shared`].

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use parking_lot::Mutex;

use crate::{
    cluster::{Cluster, LoadBalance, Merger, Mock, Router},
    config_center::ConfigCenter,
    discovery::{InstanceCustomizer, InstanceListFilter, ServiceDiscovery},
    filter::{ClusterFilter, Filter},
    metadata::{MetadataParamsFilter, MetadataReport},
    protocol::Protocol,
    registry::Registry,
    url::Url,
};

/// A kind of plugin: implemented for the trait object, as `impl ExtensionPoint for dyn Filter`.
///
/// Any crate may add a kind of its own.
pub trait ExtensionPoint: Send + Sync + 'static {
    /// What messages call it, such as `filter`.
    const KIND: &'static str;
}

/// What a plugin may look at while it is made.
#[derive(Debug, Clone, Copy)]
pub struct ExtensionContext<'a> {
    /// What it is made for: the URL of a service, a reference, a registry.
    pub url: &'a Url,
    /// The other plugins.
    pub extensions: &'a Extensions,
}

impl ExtensionContext<'_> {
    /// The one `T` that all plugins of this instance share: [`Extensions::shared`].
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        self.extensions.shared()
    }
}

/// An error of a plugin while it is made.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Makes one plugin. It must be quick: connecting is for an async method later.
pub type Make<T> = fn(&ExtensionContext<'_>) -> Result<Arc<T>, BoxError>;

type SharedMake<T> = Arc<dyn Fn(&ExtensionContext<'_>) -> Result<Arc<T>, BoxError> + Send + Sync>;

/// The plugins of one instance: those that are linked, and those added by hand.
///
/// A clone has its own plugins from then on, and shares what plugins [share](Self::shared).
#[derive(Clone, Default)]
pub struct Extensions {
    by_kind: BTreeMap<&'static str, Kind>,
    shared: Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>,
}

#[derive(Clone)]
struct Kind {
    point: TypeId,
    by_name: BTreeMap<String, Entry>,
}

#[derive(Clone)]
struct Entry {
    /// The name it goes by, whatever alias leads to it.
    name: &'static str,
    alias: bool,
    make: Arc<dyn Any + Send + Sync>,
}

impl Extensions {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// All that are linked into the program.
    ///
    /// # Errors
    ///
    /// Two plugins of one kind have one name.
    pub fn linked() -> Result<Self, ExtensionError> {
        let mut all = Self::none();
        for registration in inventory::iter::<Registration> {
            let (point, kind) = (registration.kind)();
            let make: Arc<dyn Any + Send + Sync> = (registration.make)().into();
            for (index, &name) in registration.names.iter().enumerate() {
                let entry = Entry {
                    name: registration.names[0],
                    alias: index > 0,
                    make: Arc::clone(&make),
                };
                if !all.insert(point, kind, name, entry) {
                    return Err(ExtensionError::Duplicate {
                        kind,
                        name: name.to_owned(),
                    });
                }
            }
        }
        Ok(all)
    }

    /// Adds a plugin to this value alone, or replaces the one of that name.
    pub fn register<T: ?Sized + ExtensionPoint>(
        &mut self,
        name: &'static str,
        make: impl Fn(&ExtensionContext<'_>) -> Result<Arc<T>, BoxError> + Send + Sync + 'static,
    ) {
        let make: SharedMake<T> = Arc::new(make);
        let entry = Entry {
            name,
            alias: false,
            make: Arc::new(make),
        };
        if let Some(kind) = self.by_kind.get_mut(T::KIND) {
            kind.by_name.remove(&name.to_ascii_lowercase());
        }
        self.insert(TypeId::of::<T>(), T::KIND, name, entry);
    }

    /// Makes the plugin called `name`, in any case, for `url`.
    ///
    /// # Errors
    ///
    /// No such plugin is linked (the error lists those that are), or it could not be made.
    pub fn create<T: ?Sized + ExtensionPoint>(
        &self,
        name: &str,
        url: &Url,
    ) -> Result<Arc<T>, ExtensionError> {
        let entry = self.find::<T>(name)?;
        let context = ExtensionContext {
            url,
            extensions: self,
        };
        let made = match entry.make.downcast_ref::<SharedMake<T>>() {
            Some(make) => make(&context),
            None => match entry.make.downcast_ref::<Make<T>>() {
                Some(make) => make(&context),
                None => Err("it was registered with a maker of another kind".into()),
            },
        };
        made.map_err(|source| ExtensionError::Make {
            kind: T::KIND,
            name: name.to_owned(),
            source,
        })
    }

    /// The name that the plugin called `name`, in any case or by an alias, goes by.
    ///
    /// # Errors
    ///
    /// No such plugin is linked.
    pub fn canonical<T: ?Sized + ExtensionPoint>(
        &self,
        name: &str,
    ) -> Result<&'static str, ExtensionError> {
        self.find::<T>(name).map(|entry| entry.name)
    }

    /// Whether a plugin is called `name`, in any case.
    pub fn contains<T: ?Sized + ExtensionPoint>(&self, name: &str) -> bool {
        self.kind::<T>()
            .is_some_and(|kind| kind.by_name.contains_key(&name.to_ascii_lowercase()))
    }

    /// The names of one kind, sorted, without aliases.
    pub fn names<T: ?Sized + ExtensionPoint>(&self) -> Vec<&'static str> {
        self.kind::<T>()
            .into_iter()
            .flat_map(|kind| kind.by_name.values())
            .filter(|entry| !entry.alias)
            .map(|entry| entry.name)
            .collect()
    }

    /// The one `T` that all plugins made by this value and its clones share: the default of its type, made when it is
    /// first asked for, unless one was [put there](Self::share) before. It lives as long as these values.
    ///
    /// Two instances have nothing in common: each starts from [`linked`](Self::linked) or [`none`](Self::none).
    ///
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let shared = Arc::clone(
            self.shared
                .lock()
                .entry(TypeId::of::<T>())
                .or_insert_with(|| Arc::new(T::default())),
        );
        typed(shared)
    }

    /// Makes `value` the one that is shared, for plugins that ask from now on. Those that have asked keep what they got,
    /// so this comes before any plugin is made.
    pub fn share<T: Default + Send + Sync + 'static>(&self, value: T) {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
        self.shared.lock().insert(TypeId::of::<T>(), value);
    }

    fn find<T: ?Sized + ExtensionPoint>(&self, name: &str) -> Result<&Entry, ExtensionError> {
        self.kind::<T>()
            .and_then(|kind| kind.by_name.get(&name.to_ascii_lowercase()))
            .ok_or_else(|| ExtensionError::Unknown {
                kind: T::KIND,
                name: name.to_owned(),
                linked: self.names::<T>(),
            })
    }

    fn kind<T: ?Sized + ExtensionPoint>(&self) -> Option<&Kind> {
        self.by_kind
            .get(T::KIND)
            .filter(|kind| kind.point == TypeId::of::<T>())
    }

    /// Whether there was room: the name was free.
    fn insert(&mut self, point: TypeId, kind: &'static str, name: &str, entry: Entry) -> bool {
        let kind = self.by_kind.entry(kind).or_insert_with(|| Kind {
            point,
            by_name: BTreeMap::new(),
        });
        match kind.by_name.entry(name.to_ascii_lowercase()) {
            std::collections::btree_map::Entry::Occupied(_) => false,
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(entry);
                true
            }
        }
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self
            .by_kind
            .iter()
            .map(|(kind, entries)| (kind, entries.by_name.keys().collect::<Vec<_>>()));
        f.debug_map().entries(kinds).finish()
    }
}

fn typed<T: Send + Sync + 'static>(shared: Arc<dyn Any + Send + Sync>) -> Arc<T> {
    shared
        .downcast()
        .expect("invariant: a value is kept under its own type")
}

/// A plugin that cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionError {
    /// Two linked plugins of one kind have one name.
    #[error("two {kind}s are called `{name}`; names are compared without case")]
    Duplicate {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// The plugin refused to be made.
    #[error("cannot make the {kind} `{name}`: {source}")]
    Make {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
        /// Its reason.
        source: BoxError,
    },
    /// Nothing of that name is linked.
    #[error("no {kind} is called `{name}`; linked: {linked:?}")]
    Unknown {
        /// The kind.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        linked: Vec<&'static str>,
    },
}

/// One submission to the table of linked plugins. Made by [`extension!`](crate::extension!) alone.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registration {
    #[doc(hidden)]
    pub kind: fn() -> (TypeId, &'static str),
    #[doc(hidden)]
    pub names: &'static [&'static str],
    #[doc(hidden)]
    pub make: fn() -> Box<dyn Any + Send + Sync>,
}

inventory::collect!(Registration);

/// Links a plugin: `extension!(dyn Filter, "stamp", |cx| Ok(Arc::new(Stamp)))`. Further names are aliases:
/// `extension!(dyn LoadBalance, "consistenthashing" | "consistenthash", …)`.
#[macro_export]
macro_rules! extension {
    (dyn $point:path, $name:literal $(| $alias:literal)*, $make:expr $(,)?) => {
        $crate::extension::expanded::submit! {
            $crate::extension::Registration {
                kind: || {
                    (
                        ::std::any::TypeId::of::<dyn $point>(),
                        <dyn $point as $crate::extension::ExtensionPoint>::KIND,
                    )
                },
                names: &[$name $(, $alias)*],
                make: || {
                    let make: $crate::extension::Make<dyn $point> = $make;
                    ::std::boxed::Box::new(make)
                },
            }
        }
    };
}

/// What [`extension!`](crate::extension!) expands to.
#[doc(hidden)]
pub mod expanded {
    pub use inventory::submit;
}

macro_rules! points {
    ($($point:ident => $kind:literal,)*) => {
        $(impl ExtensionPoint for dyn $point {
            const KIND: &'static str = $kind;
        })*
    };
}

points! {
    Cluster => "cluster",
    ClusterFilter => "cluster filter",
    ConfigCenter => "config center",
    Filter => "filter",
    InstanceCustomizer => "instance customizer",
    InstanceListFilter => "instance list filter",
    LoadBalance => "load balance",
    Merger => "merger",
    MetadataParamsFilter => "metadata params filter",
    MetadataReport => "metadata report",
    Mock => "mock",
    Protocol => "protocol",
    Registry => "registry",
    Router => "router",
    ServiceDiscovery => "service discovery",
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        filter::Next,
        invocation::{Invocation, RpcResult},
    };

    struct Pass;

    #[async_trait::async_trait]
    impl Filter for Pass {
        async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
            next.run(invocation).await
        }
    }

    crate::extension!(dyn Filter, "Pass" | "let-through", |_cx| Ok(Arc::new(Pass)));

    fn url() -> Url {
        Url::new("tri", "localhost")
    }

    #[test]
    fn names_are_found_in_any_case_and_by_alias() {
        let all = Extensions::linked().expect("no duplicates");
        for name in ["Pass", "pass", "PASS", "Let-Through"] {
            assert!(all.create::<dyn Filter>(name, &url()).is_ok(), "{name}");
        }
        assert_eq!(all.names::<dyn Filter>(), ["Pass"]);
    }

    #[test]
    fn an_unknown_name_lists_what_is_linked() {
        let all = Extensions::linked().expect("no duplicates");
        let error = all
            .create::<dyn Filter>("nope", &url())
            .err()
            .expect("unknown");
        assert_eq!(
            error.to_string(),
            r#"no filter is called `nope`; linked: ["Pass"]"#
        );
        let error = all
            .create::<dyn Cluster>("nope", &url())
            .err()
            .expect("unknown");
        assert_eq!(error.to_string(), "no cluster is called `nope`; linked: []");
    }

    #[test]
    fn a_name_can_be_taken_once_among_linked_plugins() {
        let mut all = Extensions::linked().expect("no duplicates");
        let entry = all.kind::<dyn Filter>().expect("linked").by_name["pass"].clone();
        assert!(!all.insert(TypeId::of::<dyn Filter>(), "filter", "PASS", entry));
    }

    #[test]
    fn one_instances_plugins_are_not_anothers() {
        let mut one = Extensions::linked().expect("no duplicates");
        let other = one.clone();
        one.register::<dyn Filter>("mine", |_cx| Ok(Arc::new(Pass)));
        one.register::<dyn Filter>("pass", |_cx| Err("replaced".into()));
        assert!(one.contains::<dyn Filter>("Mine") && !other.contains::<dyn Filter>("mine"));
        let error = one
            .create::<dyn Filter>("pass", &url())
            .err()
            .expect("refuses");
        assert_eq!(error.to_string(), "cannot make the filter `pass`: replaced");
        assert!(other.create::<dyn Filter>("pass", &url()).is_ok());
    }

    #[test]
    fn plugins_of_one_instance_share_one_value_of_a_type() {
        #[derive(Default)]
        struct Count(Mutex<u32>);

        let mut one = Extensions::none();
        one.register::<dyn Filter>("counts", |cx| {
            *cx.shared::<Count>().0.lock() += 1;
            Ok(Arc::new(Pass))
        });
        one.share(Count(Mutex::new(10)));
        let clone = one.clone();
        for extensions in [&one, &clone] {
            let made = extensions.create::<dyn Filter>("counts", &url());
            assert!(made.is_ok());
        }
        assert_eq!(*one.shared::<Count>().0.lock(), 12);
        assert_eq!(*one.shared::<Mutex<u8>>().lock(), 0, "another type");
        let other = Extensions::none();
        assert_eq!(*other.shared::<Count>().0.lock(), 0, "another instance's");
    }
}
