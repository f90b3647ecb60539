//! Attacks on whatever speaks HTTP at an address: each does what it does and gives back what it heard. What the answer
//! has to be, and what it may cost, is for the test to say.
//!
//! | module | what it does |
//! |---|---|
//! | [`bad_frames`] | has stream after stream reset by the server, and reads none of it |
//! | [`bomb`] | a small message that inflates to a large one |
//! | [`continuations`] | header blocks that never end |
//! | [`deaf`] | asks for much, and takes none of it |
//! | [`expiring`] | calls that are given up as soon as they are sent |
//! | [`flood`] | frames that cost the sender nothing |
//! | [`headers`] | too large a header, and too many |
//! | [`idle`] | connections that say too little |
//! | [`messages`] | messages that are larger than they may be, or say so |
//! | [`rapid_reset`] | streams that are reset as soon as they are opened |
//! | [`reset_connections`] | connections that are gone when they are accepted |
//! | [`slow_body`] | requests that never end |
//! | [`streams`] | more streams than are allowed |
//! | [`unknown`] | requests with bodies for what is not served |
//!
//! [`Wire`] is what most are made of: a connection that sends any bytes, and counts what it hears.

pub mod bad_frames;
pub mod bomb;
pub mod continuations;
pub mod deaf;
pub mod expiring;
pub mod flood;
pub mod headers;
pub mod idle;
pub mod messages;
pub mod rapid_reset;
pub mod reset_connections;
pub mod slow_body;
pub mod streams;
pub mod unknown;

mod blocks;
mod caller;
mod wire;

pub use self::{
    blocks::Blocks,
    caller::{Answer, Caller},
    wire::{Heard, Wire},
};
