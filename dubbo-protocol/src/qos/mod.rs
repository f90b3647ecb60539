//! The port for operators (`docs/spec/config.md` §4.5, §6.2): HTTP/1.1 and lines of a telnet on one port.
//!
//! What is answered is not known here: [`Routes`] has the pages, each an [`HttpHandler`](dubbo_core::http::HttpHandler), and
//! the [`Shell`] that answers lines. A connection whose first byte is a capital letter speaks HTTP; every other one, and one
//! that is silent for half a second, is talked to in lines. There is room for few connections, each request and answer is
//! bounded in size and time, and no connection is kept.

mod call;
pub(crate) mod fuzzing;
mod http;
mod lines;
mod listener;
mod routes;
mod telnet;

pub use self::{
    call::call_json,
    listener::Listener,
    routes::{Routes, Said, Shell},
};

pub use crate::net::{Connection, connections};

#[cfg(test)]
mod tests;
