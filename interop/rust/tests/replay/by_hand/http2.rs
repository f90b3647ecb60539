//! HTTP/2, header for header and frame by frame, legal or not.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use dubbo_test::peer::h2::{Client, Frame, PREFACE, kind};
use http::{Method, Request};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use super::Answer;
use crate::{
    raw_client::{Exchange, Until},
    record::{End, Stream},
};

/// Asks what `stream` has, and reads the answer.
pub(super) async fn ask(address: SocketAddr, stream: &Stream) -> Answer {
    let socket = TcpStream::connect(address).await.expect("it listens");
    let (from_server, to_server) = socket.into_split();
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_client, to_client) = tokio::io::split(theirs);
    let mut tasks = JoinSet::new();
    tasks.spawn(pass_with(head(stream), from_client, to_server));
    tasks.spawn(pass(from_server, to_client));

    let mut client = Client::over(ours, &address.to_string()).await;
    let method = stream.request.headers.text(":method").expect("a method");
    let stand_in = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).expect("a method"))
        .uri(format!("http://{address}/"))
        .body(())
        .expect("a request");
    let only_headers = first_frame_ends(stream);
    let mut exchange = Exchange::of(client.open(stand_in, only_headers).await);
    if !only_headers && !is_over_at_once(stream) {
        exchange.send(stream, !is_left_open(stream));
    }
    let mut is_early = false;
    if is_left_open(stream) {
        is_early = is_answered(&mut client).await;
        exchange.half_close();
    }
    let mut half = exchange.read(Until::End).await.clone();
    if matches!(half.end, End::Reset { .. }) && has_gone(&mut client).await {
        half.end = End::GoneAway;
    }
    Answer {
        beside: earliness(stream, is_early),
        half,
    }
}

/// Whether the answer came before the request ended, where a request was left open to see.
pub(super) fn earliness(stream: &Stream, is_early: bool) -> Vec<(&'static str, String)> {
    let noted = is_left_open(stream).then(|| ("answered early", is_early.to_string()));
    noted.into_iter().collect()
}

/// A request of which nothing came was answered too soon for more. One of which a message came was left open on purpose.
fn is_left_open(stream: &Stream) -> bool {
    stream.request.end == End::Open && !stream.request.data.is_empty()
}

/// Whether its time was over before it had come: here its message does not come, so that no clock decides.
fn is_over_at_once(stream: &Stream) -> bool {
    stream.request.headers.value("grpc-timeout") == Some(b"1u")
}

fn first_frame_ends(stream: &Stream) -> bool {
    let mut frames = stream.all_frames();
    let first = frames.find(|frame| frame.by_client && frame.kind == "HEADERS");
    first.expect("headers").ends_stream
}

/// The headers of `stream` as they were, in frames that every server takes.
fn head(stream: &Stream) -> Bytes {
    let pairs = stream.request.headers.0.iter();
    let pairs: Vec<_> = pairs.map(|(name, value)| (&**name, &**value)).collect();
    let whole = Frame::headers(FIRST, &pairs, first_frame_ends(stream));
    let mut block = whole.payload;
    let mut part = Frame::new(kind::HEADERS, whole.flags & !END_HEADERS, FIRST, "");
    let mut bytes = BytesMut::new();
    while !block.is_empty() {
        part.payload = block.split_to(block.len().min(MAX_FRAME));
        if block.is_empty() {
            part.flags |= END_HEADERS;
        }
        bytes.extend_from_slice(&part.encode());
        part = Frame::new(kind::CONTINUATION, 0, FIRST, "");
    }
    bytes.freeze()
}

/// Passes on what a client sends, but with `head` instead of the headers of its request.
async fn pass_with(head: Bytes, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut bytes = BytesMut::new();
    let mut preface = PREFACE.len();
    while matches!(from.read_buf(&mut bytes).await, Ok(1..)) {
        let mut out = bytes.split_to(preface.min(bytes.len()));
        preface -= out.len();
        while preface == 0
            && let Some(frame) = Frame::decode(&mut bytes)
        {
            if frame.kind == kind::HEADERS {
                out.extend_from_slice(&head);
            } else {
                out.extend_from_slice(&frame.encode());
            }
        }
        if to.write_all(&out).await.is_err() {
            return;
        }
    }
}

async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    // However it ends, what came has been passed on.
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Whether an answer comes while the server has nothing else to do: it does not keep two questions for a sign of life
/// waiting.
async fn is_answered(client: &mut Client) -> bool {
    for _ in 0..2 {
        client.insert(&Frame::ping(false, *b"answered"));
        let frame = client
            .frame("an answer or a sign of life", |frame| {
                frame.kind == kind::HEADERS || frame.kind == kind::PING && frame.is_ack()
            })
            .await;
        if frame.kind == kind::HEADERS {
            return true;
        }
    }
    false
}

/// Whether the server gave up more than the call.
async fn has_gone(client: &mut Client) -> bool {
    let ends = [kind::GOAWAY, kind::RST_STREAM];
    let end = client.frame("the end", |frame| ends.contains(&frame.kind));
    end.await.kind == kind::GOAWAY
}

const BUFFER: usize = 1024 * 1024;
const END_HEADERS: u8 = 4;

/// The stream of the first request.
const FIRST: u32 = 1;

/// HTTP/2's default.
const MAX_FRAME: usize = 16_384;
