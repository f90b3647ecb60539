//! The registry `nacos` on a Nacos that is scripted to do what Nacos 2.5.1 was seen to do
//! (`docs/spec/nacos-2.5.1.md`), faults included.

#![cfg(feature = "nacos")]

mod generations;
mod lists;
mod logins;
mod outages;
mod services;
mod suite;
mod texts;
mod world;
