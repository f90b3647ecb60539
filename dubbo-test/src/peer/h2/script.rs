//! A server that does what a table says, frame by frame, with nothing between the table and the wire.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Notify, mpsc},
    task::JoinSet,
};

use super::{
    envelope,
    frame::{Frame, PREFACE, kind},
};
use crate::soon;

/// What a scripted server does next. What is sent for a request is sent on the stream of the one that came last, or of
/// the one that was [named](Self::About).
#[derive(Debug, Clone)]
pub enum Step {
    /// Waits for one more request, to its end.
    Request,
    /// Turns to the request with this number, from 0.
    About(usize),
    /// Sends HEADERS, `:status` among them.
    Headers(Fields),
    /// Sends HEADERS that end the stream: trailers, or an answer without messages.
    LastHeaders(Fields),
    /// Sends DATA.
    Data(Bytes),
    /// Sends DATA that end the stream.
    LastData(Bytes),
    /// Sends `RST_STREAM` with this code.
    Reset(u32),
    /// Sends GOAWAY with this code.
    GoAway(Last, u32),
    /// Sends any frame.
    Send(Frame),
    /// Sends bytes that need not be a frame.
    Raw(Bytes),
    /// Sends what follows in pieces of so many bytes, each by itself.
    Pieces(usize),
    /// Answers nothing more by itself: no SETTINGS, no PING and no request. As the first step it says nothing at all.
    Hush,
    /// Reads nothing until [`Scripted::resume`].
    Stall,
    /// Closes the connection.
    Close,
}

/// Names and values of headers, as they are sent.
pub type Fields = &'static [(&'static str, &'static str)];

/// The last stream that a GOAWAY says was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// There was none.
    Nothing,
    /// The one of the request.
    This,
    /// Whatever may still come, as the first step of a graceful end says.
    Any,
}

