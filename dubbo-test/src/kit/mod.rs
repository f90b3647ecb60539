//! For tests of programs that use the framework: a service that answers as a test says, and faults in front of one that
//! works.
//!
//! A [`Script`] says what the calls of each method meet, in the order in which they come. It stands in for a whole service
//! ([`Script::service`]), or in a chain of filters before whoever would answer ([`Filter`](dubbo_core::filter::Filter)), on
//! the provider or on the consumer:
//!
//! ```
//! # use std::{sync::Arc, time::Duration};
//! # use dubbo_core::{filter::Filter, extension::{BoxError, ExtensionContext}, status::Status};
//! use dubbo_test::kit::Script;
//!
//! let script = Script::new();
//! script.on("Greet").fails(Status::unavailable("down")).times(2).passes();
//! script.on("GreetMany").after(Duration::from_millis(300)).hangs();
//! // As a plugin called `faults`, for `filter: faults` in a configuration:
//! let plugin = move |_: &ExtensionContext<'_>| Ok::<Arc<dyn Filter>, BoxError>(Arc::new(script.clone()));
//! # let _ = plugin;
//! ```
//!
//! `docs/testing.md` shows whole tests.

mod script;
mod steps;

pub use self::{
    script::{Script, Seen},
    steps::Steps,
};
