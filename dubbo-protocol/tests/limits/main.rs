//! What peers cannot do to a Triple server (`docs/spec/triple.md` §9.5): each attack has its answer, costs little memory, and
//! leaves the calls of others alone.
//!
//! The server is another process, so that what it holds can be told from what its attackers hold: see [`process`].

mod ages;
mod backpressure;
mod connections;
mod floods;
mod headers;
mod messages;
mod process;
mod requests;
mod service;
