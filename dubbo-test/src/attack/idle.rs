//! Connections that say too little, and stay.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::Wire;
use crate::soon;

/// What begins and does not end: nothing, half of HTTP/2's preface, half a hello of TLS, and half a head of HTTP/1.
pub const BEGINNINGS: [&[u8]; 4] = [
    b"",
    b"PRI * HTTP/2.",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"POST /x HTTP/1.1\r\nhost: x\r\nx-slow: ",
];

/// Opens `count` connections that say `said` and wait.
pub async fn run(address: SocketAddr, count: usize, said: &[u8]) -> Vec<TcpStream> {
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let mut socket = Wire::connect(address).await.into_socket();
        // The server may have hung up on it for those before.
        let _ = socket.write_all(said).await;
        all.push(socket);
    }
    all
}

/// Waits until the server has hung up on `socket`: what it said before.
pub async fn hung_up(socket: &mut TcpStream) -> String {
    let mut said = Vec::new();
    // A reset is an end, too.
    let _ = soon("the server to hang up", socket.read_to_end(&mut said)).await;
    String::from_utf8_lossy(&said).into_owned()
}
