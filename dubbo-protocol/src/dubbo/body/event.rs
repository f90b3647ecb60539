//! Events: signs of life, and notices that a provider is about to leave (`docs/spec/dubbo-protocol.md` §7).

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A sign of life, and the answer to one.
    Heartbeat,
    /// Send no new calls here; those under way will be answered.
    ReadOnly,
    /// [`ReadOnly`](Self::ReadOnly) no longer holds.
    Writable,
    /// Something that is not known here, and ignored.
    Unknown,
}

impl Event {
    /// Reads the body of an event. dubbo-go puts a second null behind the first.
    pub(crate) fn read(body: &[u8]) -> Self {
        match body {
            [] | [b'N', ..] => Self::Heartbeat,
            [1, b'R', ..] => Self::ReadOnly,
            [1, b'W', ..] => Self::Writable,
            _ => Self::Unknown,
        }
    }
}

/// The body of a heartbeat, and of the answer to one.
pub(crate) const HEARTBEAT: &[u8] = b"N";
/// The body of [`Event::ReadOnly`].
pub(crate) const READ_ONLY: &[u8] = b"\x01R";

/// Longer bodies are no events of this protocol, and dropped.
pub(crate) const MAX_EVENT: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_apart_by_their_bodies() {
        for (body, want) in [
            (HEARTBEAT, Event::Heartbeat),
            (b"NN", Event::Heartbeat),
            (b"", Event::Heartbeat),
            (READ_ONLY, Event::ReadOnly),
            (b"\x01RN", Event::ReadOnly),
            (b"\x01W", Event::Writable),
            (b"\x01X", Event::Unknown),
            (b"\x02RW", Event::Unknown),
            (b"\x90", Event::Unknown),
        ] {
            assert_eq!(Event::read(body), want, "{body:?}");
        }
    }
}
