//! The macros of the framework.
