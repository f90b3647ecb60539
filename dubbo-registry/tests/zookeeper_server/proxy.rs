//! A wire between a client and a ZooKeeper server that can be cut, blocked, and made to look like that of an old server.

use std::{io, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{Mutex, watch},
    task::JoinSet,
};

/// What the wire does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// It carries everything.
    Open,
    /// It carries nothing, and nobody notices at once.
    Blocked,
    /// As blocked, and who connects is turned away.
    Refused,
}

/// The proxy. Everything ends when it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    wire: watch::Sender<Wire>,
    /// Each change cuts all connections.
    cuts: watch::Sender<u64>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Stands before `server`.
    pub(crate) async fn before(server: &str) -> Self {
        Self::new(server, Trick::None).await
    }

    /// Stands before `server` and answers requests for persistent watches as ZooKeeper 3.5 does.
    pub(crate) async fn old(server: &str) -> Self {
        Self::new(server, Trick::Old).await
    }

    /// Stands before `server` and swallows what the first answer about the data of a node should say.
    pub(crate) async fn garbling(server: &str) -> Self {
        Self::new(server, Trick::Garble(Arc::default())).await
    }

    async fn new(server: &str, trick: Trick) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (wire, cuts) = (watch::Sender::new(Wire::Open), watch::Sender::new(0));
        let mut tasks = JoinSet::new();
        let (server, wires, cut) = (server.to_owned(), wire.subscribe(), cuts.subscribe());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.expect("accepts");
                if *wires.borrow() == Wire::Refused {
                    continue;
                }
                let (server, wire, mut cut) = (server.clone(), wires.clone(), cut.clone());
                let trick = trick.clone();
                cut.mark_unchanged();
                connections.spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        _ = carry(client, &server, wire, trick) => {}
                    }
                });
            }
        });
        Self {
            address,
            wire,
            cuts,
            _tasks: tasks,
        }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn set(&self, wire: Wire) {
        self.wire.send_replace(wire);
    }

    /// Ends all connections; new ones are welcome.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn carry(
    client: TcpStream,
    server: &str,
    wire: watch::Receiver<Wire>,
    trick: Trick,
) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let to_client = Mutex::new(to_client);
    tokio::select! {
        done = requests(from_client, to_server, &to_client, wire.clone(), &trick) => done,
        done = answers(from_server, &to_client, wire, &trick) => done,
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    back: &Mutex<OwnedWriteHalf>,
    mut wire: watch::Receiver<Wire>,
    trick: &Trick,
) -> io::Result<()> {
    let mut is_first = true;
    loop {
        let frame = frame(&mut from).await?;
        open(&mut wire).await;
        // The first frame asks for a session and has no header.
        let kind = frame.get(8..12).filter(|_| !is_first);
        match trick {
            Trick::Old if kind == Some(&ADD_WATCH) => {
                let answer = [&HEADER, &frame[4..8], &[0; 8], &UNIMPLEMENTED].concat();
                back.lock().await.write_all(&answer).await?;
                return Ok(());
            }
            Trick::Garble(asked) if kind == Some(&GET_DATA) => {
                asked
                    .lock()
                    .await
                    .get_or_insert_with(|| frame[4..8].to_vec());
            }
            _ => {}
        }
        is_first = false;
        to.write_all(&frame).await?;
    }
}

async fn answers(
    mut from: OwnedReadHalf,
    to: &Mutex<OwnedWriteHalf>,
    mut wire: watch::Receiver<Wire>,
    trick: &Trick,
) -> io::Result<()> {
    loop {
        let mut frame = frame(&mut from).await?;
        open(&mut wire).await;
        if let Trick::Garble(asked) = trick {
            let mut asked = asked.lock().await;
            if asked.is_some() && frame.get(4..8) == asked.as_deref() {
                frame = [&HEADER, &frame[4..20]].concat();
                // No number that anybody uses.
                *asked = Some(Vec::new());
            }
        }
        to.lock().await.write_all(&frame).await?;
    }
}

/// A frame with its length before it.
async fn frame(from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let length = from.read_u32().await?;
    let mut frame = length.to_be_bytes().to_vec();
    let body = from.take(length.into()).read_to_end(&mut frame).await?;
    if body < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(frame)
}

async fn open(wire: &mut watch::Receiver<Wire>) {
    let _ = wire.wait_for(|wire| *wire == Wire::Open).await;
}

/// What a proxy does to what it carries.
#[derive(Clone)]
enum Trick {
    None,
    /// Persistent watches are unknown, and asking for one ends the connection.
    Old,
    /// The answer to the request of this number, the first of its kind, loses everything but its header.
    Garble(Arc<Mutex<Option<Vec<u8>>>>),
}

/// The length of an answer that has only a header.
const HEADER: [u8; 4] = 16_u32.to_be_bytes();

/// The number of the request for a node's data.
const GET_DATA: [u8; 4] = 4_i32.to_be_bytes();

/// The number of the request for a persistent watch.
const ADD_WATCH: [u8; 4] = 106_i32.to_be_bytes();

/// The number of the error for requests that a server does not know. It hangs up after that.
const UNIMPLEMENTED: [u8; 4] = (-6_i32).to_be_bytes();
