//! Plugins of a company's own. A program that links this crate, by `use acme_dubbo as _;`, can say `loadbalance: thrifty` and
//! `cluster: apologetic` in its configuration; nothing of the framework has to be changed.

mod apologetic;
mod thrifty;

pub use apologetic::Apologetic;
pub use thrifty::Thrifty;
