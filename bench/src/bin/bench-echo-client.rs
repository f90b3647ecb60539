//! Drives `bench-echo-server` as `bench-ping-client` drives ours: as many callers, who share one connection.

use std::{collections::VecDeque, error::Error, io};

use bench::{
    clock::Clock,
    commands,
    load::{self, CALLERS, Load},
};
use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt as _};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tokio_util::codec::{Framed, LengthDelimitedCodec};

/// What is sent, and who waits for it.
type Call = (Bytes, oneshot::Sender<BytesMut>);

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let stream = runtime.block_on(TcpStream::connect(bench::address()))?;
    stream.set_nodelay(true)?;
    let (calls, queue) = mpsc::channel(CALLERS);
    runtime.spawn(async move {
        let connection = Framed::new(stream, LengthDelimitedCodec::new());
        if let Err(error) = drive(connection, queue).await {
            panic!("the connection is broken: {error}");
        }
    });
    commands::serve(|words| runtime.block_on(round(&calls, Load::parse(words)?)))?;
    Ok(())
}

/// Gives each answer to whoever waits longest, and sends what callers have made of the answers at once.
async fn drive(
    mut connection: Framed<TcpStream, LengthDelimitedCodec>,
    mut queue: mpsc::Receiver<Call>,
) -> io::Result<()> {
    let mut waiting: VecDeque<oneshot::Sender<BytesMut>> = VecDeque::with_capacity(CALLERS);
    loop {
        tokio::select! {
            biased;
            answer = connection.next(), if !waiting.is_empty() => {
                let answer = answer.ok_or(io::ErrorKind::UnexpectedEof)??;
                if let Some(caller) = waiting.pop_front() {
                    let _ = caller.send(answer); // it is there: nobody stops a caller
                }
            }
            first = queue.recv() => {
                let Some(first) = first else {
                    return Ok(());
                };
                // Others are about to call, too. Our own client waits for them as well.
                tokio::task::yield_now().await;
                let mut next = Some(first);
                while let Some((payload, caller)) = next {
                    connection.feed(payload).await?;
                    waiting.push_back(caller);
                    next = queue.try_recv().ok();
                }
                SinkExt::<Bytes>::flush(&mut connection).await?;
            }
        }
    }
}

async fn round(calls: &mpsc::Sender<Call>, load: Load) -> Result<String, String> {
    let payload = Bytes::from(load.payload());
    let clock = Clock::start();
    let mut callers: JoinSet<Result<u64, String>> = JoinSet::new();
    for _ in 0..CALLERS {
        let (calls, payload) = (calls.clone(), payload.clone());
        callers.spawn(async move {
            let mut count = 0;
            while clock.elapsed() < load.time {
                let (caller, answer) = oneshot::channel();
                let sent = calls.send((payload.clone(), caller)).await;
                sent.map_err(|error| error.to_string())?;
                let answer = answer.await.map_err(|error| error.to_string())?;
                load::check(&answer, &payload)?;
                count += 1;
            }
            Ok(count)
        });
    }
    let mut count = 0;
    while let Some(called) = callers.join_next().await {
        count += called.map_err(|error| error.to_string())??;
    }
    Ok(format!("{count} {}", clock.elapsed().as_nanos()))
}