/// A server of which the first connection goes by a script. What comes on it after the script, and on every other
/// connection, is answered with one message: the number of the connection, from 1, as a protobuf string.
pub struct Scripted {
    address: SocketAddr,
    seen: mpsc::UnboundedReceiver<Frame>,
    resume: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Scripted {
    /// Listens on a free port of the loopback interface.
    pub async fn start(steps: impl Into<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let (see, seen) = mpsc::unbounded_channel();
        let resume = Arc::new(Notify::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(listener, steps.into(), see, Arc::clone(&resume)));
        Self {
            address,
            seen,
            resume,
            _tasks: tasks,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Reads again, where it has [stalled](Step::Stall).
    pub fn resume(&self) {
        self.resume.notify_one();
    }

    /// The next frame on the first connection that `wanted` likes; those before it are gone. `what` is for the panic when
    /// there is none.
    pub async fn frame(&mut self, what: &str, wanted: impl Fn(&Frame) -> bool) -> Frame {
        soon(what, async {
            loop {
                let frame = self.seen.recv().await;
                let frame = frame.unwrap_or_else(|| panic!("the connection ended before {what}"));
                if wanted(&frame) {
                    return frame;
                }
            }
        })
        .await
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

async fn listen(
    listener: TcpListener,
    steps: Vec<Step>,
    see: mpsc::UnboundedSender<Frame>,
    resume: Arc<Notify>,
) {
    let mut connections = JoinSet::new();
    let mut first = Some((steps, see));
    for number in 1.. {
        let (socket, _) = listener.accept().await.expect("the socket is open");
        socket.set_nodelay(true).expect("it is open");
        let (steps, see) = first
            .take()
            .map_or((Vec::new(), None), |(steps, see)| (steps, Some(see)));
        let wire = Wire::new(socket, see);
        let resume = Arc::clone(&resume);
        connections.spawn(async move {
            // A client may hang up whenever it wants to.
            let _ = wire.play(steps, number, &resume).await;
        });
    }
}

/// One connection.
struct Wire {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    read: BytesMut,
    preface: usize,
    pieces: usize,
    hushed: bool,
    /// The streams of the requests that have come to their end.
    requests: Vec<u32>,
    see: Option<mpsc::UnboundedSender<Frame>>,
}

impl Wire {
    fn new(socket: TcpStream, see: Option<mpsc::UnboundedSender<Frame>>) -> Self {
        let (from, to) = socket.into_split();
        Self {
            from,
            to,
            read: BytesMut::new(),
            preface: PREFACE.len(),
            pieces: usize::MAX,
            hushed: false,
            requests: Vec::new(),
            see,
        }
    }

    async fn play(mut self, steps: Vec<Step>, number: usize, resume: &Notify) -> io::Result<()> {
        if !matches!(steps.first(), Some(Step::Hush)) {
            self.send(&Frame::settings(&[])).await?;
        }
        let mut about = 0;
        for step in steps {
            let stream = self.requests.get(about).copied().unwrap_or(0);
            match step {
                Step::Request => {
                    self.request().await?;
                    about = self.requests.len() - 1;
                }
                Step::About(request) => about = request,
                Step::Headers(fields) => self.send(&headers(stream, fields, false)).await?,
                Step::LastHeaders(fields) => self.send(&headers(stream, fields, true)).await?,
                Step::Data(bytes) => self.send(&Frame::data(stream, bytes, false)).await?,
                Step::LastData(bytes) => self.send(&Frame::data(stream, bytes, true)).await?,
                Step::Reset(code) => self.send(&Frame::reset(stream, code)).await?,
                Step::GoAway(last, code) => {
                    let last = match last {
                        Last::Nothing => 0,
                        Last::This => stream,
                        Last::Any => 0x7fff_ffff,
                    };
                    self.send(&Frame::go_away(last, code, "")).await?;
                }
                Step::Send(frame) => self.send(&frame).await?,
                Step::Raw(bytes) => self.write(&bytes).await?,
                Step::Pieces(size) => self.pieces = size,
                Step::Hush => self.hushed = true,
                Step::Stall => resume.notified().await,
                Step::Close => return Ok(()),
            }
        }
        self.pieces = usize::MAX;
        loop {
            let stream = self.request().await?;
            if !self.hushed {
                self.reply(stream, number).await?;
            }
        }
    }

    /// Waits for the end of one more request: its stream.
    async fn request(&mut self) -> io::Result<u32> {
        loop {
            let frame = self.frame().await?;
            if frame.ends_stream() {
                self.requests.push(frame.stream);
                return Ok(frame.stream);
            }
        }
    }

    async fn reply(&mut self, stream: u32, number: usize) -> io::Result<()> {
        let text = number.to_string();
        let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
        let message = [&[0x0a, length], text.as_bytes()].concat();
        let begin: Fields = &[(":status", "200"), ("content-type", "application/grpc")];
        self.send(&headers(stream, begin, false)).await?;
        let data = Frame::data(stream, envelope(&message), false);
        self.send(&data).await?;
        self.send(&headers(stream, &[("grpc-status", "0")], true))
            .await
    }

    /// The next frame of the client, answered where HTTP/2 wants an answer.
    async fn frame(&mut self) -> io::Result<Frame> {
        let frame = loop {
            let skipped = self.preface.min(self.read.len());
            let _ = self.read.split_to(skipped);
            self.preface -= skipped;
            if self.preface == 0
                && let Some(frame) = Frame::decode(&mut self.read)
            {
                break frame;
            }
            if self.from.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        };
        if let Some(see) = &self.see {
            // The test may look no more.
            let _ = see.send(frame.clone());
        }
        if self.hushed || frame.is_ack() {
            return Ok(frame);
        }
        match frame.kind {
            kind::SETTINGS => self.send(&Frame::new(kind::SETTINGS, ACK, 0, "")).await?,
            kind::PING => {
                let answer = Frame::new(kind::PING, ACK, 0, frame.payload.clone());
                self.send(&answer).await?;
            }
            kind::DATA if !frame.payload.is_empty() => {
                for stream in [0, frame.stream] {
                    let room = u32::try_from(frame.payload.len()).unwrap_or(u32::MAX);
                    let update = room.to_be_bytes().to_vec();
                    self.send(&Frame::new(kind::WINDOW_UPDATE, 0, stream, update))
                        .await?;
                }
            }
            _ => {}
        }
        Ok(frame)
    }

    async fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.write(&frame.encode()).await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.chunks(self.pieces) {
            self.to.write_all(piece).await?;
            if piece.len() == self.pieces {
                // So that the client may read it by itself.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }
}

fn headers(stream: u32, fields: Fields, end: bool) -> Frame {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()))
        .collect();
    Frame::headers(stream, &fields, end)
}

const ACK: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::h2::{Client, code};

    #[tokio::test]
    async fn the_first_connection_goes_by_the_script_and_the_others_answer() {
        let fields: Fields = &[(":status", "404"), ("x", "1")];
        let mut server = Scripted::start([
            Step::Request,
            Step::Pieces(1),
            Step::Headers(fields),
            Step::LastData("ab".into()),
            Step::Request,
            Step::Reset(code::CANCEL),
        ])
        .await;
        let mut client = Client::connect(server.address()).await;
        let mut call = client.post("/a", &[]).await;
        call.data("request", true);
        let response = call.response().await;
        assert_eq!(
            (response.status, &response.headers["x"]),
            (404, &"1".parse().expect("legal"))
        );
        assert_eq!(call.body().await, b"ab");
        let mut call = client.post("/b", &[]).await;
        call.data("", true);
        assert_eq!(call.try_response().await.expect_err("reset"), code::CANCEL);
        let data = |frame: &Frame| frame.kind == kind::DATA;
        assert_eq!(server.frame("DATA", data).await.payload, "request");

        let mut other = Client::connect(server.address()).await;
        for (client, want) in [(&mut client, b"\n\x011"), (&mut other, b"\n\x012")] {
            let mut call = client.post("/c", &[]).await;
            call.data("", true);
            assert_eq!(call.response().await.status, 200);
            assert_eq!(call.body().await, envelope(want));
            assert_eq!(call.trailers().await.expect("some")["grpc-status"], "0");
        }
    }
}
