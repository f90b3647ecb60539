//! TLS on Triple's port: who gets through, and files that are replaced while calls run.

mod peers;
mod rotation;
mod support;
