//! A server whose every answer a test writes.

use std::{fmt, net::SocketAddr};

use bytes::{Buf as _, Bytes, BytesMut};
use h2::{RecvStream, SendStream, server::SendResponse};
use http::HeaderMap;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
};

use super::{
    envelope,
    frame::Frame,
    header_map,
    relay::{End, Relay},
};
use crate::soon;

/// A listening socket.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: Settings,
}

#[derive(Debug, Clone, Copy, Default)]
struct Settings {
    max_streams: Option<u32>,
    stream_window: Option<u32>,
}

impl Server {
    /// Listens on a free port of the loopback interface.
    pub async fn bind() -> Self {
        Self::bind_to(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Listens on `address`, such as that of a server that is gone.
    pub async fn bind_to(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address)
            .await
            .expect("the address is free");
        Self {
            address: listener.local_addr().expect("it is bound"),
            listener,
            settings: Settings::default(),
        }
    }

    /// Announces `max` as `SETTINGS_MAX_CONCURRENT_STREAMS`.
    pub fn max_streams(mut self, max: u32) -> Self {
        self.settings.max_streams = Some(max);
        self
    }

    /// Announces `size` as `SETTINGS_INITIAL_WINDOW_SIZE`.
    pub fn stream_window(mut self, size: u32) -> Self {
        self.settings.stream_window = Some(size);
        self
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection, which speaks HTTP/2.
    pub async fn accept(&self) -> ServerConnection {
        let socket = self.accept_raw().await;
        socket.set_nodelay(true).expect("it is open");
        ServerConnection::start(socket, self.settings)
    }

    /// The next connection, on which nothing has been said.
    pub async fn accept_raw(&self) -> TcpStream {
        let accepted = soon("a connection", self.listener.accept()).await;
        accepted.expect("the socket is open").0
    }
}

/// One connection of a client. Dropping it closes the socket at once.
pub struct ServerConnection {
    relay: Relay,
    requests: mpsc::UnboundedReceiver<Request>,
    _tasks: JoinSet<()>,
}

impl ServerConnection {
    /// Speaks HTTP/2 over `io`, such as one end of [`tokio::io::duplex`].
    pub fn over(io: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        Self::start(io, Settings::default())
    }

    fn start(io: impl AsyncRead + AsyncWrite + Send + 'static, settings: Settings) -> Self {
        let (relay, io) = Relay::start(io, End::Server);
        let (sender, requests) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut builder = h2::server::Builder::new();
            if let Some(max) = settings.max_streams {
                builder.max_concurrent_streams(max);
            }
            if let Some(size) = settings.stream_window {
                builder.initial_window_size(size);
            }
            let Ok(mut connection) = builder.handshake(io).await else {
                return;
            };
            while let Some(Ok((request, respond))) = connection.accept().await {
                let (head, body) = request.into_parts();
                let _ = sender.send(Request {
                    head,
                    body,
                    bytes: BytesMut::new(),
                    respond,
                    sending: None,
                });
            }
        });
        Self {
            relay,
            requests,
            _tasks: tasks,
        }
    }

    /// The next request.
    pub async fn request(&mut self) -> Request {
        let request = soon("a request", self.request_or_end()).await;
        request.expect("the connection is open until the request has come")
    }

    /// The next request; `None` at the end of the connection. However long it takes.
    pub async fn request_or_end(&mut self) -> Option<Request> {
        self.requests.recv().await
    }

    /// Sends `frame`, whatever it is.
    pub fn insert(&self, frame: &Frame) {
        self.relay.insert(frame.encode());
    }

    /// Sends nothing more, and reads on: a peer that hangs.
    pub fn mute(&self) {
        self.relay.mute();
    }

    /// The first frame from the client that `wanted` likes; each frame is given out once. `what` is for the panic when
    /// there is none.
    pub async fn frame(&mut self, what: &str, wanted: impl Fn(&Frame) -> bool) -> Frame {
        self.relay.frame(what, wanted).await
    }

    /// Waits until the client has closed the connection.
    pub async fn closed(&mut self) {
        self.relay.closed().await;
    }
}

impl fmt::Debug for ServerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConnection").finish_non_exhaustive()
    }
}

/// One request, and how it is answered. Dropping it unanswered resets the stream.
#[derive(Debug)]
pub struct Request {
    head: http::request::Parts,
    body: RecvStream,
    bytes: BytesMut,
    respond: SendResponse<Bytes>,
    sending: Option<SendStream<Bytes>>,
}

