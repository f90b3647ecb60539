//! The Dubbo-compatible RPC framework for Rust: what a service depends on.
