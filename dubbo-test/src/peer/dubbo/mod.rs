//! Either end of the classic `dubbo` protocol, scripted: it sends exactly the bytes that a test gives it, and hands out
//! the frames that come.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use dubbo_test::peer::dubbo::{Connection, Frame, Server};
//!
//! let server = Server::bind().await;
//! let mut client = Connection::connect(server.address()).await;
//! client.send(Frame::heartbeat(1)).await;
//!
//! let mut connection = server.accept().await;
//! let heartbeat = connection.frame().await;
//! connection.send(Frame::answer(&heartbeat, 20, b"N")).await;
//! assert_eq!(client.frame().await.id, 1);
//! # }
//! ```

mod call;
mod connection;
mod frame;

pub use call::{Answer, Call, Said};
pub use connection::{Connection, Server};
pub use frame::Frame;
