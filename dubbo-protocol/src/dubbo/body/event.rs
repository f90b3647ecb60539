//! Events: signs of life, and notices that a provider is about to leave (`docs/spec/dubbo-protocol.md` §7).

use crate::dubbo::frame::{HESSIAN2, Header};

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

/// The body of the answer to an event, if it is a heartbeat that asks for one. Other serializations than hessian2 write
/// null in their own way, and send nothing else two-way.
pub(crate) fn answer(header: Header, body: &[u8]) -> Option<&[u8]> {
    if !(header.request && header.two_way) {
        return None;
    }
    if header.serialization != HESSIAN2 {
        return Some(body);
    }
    (Event::read(body) == Event::Heartbeat).then_some(HEARTBEAT)
}

/// The body of a heartbeat.
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

    #[test]
    fn heartbeats_are_answered_in_their_own_serialization() {
        for (serialization, body, want) in [
            (HESSIAN2, HEARTBEAT, Some(HEARTBEAT)),
            (HESSIAN2, b"NN", Some(HEARTBEAT)),
            (HESSIAN2, READ_ONLY, None),
            (6, b"null", Some(&b"null"[..])),
            (23, b"\xaf", Some(b"\xaf")),
        ] {
            let asking = Header {
                serialization,
                ..Header::event(1, true)
            };
            assert_eq!(answer(asking, body), want, "{serialization} {body:?}");
            assert_eq!(answer(asking.answer(20), body), None);
            let telling = Header {
                two_way: false,
                ..asking
            };
            assert_eq!(answer(telling, body), None);
        }
    }
}
