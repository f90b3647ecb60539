//! Why a value could not be written or read.

mod decode;
mod encode;

pub use decode::DecodeError;
pub(crate) use decode::Problem;
pub use encode::EncodeError;
