//! Reading what peers compressed, who may mean no good.

use std::{
    cell::RefCell,
    io::{self, Read as _},
};

use flate2::{Decompress, FlushDecompress, Status, bufread::MultiGzDecoder};
use zstd::zstd_safe::{
    DCtx, find_frame_compressed_size, get_error_name, get_frame_content_size, zstd_sys,
};

use super::Compression;

/// Why bytes cannot be decompressed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecompressError {
    /// They are of another form, or not all that there should be, or more.
    #[error("a message of {len} bytes is no {compression}: {source}")]
    Broken {
        len: usize,
        compression: Compression,
        source: io::Error,
    },
    /// There would be too much of it.
    #[error(
        "a message of {len} bytes inflates to more than the limit of {limit} bytes for received messages"
    )]
    TooLarge { len: usize, limit: usize },
}

impl Compression {
    /// What was compressed to `bytes`; nothing, when there are none.
    ///
    /// Whatever the bytes claim and hold, no buffer is larger than `limit` and a little, nor than what can come out of
    /// them. Several members of gzip, and several frames of zstd, are one message.
    ///
    /// # Errors
    ///
    /// It is more than `limit` bytes; or the bytes end too soon, go on after their end, or are no such format.
    pub(crate) fn decompress(self, bytes: &[u8], limit: usize) -> Result<Vec<u8>, DecompressError> {
        if bytes.is_empty() {
            return Ok(Vec::new());
        }
        let plain = match self {
            Self::Deflate => deflate(bytes, limit),
            Self::Gzip => gzip(bytes, limit),
            Self::Zstd => zstd(bytes, limit),
        };
        let len = bytes.len();
        plain
            .map_err(|source| DecompressError::Broken {
                len,
                compression: self,
                source,
            })?
            .filter(|plain| plain.len() <= limit)
            .ok_or(DecompressError::TooLarge { len, limit })
    }
}

/// What comes out, or `None` for too much. It may be a little more than `limit`, too.
type Plain = io::Result<Option<Vec<u8>>>;

fn gzip(bytes: &[u8], limit: usize) -> Plain {
    let mut plain = Vec::with_capacity(first_room(bytes, limit));
    // One byte more than allowed, to tell a message at the limit from one beyond it.
    let bound = u64::try_from(limit).map_or(u64::MAX, |limit| limit.saturating_add(1));
    MultiGzDecoder::new(bytes)
        .take(bound)
        .read_to_end(&mut plain)?;
    Ok(Some(plain))
}

