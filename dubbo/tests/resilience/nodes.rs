//! Providers that fail, each in its own way.

use std::{
    future::pending,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{Instance, Status};
use dubbo_test::peer::{
    dubbo::{Frame as DubboFrame, Server as DubboServer},
    h2::{Frame as H2Frame, Server as H2Server, code},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::rig::{Node, SERVED, provide};

/// What is wrong with a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its connections break under each call.
    Killed,
    /// It takes leave when a call comes, and does not begin it.
    Leaves,
    /// Nobody listens.
    Refuses,
    /// It takes connections, and never says a word.
    Silent,
    /// Not even connecting to it comes to an end.
    BlackHole,
    /// It answers much too late.
    Slow,
    /// It is there, and is not, and is.
    Flaps,
}

impl Fault {
    /// Whether the provider sees the calls that come to it.
    pub(crate) fn is_counted(self) -> bool {
        !matches!(self, Self::Refuses | Self::Silent | Self::BlackHole)
    }

    /// Whether a call that meets it takes as long as its timeout.
    pub(crate) fn takes_long(self) -> bool {
        matches!(self, Self::Slow | Self::Silent | Self::BlackHole)
    }
}

/// A provider that fails.
pub(crate) struct Failing {
    pub(crate) url: String,
    /// How many calls have come to it, where it [sees](Fault::is_counted) them.
    pub(crate) met: Arc<AtomicUsize>,
    instance: Option<Instance>,
    listeners: Vec<TcpListener>,
    clients: Vec<TcpStream>,
    tasks: JoinSet<()>,
}

impl Failing {
    /// One that fails like this over `protocol`.
    pub(crate) async fn start(fault: Fault, protocol: &str) -> Self {
        let mut node = Self {
            url: String::new(),
            met: Arc::default(),
            instance: None,
            listeners: Vec::new(),
            clients: Vec::new(),
            tasks: JoinSet::new(),
        };
        let met = Arc::clone(&node.met);
        let address = match fault {
            Fault::Killed | Fault::Flaps => {
                let fall = Arc::new(Notify::new());
                let trips = Trips {
                    met,
                    // One that flaps answers some calls before it falls.
                    each: if fault == Fault::Flaps { 5 } else { 1 },
                    fall: Arc::clone(&fall),
                };
                let (instance, behind) = provide(protocol, trips).await;
                node.instance = Some(instance);
                let listener = listener().await;
                let address = listener.local_addr().expect("bound");
                let down = (fault == Fault::Flaps).then_some(DOWN);
                node.tasks.spawn(wire(listener, behind, fall, down));
                address
            }
            Fault::Slow => {
                let (instance, address) = provide(protocol, Hangs(met)).await;
                node.instance = Some(instance);
                address.parse().expect("an address")
            }
            Fault::Leaves if protocol == "tri" => {
                let server = H2Server::bind().await;
                let address = server.address();
                node.tasks.spawn(goes_away(server, met));
                address
            }
            Fault::Leaves => {
                let server = DubboServer::bind().await;
                let address = server.address();
                node.tasks.spawn(takes_no_more(server, met));
                address
            }
            Fault::Refuses => listener().await.local_addr().expect("bound"),
            Fault::Silent => {
                // The system takes connections for it.
                let listener = listener().await;
                let address = listener.local_addr().expect("bound");
                node.listeners.push(listener);
                address
            }
            Fault::BlackHole => node.black_hole().await,
        };
        node.url = format!("{protocol}://{address}");
        node
    }

    /// Ends what it has begun.
    pub(crate) async fn end(self) {
        if let Some(instance) = &self.instance {
            instance.shutdown(Duration::ZERO).await;
        }
    }

    /// A socket with room for one connection, which is taken: the system drops every further attempt.
    async fn black_hole(&mut self) -> SocketAddr {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(ANY).expect("a free port");
        let listener = socket.listen(0).expect("it is bound");
        let address = listener.local_addr().expect("bound");
        self.listeners.push(listener);
        while let Ok(connected) = timeout(FULL, TcpStream::connect(address)).await {
            self.clients
                .push(connected.expect("it is taken or left alone"));
            assert!(self.clients.len() < 100, "a backlog of 0 takes them all");
        }
        address
    }
}

/// A provider that makes every so many calls the reason for the fall of its connections, and answers the others.
struct Trips {
    met: Arc<AtomicUsize>,
    each: usize,
    fall: Arc<Notify>,
}

impl Node for Trips {
    async fn ask(&self, _: String) -> Result<String, Status> {
        let met = self.met.fetch_add(1, Ordering::Relaxed) + 1;
        if met.is_multiple_of(self.each) {
            self.fall.notify_one();
            return pending().await;
        }
        Ok(SERVED.to_owned())
    }
}

/// A provider that never answers.
pub(crate) struct Hangs(pub(crate) Arc<AtomicUsize>);

impl Node for Hangs {
    async fn ask(&self, _: String) -> Result<String, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        pending().await
    }
}

/// Passes on what comes to `listener`. At a `fall` every connection breaks; nobody listens for as long as it is `down`.
async fn wire(
    mut listener: TcpListener,
    behind: String,
    fall: Arc<Notify>,
    down: Option<Duration>,
) {
    let address = listener.local_addr().expect("bound");
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (mut near, _) = accepted.expect("it listens");
                let behind = behind.clone();
                connections.spawn(async move {
                    let mut far = TcpStream::connect(behind).await.expect("it listens");
                    // It ends when one of both does, or breaks.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
            Some(ended) = connections.join_next() => ended.expect("no panic"),
            () = fall.notified() => {
                connections.shutdown().await;
                if let Some(down) = down {
                    drop(listener);
                    sleep(down).await;
                    listener = TcpListener::bind(address).await.expect("the port is still ours");
                }
            }
        }
    }
}

/// Says GOAWAY to the first call of each connection: nothing was begun.
async fn goes_away(server: H2Server, met: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            mut connection = server.accept() => {
                let met = Arc::clone(&met);
                connections.spawn(async move {
                    let mut calls = Vec::new();
                    while let Some(call) = connection.request_or_end().await {
                        met.fetch_add(1, Ordering::Relaxed);
                        connection.insert(&H2Frame::go_away(0, code::NO_ERROR, "leaving"));
                        // Dropped it would be answered.
                        calls.push(call);
                    }
                });
            }
            Some(ended) = connections.join_next() => ended.expect("no panic"),
        }
    }
}

/// Says that it takes no more to the first call of each connection, and closes it.
async fn takes_no_more(server: DubboServer, met: Arc<AtomicUsize>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            mut connection = server.accept() => {
                let met = Arc::clone(&met);
                connections.spawn(async move {
                    while let Some(frame) = connection.frame_or_end().await {
                        if frame.is_call() {
                            met.fetch_add(1, Ordering::Relaxed);
                            connection.send(DubboFrame::event(1, "R")).await;
                            return;
                        }
                    }
                });
            }
            Some(ended) = connections.join_next() => ended.expect("no panic"),
        }
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind(ANY).await.expect("a free port")
}

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How long a provider that flaps is away: long enough for somebody to notice.
const DOWN: Duration = Duration::from_millis(20);
/// What takes longer than this does not connect.
const FULL: Duration = Duration::from_millis(300);
