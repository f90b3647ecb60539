//! Making messages shorter.

use std::cell::RefCell;

use flate2::{Compress, Crc, FlushCompress, Status};
use zstd::zstd_safe::CCtx;

use super::Compression;

impl Compression {
    /// `message` compressed, at the level that each format has by default; `None` when that would not make it shorter.
    ///
    /// It takes the thread for as long as it lasts, and no memory beyond the length of the message: what the compressors
    /// themselves work with, up to 1.5 MiB, is made once a thread.
    pub(crate) fn compress(self, message: &[u8]) -> Option<Vec<u8>> {
        let out = self.compress_within(message, message.len())?;
        (out.len() < message.len()).then_some(out)
    }

    /// `body` compressed, however long that is: a header says it of the whole, and who looks at it may count on it.
    pub(crate) fn compress_whole(self, body: &[u8]) -> Option<Vec<u8>> {
        // What none of the formats exceeds by what it puts around bytes that it cannot make shorter.
        self.compress_within(body, body.len() + body.len() / 64 + 128)
    }

    /// `None` when there is not enough room.
    fn compress_within(self, message: &[u8], room: usize) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(room);
        let fits = match self {
            Self::Deflate => ZLIB.with_borrow_mut(|zlib| deflate(zlib, message, &mut out)),
            Self::Gzip => RAW.with_borrow_mut(|raw| gzip(raw, message, &mut out)),
            Self::Zstd => ZSTD.with_borrow_mut(|zstd| {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                zstd.compress(&mut out, message, level).is_ok()
            }),
        };
        fits.then_some(out)
    }
}

/// One member, without a name or a time.
fn gzip(raw: &mut Compress, message: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(&GZIP_HEADER);
    let fits = deflate(raw, message, out);
    let mut sum = Crc::new();
    sum.update(message);
    out.extend_from_slice(&sum.sum().to_le_bytes());
    out.extend_from_slice(&sum.amount().to_le_bytes());
    fits
}

/// Appends what `state` makes of `message`, as far as there is room; false when there is not enough.
fn deflate(state: &mut Compress, message: &[u8], out: &mut Vec<u8>) -> bool {
    state.reset();
    let done = state.compress_vec(message, out, FlushCompress::Finish);
    matches!(done, Ok(Status::StreamEnd))
}

// Each of them is larger than what the allocator keeps at hand: made anew for each message, they would cost more than most
// messages do.
thread_local! {
    static RAW: RefCell<Compress> = RefCell::new(Compress::new(flate2::Compression::default(), false));
    static ZLIB: RefCell<Compress> = RefCell::new(Compress::new(flate2::Compression::default(), true));
    static ZSTD: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

/// Of deflated bytes, without flags, from an unknown system (RFC 1952 §2.3).
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::bufread::{GzDecoder, ZlibDecoder};

    use super::*;

    fn independently(compression: Compression, packed: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        let reader: &mut dyn Read = match compression {
            Compression::Deflate => &mut ZlibDecoder::new(packed),
            Compression::Gzip => &mut GzDecoder::new(packed),
            Compression::Zstd => {
                return zstd::stream::decode_all(packed).expect("what was compressed");
            }
        };
        reader.read_to_end(&mut plain).expect("what was compressed");
        plain
    }

    #[test]
    fn others_read_what_is_compressed_however_often_the_state_was_used() {
        for compression in Compression::ALL {
            for len in [60, 1_000, 100_000, 61] {
                let message: Vec<u8> = (0..len).map(|n: u32| n.to_be_bytes()[2]).collect();
                let packed = compression.compress(&message).expect("it is shorter");
                assert!(packed.len() < message.len(), "{compression} {len}");
                assert_eq!(independently(compression, &packed), message);
                assert_eq!(
                    compression.decompress(&packed, message.len()).ok(),
                    Some(message)
                );
            }
        }
    }

    #[test]
    fn a_whole_body_is_compressed_even_if_it_grows() {
        let mut random = fastrand::Rng::with_seed(7);
        for compression in Compression::ALL {
            for len in [0, 1, 60, 1_000, 1_000_000] {
                let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
                let packed = compression.compress_whole(&noise).expect("there is room");
                assert_eq!(independently(compression, &packed), noise);
            }
        }
    }

    #[test]
    fn what_would_grow_is_left_as_it_is() {
        let mut random = fastrand::Rng::with_seed(7);
        let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..))
            .take(10_000)
            .collect();
        for compression in Compression::ALL {
            for message in [&noise[..], &noise[..1], b""] {
                assert_eq!(compression.compress(message), None, "{compression}");
            }
            // The next one is not impressed.
            assert!(compression.compress(&[7; 1_000]).is_some());
        }
    }
}
