//! The yardstick of clients: hyper alone, on one connection. It sends the bytes of an envelope around the payload, and
//! takes the payload out of the answer without a codec; of a stream it counts the envelopes.

use std::error::Error;

use bench::{
    calls::{self, Caller},
    envelope,
};
use bytes::{Buf as _, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::Incoming,
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Runtime::new()?;
    let address = bench::address();
    let (sender, connection) = runtime.block_on(async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let connected = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(bench::STREAM_WINDOW)
            .initial_connection_window_size(bench::CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        Ok::<_, Box<dyn Error>>(connected)
    })?;
    runtime.spawn(connection);
    let authority = address.to_string();
    calls::serve(&runtime, &Hyper { sender, authority })?;
    Ok(())
}

#[derive(Clone)]
struct Hyper {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Hyper {
    async fn call(&self, method: &str, message: Bytes) -> Result<Incoming, String> {
        let authority = &self.authority;
        let request = Request::post(format!(
            "http://{authority}/dubbo.interop.v1.Greeter/{method}"
        ))
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .body(Full::new(message))
        .map_err(|error| error.to_string())?;
        let answer = self.sender.clone().send_request(request).await;
        Ok(answer.map_err(|error| error.to_string())?.into_body())
    }
}

impl Caller for Hyper {
    async fn ping(&self, payload: Bytes) -> Result<Bytes, String> {
        let message = envelope::ping(&payload);
        let head = message.len() - payload.len();
        let body = self.call("Ping", message).await?;
        let body = body.collect().await.map_err(|error| error.to_string())?;
        succeeded(body.trailers())?;
        let mut answer = body.to_bytes();
        answer.advance(head.min(answer.len()));
        Ok(answer)
    }

    async fn stream(&self, name: String, count: u32) -> Result<u32, String> {
        let message = envelope::greet(&name, count);
        let mut body = self.call("GreetServerStream", message).await?;
        let mut rest = BytesMut::new();
        let mut came = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            match frame.into_data() {
                Ok(data) => {
                    rest.extend_from_slice(&data);
                    came += envelope::take_all(&mut rest);
                }
                Err(frame) => succeeded(frame.trailers_ref())?,
            }
        }
        Ok(came)
    }
}

fn succeeded(trailers: Option<&HeaderMap>) -> Result<(), String> {
    let status = trailers.and_then(|trailers| trailers.get("grpc-status"));
    match status {
        Some(status) if status == "0" => Ok(()),
        _ => Err(format!("the call ended with the status {status:?}")),
    }
}
