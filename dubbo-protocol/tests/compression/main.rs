//! Compressed messages as peers see them (`docs/spec/triple.md` §8): bytes on the wire, tonic on the other side, and both
//! sides ours.

mod answers;
mod bombs;
mod ours;
mod plain_http;
mod requests;
mod support;
mod tonic_client;
mod tonic_codec;
mod tonic_server;
