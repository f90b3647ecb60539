//! What both ends of Triple make of a call together.

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};

use dubbo_core::{
    call::Stub,
    codegen::Proto,
    context::CallContext,
    protocol::{Exporter, Protocol as _},
    provider::{Service, ServiceBuilder},
    request::{Request, Response},
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::{Code, Retry, Status},
    stream,
    streaming::Streaming,
    url::Url,
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::soon;

type Text = Proto<String>;

static ECHO: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = [
        ("Unary", CallKind::Unary),
        ("Many", CallKind::ServerStream),
        ("Join", CallKind::ClientStream),
        ("Talk", CallKind::BidiStream),
    ];
    let methods = methods.map(|(name, kind)| MethodDescriptor::new(name, kind));
    Arc::new(ServiceDescriptor::new("test.Echo", methods.to_vec()))
});

/// A provider and a stub for it, with a socket between them.
struct Pair {
    stub: Stub,
    _protocol: TripleProtocol,
    _exporter: Box<dyn Exporter>,
}

impl Pair {
    async fn new(query: &str, service: ServiceBuilder) -> Self {
        let protocol = TripleProtocol::default();
        let url: Url = format!("tri://127.0.0.1:0/test.Echo?{query}")
            .parse()
            .expect("a good URL");
        let invoker = service.build().into_invoker(url.clone());
        let exporter = protocol.export(&url, Arc::clone(&ECHO), invoker).await;
        let exporter = exporter.expect("it is exported");
        let url = exporter.url();
        let invoker = protocol.refer(url, Arc::clone(&ECHO)).await;
        Self {
            stub: Stub::new(
                invoker.expect("a good URL"),
                url.service_key(),
                Arc::clone(&ECHO),
            ),
            _protocol: protocol,
            _exporter: exporter,
        }
    }
}

fn service() -> ServiceBuilder {
    Service::builder(Arc::clone(&ECHO), "Echo")
}

/// Says what came with a call, and answers it with a header and a trailer.
fn seen(context: &CallContext) -> Result<String, Status> {
    let early = |error| Status::internal(format!("it is too early for that: {error}"));
    let reply = context.reply();
    reply.header("x-header", "1").map_err(early)?;
    reply.trailer("x-trailer", "2");
    let attachments = context.attachments();
    let names: BTreeSet<_> = attachments.iter().map(|(name, _)| name).collect();
    let value = |name: &str| attachments.get(name).unwrap_or("none").to_owned();
    let names: Vec<_> = names.into_iter().collect();
    Ok(format!(
        "{}: {} {}",
        names.join(","),
        value("TraceParent"),
        value("city")
    ))
}

#[tokio::test]
async fn attachments_headers_and_trailers_go_with_every_kind_of_call() {
    let refused = |context: &CallContext| context.reply().header("x-late", "3").is_err();
    let pair = Pair::new(
        "",
        service()
            .unary::<Text, Text, _, _>(0, |request: Request<String>| async move {
                let (_, context) = request.into_message_and_context();
                seen(&context).map(Response::new)
            })
            .server_stream::<Text, Text, _, _>(1, move |request: Request<String>| async move {
                let (_, context) = request.into_message_and_context();
                let first = seen(&context)?;
                let second = async move { Ok(refused(&context).to_string()) };
                let items = futures_util::stream::iter([Ok(first)]);
                let items =
                    futures_util::StreamExt::chain(items, futures_util::stream::once(second));
                Ok(Response::stream(items))
            })
            .client_stream::<Text, Text, _, _>(
                2,
                |request: Request<Streaming<String>>| async move {
                    let (mut requests, context) = request.into_message_and_context();
                    while requests.message().await?.is_some() {}
                    seen(&context).map(Response::new)
                },
            )
            .bidi_stream::<Text, Text, _, _>(3, |request: Request<Streaming<String>>| async move {
                let (requests, context) = request.into_message_and_context();
                let mut first = Some(seen(&context)?);
                let replies = futures_util::StreamExt::map(requests, move |request| {
                    request.map(|_| first.take().unwrap_or_else(|| "again".to_owned()))
                });
                Ok(Response::stream(replies))
            }),
    )
    .await;
    // As they were written, and no more: what belongs to HTTP and to gRPC is theirs.
    let want = "TraceParent,baggage,city,user-agent: 00-1-2-01 \u{4e0a}\u{6d77}";
    let requests = || stream::iter(["a".to_owned(), "b".to_owned()]);
    let text = || Request::new("x".to_owned());
    macro_rules! attached {
        ($call:expr) => {
            $call
                .attach("TraceParent", "00-1-2-01")
                .attach("baggage", "user=1")
                .attach("city", "\u{4e0a}\u{6d77}")
        };
    }

    let unary = pair.stub.unary::<Text, Text>(0, text());
    let joined = pair.stub.client_stream::<Text, Text>(2, requests());
    for call in [attached!(unary), attached!(joined)] {
        let reply = soon("an answer", call).await.expect("it works");
        assert_eq!(reply.message(), want);
        assert_eq!(reply.headers().get("x-header"), Some("1"));
        assert_eq!(reply.trailers().get("x-trailer"), Some("2"));
    }

    let many = pair.stub.server_stream::<Text, Text>(1, text());
    let talk = pair.stub.bidi_stream::<Text, Text>(3, requests());
    for (call, second) in [(attached!(many), "true"), (attached!(talk), "again")] {
        let reply = soon("headers", call).await.expect("it works");
        let header = reply.headers().get("x-header").map(str::to_owned);
        let mut replies = reply.into_message();
        let mut items = Vec::new();
        while let Some(item) = soon("an item", replies.message()).await.expect("it works") {
            items.push(item);
        }
        assert_eq!(items, [want, second]);
        let trailers = replies.trailers().expect("it has ended");
        assert_eq!(trailers.get("x-trailer"), Some("2"));
        assert_eq!(header.as_deref(), Some("1"), "before the first message");
    }
}

