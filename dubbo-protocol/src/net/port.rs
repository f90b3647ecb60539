//! Listening ports, which the protocols of an instance share.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use dubbo_core::{invocation::Peer, protocol::ProtocolError, tls::TlsFiles, url::Url};
use parking_lot::{Mutex, RwLock};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Dialect, Preface, Stream,
    accept::{Trouble, accept_until},
    dialect::{TLS, UNDECIDED},
    open::{Connection, Open},
    plain::refuse,
    preface::{SPEAKS_TLS, listen_to},
    tls::ServerTls,
    undecided::{MOST_UNDECIDED, Undecided},
};

/// The ports that protocols of one instance have open.
#[derive(Default)]
pub(super) struct Ports(tokio::sync::Mutex<Vec<Arc<Port>>>);

impl Ports {
    /// Opens a port for `dialects`, or joins those who have it open for others.
    pub(super) async fn open(
        &self,
        host: &str,
        port: u16,
        files: &Arc<TlsFiles>,
        dialects: &'static [Dialect],
        take: Take,
    ) -> Result<Listening, ProtocolError> {
        let refused = |source| ProtocolError::Bind {
            address: Url::new("", host).with_port(port).address(),
            source,
        };
        let mut ports = self.0.lock().await;
        ports.retain(|open| !(open.is_closed() && open.tasks.is_empty()));
        if let Some(known) = ports.iter().find(|open| open.is_at(host, port)) {
            match known.join(files, dialects, &take) {
                Ok(()) => {
                    let port = Arc::clone(known);
                    return Ok(Listening { port, dialects });
                }
                Err(_) if known.is_closed() => known.tasks.wait().await,
                Err(reason) => {
                    return Err(refused(io::Error::new(io::ErrorKind::AddrInUse, reason)));
                }
            }
        }
        let tls = ServerTls::load(files)?;
        let bound = TcpListener::bind((host, port)).await;
        let listener = bound.map_err(|error| refused(explain(error)))?;
        let open = Arc::new(Port {
            host: host.to_owned(),
            bound: listener.local_addr().map_err(refused)?,
            files: Arc::clone(files),
            tls,
            takers: RwLock::default(),
            undecided: Undecided::default(),
            connections: Arc::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            refusals: Mutex::default(),
            strangers: Mutex::default(),
            crowding: Mutex::default(),
        });
        open.join(files, dialects, &take)
            .map_err(|reason| refused(io::Error::other(reason)))?;
        open.listen(listener);
        ports.push(Arc::clone(&open));
        Ok(Listening {
            port: open,
            dialects,
        })
    }

    /// The connections that are served, port by port.
    pub(super) async fn connections(&self) -> Vec<Connection> {
        let ports = self.0.lock().await;
        let each = ports.iter().map(|port| port.connections.all(port.bound));
        each.flatten().collect()
    }
}

/// A share in a port. Dropping it gives it up at once: no more connections come, and with the last share the port is
/// closed.
#[derive(Debug)]
pub(crate) struct Listening {
    port: Arc<Port>,
    dialects: &'static [Dialect],
}

impl Listening {
    /// Where it listens, the port never 0.
    pub(crate) fn address(&self) -> SocketAddr {
        self.port.bound
    }

    /// Keeps no more connections that have yet to show what they speak than `room` says that there is room for when one
    /// comes, but one: the oldest are closed. Without this they are [`MOST_UNDECIDED`].
    pub(crate) fn limit(&self, room: impl Fn() -> usize + Send + Sync + 'static) {
        let mut takers = self.port.takers.write();
        let room: Room = Arc::new(room);
        for dialect in self.dialects {
            if let Some(taker) = &mut takers[dialect.index()] {
                taker.room = Some(Arc::clone(&room));
            }
        }
    }

    /// Gives a peer no longer than `patience` to say what it speaks, and for the handshake of TLS; without this,
    /// [`UNDECIDED`]. On a port that is shared it has the longest of all.
    pub(crate) fn hear_within(&self, patience: Duration) {
        let mut takers = self.port.takers.write();
        for dialect in self.dialects {
            if let Some(taker) = &mut takers[dialect.index()] {
                taker.patience = patience;
            }
        }
    }

    /// Gives the share up. When this is done nothing is taken any more, and with the last share the port is free again.
    /// It waits for nobody: not for peers, and not for the connections that were taken.
    pub(crate) async fn close(self) {
        if self.port.leave(self.dialects) {
            self.port.tasks.wait().await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.port.leave(self.dialects);
    }
}

/// A connection that speaks a dialect which is served.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// What it speaks.
    pub(crate) dialect: Dialect,
    /// All its bytes from the first one on, without TLS.
    pub(crate) stream: Preface<Stream>,
    /// Its two ends.
    pub(crate) peer: Peer,
}

