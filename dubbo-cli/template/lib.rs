//! What the provider and the consumer have in common: the code that `build.rs` generates.

/// The messages, the service and its client.
pub mod greeter {
    dubbo::include_proto!("{{package}}");
}
