//! Connections that are gone by the time that they are accepted, or soon after.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt as _;

use super::Wire;

/// Opens `count` connections one after the other, says `said` on each, and resets it at once.
pub async fn run(address: SocketAddr, count: usize, said: &[u8]) {
    for _ in 0..count {
        let mut socket = Wire::connect(address).await.into_socket();
        let _ = socket.write_all(said).await;
        // Closed with a reset instead of a FIN.
        let lingers = socket.set_zero_linger();
        lingers.expect("it is a socket");
    }
}
