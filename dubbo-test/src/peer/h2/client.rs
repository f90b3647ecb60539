//! A client that sends what a test writes.

use std::{fmt, net::SocketAddr};

use bytes::Bytes;
use h2::{
    RecvStream, SendStream,
    client::{ResponseFuture, SendRequest},
};
use http::HeaderMap;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    task::JoinSet,
};

use super::{
    frame::Frame,
    header_map,
    relay::{End, Relay},
};
use crate::soon;

/// One connection to a server. Dropping it closes the socket at once.
pub struct Client {
    relay: Relay,
    sender: SendRequest<Bytes>,
    authority: String,
    _tasks: JoinSet<()>,
}

impl Client {
    /// Connects over TCP.
    pub async fn connect(address: SocketAddr) -> Self {
        let socket = soon("a connection", TcpStream::connect(address)).await;
        let socket = socket.expect("the server listens");
        socket.set_nodelay(true).expect("it is open");
        Self::over(socket, &address.to_string()).await
    }

    /// Speaks HTTP/2 over `io` with the server called `authority`.
    pub async fn over(io: impl AsyncRead + AsyncWrite + Send + 'static, authority: &str) -> Self {
        let (relay, io) = Relay::start(io, End::Client);
        let made = soon("a handshake", h2::client::handshake(io)).await;
        let (sender, connection) = made.expect("the connection is open");
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // Its streams say how it ended.
            let _ = connection.await;
        });
        Self {
            relay,
            sender,
            authority: authority.to_owned(),
            _tasks: tasks,
        }
    }

    /// Opens a stream with POST.
    pub async fn post(&mut self, path: &str, headers: &[(&str, &str)]) -> Call {
        let uri = format!("http://{}{path}", self.authority);
        let mut request = http::Request::post(uri).body(()).expect("a legal path");
        *request.headers_mut() = header_map(headers);
        self.open(request, false).await
    }

    /// Opens a stream with any request; `end` when no body follows.
    pub async fn open(&mut self, request: http::Request<()>, end: bool) -> Call {
        let ready = soon("room for a stream", self.sender.clone().ready()).await;
        self.sender = ready.expect("the connection takes streams");
        let opened = self.sender.send_request(request, end);
        let (response, sending) = opened.expect("the request is legal");
        Call {
            response: Some(response),
            sending,
            receiving: None,
        }
    }

    /// Sends `frame`, whatever it is.
    pub fn insert(&self, frame: &Frame) {
        self.relay.insert(frame.encode());
    }

    /// Sends bytes that need not be a frame.
    pub fn insert_bytes(&self, bytes: impl Into<Bytes>) {
        self.relay.insert(bytes.into());
    }

    /// Sends nothing more, and reads on.
    pub fn mute(&self) {
        self.relay.mute();
    }

    /// The first frame from the server that `wanted` likes; each frame is given out once. `what` is for the panic when
    /// there is none.
    pub async fn frame(&mut self, what: &str, wanted: impl Fn(&Frame) -> bool) -> Frame {
        self.relay.frame(what, wanted).await
    }

    /// Waits until the server has closed the connection.
    pub async fn closed(&mut self) {
        self.relay.closed().await;
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

/// One stream. Dropping it before its end resets it with CANCEL.
#[derive(Debug)]
pub struct Call {
    response: Option<ResponseFuture>,
    sending: SendStream<Bytes>,
    receiving: Option<RecvStream>,
}

/// The head of an answer.
#[derive(Debug, Clone)]
pub struct Response {
    /// `:status`.
    pub status: u16,
    /// The other headers.
    pub headers: HeaderMap,
    /// Whether nothing follows.
    pub ended: bool,
}

impl Call {
    /// The number of its stream.
    pub fn stream(&self) -> u32 {
        self.sending.stream_id().as_u32()
    }

    /// Sends DATA as it is.
    pub fn data(&mut self, data: impl Into<Bytes>, end: bool) {
        self.sending
            .send_data(data.into(), end)
            .expect("the stream is open");
    }

    /// Sends `RST_STREAM`.
    pub fn reset(&mut self, code: u32) {
        self.sending.send_reset(code.into());
    }

    /// The headers of the answer.
    pub async fn response(&mut self) -> Response {
        self.try_response().await.expect("the server answers")
    }

    /// The headers of the answer, or the code of the reset that came instead.
    pub async fn try_response(&mut self) -> Result<Response, u32> {
        let future = self.response.take().expect("the headers are read once");
        let (head, body) = soon("an answer", future)
            .await
            .map_err(|error| code(&error))?
            .into_parts();
        let response = Response {
            status: head.status.as_u16(),
            headers: head.headers,
            ended: body.is_end_stream(),
        };
        self.receiving = Some(body);
        Ok(response)
    }

    /// The next piece of DATA; `None` at the end.
    pub async fn next_data(&mut self) -> Option<Bytes> {
        self.try_next_data().await.expect("the stream goes on")
    }

    /// The next piece of DATA, or the code of the reset that came instead.
    pub async fn try_next_data(&mut self) -> Result<Option<Bytes>, u32> {
        let body = self.receiving.as_mut().expect("the headers have been read");
        let Some(chunk) = soon("data", body.data()).await else {
            return Ok(None);
        };
        let chunk = chunk.map_err(|error| code(&error))?;
        let released = body.flow_control().release_capacity(chunk.len());
        released.expect("it was received");
        Ok(Some(chunk))
    }

    /// All DATA to the end.
    pub async fn body(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(chunk) = self.next_data().await {
            all.extend_from_slice(&chunk);
        }
        all
    }

    /// The trailers, after the DATA has been read.
    pub async fn trailers(&mut self) -> Option<HeaderMap> {
        let body = self.receiving.as_mut().expect("the headers have been read");
        let trailers = soon("trailers", body.trailers()).await;
        trailers.expect("the stream was not reset")
    }
}

fn code(error: &h2::Error) -> u32 {
    match error.reason() {
        Some(reason) => reason.into(),
        None => panic!("the stream was not reset, but ended: {error}"),
    }
}
