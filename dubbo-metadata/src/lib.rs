//! Application-level discovery: the registry knows which instances of an application are alive, metadata knows what they
//! serve.
//!
//! `docs/spec/metadata.md`. A provider describes all that it exports in one [`MetadataInfo`](model::MetadataInfo), names
//! it by a revision and registers one instance with that revision. A consumer finds the applications of an interface by
//! the mapping, watches their instances, and fetches the metadata of each revision once.
//!
//! ```
//! use dubbo_metadata::{
//!     model::{MetadataInfo, ParamsFilter, ServiceInfo},
//!     revision::Algorithm,
//! };
//!
//! let url = "tri://10.0.0.1:50051/greet.Greeter?application=demo&methods=greet&pid=7".parse()?;
//! let service = ServiceInfo::of_url(&url, &ParamsFilter::default());
//! let info = MetadataInfo::new("demo", [service.into()], Algorithm::R1);
//!
//! assert!(info.services.contains_key("greet.Greeter:tri"));
//! assert_eq!(info.revision, "ca383da8c459ea1dc65339f1e0b6b0fe");
//! assert_eq!(MetadataInfo::from_json(&info.to_json())?, info);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! * [`model`] and [`revision`]: what is served, and its digest.
//! * [`instance`]: what an instance says about itself in a registry.
//! * [`provider`] and [`published`]: keeping both in step with what is exported, and answering for it.
//! * [`mapping`]: which applications provide an interface.
//! * [`definition`]: what the methods of services take and give, for consoles.
//! * [`consumer`]: from an interface to the addresses of its providers.
//! * [`cache`]: what a consumer knows, for the next time and the next start.
//!
//! It knows no backend and no wire: registries and reports are traits of `dubbo-core`, and a call to the metadata service
//! of an instance is [`consumer::Fetch`].

pub mod cache;
pub mod clock;
pub mod consumer;
pub mod definition;
pub mod error;
pub mod instance;
mod jitter;
pub mod mapping;
pub mod model;
pub mod openapi;
pub mod provider;
pub mod published;
mod push;
mod renewal;
mod reports;
pub mod revision;
