//! Test support: a kit for tests of programs, scripted peers, and the suites that every plugin passes.
//!
//! - [`kit`]: a service that answers as a test says, and faults in front of one that works.
//! - [`peer::dubbo`]: either end of the classic protocol, which sends exactly what a test says.
//! - [`peer::h2`]: both ends of HTTP/2, able to send what no well-behaved peer would.
//! - [`attack`]: what a peer does that means harm, against any address.
//! - [`nacos`]: a Nacos server that can be stopped, frozen and looked into.
//! - [`center`]: a config center that holds what a test says.
//! - [`certificates`]: an authority and what it issues, as the files that TLS settings name.
//! - [`suite`]: what every plugin of a kind does, such as every [`Registry`](dubbo_core::registry::Registry), as tests.
//! - [`alloc`]: how much a piece of code allocates.
//!
//! A failed expectation panics, as in any test. Nothing here waits for ever: what does not happen within
//! [`PATIENCE`] of tokio's clock is a panic that says what was waited for.

#![expect(
    clippy::missing_panics_doc,
    reason = "tests fail by panicking; each function here does so when its peer does not do what it says"
)]

pub mod alloc;
pub mod attack;
pub mod center;
pub mod certificates;
pub mod kit;
pub mod logs;
pub mod metrics;
pub mod nacos;
pub mod peer;
pub mod suite;

use std::time::Duration;

/// How long a test waits for something that must happen.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must happen; `what` is for the panic when it does not.
pub async fn soon<T>(what: &str, event: impl IntoFuture<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, event).await;
    waited.unwrap_or_else(|_| panic!("waited {PATIENCE:?} in vain for {what}"))
}
