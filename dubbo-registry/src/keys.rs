//! Parameters of a registry's URL that all kinds of registries have.

use dubbo_core::url::Key;

/// Whether the last list stays when a registry says that nobody is left.
pub(crate) const EMPTY_PROTECTION: Key<bool> = Key {
    name: "enable-empty-protection",
    default: || false,
};
