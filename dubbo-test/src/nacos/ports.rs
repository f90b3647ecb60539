//! The two ports of a server, which are its own even while nobody listens.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher as _, RandomState},
    net::{SocketAddr, UdpSocket},
};

use parking_lot::Mutex;
use tokio::net::TcpListener;

/// That of the HTTP API, and the one of gRPC, which clients find 1000 higher.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) http: SocketAddr,
    pub(super) grpc: SocketAddr,
    /// Nobody sends anything to these. They tell other servers of tests, in this process or another, that the numbers
    /// are taken: connections to a port of TCP that were held for that would not be refused.
    _claims: [UdpSocket; 2],
}

impl Ports {
    /// A free pair on the loopback interface, with listeners for HTTP and gRPC.
    pub(super) async fn find() -> (Self, TcpListener, TcpListener) {
        for port in candidates() {
            if !USED.lock().insert(port) {
                continue;
            }
            let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
            let (http, grpc) = (at(port), at(port + APART));
            let (Ok(one), Ok(two)) = (UdpSocket::bind(http), UdpSocket::bind(grpc)) else {
                continue;
            };
            let (Ok(on_http), Ok(on_grpc)) =
                (TcpListener::bind(http).await, TcpListener::bind(grpc).await)
            else {
                continue;
            };
            let ports = Self {
                http,
                grpc,
                _claims: [one, two],
            };
            return (ports, on_http, on_grpc);
        }
        panic!("no two ports that are {APART} apart are free");
    }
}

/// Listens on a port that was listened on before.
pub(super) async fn listen(address: SocketAddr) -> TcpListener {
    let listener = TcpListener::bind(address).await;
    listener.unwrap_or_else(|error| panic!("somebody took the port of {address}: {error}"))
}

/// Below the ports that systems give to connections, which would come and go. In an order of each process's own.
fn candidates() -> impl Iterator<Item = u16> {
    let random = RandomState::new().hash_one(());
    let first = FIRST + u16::try_from(random % u64::from(COUNT)).unwrap_or_default();
    (first..FIRST + COUNT).chain(FIRST..first)
}

/// nacos-sdk never gives up a client: one of an earlier server would find a later one on its port.
static USED: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// What clients add to the port of HTTP to find that of gRPC.
const APART: u16 = 1000;
const FIRST: u16 = 10_000;
const COUNT: u16 = 20_000;
