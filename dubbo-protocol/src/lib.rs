//! How calls travel: Triple over HTTP/2, and calls within the process.

#[doc(hidden)]
pub mod fuzzing;
mod endpoint;
mod generated;
mod injvm;
mod net;
mod triple;

pub use injvm::Injvm;
pub use triple::TripleProtocol;
