//! The yardstick of the classic protocol: what frames over TCP cost alone. Sends each frame back, and reads nothing in it.

use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::net::TcpListener;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(bench::address()).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let (sink, frames) = Framed::new(stream, LengthDelimitedCodec::new()).split();
            // All frames that have come are answered before the answers are sent.
            let served = frames.map_ok(bytes::BytesMut::freeze).forward(sink).await;
            drop(served); // the load generator cuts its connection
        });
    }
}
