//! Whether a server is ready, asked without nacos-sdk: a client of that which finds none leaves tasks behind.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use tokio::{net::TcpStream, time::timeout};

use super::options::Server;

/// Asks `server` whether it is ready, as every client does when it has connected; what is there instead.
pub(super) async fn probe(server: &Server, limit: Duration) -> Result<(), String> {
    match timeout(limit, ask(server)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {limit:?}")),
    }
}

async fn ask(server: &Server) -> Result<(), String> {
    let socket = TcpStream::connect(server.grpc()).await;
    let socket = socket.map_err(|error| error.to_string())?;
    let ended = |error: h2::Error| format!("no answer: {error}");
    let (sender, connection) = h2::client::handshake(socket).await.map_err(ended)?;
    let asking = async {
        let request = http::Request::post(format!("http://{}/Request/request", server.grpc_name()))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(())
            .map_err(|error| error.to_string())?;
        let mut sender = sender.ready().await.map_err(ended)?;
        let (answer, mut body) = sender.send_request(request, false).map_err(ended)?;
        body.send_data(Bytes::from_static(QUESTION), true)
            .map_err(ended)?;
        let mut answer = answer.await.map_err(ended)?.into_body();
        let mut said = Vec::new();
        while said.len() < LONGEST
            && let Some(chunk) = answer.data().await
        {
            said.extend_from_slice(&chunk.map_err(ended)?);
        }
        judge(&String::from_utf8_lossy(&said))
    };
    tokio::select! {
        biased;
        answer = asking => answer,
        closed = connection => match closed {
            Ok(()) => Err("the connection was closed without an answer".to_owned()),
            Err(error) => Err(ended(error)),
        },
    }
}

/// What the answer means: its type is in it, and its body as JSON.
fn judge(said: &str) -> Result<(), String> {
    if said.contains("ServerCheckResponse") {
        return Ok(());
    }
    let json = said.find('{').zip(said.rfind('}'));
    let json = json.and_then(|(begin, end)| said.get(begin..=end));
    let refusal = json.and_then(|json| serde_json::from_str::<Refusal>(json).ok());
    Err(refusal.map_or_else(
        || "the answer is not that of a Nacos server".to_owned(),
        |Refusal {
             error_code,
             message,
         }| { format!("the server says: {message} (code {error_code})") },
    ))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Refusal {
    error_code: i32,
    message: String,
}

/// A gRPC message: a `Payload` of Nacos of the type `ServerCheckRequest` with an empty object.
const QUESTION: &[u8] = b"\0\0\0\0\x1c\x12\x14\x1a\x12ServerCheckRequest\x1a\x04\x12\x02{}";

/// The most bytes of an answer.
const LONGEST: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_that_a_server_is_ready_or_why_not() {
        for (said, want) in [
            ("\0ServerCheckResponse\u{1}{\"connectionId\":\"1\"}", Ok(())),
            (
                "\0ErrorResponse\u{1}{\"resultCode\":500,\"errorCode\":300,\"message\":\"Server is starting\"}",
                Err("the server says: Server is starting (code 300)"),
            ),
            (
                "HTTP/1.1 400",
                Err("the answer is not that of a Nacos server"),
            ),
            ("}{", Err("the answer is not that of a Nacos server")),
        ] {
            assert_eq!(judge(said), want.map_err(ToOwned::to_owned), "{said}");
        }
    }
}
