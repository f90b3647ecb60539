//! Messages that are small on the wire and large once inflated.

use std::net::SocketAddr;

use bytes::{BufMut as _, Bytes, BytesMut};
use flate2::{
    Compression,
    write::{GzEncoder, ZlibEncoder},
};

use super::{Answer, Caller};

/// How a bomb is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bomb {
    /// `deflate`, which is zlib.
    Deflate,
    /// `gzip`.
    Gzip,
    /// `zstd`.
    Zstd,
    /// `zstd` of a frame that asks for 2 GiB of memory to be inflated in.
    ZstdWindow,
}

impl Bomb {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Deflate, Self::Gzip, Self::Zstd, Self::ZstdWindow];

    /// Its name in `grpc-encoding`.
    pub fn encoding(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Gzip => "gzip",
            Self::Zstd | Self::ZstdWindow => "zstd",
        }
    }

    /// So many MiB of zeros.
    pub fn packed(self, mebibytes: usize) -> Bytes {
        match self {
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
                write_zeros(&mut encoder, mebibytes);
                encoder.finish().expect("in memory").into()
            }
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
                write_zeros(&mut encoder, mebibytes);
                encoder.finish().expect("in memory").into()
            }
            Self::Zstd => zstd(mebibytes, WINDOW_OF_128_KIB),
            Self::ZstdWindow => zstd(mebibytes, WINDOW_OF_2_GIB),
        }
    }

    /// Sends one as the request of the unary call at `path`. The answer.
    pub async fn run(self, address: SocketAddr, path: &str, mebibytes: usize) -> Answer {
        let caller = Caller::connect(address).await;
        let packed = self.packed(mebibytes);
        let mut message = BytesMut::with_capacity(5 + packed.len());
        message.put_u8(1);
        message.put_u32(u32::try_from(packed.len()).expect("it is small"));
        message.put_slice(&packed);
        let headers = [("grpc-encoding", self.encoding())];
        let answer = caller.call(path, &headers, message).await;
        answer.expect("the server answers a bomb")
    }

    /// Sends one as the body of a request in JSON to the method at `path`. The answer.
    pub async fn run_plain(self, address: SocketAddr, path: &str, mebibytes: usize) -> Answer {
        let caller = Caller::connect(address).await;
        let headers = [
            ("content-type", "application/json"),
            ("content-encoding", self.encoding()),
        ];
        let answer = caller.call(path, &headers, self.packed(mebibytes)).await;
        answer.expect("the server answers a bomb")
    }
}

fn write_zeros(to: &mut impl std::io::Write, mebibytes: usize) {
    let zeros = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        to.write_all(&zeros).expect("in memory");
    }
}

/// A frame of blocks that are one byte each and 128 KiB of it inflated (RFC 8878 §3.1.1).
fn zstd(mebibytes: usize, window: u8) -> Bytes {
    let mut frame = BytesMut::from(&b"\x28\xb5\x2f\xfd\0"[..]);
    frame.put_u8(window);
    let blocks = mebibytes * 8;
    for n in 1..=blocks {
        let header = BLOCK << 3 | RUN << 1 | u32::from(n == blocks);
        frame.put_slice(&header.to_le_bytes()[..3]);
        frame.put_u8(0);
    }
    frame.freeze()
}

/// The largest block that there is.
const BLOCK: u32 = 128 << 10;
const RUN: u32 = 1;
const WINDOW_OF_128_KIB: u8 = 7 << 3;
const WINDOW_OF_2_GIB: u8 = 21 << 3;
