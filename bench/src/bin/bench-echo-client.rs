//! Drives `bench-echo-server` as `bench-ping-client` drives ours: one connection, and as many calls under way.

use std::error::Error;

use bench::{
    clock::Clock,
    commands,
    load::{self, CALLERS, Load},
};
use bytes::Bytes;
use futures_util::{FutureExt as _, SinkExt, StreamExt as _};
use tokio::net::TcpStream;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

type Connection = Framed<TcpStream, LengthDelimitedCodec>;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let mut connection = runtime.block_on(async {
        let stream = TcpStream::connect(bench::address()).await?;
        stream.set_nodelay(true)?;
        std::io::Result::Ok(Framed::new(stream, LengthDelimitedCodec::new()))
    })?;
    commands::serve(|words| {
        let load = Load::parse(words)?;
        let round = round(&mut connection, load);
        runtime.block_on(round).map_err(|error| error.to_string())
    })?;
    Ok(())
}

async fn round(connection: &mut Connection, load: Load) -> Result<String, Box<dyn Error>> {
    let payload = Bytes::from(load.payload());
    let clock = Clock::start();
    for _ in 0..CALLERS {
        connection.feed(payload.clone()).await?;
    }
    SinkExt::<Bytes>::flush(connection).await?;
    let (mut calls, mut under_way) = (0_u64, CALLERS);
    while under_way > 0 {
        // All answers that have come are followed by calls before those are sent.
        let mut next = connection.next().await;
        while let Some(answer) = next {
            load::check(&answer?, &payload)?;
            calls += 1;
            under_way -= 1;
            if clock.elapsed() < load.time {
                connection.feed(payload.clone()).await?;
                under_way += 1;
            }
            next = connection.next().now_or_never().flatten();
        }
        SinkExt::<Bytes>::flush(connection).await?;
    }
    Ok(format!("{calls} {}", clock.elapsed().as_nanos()))
}