/// What is done with a connection.
pub(super) type Take = Arc<dyn Fn(Accepted) + Send + Sync>;

/// How many connections more there may be.
type Room = Arc<dyn Fn() -> usize + Send + Sync>;

/// By the index of the dialect.
type Takers = [Option<Taker>; Dialect::COUNT];

/// Who serves a dialect.
struct Taker {
    take: Take,
    room: Option<Room>,
    patience: Duration,
}

/// One listening socket, for as long as somebody has a share in it.
struct Port {
    host: String,
    bound: SocketAddr,
    files: Arc<TlsFiles>,
    tls: Option<ServerTls>,
    takers: RwLock<Takers>,
    undecided: Undecided,
    /// Those of which it is known.
    connections: Arc<Open>,
    /// When the last share is gone.
    stop: CancellationToken,
    /// Accepting, and the connections of which it is not known yet what they speak.
    tasks: TaskTracker,
    /// Connections that were told to go for want of TLS, or of the right one.
    refusals: Mutex<Trouble>,
    /// Connections that speak a dialect which nobody serves here.
    strangers: Mutex<Trouble>,
    /// Connections that had to go for others.
    crowding: Mutex<Trouble>,
}

impl Port {
    fn is_at(&self, host: &str, port: u16) -> bool {
        self.host == host && self.bound.port() == port
    }

    fn is_closed(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Takes a share for `dialects`; without one, it says why.
    fn join(&self, files: &TlsFiles, dialects: &[Dialect], take: &Take) -> Result<(), String> {
        let mut takers = self.takers.write();
        if self.is_closed() {
            return Err("the port is being closed".to_owned());
        }
        if *self.files != *files {
            return Err(
                "the port is open with other TLS settings; services on one port have the same"
                    .to_owned(),
            );
        }
        if let Some(taken) = dialects
            .iter()
            .find(|dialect| takers[dialect.index()].is_some())
        {
            return Err(format!(
                "another entry of `protocols` serves {taken} there already; only entries of different protocols, such as \
                 `tri` and `dubbo`, can share a port"
            ));
        }
        for dialect in dialects {
            takers[dialect.index()] = Some(Taker {
                take: Arc::clone(take),
                room: None,
                patience: UNDECIDED,
            });
        }
        Ok(())
    }

    /// Gives the share of `dialects` up: whether the port is closed now.
    fn leave(&self, dialects: &[Dialect]) -> bool {
        let mut takers = self.takers.write();
        for dialect in dialects {
            takers[dialect.index()] = None;
        }
        if takers.iter().all(Option::is_none) {
            self.stop.cancel();
            self.tasks.close();
        }
        self.is_closed()
    }

    fn listen(self: &Arc<Self>, listener: TcpListener) {
        if let Some(tls) = &self.tls {
            let (stop, following) = (self.stop.clone(), tls.follow());
            self.tasks
                .spawn(async move { stop.run_until_cancelled(following).await });
        }
        let port = Arc::clone(self);
        self.tasks.spawn(async move {
            let stop = port.stop.cancelled();
            accept_until(listener, stop, |stream| {
                let welcome = Arc::clone(&port).welcome(stream);
                port.tasks.spawn(welcome);
            })
            .await;
        });
    }

    /// Finds out what a connection speaks, and hands it to whoever serves that.
    async fn welcome(self: Arc<Self>, stream: TcpStream) {
        let peer = match prepare(&stream) {
            Ok(peer) => peer,
            Err(error) => {
                tracing::debug!(%error, "a connection was gone before it was served");
                return;
            }
        };
        let mut entry = self.undecided.enter(self.most_undecided());
        if entry.makes_leave > 0
            && let Some(connections) = self.crowding.lock().met(Instant::now())
        {
            tracing::warn!(
                port = self.bound.port(),
                connections,
                "connections that have not said what they speak are closed: there are too many"
            );
        }
        let heard = tokio::select! {
            biased;
            () = self.stop.cancelled() => return,
            () = entry.sent_away() => return,
            heard = self.hear(stream) => heard,
        };
        drop(entry);
        let remote = peer.remote;
        match heard {
            Ok((dialect, stream)) => {
                // Held meanwhile: who has left is handed nothing more.
                let takers = self.takers.read();
                if let Some(taker) = &takers[dialect.index()] {
                    let entered = self.connections.enter(peer, dialect);
                    (taker.take)(Accepted {
                        dialect,
                        stream: stream.entered(entered),
                        peer,
                    });
                } else if let Some(connections) = self.strangers.lock().met(Instant::now()) {
                    tracing::warn!(
                        %remote, port = self.bound.port(), spoken = %dialect, served = served(&takers), connections,
                        "connections are refused: what they speak is not served on this port"
                    );
                }
            }
            Err(error) if self.is_about_tls(&error) => {
                let due = self.refusals.lock().met(Instant::now());
                if let Some(connections) = due {
                    tracing::warn!(%error, %remote, port = self.bound.port(), connections, "connections are refused");
                }
            }
            Err(error) => tracing::debug!(
                %error, %remote, port = self.bound.port(), served = served(&self.takers.read()),
                "a connection is no use"
            ),
        }
    }

    async fn hear(&self, stream: TcpStream) -> io::Result<(Dialect, Preface<Stream>)> {
        let Expected {
            negotiates,
            silence,
            patience,
        } = self.expected();
        let stream = match &self.tls {
            None => Stream::Tcp(stream),
            // Its state is large, and most ports have none.
            Some(tls) => Box::pin(shake_hands(tls, stream, negotiates, silence, patience)).await?,
        };
        listen_to(stream, silence, patience).await
    }

    /// Whether a peer was refused for want of TLS, or of the right one, or because it speaks TLS where nobody does.
    fn is_about_tls(&self, error: &io::Error) -> bool {
        match error.kind() {
            io::ErrorKind::InvalidData => self.tls.is_some(),
            kind => kind == SPEAKS_TLS,
        }
    }

    /// How many connections there may be of which nothing is known.
    fn most_undecided(&self) -> usize {
        let takers = self.takers.read();
        let rooms = takers
            .iter()
            .flatten()
            .filter_map(|taker| taker.room.as_ref().map(|room| room()));
        rooms.fold(MOST_UNDECIDED, usize::min)
    }

    /// What peers may do.
    fn expected(&self) -> Expected {
        let takers = self.takers.read();
        let served = Dialect::ALL.into_iter();
        let served =
            served.filter_map(|dialect| Some((dialect, takers[dialect.index()].as_ref()?)));
        let mut expected = Expected {
            negotiates: takers[Dialect::Http2.index()].is_some(),
            silence: Duration::ZERO,
            patience: Duration::ZERO,
        };
        for (dialect, taker) in served {
            expected.silence = expected.silence.max(dialect.silence(taker.patience));
            expected.patience = expected.patience.max(taker.patience);
        }
        expected
    }
}

/// What peers may do before it is known what they speak.
struct Expected {
    /// Whether TLS negotiates it.
    negotiates: bool,
    /// How long they may have nothing to say.
    silence: Duration,
    /// How long they may take once they have begun.
    patience: Duration,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("bound", &self.bound)
            .field("tls", &self.tls)
            .field("served", &served(&self.takers.read()))
            .finish_non_exhaustive()
    }
}

