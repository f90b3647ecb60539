//! What the settings of a server can be (`docs/spec/triple.md` §9.5): beyond, HTTP/2 has no room for them or the server no use.

use std::ops::RangeInclusive;

/// `max-concurrent-streams`.
pub const STREAMS: RangeInclusive<u32> = 1..=1_000_000;

/// `max-header-count`. With fewer no gRPC call could be made.
pub const HEADERS: RangeInclusive<u32> = 16..=20_000;

/// `max-header-list-size`, in bytes.
pub const HEADER_LIST: RangeInclusive<u32> = 8 << 10..=16 << 20;

/// `max-frame-size`, in bytes (RFC 9113 §6.5.2).
pub const FRAME: RangeInclusive<u32> = 16 << 10..=(16 << 20) - 1;

/// `initial-window-size` and `connection-initial-window-size`, in bytes (RFC 9113 §6.9). Less than what every peer begins
/// with would be known to it too late.
pub const WINDOW: RangeInclusive<u32> = 65_535..=(1 << 31) - 1;
