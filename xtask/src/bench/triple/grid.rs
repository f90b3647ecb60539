//! The kinds of calls, and how many at a time.

use std::path::PathBuf;

use crate::{failure::Failure, process};

/// How many calls are under way at a time.
pub(super) const CONCURRENCIES: [u32; 3] = [50, 100, 500];

/// What each call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Asks for a stream of [`MESSAGES`] messages of some 128 bytes.
    Stream,
    /// Sends so many bytes, and gets them back.
    Unary(u32),
}

impl Load {
    pub(super) const ALL: [Self; 6] = [
        Self::Unary(5),
        Self::Unary(128),
        Self::Unary(1 << 10),
        Self::Unary(16 << 10),
        Self::Unary(1 << 20),
        Self::Stream,
    ];

    /// What the report calls it.
    pub(super) fn label(self) -> String {
        match self {
            Self::Stream => "stream".to_owned(),
            Self::Unary(size) if size >= 1 << 20 => format!("{}MiB", size >> 20),
            Self::Unary(size) if size >= 1 << 10 => format!("{}KiB", size >> 10),
            Self::Unary(size) => format!("{size}B"),
        }
    }

    /// What is counted of a call: itself, or its messages.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Stream => "message",
            Self::Unary(_) => "request",
        }
    }

    /// How many of them a call has.
    pub(super) fn units(self) -> u32 {
        match self {
            Self::Stream => MESSAGES,
            Self::Unary(_) => 1,
        }
    }

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Stream => "/dubbo.interop.v1.Greeter/GreetServerStream",
            Self::Unary(_) => "/dubbo.interop.v1.Greeter/Ping",
        }
    }

    /// What a client is told to do for so long.
    pub(super) fn command(self, millis: u32, callers: u32) -> String {
        match self {
            Self::Stream => format!("stream {NAME} {millis} {callers} {MESSAGES}"),
            Self::Unary(size) => format!("ping {size} {millis} {callers}"),
        }
    }

    /// A file with the envelope of its request.
    pub(super) fn body(self) -> Result<PathBuf, Failure> {
        let mut message = vec![0x0a];
        let size = match self {
            Self::Stream => NAME,
            Self::Unary(size) => size,
        };
        varint(&mut message, size);
        message.resize(message.len() + size as usize, b'x');
        if self == Self::Stream {
            message.push(0x10);
            varint(&mut message, MESSAGES);
        }
        let length = u32::try_from(message.len()).expect("invariant: sizes are small");
        let mut body = vec![0];
        body.extend_from_slice(&length.to_be_bytes());
        body.append(&mut message);

        let path = scratch(&format!("triple-{}.bin", self.label()));
        std::fs::create_dir_all(path.parent().expect("invariant: it was joined"))
            .and_then(|()| std::fs::write(&path, body))
            .map_err(|e| {
                Failure::new(
                    format!("{} cannot be written: {e}", path.display()),
                    "make the target folder writable",
                )
            })?;
        Ok(path)
    }
}

/// One field of the grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) load: Load,
    pub(super) concurrency: u32,
}

impl Cell {
    /// Its part of the report's keys. The middle of the grid has none for how many calls there are.
    pub(super) fn key(self) -> String {
        let label = self.load.label();
        match self.concurrency {
            USUAL => label,
            other => format!("{label}.x{other}"),
        }
    }

    /// The connections of the load generator, and the streams of each.
    pub(super) fn connections(self) -> (u32, u32) {
        let connections = (self.concurrency / 10).min(10);
        (connections, self.concurrency / connections)
    }
}

/// A file of the bench.
pub(super) fn scratch(name: &str) -> PathBuf {
    process::target_dir().join("bench").join(name)
}

fn varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).expect("invariant: seven bits") | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).expect("invariant: seven bits"));
}

const USUAL: u32 = 100;
/// Of a stream.
const MESSAGES: u32 = 100;
/// With what is around it, the messages of a stream have some 128 bytes.
const NAME: u32 = 112;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_calls() {
        for (concurrency, shared) in [(50, (5, 10)), (100, (10, 10)), (500, (10, 50))] {
            let load = Load::Stream;
            assert_eq!(Cell { load, concurrency }.connections(), shared);
        }
    }

    #[test]
    fn keys_tell_fields_apart() {
        let key = |load, concurrency| Cell { load, concurrency }.key();
        assert_eq!(key(Load::Unary(128), 100), "128B");
        assert_eq!(key(Load::Unary(1 << 20), 500), "1MiB.x500");
        assert_eq!(key(Load::Stream, 50), "stream.x50");
    }
}
