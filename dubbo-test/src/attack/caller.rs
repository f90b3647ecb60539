use std::{fmt, net::SocketAddr};

use bytes::Bytes;
use h2::client::SendRequest;
use http::HeaderMap;
use tokio::{net::TcpStream, task::JoinSet};

use crate::soon;

/// A peer that keeps HTTP/2's rules, whatever it asks for. Dropping it closes the connection.
pub struct Caller {
    send: SendRequest<Bytes>,
    _connection: JoinSet<()>,
}

/// All of an answer.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// `:status`.
    pub status: u16,
    /// The other headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// The trailers; those of an answer without a body are its headers.
    pub trailers: HeaderMap,
}

impl Caller {
    /// Connects.
    pub async fn connect(address: SocketAddr) -> Self {
        let socket = soon("a connection", TcpStream::connect(address)).await;
        let socket = socket.expect("the server listens");
        socket.set_nodelay(true).expect("it is open");
        let mut builder = h2::client::Builder::new();
        builder
            .initial_connection_window_size(WINDOW)
            // Who gives calls up gets answers that it has forgotten what to do with.
            .max_local_error_reset_streams(None);
        let made = soon("a handshake", builder.handshake(socket)).await;
        let (send, connection) = made.expect("HTTP/2");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // Its streams say how it ended.
            let _ = connection.await;
        });
        Self {
            send,
            _connection: tasks,
        }
    }

    /// Opens a stream for the gRPC call at `path`, or another one if `headers` has a `content-type`.
    ///
    /// # Errors
    ///
    /// That of the connection, when it takes no streams any more.
    pub async fn open(&self, path: &str, headers: &[(&str, &str)]) -> Result<Opened, h2::Error> {
        let mut request = http::Request::post(format!("http://attacked{path}"));
        if headers.iter().all(|(name, _)| *name != "content-type") {
            request = request
                .header("content-type", "application/grpc")
                .header("te", "trailers");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let ready = soon("room for a stream", self.send.clone().ready()).await;
        let request = request.body(()).expect("a legal request");
        let (answer, body) = ready?.send_request(request, false)?;
        Ok(Opened { answer, body })
    }

    /// Makes a call as [`open`](Self::open) says with `body`, and takes its answer.
    ///
    /// # Errors
    ///
    /// That of the stream or the connection.
    pub async fn call(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, h2::Error> {
        let mut opened = self.open(path, headers).await?;
        opened.body.send_data(body.into(), true)?;
        opened.answer().await
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

/// A stream that is open.
#[derive(Debug)]
pub struct Opened {
    /// Its answer.
    pub answer: h2::client::ResponseFuture,
    /// Its request.
    pub body: h2::SendStream<Bytes>,
}

impl Opened {
    /// Takes the answer to its end.
    ///
    /// # Errors
    ///
    /// That of the stream.
    pub async fn answer(self) -> Result<Answer, h2::Error> {
        let (head, mut rest) = soon("an answer", self.answer).await?.into_parts();
        let mut body = Vec::new();
        while let Some(chunk) = soon("a body", rest.data()).await {
            let chunk = chunk?;
            rest.flow_control().release_capacity(chunk.len())?;
            body.extend_from_slice(&chunk);
        }
        let trailers = soon("trailers", rest.trailers()).await?;
        // An unfinished request is reset with its sending half.
        drop(self.body);
        Ok(Answer {
            status: head.status.as_u16(),
            trailers: trailers.unwrap_or_else(|| head.headers.clone()),
            headers: head.headers,
            body,
        })
    }
}

impl Answer {
    /// The code of gRPC.
    pub fn code(&self) -> Option<u32> {
        self.trailers
            .get("grpc-status")?
            .to_str()
            .ok()?
            .parse()
            .ok()
    }

    /// The text of gRPC, unescaped.
    pub fn message(&self) -> String {
        let raw = self.trailers.get("grpc-message");
        let raw = raw
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        percent_encoding::percent_decode_str(raw)
            .decode_utf8_lossy()
            .into_owned()
    }
}

/// Streams that are not read must not hold up the others.
const WINDOW: u32 = 1 << 20;
