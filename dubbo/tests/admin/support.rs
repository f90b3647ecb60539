//! Asking the port for operators.

use std::net::SocketAddr;

use dubbo::{Instance, InstanceBuilder, spi::registry::Registry};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{probe::Probe, rig::load};

/// Listens to operators at a free port of this machine.
pub(crate) const QOS: &str = "application: {name: shop, qos-enable: true, qos-port: 0}";

/// Serves Triple at a free port of this machine.
pub(crate) const TRIPLE: &str = "protocols: {tri: {ip: 127.0.0.1, port: 0}}";

/// No waiting when it ends.
pub(crate) const HASTY: &str =
    "shutdown: {consumer-update-wait-time: 0, step-timeout: 0, offline-request-window-timeout: 0}";

/// An instance that is registered by interface at `probe`, as `r`.
pub(crate) fn registered(probe: &Probe, sections: &str) -> InstanceBuilder {
    let yaml = format!(
        "dubbo: {{{TRIPLE}, registries: {{r: {{protocol: probe, address: here}}}}, {sections}}}"
    );
    load(&yaml).extension::<dyn Registry>("probe", probe.plugin())
}

/// Where the one port for operators is.
pub(crate) fn port(instance: &Instance) -> SocketAddr {
    let addresses = instance.admin_addresses();
    let [address] = addresses[..] else {
        panic!("one port is open: {addresses:?}");
    };
    SocketAddr::from(([127, 0, 0, 1], address.port()))
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Asks with `GET`.
pub(crate) async fn get(at: SocketAddr, path: &str) -> Answer {
    ask(at, &format!("GET {path}"), "", "").await
}

/// Asks with any method, these lines of a head and this body.
pub(crate) async fn ask(at: SocketAddr, request: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(at).await.expect("it is open");
    let host = if headers.to_lowercase().contains("host:") {
        String::new()
    } else {
        format!("host: {at}\r\n")
    };
    let head = format!(
        "{request} HTTP/1.1\r\n{host}{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("room");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("HTTP");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

/// The answer to `GET`, with its status.
pub(crate) async fn got(at: SocketAddr, path: &str) -> (u16, String) {
    let answer = get(at, path).await;
    (answer.status, answer.body)
}
