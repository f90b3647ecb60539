use std::{collections::BTreeMap, fmt, net::SocketAddr, time::Duration};

use bytes::BytesMut;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::{
    peer::h2::{Frame, PREFACE, kind},
    soon,
};

/// A connection that sends what it is told, legal or not, and keeps account of what comes back.
///
/// It acknowledges SETTINGS and PING when it reads them, as any peer does.
pub struct Wire {
    socket: TcpStream,
    input: BytesMut,
    heard: Heard,
}

/// What a server has said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Header blocks: answers, and trailers.
    pub blocks: usize,
    /// Streams that the server has ended.
    pub ended: usize,
    /// Bytes of DATA.
    pub data: usize,
    /// Streams that it has reset, by the code.
    pub resets: BTreeMap<u32, usize>,
    /// Answers to PING.
    pub pongs: usize,
    /// Acknowledgements of SETTINGS.
    pub settings: usize,
    /// The code and the text of the last GOAWAY.
    pub go_away: Option<(u32, String)>,
    /// Whether the connection is over.
    pub closed: bool,
}

impl Wire {
    /// Connects, and says nothing.
    pub async fn connect(address: SocketAddr) -> Self {
        Self::open(address, None).await
    }

    async fn open(address: SocketAddr, room: Option<u32>) -> Self {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        };
        let socket = socket.expect("a socket");
        if let Some(room) = room {
            socket.set_recv_buffer_size(room).expect("it is open");
        }
        let socket = soon("a connection", socket.connect(address)).await;
        let socket = socket.expect("the server listens");
        socket.set_nodelay(true).expect("it is open");
        Self {
            socket,
            input: BytesMut::new(),
            heard: Heard::default(),
        }
    }

    /// Connects, and begins HTTP/2 with these settings.
    pub async fn http2(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        Self::connect(address).await.begin(settings).await
    }

    /// The same with as little room for what it hears as the system gives.
    pub async fn http2_deaf(address: SocketAddr, settings: &[(u16, u32)]) -> Self {
        Self::open(address, Some(LITTLE))
            .await
            .begin(settings)
            .await
    }

    async fn begin(mut self, settings: &[(u16, u32)]) -> Self {
        let hello = [PREFACE, &Frame::settings(settings).encode()].concat();
        self.send(hello).await;
        self
    }

    /// What has been heard so far.
    pub fn heard(&self) -> &Heard {
        &self.heard
    }

    /// Sends `bytes` and takes in meanwhile what comes, so that neither end waits for the other. Whether the connection
    /// is still open.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let mut rest = bytes.as_ref();
        soon("room to send", async {
            while !rest.is_empty() && !self.heard.closed {
                let (mut read, mut write) = self.socket.split();
                tokio::select! {
                    written = write.write(rest) => match written {
                        Ok(count) if count > 0 => rest = &rest[count..],
                        _ => self.drain().await,
                    },
                    read = read.read_buf(&mut self.input) => self.take_in(matches!(read, Ok(1..))).await,
                }
            }
        })
        .await;
        !self.heard.closed
    }

    /// Sends `bytes` and reads nothing, until all of them are sent or the server takes no more: how many it took.
    pub async fn send_deaf(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            match timeout(STUCK, self.socket.write(&bytes[sent..])).await {
                Ok(Ok(count)) if count > 0 => sent += count,
                _ => break,
            }
        }
        sent
    }

    /// Takes in what comes until `done`, or the end of the connection; `what` is for the panic when neither comes.
    pub async fn hear(&mut self, what: &str, done: impl Fn(&Heard) -> bool) -> &Heard {
        soon(what, async {
            while !self.heard.closed && !done(&self.heard) {
                let read = self.socket.read_buf(&mut self.input).await;
                self.take_in(matches!(read, Ok(1..))).await;
            }
        })
        .await;
        &self.heard
    }

    /// The connection as it is.
    pub fn into_socket(self) -> TcpStream {
        self.socket
    }

    /// Takes in what is left to be read of a connection that takes nothing more.
    async fn drain(&mut self) {
        loop {
            let read = self.socket.read_buf(&mut self.input).await;
            let open = matches!(read, Ok(1..));
            self.account();
            if !open {
                self.heard.closed = true;
                return;
            }
        }
    }

    async fn take_in(&mut self, open: bool) {
        let answers = self.account();
        if !open {
            self.heard.closed = true;
        } else if !answers.is_empty() {
            // Small, and rare.
            let _ = self.socket.write_all(&answers).await;
        }
    }

    /// Counts the whole frames that have come: what a polite peer answers to them.
    fn account(&mut self) -> Vec<u8> {
        let mut answers = Vec::new();
        while let Some(frame) = Frame::decode(&mut self.input) {
            let heard = &mut self.heard;
            heard.ended += usize::from(frame.ends_stream());
            match frame.kind {
                kind::HEADERS => heard.blocks += 1,
                kind::DATA => heard.data += frame.payload.len(),
                kind::RST_STREAM => {
                    let code = frame.code().unwrap_or(u32::MAX);
                    *heard.resets.entry(code).or_default() += 1;
                }
                kind::GOAWAY => {
                    let text = frame.payload.get(8..).unwrap_or_default();
                    let text = String::from_utf8_lossy(text).into_owned();
                    heard.go_away = frame.code().map(|code| (code, text));
                }
                kind::PING if frame.is_ack() => heard.pongs += 1,
                kind::PING => {
                    let data = frame.payload[..].try_into().unwrap_or_default();
                    answers.extend_from_slice(&Frame::ping(true, data).encode());
                }
                kind::SETTINGS if frame.is_ack() => heard.settings += 1,
                kind::SETTINGS => {
                    answers.extend_from_slice(&Frame::new(kind::SETTINGS, ACK, 0, "").encode());
                }
                _ => {}
            }
        }
        answers
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("heard", &self.heard)
            .finish_non_exhaustive()
    }
}

impl Heard {
    /// The code of GOAWAY.
    pub fn code(&self) -> Option<u32> {
        self.go_away.as_ref().map(|(code, _)| *code)
    }
}

const ACK: u8 = 1;

/// Less is rounded up.
const LITTLE: u32 = 4 << 10;

/// How long a server may take nothing before it is taken for one that waits.
const STUCK: Duration = Duration::from_millis(500);