impl Request {
    /// The path.
    pub fn path(&self) -> &str {
        self.head.uri.path()
    }

    /// `:authority`.
    pub fn authority(&self) -> Option<&str> {
        self.head.uri.authority().map(http::uri::Authority::as_str)
    }

    /// The number of its stream.
    pub fn stream(&self) -> u32 {
        self.respond.stream_id().as_u32()
    }

    /// One header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The next message, without its envelope; `None` at the end.
    pub async fn message(&mut self) -> Option<Bytes> {
        soon("a message", async {
            loop {
                if let Some(message) = take_message(&mut self.bytes) {
                    return Some(message);
                }
                let chunk = self.body.data().await?.expect("the stream goes on");
                let released = self.body.flow_control().release_capacity(chunk.len());
                released.expect("it was received");
                self.bytes.extend_from_slice(&chunk);
            }
        })
        .await
    }

    /// Reads until the client ends or resets the stream: the code of the reset.
    pub async fn end(&mut self) -> Result<(), u32> {
        soon("the end of the request", async {
            while let Some(chunk) = self.body.data().await {
                let chunk = chunk.map_err(|error| reset_code(&error))?;
                let released = self.body.flow_control().release_capacity(chunk.len());
                released.expect("it was received");
            }
            Ok(())
        })
        .await
    }

    /// Waits until the client resets the stream: the code.
    pub async fn reset_by_client(&mut self) -> u32 {
        let event = std::future::poll_fn(|cx| match &mut self.sending {
            Some(sending) => sending.poll_reset(cx),
            None => self.respond.poll_reset(cx),
        });
        match soon("a reset of the client", event).await {
            Ok(reason) => reason.into(),
            Err(error) => panic!("the stream ended otherwise: {error}"),
        }
    }

    /// Sends HEADERS.
    pub fn send_headers(&mut self, status: u16, headers: &[(&str, &str)]) {
        self.send_head(status, headers, false);
    }

    /// Sends HEADERS that end the stream: "trailers only".
    pub fn send_only_headers(&mut self, status: u16, headers: &[(&str, &str)]) {
        self.send_head(status, headers, true);
    }

    /// Sends DATA as it is.
    pub fn send_data(&mut self, data: impl Into<Bytes>, end: bool) {
        let sending = self.sending.as_mut().expect("headers have been sent");
        sending
            .send_data(data.into(), end)
            .expect("the stream is open");
    }

    /// Sends trailers.
    pub fn send_trailers(&mut self, trailers: &[(&str, &str)]) {
        let sending = self.sending.as_mut().expect("headers have been sent");
        let sent = sending.send_trailers(header_map(trailers));
        sent.expect("the stream is open");
    }

    /// Sends `RST_STREAM`.
    pub fn send_reset(&mut self, code: u32) {
        match &mut self.sending {
            Some(sending) => sending.send_reset(code.into()),
            None => self.respond.send_reset(code.into()),
        }
    }

    /// Sends the headers of gRPC.
    pub fn accept(&mut self) {
        self.send_headers(200, &[("content-type", "application/grpc+proto")]);
    }

    /// Sends one message in its envelope.
    pub fn send_message(&mut self, message: &[u8]) {
        self.send_data(envelope(message), false);
    }

    /// Sends trailers with this status.
    pub fn finish(&mut self, status: &str) {
        self.send_trailers(&[("grpc-status", status)]);
    }

    /// Answers as every gRPC server does: headers, one message, success.
    pub fn reply(&mut self, message: &[u8]) {
        self.accept();
        self.send_message(message);
        self.finish("0");
    }

    fn send_head(&mut self, status: u16, headers: &[(&str, &str)], end: bool) {
        let mut response = http::Response::new(());
        *response.status_mut() = status.try_into().expect("a legal status");
        *response.headers_mut() = header_map(headers);
        let sending = self.respond.send_response(response, end);
        self.sending = Some(sending.expect("the stream is open and not answered"));
    }
}

fn take_message(bytes: &mut BytesMut) -> Option<Bytes> {
    let head = bytes.get(1..5)?;
    let len = u32::from_be_bytes(head.try_into().ok()?) as usize;
    if bytes.len() < 5 + len {
        return None;
    }
    bytes.advance(5);
    Some(bytes.split_to(len).freeze())
}

fn reset_code(error: &h2::Error) -> u32 {
    match error.reason() {
        Some(reason) => reason.into(),
        None => panic!("the stream was not reset, but ended: {error}"),
    }
}
