//! What a call of the `dubbo` protocol allocates at its provider, and that a claim alone allocates nothing.

use std::sync::Arc;

use dubbo_core::{protocol::Protocol as _, provider::Service, request::Request, url::Url};
use dubbo_hessian2::{Value, java::Throwable};
use dubbo_protocol::{
    DubboProtocol,
    java::{JavaService, exception},
};
use dubbo_test::{
    alloc::{COUNTING, Cost, Counting, per_call},
    peer::dubbo::{Call, Frame},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

#[global_allocator]
static ALLOCATOR: &Counting = COUNTING;

#[tokio::test]
async fn calls_and_claims_cost_no_more_than_they_must() {
    let service: Service = JavaService::new(Call::PATH)
        .method("greet", async |call: Request<(String,)>| {
            Ok(call.into_message().0.into())
        })
        .method("sum", async |call: Request<(Vec<i32>,)>| {
            let sum: i32 = call.message().0.iter().sum();
            match sum {
                0 => Err(exception(Throwable::new("com.x.Nothing", "0"))),
                sum => Ok(sum.into()),
            }
        })
        .into();
    let url = Url::new("dubbo", "127.0.0.1")
        .with_port(0)
        .with_path(Call::PATH);
    let protocol = DubboProtocol::default();
    let descriptor = Arc::clone(service.descriptor());
    let invoker = service.into_invoker(url.clone());
    let exporter = protocol.export(&url, descriptor, invoker).await;
    let port = exporter.expect("exported").url().port().expect("bound");
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("open");

    let call = Call::greet("Ada")
        .with("interface", Call::PATH)
        .with("version", "0.0.0")
        .with("timeout", "3000")
        .with("remote.application", "test");
    let typical = exchange(&mut socket, &call.frame(1).encode(), 20).await;
    assert!(
        typical.allocations <= 30 && typical.bytes <= 4500,
        "a call: {typical:?}"
    );

    // Lengths of two thousand million, of an argument and of a part of one.
    let claims = [
        &b"X\x49\x7f\xff\xff\xff"[..],
        b"V\x04[int\x49\x7f\xff\xff\xff",
        b"X\x91S\xff\xff",
    ];
    for claim in claims {
        let mut call = Call::of("sum", "Ljava/util/List;", &[]);
        call.attachments = None;
        let body = [&call.body(), claim].concat();
        let cost = exchange(&mut socket, &Frame::call(1, body).encode(), 40).await;
        assert!(cost.bytes <= 4 << 10, "{claim:?}: {cost:?}");
    }

    // A list that is there, of which the items are not what they should be.
    let wrong = Value::list((0..100).map(|_| Value::Null));
    let call = Call::of("sum", "Ljava/util/List;", &[wrong]);
    let cost = exchange(&mut socket, &call.frame(1).encode(), 20).await;
    assert!(cost.bytes <= 8 << 10, "{cost:?}");

    // A body just below the limit of which only the header comes: every connection takes what a read takes.
    let mut large = Call::greet("Ada").frame(1);
    large.claimed = Some((8 << 20) - 1);
    let bytes = large.encode();
    let cost = per_call(1, 10, async || {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).await.expect("open");
        socket
            .write_all(&Frame::heartbeat(1).encode())
            .await
            .expect("open");
        socket.read_exact(&mut [0; 17]).await.expect("answered");
        socket.write_all(&bytes).await.expect("open");
        // The server has looked at it when it has nothing left to do for us.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(cost.bytes <= 64 << 10, "a claim: {cost:?}");
}

/// What one exchange costs: of `request`, and an answer with `status`.
async fn exchange(socket: &mut TcpStream, request: &[u8], status: u8) -> Cost {
    let mut answer = [0; 4096];
    per_call(10, 100, async || {
        socket.write_all(request).await.expect("open");
        socket
            .read_exact(&mut answer[..16])
            .await
            .expect("answered");
        assert_eq!(answer[3], status);
        let len = answer[12..16]
            .iter()
            .fold(0, |len, byte| len << 8 | usize::from(*byte));
        socket
            .read_exact(&mut answer[..len])
            .await
            .expect("answered");
    })
    .await
}
