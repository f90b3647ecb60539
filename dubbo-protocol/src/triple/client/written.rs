//! What the socket has taken of the frames that go out: a call whose headers it never took was never sent.

/// Follows the frames that go out, and knows the newest stream of which anything has.
#[derive(Debug)]
pub(super) struct Written {
    at: At,
    newest: u32,
}

/// Where in what goes out the next byte stands (RFC 9113 §3.4, §4.1).
#[derive(Debug)]
enum At {
    /// In the nine bytes before a payload, of which it has `have`.
    Head { bytes: [u8; HEAD], have: usize },
    /// Before what is left of a payload, or of the preface.
    Rest { left: usize },
}

impl Written {
    /// Nothing yet, not even the preface.
    pub(super) fn nothing() -> Self {
        Self {
            at: At::Rest { left: PREFACE },
            newest: 0,
        }
    }

    /// Notes that the socket has taken `bytes` too: the number of the newest stream of which it has taken anything. Streams
    /// open in the order of their numbers.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> u32 {
        while !bytes.is_empty() {
            let taken = match &mut self.at {
                At::Rest { left } => {
                    let taken = bytes.len().min(*left);
                    *left -= taken;
                    taken
                }
                At::Head { bytes: head, have } => {
                    let taken = bytes.len().min(HEAD - *have);
                    head[*have..*have + taken].copy_from_slice(&bytes[..taken]);
                    *have += taken;
                    if *have == HEAD {
                        let [a, b, c, _, _, stream @ ..] = *head;
                        self.newest = self.newest.max(u32::from_be_bytes(stream));
                        let left = u32::from_be_bytes([0, a, b, c]) as usize;
                        self.at = At::Rest { left };
                    }
                    taken
                }
            };
            if let At::Rest { left: 0 } = self.at {
                self.at = At::Head {
                    bytes: [0; HEAD],
                    have: 0,
                };
            }
            bytes = &bytes[taken..];
        }
        self.newest
    }
}

const HEAD: usize = 9;
const PREFACE: usize = 24;

#[cfg(test)]
mod tests {
    use dubbo_test::peer::h2::{self, Frame};

    use super::*;

    #[test]
    fn the_newest_stream_is_known_however_the_bytes_are_cut() {
        let frames = [
            (Frame::settings(&[(3, 1)]), 0),
            (Frame::settings(&[]), 0),
            (Frame::headers(1, &[("a", &[b'b'; 200])], false), 1),
            (Frame::data(1, vec![0; 1_000], false), 1),
            (Frame::headers(3, &[], true), 3),
            (Frame::data(1, "", true), 3),
            (Frame::ping(false, [0xff; 8]), 3),
            (Frame::headers(5, &[], false), 5),
            (Frame::reset(3, 8), 5),
        ];
        for chunk in [1, 2, 8, 9, 10, 5_000] {
            let mut written = Written::nothing();
            let take = |written: &mut Written, bytes: &[u8]| {
                let taken = bytes.chunks(chunk).map(|bytes| written.take(bytes));
                taken.last().expect("some")
            };
            assert_eq!(take(&mut written, h2::PREFACE), 0);
            for (frame, want) in &frames {
                assert_eq!(take(&mut written, &frame.encode()), *want, "{frame:?}");
            }
        }
    }

    #[test]
    fn a_frame_counts_once_it_is_known_whose_it_is() {
        let mut written = Written::nothing();
        written.take(h2::PREFACE);
        let headers = Frame::headers(7, &[("a", b"b")], true).encode();
        assert_eq!(written.take(&headers[..HEAD - 1]), 0);
        assert_eq!(written.take(&headers[HEAD - 1..HEAD]), 7);
    }
}
