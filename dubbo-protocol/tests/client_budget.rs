//! What a unary call costs, in allocations of the whole process: stub, filters, client, server, handler.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use dubbo_core::{
    call::Stub,
    codegen::Proto,
    filter::{Chain, Filter, Next},
    invocation::{Invocation, RpcResult},
    protocol::{Exporter, Protocol},
    provider::Service,
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    url::Url,
};
use dubbo_protocol::{Injvm, TripleProtocol};
use dubbo_test::alloc::{COUNTING, Cost, Counting, per_call};

#[global_allocator]
static ALLOCATOR: &Counting = COUNTING;

static ECHO: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = vec![MethodDescriptor::new("Echo", CallKind::Unary)];
    Arc::new(ServiceDescriptor::new("dubbo.test.Echo", methods))
});

struct Pass;

#[async_trait]
impl Filter for Pass {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        next.run(invocation).await
    }
}

fn filters(count: usize) -> Vec<Arc<dyn Filter>> {
    (0..count).map(|_| Arc::new(Pass) as _).collect()
}

/// A stub over `protocol`, with as many filters on each side.
async fn echo(
    protocol: &dyn Protocol,
    url: &str,
    filters_each: usize,
) -> (Box<dyn Exporter>, Stub) {
    type Text = Proto<String>;
    let url: Url = format!("{url}/dubbo.test.Echo")
        .parse()
        .expect("a good URL");
    let service = Service::builder(Arc::clone(&ECHO), "Echo")
        .unary::<Text, Text, _, _>(0, async |request| Ok(Response::new(request.into_message())))
        .build();
    let provider = Chain::wrap(filters(filters_each), service.into_invoker(url.clone()));
    let exporter = protocol.export(&url, Arc::clone(&ECHO), provider).await;
    let exporter = exporter.expect("the port is free");
    let referred = protocol.refer(exporter.url(), Arc::clone(&ECHO)).await;
    let consumer = Chain::wrap(filters(filters_each), referred.expect("a good URL"));
    let stub = Stub::new(consumer, url.service_key(), Arc::clone(&ECHO));
    (exporter, stub)
}

async fn cost(protocol: &dyn Protocol, url: &str, filters_each: usize) -> Cost {
    let (_exporter, stub) = echo(protocol, url, filters_each).await;
    per_call(200, 1_000, async || {
        let request = Request::new("a message of usual length".to_owned());
        let call = stub.unary::<Proto<String>, Proto<String>>(0, request);
        let reply = call.timeout(std::time::Duration::from_secs(3)).await;
        assert_eq!(reply.expect("it works").message().len(), 25);
    })
    .await
}

#[tokio::test]
async fn a_call_stays_within_its_budget() {
    let local = cost(&Injvm::default(), "injvm://127.0.0.1", 0).await;
    let filtered = cost(&Injvm::default(), "injvm://127.0.0.1", 4).await;
    let wire = cost(&TripleProtocol::default(), "tri://127.0.0.1:0", 0).await;
    let whole = cost(&TripleProtocol::default(), "tri://127.0.0.1:0", 8).await;
    println!("injvm {local:?}, with 4 + 4 filters {filtered:?}");
    println!("Triple {wire:?}, with 8 + 8 filters {whole:?}");
    assert!(local.allocations <= 16, "{local:?}");
    assert!(filtered.allocations <= 16, "{filtered:?}");
    assert!(
        whole.allocations <= 72 && whole.bytes <= 24 * 1024,
        "{whole:?}"
    );
}
