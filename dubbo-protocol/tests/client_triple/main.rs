//! The consumer's side of Triple against scripted peers.

mod answers;
mod connections;
mod dialects;
mod goaway;
mod requests;
mod scripts;
mod streams;
mod support;
