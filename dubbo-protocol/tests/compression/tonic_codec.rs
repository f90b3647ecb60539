//! Protobuf for tonic.

use prost::Message as _;
use tonic::{
    Status,
    codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

use crate::support::Text;

/// What tonic calls the compressions.
pub(crate) const ENCODINGS: [(&str, CompressionEncoding); 3] = [
    ("gzip", CompressionEncoding::Gzip),
    ("deflate", CompressionEncoding::Deflate),
    ("zstd", CompressionEncoding::Zstd),
];

#[derive(Default)]
pub(crate) struct Protobuf;

impl Codec for Protobuf {
    type Encode = Text;
    type Decode = Text;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Protobuf {
    type Item = Text;
    type Error = Status;

    fn encode(&mut self, item: Text, dst: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(dst)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Protobuf {
    type Item = Text;
    type Error = Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<Text>, Status> {
        Text::decode(src)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}
