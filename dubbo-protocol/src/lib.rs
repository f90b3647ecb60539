//! How calls travel: Triple over HTTP/2, and calls within the process.

mod catalog;
mod dubbo;
mod endpoint;
#[doc(hidden)]
pub mod fuzzing;
mod generated;
mod injvm;
pub mod java;
mod net;
mod pushback;
mod servers;
mod triple;

pub use dubbo::DubboProtocol;
pub use injvm::Injvm;
pub use triple::TripleProtocol;
