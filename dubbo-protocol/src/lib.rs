//! How calls travel: Triple over HTTP, the classic protocol, and calls within the process; and what stands before and
//! behind them by name, the [filters](filter).

mod catalog;
mod dubbo;
mod endpoint;
pub mod filter;
#[doc(hidden)]
pub mod fuzzing;
mod generated;
mod injvm;
pub mod java;
mod net;
mod pushback;
pub mod qos;
mod reject;
mod servers;
mod triple;

pub use dubbo::DubboProtocol;
pub use injvm::Injvm;
pub use triple::ranges as triple_ranges;
pub use triple::{
    BadCorsSetting, Compression, CorsSettings, TripleDialect, TripleProtocol, UnknownCompression,
    UnknownDialect,
};
