//! Asking over plain HTTP, as `curl` does.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// Asks over HTTP/1.1, for once, and gives the whole answer. `request` is all of it but the host and what is said of the
/// connection.
///
/// # Errors
///
/// The connection failed, or what came is no text.
pub async fn ask(address: &str, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = request.replacen(
        "\r\n",
        &format!("\r\nhost: {address}\r\nconnection: close\r\n"),
        1,
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
