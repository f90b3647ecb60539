//! A configuration that changes while calls run (`docs/spec/config.md` §1.5): what comes into force, how soon, and that no
//! call fails of it.

mod accepted;
mod center;
mod consumer;
mod files;
mod log;
mod provider;
mod rig;
#[cfg(any(feature = "etcd", feature = "nacos", feature = "zookeeper"))]
mod servers;
