//! gRPC by hand: how a server of Nacos uses HTTP/2 is part of what clients stumble over.

use std::sync::Arc;

use bytes::{Buf as _, Bytes, BytesMut};
use h2::{RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, Request, Response};
use prost::Message as _;
use tokio::{
    net::TcpStream,
    sync::{Notify, mpsc},
    task::JoinSet,
};

use super::{gate::Gated, key::ConnectionId, state::Shared, wire::Payload};
use crate::peer::h2::envelope;

/// Serves one connection until either end closes it.
pub(super) async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    // Answers are small, and their parts are written one by one.
    let _ = socket.set_nodelay(true);
    let (presence, close) = Presence::new(shared);
    let socket = Gated {
        io: socket,
        gate: presence.shared.gate.clone(),
    };
    let connection = async {
        let mut builder = h2::server::Builder::new();
        builder.initial_window_size(WINDOW);
        builder.initial_connection_window_size(WINDOW);
        let Ok(mut connection) = builder.handshake(socket).await else {
            return;
        };
        let mut calls = JoinSet::new();
        loop {
            let (request, respond) = tokio::select! {
                call = connection.accept() => match call {
                    Some(Ok(call)) => call,
                    _ => return,
                },
                Some(_) = calls.join_next() => continue,
            };
            let call = Call {
                shared: presence.shared.clone(),
                id: presence.id,
                close: close.clone(),
                incoming: Incoming::new(request),
                respond,
            };
            calls.spawn(call.run());
        }
    };
    tokio::select! {
        () = connection => {}
        () = close.notified() => {}
    }
}

/// A connection is known to the server for as long as this lives, however its task ends.
struct Presence {
    shared: Arc<Shared>,
    id: ConnectionId,
}

impl Presence {
    fn new(shared: Arc<Shared>) -> (Self, Arc<Notify>) {
        let (id, close) = shared.update(|state, _| state.connect());
        (Self { shared, id }, close)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.shared
            .update(|state, now| state.disconnect(self.id, now));
    }
}

struct Call {
    shared: Arc<Shared>,
    id: ConnectionId,
    close: Arc<Notify>,
    incoming: Incoming,
    respond: SendResponse<Bytes>,
}

impl Call {
    /// An error of the transport ends the call: there is nobody to tell.
    async fn run(self) {
        let _ = match self.incoming.path.as_str() {
            "/Request/request" => self.unary().await,
            "/BiRequestStream/requestBiStream" => self.stream().await,
            path => {
                let text = format!("Method not found: {}", path.trim_start_matches('/'));
                only_trailers(self.respond, "12", &text)
            }
        };
    }

    async fn unary(mut self) -> Result<(), h2::Error> {
        let request = match self.incoming.message().await? {
            Some(Ok(request)) => request,
            Some(Err(Unreadable { status, text })) => {
                return only_trailers(self.respond, status, &text);
            }
            None => return only_trailers(self.respond, "13", "Half-closed without a request"),
        };
        let answer = self
            .shared
            .update(|state, now| state.answer(self.id, &request, now));
        let mut sending = self.respond.send_response(head(), false)?;
        sending.send_data(envelope(&answer.encode_to_vec()), false)?;
        sending.send_trailers(trailers("0", ""))
    }

    /// Its response begins with the first push, not before: until then a client is left to guess.
    async fn stream(mut self) -> Result<(), h2::Error> {
        let (sender, mut pushes) = mpsc::unbounded_channel();
        let mut sending: Option<SendStream<Bytes>> = None;
        loop {
            tokio::select! {
                message = self.incoming.message() => match message? {
                    Some(Ok(message)) if message.kind() == "ConnectionSetupRequest" => {
                        self.shared.update(|state, now| {
                            state.heard(self.id, &message, now);
                            state.set_up(self.id, sender.clone(), now);
                        });
                    }
                    Some(Ok(message)) => {
                        self.shared.update(|state, now| state.heard(self.id, &message, now));
                    }
                    Some(Err(_)) => {
                        self.close.notify_one();
                        return Ok(());
                    }
                    None => break,
                },
                Some(push) = pushes.recv() => {
                    let sending = match &mut sending {
                        Some(sending) => sending,
                        None => sending.insert(self.respond.send_response(head(), false)?),
                    };
                    sending.send_data(envelope(&push.encode_to_vec()), false)?;
                }
            }
        }
        match sending {
            Some(mut sending) => sending.send_trailers(trailers("0", "")),
            None => only_trailers(self.respond, "0", ""),
        }
    }
}

/// The messages of a request.
struct Incoming {
    path: String,
    body: RecvStream,
    bytes: BytesMut,
}

/// What a message is refused with before Nacos sees it.
struct Unreadable {
    status: &'static str,
    text: String,
}

impl Incoming {
    fn new(request: Request<RecvStream>) -> Self {
        Self {
            path: request.uri().path().to_owned(),
            body: request.into_body(),
            bytes: BytesMut::new(),
        }
    }

    /// The next message; `None` at the end. Cancel safe: what was read is kept.
    async fn message(&mut self) -> Result<Option<Result<Payload, Unreadable>>, h2::Error> {
        loop {
            if let Some(message) = self.take() {
                return Ok(Some(message));
            }
            let Some(chunk) = self.body.data().await else {
                return Ok(None);
            };
            let chunk = chunk?;
            self.body.flow_control().release_capacity(chunk.len())?;
            self.bytes.extend_from_slice(&chunk);
        }
    }

    fn take(&mut self) -> Option<Result<Payload, Unreadable>> {
        let head: [u8; 4] = self.bytes.get(1..5)?.try_into().ok()?;
        let len = u32::from_be_bytes(head) as usize;
        if len > MAX_MESSAGE {
            return Some(Err(Unreadable {
                status: "8",
                text: format!("gRPC message exceeds maximum size {MAX_MESSAGE}: {len}"),
            }));
        }
        if self.bytes.len() < 5 + len {
            return None;
        }
        self.bytes.advance(5);
        let message = Payload::decode(self.bytes.split_to(len).freeze());
        Some(message.map_err(|error| Unreadable {
            status: "13",
            text: format!("Invalid protobuf byte sequence: {error}"),
        }))
    }
}

fn head() -> Response<()> {
    let mut head = Response::new(());
    let headers = head.headers_mut();
    headers.insert("content-type", http::HeaderValue::from_static(GRPC));
    head
}

fn trailers(status: &'static str, text: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", http::HeaderValue::from_static(status));
    if !text.is_empty() {
        let text = percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
        let text = text.to_string().try_into();
        trailers.insert("grpc-message", text.expect("percent-encoding is ASCII"));
    }
    trailers
}

fn only_trailers(
    mut respond: SendResponse<Bytes>,
    status: &'static str,
    text: &str,
) -> Result<(), h2::Error> {
    let mut head = head();
    head.headers_mut().extend(trailers(status, text));
    respond.send_response(head, true)?;
    Ok(())
}

const GRPC: &str = "application/grpc";
const MAX_MESSAGE: usize = 10_485_760;
/// That of Java's gRPC servers.
const WINDOW: u32 = 1_048_576;
