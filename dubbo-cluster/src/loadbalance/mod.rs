//! Which of several providers takes a call.
//!
//! | name | picks |
//! |---|---|
//! | [`random`](Random) | by chance, in proportion to the weights |
//! | [`roundrobin`](RoundRobin) | in turn, in proportion to the weights, spread out |
//! | [`interleavedweightedroundrobin`](InterleavedRoundRobin) | in turn, in proportion to the weights, in rounds |
//! | [`aliasmethod`](AliasMethod) | as `random`, from a table |
//! | [`leastactive`](LeastActive) | who carries the fewest calls |
//! | [`shortestresponse`](ShortestResponse) | who is expected to answer first |
//! | [`p2c`](PowerOfTwo) | of two, who has more room |
//! | [`adaptive`](Adaptive) | of two, who does better |
//! | [`consistenthashing`](ConsistentHash), `consistenthash` | who owns the arguments on a ring |
//!
//! All read weights with warm-up and scores applied ([`Node::effective_weight`](dubbo_core::cluster::Node)), and a
//! provider of weight 0 is picked only when nobody has a weight; the ring knows no weights.

mod adaptive;
mod alias;
mod chance;
mod clock;
mod draw;
mod hash;
mod interleaved;
mod least;
mod least_active;
mod methods;
mod p2c;
mod prepared;
mod random;
mod round_robin;
mod shortest_response;
mod smooth_weighted;

pub use adaptive::Adaptive;
pub use alias::AliasMethod;
pub(crate) use chance::Chance;
pub use clock::Clock;
pub use hash::ConsistentHash;
pub use interleaved::InterleavedRoundRobin;
pub use least_active::LeastActive;
pub use p2c::PowerOfTwo;
pub use random::Random;
pub use round_robin::RoundRobin;
pub use shortest_response::ShortestResponse;
pub use smooth_weighted::{FORGET_AFTER, SmoothWeighted};
