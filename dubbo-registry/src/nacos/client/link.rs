//! The way of one client of nacos-sdk to a server, which is ours to cut.
//!
//! nacos-sdk does not say that it has lost its server, is slow to look for another, and goes on with what it was told
//! when nobody needs it any more. So it is told of a port of this program as that of the server, and what it says there is
//! carried on. Such a way is good for one connection: when that ends, at either end or by [`Link::cut`], the server
//! forgets at once what was said on it, and the client is left at a port where nobody is.

use std::{
    io,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

use super::options::Server;

/// The way of one client to a server. It ends when it is dropped.
pub(super) struct Link {
    port: u16,
    label: String,
    /// Why it has ended.
    lost: Arc<watch::Sender<Option<String>>>,
    carrier: Mutex<JoinSet<()>>,
}

impl Link {
    /// Connects to `server`; the client of nacos-sdk may come then.
    pub(super) async fn to(server: &Server, limit: Duration) -> io::Result<Self> {
        let connecting = timeout(limit, TcpStream::connect(server.grpc()));
        let late = |_| io::Error::from(io::ErrorKind::TimedOut);
        let upstream = connecting.await.map_err(late)??;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let label = unique();
        let lost = Arc::new(watch::Sender::new(None));
        let mut carrier = JoinSet::new();
        let (told, tells) = (label.clone(), Arc::clone(&lost));
        carrier.spawn(async move {
            let why = match carry(listener, upstream, &told).await {
                Ok(why) => why.to_owned(),
                Err(error) => error.to_string(),
            };
            tells.send_replace(Some(why));
        });
        Ok(Self {
            port,
            label,
            lost,
            carrier: Mutex::new(carrier),
        })
    }

    /// What the client is told to be the port of the server, on `127.0.0.1`.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The label that the client has to say.
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.borrow().is_some()
    }

    /// Waits for its end; why it has ended. Cancel safe.
    pub(super) async fn lost(&self) -> String {
        let mut lost = self.lost.subscribe();
        let why = lost.wait_for(Option::is_some).await;
        // `self` has the sender, so there is always an answer.
        why.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// Ends it.
    pub(super) fn cut(&self) {
        self.carrier.lock().abort_all();
        self.lost.send_if_modified(|lost| {
            let is_news = lost.is_none();
            lost.get_or_insert_with(|| "it was given up".to_owned());
            is_news
        });
    }
}

/// Carries what client and server say to each other, until one of them ends it; which.
async fn carry(
    listener: TcpListener,
    mut upstream: TcpStream,
    label: &str,
) -> io::Result<&'static str> {
    let (mut client, said) = loop {
        let (mut socket, _) = listener.accept().await?;
        if let Ok(Some(said)) = timeout(GREETING, greeting(&mut socket, label)).await {
            break (socket, said);
        }
    };
    drop(listener);
    client.set_nodelay(true)?;
    upstream.set_nodelay(true)?;
    upstream.write_all(&said).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = upstream.split();
    tokio::select! {
        ended = copy(&mut from_server, &mut to_client) => ended.map(|_| "the server has closed it"),
        ended = copy(&mut from_client, &mut to_server) => ended.map(|_| "nacos-sdk has closed it"),
    }
}

/// What the client says first, if it is the one that was told `label`: the port may have been that of a way that was cut,
/// whose client would show again what it was told then.
async fn greeting(socket: &mut TcpStream, label: &str) -> Option<Vec<u8>> {
    let mut said = Vec::new();
    while said.len() < LONGEST {
        if socket.read_buf(&mut said).await.ok()? == 0 {
            return None;
        }
        let mut parts = said.windows(label.len());
        // HTTP/2 packs headers only: the labels, in the first message, are sent as they are.
        if parts.any(|part| part == label.as_bytes()) {
            return Some(said);
        }
    }
    None
}

/// What no other client, of this program or another, is called.
pub(super) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos());
    format!("dubbo-nacos-{}-{now}-{count}", std::process::id())
}

/// How long a client may take to say which one it is.
const GREETING: Duration = Duration::from_secs(2);

/// How many bytes it may say until then.
const LONGEST: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says again what it is told, and a way to it.
    async fn echo() -> (TcpListener, Link) {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let server = server.expect("listens");
        let port = server.local_addr().expect("has one").port();
        let server_there = format!("127.0.0.1:{}", port - 1000);
        let server_there = server_there.parse().expect("is one");
        let link = Link::to(&server_there, GREETING).await;
        (server, link.expect("connects"))
    }

    async fn client(link: &Link) -> TcpStream {
        let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port())).await;
        connected.expect("listens")
    }

    #[tokio::test]
    async fn only_the_client_with_the_label_is_let_through() {
        let (server, link) = echo().await;
        let (mut socket, _) = server.accept().await.expect("accepts");
        let mut stranger = client(&link).await;
        stranger.write_all(b"label of another").await.expect("says");
        stranger.shutdown().await.expect("ends");
        assert_eq!(stranger.read(&mut [0; 1]).await.expect("is ended"), 0);
        let mut own = client(&link).await;
        let said = format!("I am {}", link.label());
        own.write_all(said.as_bytes()).await.expect("says");
        let mut heard = vec![0; said.len()];
        socket.read_exact(&mut heard).await.expect("hears");
        assert_eq!(heard, said.as_bytes());
        socket.write_all(b"x").await.expect("says");
        own.read_exact(&mut [0; 1]).await.expect("hears");
        // There is no second connection.
        let again = TcpStream::connect((Ipv4Addr::LOCALHOST, link.port())).await;
        assert!(again.is_err());
        assert!(!link.is_lost());
        drop(socket);
        assert_eq!(link.lost().await, "the server has closed it");
        assert_eq!(own.read(&mut [0; 1]).await.expect("is ended"), 0);
    }

    #[tokio::test]
    async fn a_cut_ends_both_sides() {
        let (server, link) = echo().await;
        let (mut socket, _) = server.accept().await.expect("accepts");
        let mut own = client(&link).await;
        own.write_all(link.label().as_bytes()).await.expect("says");
        socket.read_exact(&mut [0; 1]).await.expect("hears");
        link.cut();
        assert_eq!(link.lost().await, "it was given up");
        let mut rest = Vec::new();
        socket.read_to_end(&mut rest).await.expect("is ended");
        assert!(own.read(&mut [0; 1]).await.is_ok_and(|n| n == 0));
    }
}
