//! The end of a server, announced and drained.

use std::time::Duration;

use dubbo_core::protocol::{Drained, Protocol as _, ProtocolError};
use dubbo_hessian2::Value;
use dubbo_test::peer::dubbo::Call;
use tokio::{net::TcpStream, time::Instant};

use crate::provider::{Provider, export, greeter, url};

#[tokio::test]
async fn consumers_are_told_and_served_until_the_port_is_closed() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    let call = Call::greet("x");
    assert_eq!(connection.ask(&call).await.value(), Value::from("hello x"));
    provider.protocol.announce_shutdown().await;
    let told = connection.frame().await;
    assert_eq!((told.flags, &*told.body), (0xa2, &b"\x01R"[..]));
    assert_eq!(connection.ask(&call).await.value(), Value::from("hello x"));
    let deadline = Instant::now() + Duration::from_secs(20);
    let drained = provider.protocol.drain(deadline).await;
    assert_eq!(drained, Drained { aborted: 0 });
    connection.closed().await;
    assert!(TcpStream::connect(provider.address).await.is_err());
    let refused = export(&provider.protocol, &url(), greeter()).await;
    assert!(matches!(refused, Err(ProtocolError::ShutDown)));
}
