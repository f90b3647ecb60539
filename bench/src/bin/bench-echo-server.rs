//! The yardstick of the classic protocol: what frames over TCP cost alone. Sends each frame back as it is, and reads
//! nothing in it.
//!
//! With the argument `gather` behind the address, all frames that have come together are sent back together: no server
//! does less than that.

use bytes::BytesMut;
use futures_util::{SinkExt as _, StreamExt as _, TryStreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(bench::address()).await?;
    let gather = std::env::args().nth(2).as_deref() == Some("gather");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let served = serve(stream, gather).await;
            drop(served); // the load generator cuts its connection
        });
    }
}

async fn serve(stream: TcpStream, gather: bool) -> std::io::Result<()> {
    let mut framed = Framed::new(stream, LengthDelimitedCodec::new());
    if gather {
        let (sink, incoming) = framed.split();
        return incoming.map_ok(BytesMut::freeze).forward(sink).await;
    }
    while let Some(frame) = framed.next().await {
        framed.send(frame?.freeze()).await?;
    }
    Ok(())
}
