//! Replays what other implementations said over the classic protocol, `dubbo`. `interop/replay/dubbo.tsv` says for every
//! record what has to come of it.
//!
//! What was sent by hand, to see what a peer does with it, is compared where the protocol is tested.

mod calls;
mod client_side;
mod reading;
mod server_side;
