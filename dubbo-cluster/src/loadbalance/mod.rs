//! Which of several providers takes a call.

mod clock;
mod random;
mod round_robin;
mod smooth_weighted;

pub use clock::Clock;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use smooth_weighted::{FORGET_AFTER, SmoothWeighted};
