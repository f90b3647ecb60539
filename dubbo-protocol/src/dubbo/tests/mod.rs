//! The codec against the vectors of the specification and against recorded traffic.

mod bodies;
mod frames;
mod golden;
mod vectors;

use dubbo_hessian2::DecodeOptions;

static OPTIONS: DecodeOptions = DecodeOptions::DEFAULT;
