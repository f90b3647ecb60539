use bytes::{BufMut as _, Bytes, BytesMut};

/// Header blocks of the gRPC call at one path, as small as HPACK makes them (RFC 7541): what the first one says in full the
/// others refer to. All of them belong to one connection, in this order.
#[derive(Debug, Clone)]
pub struct Blocks {
    path: String,
    said: bool,
}

impl Blocks {
    /// Those of calls at `path`, which is shorter than 127 bytes.
    pub fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            said: false,
        }
    }

    /// The next one.
    pub fn block(&mut self) -> Bytes {
        if std::mem::replace(&mut self.said, true) {
            return Bytes::from_static(AGAIN);
        }
        let mut block = BytesMut::from(&[POST, HTTP][..]);
        for (name, value) in [
            (PATH, self.path.as_str()),
            (AUTHORITY, "attacked"),
            (CONTENT_TYPE, "application/grpc"),
        ] {
            block.put_u8(name);
            put_text(&mut block, value);
        }
        block.put_u8(NEW_NAME);
        put_text(&mut block, "te");
        put_text(&mut block, "trailers");
        block.freeze()
    }
}

/// A string without Huffman code, shorter than its length takes one byte for.
fn put_text(block: &mut BytesMut, text: &str) {
    let len = u8::try_from(text.len()).expect("a short text");
    assert!(len < 127, "{text:?}");
    block.put_u8(len);
    block.put_slice(text.as_bytes());
}

/// Whole fields of the static table.
const POST: u8 = 0x83;
const HTTP: u8 = 0x86;
/// Names of the static table, with a value that is remembered.
const AUTHORITY: u8 = 0x41;
const PATH: u8 = 0x44;
const CONTENT_TYPE: u8 = 0x5f;
const NEW_NAME: u8 = 0x40;
/// What was remembered, the last of it first.
const AGAIN: &[u8] = &[POST, HTTP, 0xc1, 0xc0, 0xbf, 0xbe];
