//! References to a scripted provider, over connections in memory and on a clock that the tests turn.

mod answers;
mod endings;
mod liveness;
mod requests;

use std::{
    io,
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use dubbo_core::{
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker as _,
    payload::{Codec, Payload, Rules},
    protocol::ProtocolError,
    service::{CallKind, MethodDescriptor, MethodRef, ServiceDescriptor},
    status::{Code, Retry, Status},
    url::Url,
};
use dubbo_test::peer::dubbo::{Connection as Peer, Frame};
use parking_lot::Mutex;
use tokio::{io::DuplexStream, sync::mpsc, time::Instant};

use super::{DubboClient, connection::Connection, invoker::DubboInvoker};
use crate::net::{Connector, Stream};

static GREETER: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let java = |name, kind| MethodDescriptor::java(name, kind, ["java.lang.String"], "void");
    let methods = vec![
        java("sayHello", CallKind::Unary),
        MethodDescriptor {
            one_way: true,
            ..java("shout", CallKind::Unary)
        },
        java("many", CallKind::ServerStream),
    ];
    Arc::new(ServiceDescriptor::new(
        "org.apache.dubbo.sample.Greeter",
        methods,
    ))
});

const SAY_HELLO: usize = 0;
const SHOUT: usize = 1;
const MANY: usize = 2;

/// Hands the other end of each connection to the test, or refuses.
struct InMemory {
    accepted: mpsc::UnboundedSender<DuplexStream>,
    refuses: Mutex<bool>,
    buffer: usize,
    attempts: Mutex<Vec<Instant>>,
}

#[async_trait]
impl Connector for InMemory {
    fn prepare(&self) -> Result<bool, ProtocolError> {
        Ok(false)
    }

    async fn connect(&self, _address: &str) -> io::Result<Stream> {
        self.attempts.lock().push(Instant::now());
        if *self.refuses.lock() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (ours, theirs) = tokio::io::duplex(self.buffer);
        let _ = self.accepted.send(theirs);
        Ok(Stream::Memory(ours))
    }
}

struct Rig {
    connector: Arc<InMemory>,
    connections: mpsc::UnboundedReceiver<DuplexStream>,
    client: DubboClient,
}

impl Rig {
    fn new() -> Self {
        Self::with_buffer(1 << 20)
    }

    /// Connections take so many bytes that nobody reads.
    fn with_buffer(buffer: usize) -> Self {
        let (accepted, connections) = mpsc::unbounded_channel();
        let connector = Arc::new(InMemory {
            accepted,
            refuses: Mutex::new(false),
            buffer,
            attempts: Mutex::default(),
        });
        let shared: Arc<dyn Connector> = Arc::<InMemory>::clone(&connector);
        Self {
            connector,
            connections,
            client: DubboClient::with_connector(shared, Rules::NONE),
        }
    }

    fn invoker(&self, query: &str) -> Arc<DubboInvoker> {
        let invoker = self.client.invoker(&url(query), &GREETER, 20_880);
        Arc::new(invoker.expect("a good URL"))
    }

    async fn accept(&mut self) -> Peer {
        let io = dubbo_test::soon("a connection", self.connections.recv()).await;
        Peer::over(io.expect("the client lives"))
    }

    /// A reference and the first connection that it makes.
    async fn connected(&mut self, query: &str) -> (Arc<DubboInvoker>, Arc<Connection>, Peer) {
        let invoker = self.invoker(query);
        let peer = self.accept().await;
        let connection = connection(&invoker).await;
        (invoker, connection, peer)
    }
}

fn url(query: &str) -> Url {
    format!("dubbo://peer:1/org.apache.dubbo.sample.Greeter?{query}")
        .parse()
        .expect("a good URL")
}

/// The connection that the next call takes.
async fn connection(invoker: &DubboInvoker) -> Arc<Connection> {
    let endpoint = invoker.reference.endpoint().expect("it is not closed");
    endpoint.connection().await.expect("there is one")
}

/// A call with the argument `"world"`.
fn invocation(invoker: &DubboInvoker, method: usize) -> Invocation {
    let arguments = Payload::encoded(Codec::Hessian2, Bytes::from_static(b"\x05world"));
    Invocation::new(
        Arc::new(invoker.url().service_key()),
        MethodRef::new(Arc::clone(&GREETER), method),
        Body::Unary(arguments),
    )
}

async fn hello(invoker: &DubboInvoker) -> RpcResult {
    invoker.invoke(invocation(invoker, SAY_HELLO)).await
}

async fn hello_within(invoker: &DubboInvoker, timeout: Duration) -> RpcResult {
    let mut call = invocation(invoker, SAY_HELLO);
    call.timeout = Some(timeout);
    invoker.invoke(call).await
}

/// The bytes of the result.
fn result(reply: RpcResult) -> Vec<u8> {
    let Body::Unary(payload) = reply.expect("it worked").body else {
        panic!("a result is one message");
    };
    let mut bytes = BytesMut::new();
    let encoded = payload.encode(Codec::Hessian2, &mut bytes);
    encoded.expect("it came as hessian2");
    bytes.to_vec()
}

/// Asserts what `status` is, and that each of `parts` is in its text.
#[track_caller]
fn assert_failed(reply: RpcResult, code: Code, retry: Retry, parts: &[&str]) -> Status {
    let status = reply.expect_err("it fails");
    assert_eq!((status.code(), status.retry()), (code, retry), "{status}");
    for part in parts {
        assert!(status.message().contains(part), "{part:?} in {status}");
    }
    status
}

/// A result with a type and no attachments.
const DONE: &[u8] = b"\x91\x02OK";
const OK: &[u8] = b"\x02OK";
