//! The metadata service over real sockets: our servers, our client, and what peers were recorded with.

mod access;
mod admin;
mod clients;
mod first;
mod recorded;
mod recordings;
mod rig;
mod servers;
