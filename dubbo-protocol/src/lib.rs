//! How calls travel: Triple over HTTP/2, and calls within the process.

mod generated;
mod net;
mod triple;

pub use triple::TripleProtocol;
