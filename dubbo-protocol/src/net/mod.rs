//! Sockets: taking connections in, and seeing what they speak. Protocols are elsewhere.

mod accept;
mod preface;

pub(crate) use accept::accept_until;
pub(crate) use preface::{Opened, Preface, open};