fn deflate(bytes: &[u8], limit: usize) -> Plain {
    let mut state = Decompress::new(true);
    let mut plain = Vec::with_capacity(first_room(bytes, limit));
    let mut rest = bytes;
    loop {
        let (read, written) = (state.total_in(), plain.len());
        let status = state.decompress_vec(rest, &mut plain, FlushDecompress::None)?;
        let read = usize::try_from(state.total_in() - read).unwrap_or(usize::MAX);
        rest = rest.get(read..).unwrap_or_default();
        if status == Status::StreamEnd {
            return if rest.is_empty() {
                Ok(Some(plain))
            } else {
                let text = format!("{} bytes follow after its end", rest.len());
                Err(io::Error::new(io::ErrorKind::InvalidData, text))
            };
        }
        if plain.len() > limit {
            return Ok(None);
        }
        if plain.len() == plain.capacity() {
            let left = limit.saturating_add(1) - plain.len();
            plain.reserve_exact(plain.len().clamp(1, left));
        } else if read == 0 && plain.len() == written {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Decompresses into one buffer, which frames refer back into: the window that a frame claims to need costs nothing.
/// When it does not say how much comes out, the buffer is doubled until it does.
fn zstd(bytes: &[u8], limit: usize) -> Plain {
    let mut room = match claimed(bytes)? {
        Some(claim) if claim > limit as u64 => return Ok(None),
        // What is claimed is what comes out, or an error.
        Some(claim) => usize::try_from(claim).unwrap_or(usize::MAX),
        None => first_room(bytes, limit),
    }
    .clamp(1, most(bytes));
    ZSTD.with_borrow_mut(|context| {
        loop {
            let mut plain = Vec::with_capacity(room);
            match context.decompress(&mut plain, bytes) {
                Ok(_) => return Ok(Some(plain)),
                Err(code) if code != NO_ROOM => return Err(broken_zstd(code)),
                Err(_) if room >= limit => return Ok(None),
                Err(_) => room = room.saturating_mul(2).min(limit),
            }
        }
    })
}

/// How much the frames in `bytes` say that they hold together; `None` if one of them does not say.
fn claimed(mut bytes: &[u8]) -> io::Result<Option<u64>> {
    let mut all = Some(0_u64);
    while !bytes.is_empty() {
        let len = find_frame_compressed_size(bytes).map_err(broken_zstd)?;
        let content = get_frame_content_size(bytes).ok().flatten();
        all = all.zip(content).map(|(all, more)| all.saturating_add(more));
        bytes = bytes.get(len..).unwrap_or_default();
    }
    Ok(all)
}

fn broken_zstd(code: usize) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, get_error_name(code))
}

/// Room for what mostly comes out of `bytes`.
fn first_room(bytes: &[u8], limit: usize) -> usize {
    bytes.len().saturating_mul(4).min(limit.saturating_add(1))
}

/// The most that can come out of `bytes` of zstd: a block has three bytes before it, and one at least in it.
fn most(bytes: &[u8]) -> usize {
    (bytes.len() / 4 + 1).saturating_mul(128 << 10)
}

// Larger than what the allocator keeps at hand, unlike what the others work with.
thread_local! {
    static ZSTD: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// The buffer is too small for what comes out.
const NO_ROOM: usize =
    (zstd_sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1_000;

    fn packed(compression: Compression, plain: &[u8]) -> Vec<u8> {
        compression.compress(plain).expect("it is shorter")
    }

    /// A frame that does not say how much is in it, as those who write into a stream make them.
    fn streamed(plain: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(plain, 3).expect("in memory")
    }

    fn outcome(compression: Compression, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        compression
            .decompress(bytes, LIMIT)
            .map_err(|error| match error {
                DecompressError::Broken { .. } => "broken",
                DecompressError::TooLarge { .. } => "too large",
            })
    }

    #[test]
    fn what_is_at_the_limit_passes_and_one_byte_more_does_not() {
        let (fits, over) = (vec![7; LIMIT], vec![7; LIMIT + 1]);
        for compression in Compression::ALL {
            let got = outcome(compression, &packed(compression, &fits));
            assert_eq!(got.as_ref(), Ok(&fits), "{compression}");
            let got = outcome(compression, &packed(compression, &over));
            assert_eq!(got, Err("too large"), "{compression}");
        }
        assert_eq!(outcome(Compression::Zstd, &streamed(&fits)), Ok(fits));
        let got = outcome(Compression::Zstd, &streamed(&over));
        assert_eq!(got, Err("too large"));
    }

    #[test]
    fn nothing_is_nothing_in_every_form() {
        for compression in Compression::ALL {
            assert_eq!(outcome(compression, b""), Ok(Vec::new()), "{compression}");
            let error = compression.decompress(&packed(compression, &[0; 100]), 0);
            assert!(matches!(error, Err(DecompressError::TooLarge { .. })));
        }
    }

    #[test]
    fn bytes_that_end_too_soon_or_go_on_are_refused() {
        let plain = vec![7; 500];
        for compression in Compression::ALL {
            let whole = packed(compression, &plain);
            for end in 1..whole.len() {
                let got = outcome(compression, &whole[..end]);
                assert_eq!(got, Err("broken"), "{compression}, {end} bytes");
            }
            for rest in [&b"x"[..], b"\0", b"\x1f\x8b", &whole[..whole.len() - 1]] {
                let got = outcome(compression, &[&whole[..], rest].concat());
                assert_eq!(got, Err("broken"), "{compression} and {rest:02x?}");
            }
        }
    }

    #[test]
    fn bytes_that_were_damaged_are_refused() {
        let plain: Vec<u8> = (0..500).map(|n: u32| n.to_be_bytes()[3]).collect();
        for compression in [Compression::Deflate, Compression::Gzip] {
            let mut whole = packed(compression, &plain);
            let last = whole.len() - 1;
            // In the sum at the end.
            whole[last] ^= 1;
            assert_eq!(outcome(compression, &whole), Err("broken"), "{compression}");
        }
        for compression in Compression::ALL {
            assert_eq!(outcome(compression, &plain), Err("broken"), "{compression}");
        }
    }

    #[test]
    fn members_and_frames_one_after_the_other_are_one_message() {
        let [one, two] = [&[1; 100][..], &[2; 900]];
        let both = [one, two].concat();
        for (compression, make) in [
            (
                Compression::Gzip,
                (|plain| packed(Compression::Gzip, plain)) as fn(&[u8]) -> _,
            ),
            (Compression::Zstd, |plain| packed(Compression::Zstd, plain)),
            (Compression::Zstd, streamed),
        ] {
            let bytes = [make(one), make(two)].concat();
            assert_eq!(outcome(compression, &bytes), Ok(both.clone()));
            let bytes = [bytes, make(one)].concat();
            assert_eq!(outcome(compression, &bytes), Err("too large"));
        }
        // The format of zlib has no such thing.
        let zlib = packed(Compression::Deflate, one).repeat(2);
        assert_eq!(outcome(Compression::Deflate, &zlib), Err("broken"));
    }

    #[test]
    fn a_frame_that_claims_more_than_it_can_hold_takes_no_memory_for_it() {
        // Magic, a descriptor with a length of eight bytes in a single segment, that length, and one empty last block.
        let claim = |len: u64| {
            let head = [0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000];
            [&head[..], &len.to_le_bytes(), &[1, 0, 0]].concat()
        };
        for len in [1, 1 << 30, 1 << 50] {
            let error = Compression::Zstd.decompress(&claim(len), usize::MAX);
            let error = error.expect_err("nothing comes out");
            assert!(matches!(error, DecompressError::Broken { .. }), "{error}");
        }
        assert_eq!(
            outcome(Compression::Zstd, &claim(1 << 50)),
            Err("too large")
        );
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (compression, bytes, parts) in [
            (
                Compression::Gzip,
                &b"x"[..],
                ["a message of 1 bytes", "is no gzip"],
            ),
            (
                Compression::Deflate,
                b"\x78\x9c",
                ["2 bytes", "is no deflate: unexpected end"],
            ),
            (Compression::Zstd, b"\x28\xb5", ["2 bytes", "is no zstd: "]),
        ] {
            let error = compression.decompress(bytes, LIMIT).expect_err("refused");
            let text = error.to_string();
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        }
        let bomb = packed(Compression::Gzip, &[0; 5_000]);
        let error = Compression::Gzip
            .decompress(&bomb, LIMIT)
            .expect_err("too large");
        assert!(
            error
                .to_string()
                .ends_with("more than the limit of 1000 bytes for received messages")
        );
    }
}
