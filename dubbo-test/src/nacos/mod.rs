//! A Nacos 2 server in the process of a test, which does what Nacos 2.5.1 was seen to do.
//!
//! `docs/spec/nacos-2.5.1.md` is the authority. A [`ScriptedNacos`] speaks gRPC (naming and config) and answers logins
//! over HTTP; clients are real, such as nacos-sdk. What tests cannot do to a real server is done to this one: it is
//! [stopped](ScriptedNacos::stop), [started slowly](ScriptedNacos::starting) and [frozen](ScriptedNacos::freeze), its
//! [times](Delays) are changed, and [other clients](Client) appear in it. All that it knows and all that was said can be
//! looked at.
//!
//! Clients have clocks of their own, so its times are real: a test with tokio's clock paused has no use for it. It is one
//! node, it knows no other HTTP call, no gray releases of configs, and no fuzzy watches.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use dubbo_test::nacos::{Instance, ScriptedNacos, ServiceKey};
//!
//! let nacos = ScriptedNacos::start().await;
//! let service = ServiceKey::new("", "DEFAULT_GROUP", "greet");
//! let other = nacos.client();
//! other.register(&service, [Instance::at("10.0.0.1", 20880)]);
//! assert_eq!(nacos.addresses(&service), ["10.0.0.1:20880"]);
//! drop(other);
//! assert!(nacos.registered(&service).is_empty());
//! # }
//! ```

mod answer;
mod auth;
mod client;
mod config;
mod delays;
mod gate;
mod grpc;
mod handler;
mod http;
mod inspect;
mod instance;
mod key;
mod limits;
mod naming;
mod ports;
mod requests;
mod server;
mod service_info;
mod state;
#[cfg(test)]
mod tests;
mod traffic;
mod wire;

pub use client::Client;
pub use config::Config;
pub use delays::Delays;
pub use inspect::{Registration, Subscriber};
pub use instance::Instance;
pub use key::{ConfigKey, ConnectionId, ServiceKey};
pub use server::ScriptedNacos;
pub use traffic::{Message, Sender};
