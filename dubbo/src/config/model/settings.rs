//! How the structs of the model are made: every field is optional, so that "not set" and "set to zero" differ, and of
//! two layers the stronger one wins field by field.

use std::collections::BTreeMap;

/// Settings that a weaker layer can complete.
pub trait Layered {
    /// Takes from `weaker` whatever is not set here. Lists are taken whole; maps are completed entry by entry.
    fn complete_from(&mut self, weaker: &Self);
}

impl<T: Clone> Layered for Option<T> {
    fn complete_from(&mut self, weaker: &Self) {
        if self.is_none() {
            self.clone_from(weaker);
        }
    }
}

impl<V: Layered + Clone> Layered for BTreeMap<String, V> {
    fn complete_from(&mut self, weaker: &Self) {
        for (key, value) in weaker {
            match self.get_mut(key) {
                Some(own) => own.complete_from(value),
                None => drop(self.insert(key.clone(), value.clone())),
            }
        }
    }
}

/// The value of a parameter: it is there, so it wins.
impl Layered for String {
    fn complete_from(&mut self, _weaker: &Self) {}
}

/// Declares a struct of settings: the struct itself, a builder method for each field, [`Layered`], and that it can be
/// [told](super::told::Told).
///
/// A field is an `Option`, a struct of settings, or a map; the builder method of a map adds one entry and is named in
/// brackets: `services[service]: BTreeMap<String, ServiceConfig>`.
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        settings!(@layered $(#[$meta])* $name { $($fields)* });

        impl $name {
            /// Nothing set.
            pub fn new() -> Self {
                Self::default()
            }

            settings!(@builder $($fields)*);
        }
    };

    (@layered $(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident $([$one:ident])? : $type:ty,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::config::Layered for $name {
            fn complete_from(&mut self, weaker: &Self) {
                $($crate::config::Layered::complete_from(&mut self.$field, &weaker.$field);)*
            }
        }

        impl $crate::config::model::told::Told for $name {
            fn tell(&self, path: &str, all: &mut Vec<(String, String)>) {
                use $crate::config::model::told::{Told, below};

                $(Told::tell(&self.$field, &below(path, stringify!($($doc)*)), all);)*
            }
        }
    };

    (@builder) => {};
    (@builder $(#[$doc:meta])* $field:ident: Option<String>, $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $field(mut self, $field: impl Into<String>) -> Self {
            self.$field = Some($field.into());
            self
        }
        settings!(@builder $($rest)*);
    };
    (@builder $(#[$doc:meta])* $field:ident: Option<Secret>, $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $field(mut self, $field: impl Into<Secret>) -> Self {
            self.$field = Some($field.into());
            self
        }
        settings!(@builder $($rest)*);
    };
    (@builder $(#[$doc:meta])* $field:ident: Option<Vec<String>>, $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $field(mut self, $field: impl IntoIterator<Item = impl Into<String>>) -> Self {
            self.$field = Some($field.into_iter().map(Into::into).collect());
            self
        }
        settings!(@builder $($rest)*);
    };
    (@builder $(#[$doc:meta])* $field:ident: Option<$type:ty>, $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = Some($field);
            self
        }
        settings!(@builder $($rest)*);
    };
    (@builder $(#[$doc:meta])* $field:ident[$one:ident]: BTreeMap<String, $type:ty>, $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $one(mut self, key: impl Into<String>, value: impl Into<$type>) -> Self {
            self.$field.insert(key.into(), value.into());
            self
        }
        settings!(@builder $($rest)*);
    };
    (@builder $(#[$doc:meta])* $field:ident: $type:ty, $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
        settings!(@builder $($rest)*);
    };
}

pub(super) use settings;
