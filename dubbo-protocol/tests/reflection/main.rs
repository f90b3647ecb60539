//! Server reflection as gRPC's clients see it (`docs/spec/triple.md` §10.2): tonic asks, with messages of its own.

mod answers;
mod client;
mod life;
mod servers;
mod services;
