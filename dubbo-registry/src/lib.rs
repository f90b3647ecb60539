//! Where providers are found: the registries that are built in.
