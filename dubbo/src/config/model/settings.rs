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

/// Declares a struct of settings: the struct itself, a builder method for each field, and [`Layered`].
///
/// A field is an `Option`, a struct of settings, or a map, declared as `one of: many: BTreeMap<String, V>` where `one`
/// names the builder method that adds an entry.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $($fields:tt)* }
    ) => {
        settings!(@struct [$(#[$meta])*] $name {} $($fields)*);
        impl $name {
            /// Nothing set.
            pub fn new() -> Self {
                Self::default()
            }

            settings!(@builder $($fields)*);
        }
    };

    // The struct: fields are collected one by one, because a map has two names.
    (@struct [$($meta:tt)*] $name:ident { $($done:tt)* }) => {
        $($meta)*
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $name { $($done)* }
    };
}
