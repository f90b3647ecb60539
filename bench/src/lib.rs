//! What the measured programs share: the limits that all servers run under, which are our defaults, and how they are asked.

pub mod calls;
pub mod clock;
pub mod cluster;
pub mod commands;
pub mod discovery;
pub mod envelope;
pub mod hessian2;
pub mod load;
pub mod ping;

/// Streams that one connection may have open.
pub const MAX_CONCURRENT_STREAMS: u32 = 1_000;

/// The flow-control window of a stream, in bytes.
pub const STREAM_WINDOW: u32 = 1 << 20;

/// The flow-control window of a connection, in bytes.
pub const CONNECTION_WINDOW: u32 = 8 << 20;

/// The largest frame that is taken, in bytes.
pub const MAX_FRAME: u32 = 1 << 20;

/// The address to serve at: the program's only argument.
///
/// # Panics
///
/// With its usage, when the argument is missing or no address.
pub fn address() -> std::net::SocketAddr {
    std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| {
            let program = std::env::args().next().unwrap_or_default();
            panic!("usage: {program} HOST:PORT")
        })
}