/// Everything on the port is secure, or nothing: a peer that does not begin with a handshake is sent away.
async fn shake_hands(
    tls: &ServerTls,
    stream: TcpStream,
    negotiates: bool,
    silence: Duration,
    patience: Duration,
) -> io::Result<Stream> {
    let late = |what: &str, patience: Duration| {
        let text = format!("no {what} of TLS within {patience:?}");
        io::Error::new(io::ErrorKind::TimedOut, text)
    };
    let mut first = [0];
    let seen = timeout(silence, stream.peek(&mut first))
        .await
        .map_err(|_| late("first byte", silence))??;
    if seen == 0 {
        let text = "closed before it said anything";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
    }
    if first != [TLS] {
        return Err(refuse(stream, silence, patience).await);
    }
    timeout(patience, tls.accept(stream, negotiates))
        .await
        .map_err(|_| late("end of the handshake", patience))?
}

/// Says what to do about the system's refusal of a port.
fn explain(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::AddrInUse {
        return error;
    }
    let text =
        format!("{error}; something else listens there: set another `port` for the protocol");
    io::Error::new(error.kind(), text)
}

fn served(takers: &Takers) -> String {
    let served = Dialect::ALL
        .into_iter()
        .filter(|dialect| takers[dialect.index()].is_some());
    let served: Vec<_> = served.map(|dialect| dialect.to_string()).collect();
    served.join(", ")
}

fn prepare(stream: &TcpStream) -> io::Result<Peer> {
    // Small frames are answers that someone waits for.
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(IDLE)
        .with_interval(Duration::from_secs(10));
    SockRef::from(stream).set_tcp_keepalive(&keepalive)?;
    Ok(Peer::new(stream.peer_addr()?, stream.local_addr()?))
}

/// When a silent peer's machine is asked whether it is still there.
const IDLE: Duration = Duration::from_mins(1);