#[tokio::test]
async fn the_text_of_an_error_keeps_its_lines_and_its_languages() {
    const TEXT: &str =
        "\u{8ba2}\u{5355}\u{4e0d}\u{5b58}\u{5728}\n  50% + 1 \u{1f600}\n\u{7b2c}\u{4e09}\u{884c}";
    let pair = Pair::new(
        "",
        service()
            .unary::<Text, Text, _, _>(0, |_: Request<String>| async {
                Err(Status::not_found(TEXT))
            })
            .server_stream::<Text, Text, _, _>(1, |_: Request<String>| async {
                let items = [Ok("a".to_owned()), Err(Status::business(TEXT))];
                Ok(Response::stream(stream::iter(items)))
            }),
    )
    .await;
    let text = || Request::new("x".to_owned());
    let call = pair.stub.unary::<Text, Text>(0, text());
    let status = soon("an answer", call).await.expect_err("it fails");
    assert_eq!((status.code(), status.message()), (Code::NotFound, TEXT));

    let call = pair.stub.server_stream::<Text, Text>(1, text());
    let reply = soon("headers", call).await.expect("it begins");
    let mut replies = reply.into_message();
    let first = replies.message().await.expect("an item");
    assert_eq!(first.as_deref(), Some("a"));
    let status = soon("an error", replies.message())
        .await
        .expect_err("it fails");
    assert_eq!((status.code(), status.message()), (Code::Business, TEXT));
}

#[tokio::test]
async fn a_message_that_cannot_be_sent_is_an_error_after_those_before_it() {
    let pair = Pair::new(
        "max-server-send-msg-size=100",
        service()
            .unary::<Text, Text, _, _>(0, |request: Request<String>| async move {
                let caller = request.context().remote_address();
                let len = request.message().len();
                Ok(format!("{caller:?}{}", "x".repeat(10 * len)).into())
            })
            .server_stream::<Text, Text, _, _>(1, |_: Request<String>| async {
                let items = ["a".to_owned(), "b".repeat(101), "c".to_owned()];
                Ok(Response::stream(stream::iter(items.map(Ok))))
            }),
    )
    .await;
    let caller = async || {
        let call = pair
            .stub
            .unary::<Text, Text>(0, Request::new(String::new()));
        soon("an answer", call)
            .await
            .expect("it fits")
            .into_message()
    };
    let before = caller().await;

    let call = pair
        .stub
        .unary::<Text, Text>(0, Request::new("x".repeat(10)));
    let status = soon("an answer", call).await.expect_err("it is too large");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert_ne!(status.retry(), Retry::Safe, "the handler has run");

    let call = pair
        .stub
        .server_stream::<Text, Text>(1, Request::new(String::new()));
    let mut replies = soon("headers", call)
        .await
        .expect("it begins")
        .into_message();
    let first = soon("an item", replies.message()).await.expect("it fits");
    assert_eq!(first.as_deref(), Some("a"));
    let status = soon("an error", replies.message())
        .await
        .expect_err("it is too large");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert_eq!(caller().await, before, "it is the same connection");
}
