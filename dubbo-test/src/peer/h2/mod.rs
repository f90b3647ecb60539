//! Both ends of HTTP/2, scripted.
//!
//! A [`Server`] or [`Client`] here is the `h2` crate behind a relay that sees every frame. The crate takes care of HPACK,
//! windows and SETTINGS; the relay puts in any [`Frame`] that a test wants to send although the crate would not, and
//! hands out those that came. [`Scripted`] is a server without the crate, which goes by a table of [`Step`]s.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use dubbo_test::peer::h2::{Client, Server, envelope};
//!
//! let server = Server::bind().await;
//! let mut client = Client::connect(server.address()).await;
//! let mut call = client.post("/greet.Greeter/Greet", &[("content-type", "application/grpc")]).await;
//! call.data(envelope(b"hello"), true);
//!
//! let mut connection = server.accept().await;
//! let mut request = connection.request().await;
//! assert_eq!(request.message().await.as_deref(), Some(&b"hello"[..]));
//! request.reply(b"world");
//!
//! assert_eq!(call.response().await.status, 200);
//! assert_eq!(call.body().await, envelope(b"world"));
//! assert_eq!(call.trailers().await.expect("has some")["grpc-status"], "0");
//! # }
//! ```

mod client;
mod frame;
mod relay;
mod script;
mod server;

pub use client::{Call, Client, Response};
pub use frame::{Frame, PREFACE, code, kind};
pub use script::{Fields, Last, Scripted, Step};
pub use server::{Request, Server, ServerConnection};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue};

/// `message` in gRPC's envelope, uncompressed.
pub fn envelope(message: &[u8]) -> Bytes {
    let len = u32::try_from(message.len()).expect("a message of a test is short");
    let mut bytes = BytesMut::with_capacity(5 + message.len());
    bytes.put_u8(0);
    bytes.put_u32(len);
    bytes.put_slice(message);
    bytes.freeze()
}

fn header_map(headers: &[(&str, &str)]) -> HeaderMap {
    headers
        .iter()
        .map(|(name, value)| {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a legal header name");
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a legal header value");
            (name, value)
        })
        .collect()
}
