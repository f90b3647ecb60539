//! What every [`Cluster`] does.
//!
//! [`cluster_suite!`](crate::cluster_suite!) makes each function a test, on a paused clock.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    cluster::{
        Candidates, Cluster, ClusterConfig, Directory, LoadBalance, MethodConfig, Node, NodeList,
        NodeWeight,
    },
    explain::Step,
    extension::Extensions,
    invocation::{Body, Invocation, PayloadStream, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::{Code, Origin, Status},
    url::Url,
};
use futures_util::stream;
use tokio::{sync::watch, time::Instant};

/// What the suite runs on.
pub struct Joining {
    /// A new one, of a reference of its own.
    pub cluster: Arc<dyn Cluster>,
    /// The plugins that it finds.
    pub extensions: Extensions,
    /// The parameters that it needs in the consumer's URL.
    pub params: Vec<(&'static str, &'static str)>,
    /// Whether callers are told of a failure, and not of success in its place.
    pub tells_failures: bool,
    /// Whether callers are told that nobody is there, and the call does not wait for somebody.
    pub tells_nobody: bool,
}

impl Joining {
    /// A cluster among `extensions` that tells its callers everything.
    ///
    /// # Panics
    ///
    /// There is none of that `name`.
    pub fn linked(name: &str, extensions: Extensions) -> Self {
        let cluster = extensions.create::<dyn Cluster>(name, &consumer());
        Self {
            cluster: cluster.unwrap_or_else(|error| panic!("{error}")),
            extensions,
            params: Vec::new(),
            tells_failures: true,
            tells_nobody: true,
        }
    }

    fn join(&self, directory: &Arc<Listed>) -> Arc<dyn Invoker> {
        let options = MethodConfig {
            timeout: Some(Duration::from_secs(1)),
            retries: None,
            sticky: false,
            load_balance: Arc::new(Lowest),
        };
        let url = consumer().with_params(self.params.iter().copied());
        let key = ServiceKey::new("a.B");
        let config = ClusterConfig::new(key, &service(), url, options, &HashMap::new());
        let config = config.with_extensions(self.extensions.clone());
        let directory: Arc<dyn Directory> = Arc::clone(directory) as _;
        let joined = self.cluster.join(directory, Arc::new(config));
        joined.unwrap_or_else(|error| panic!("the cluster refuses its options: {error}"))
    }
}

impl fmt::Debug for Joining {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joining")
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// Runs the suite on a [`Joining`]: each function is a test of its own, with a value of its own.
#[macro_export]
macro_rules! cluster_suite {
    ($joining:expr) => {
        $crate::suite_tests! { cluster [#[tokio::test(start_paused = true)]] $joining;
            a_call_ends_at_its_deadline,
            a_call_that_is_dropped_drops_its_attempts,
            a_failure_says_what_was_tried_on_whom,
            a_stream_of_requests_reaches_a_lone_provider,
            an_answer_comes_as_it_is,
            an_error_of_the_application_comes_as_it_is,
            closing_closes_the_directory,
            it_is_available_when_a_provider_is,
            nobody_is_an_error_that_names_the_service,
            what_the_caller_attached_arrives,
        }
    };
}

/// The error is UNAVAILABLE, not processed, and says which service has nobody, as the directory does.
pub async fn nobody_is_an_error_that_names_the_service(joining: Joining) {
    if !joining.tells_nobody {
        return;
    }
    let invoker = joining.join(&Listed::of(&[]));
    for method in ["Get", "Upload"] {
        let status = invoker.invoke(call(method)).await.expect_err("nobody");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.is_not_processed(), "{status:?}");
        assert_eq!(status.message(), "no provider of a.B in a list");
    }
}

/// With its message and all that came beside it.
pub async fn an_answer_comes_as_it_is(joining: Joining) {
    let provider = Provider::new(1, || {
        let bytes = Bytes::from_static(b"\x0a\x01x");
        let mut reply = Reply::new(Body::Unary(Payload::encoded(Codec::Protobuf, bytes)));
        reply.headers.insert("h", "1");
        reply.trailers.insert("t", "2");
        Ok(reply)
    });
    let invoker = joining.join(&Listed::of(&[provider]));
    let reply = invoker.invoke(call("Get")).await.expect("answers");
    assert_eq!(format!("{:?}", reply.body), "Unary(3 bytes of protobuf)");
    assert_eq!(
        (reply.headers.get("h"), reply.trailers.get("t")),
        (Some("1"), Some("2"))
    );
}

/// With its code and text and all that came beside it, after one attempt. A code alone does not say that it is one where
/// failures are not told.
pub async fn an_error_of_the_application_comes_as_it_is(joining: Joining) {
    let answers: [fn() -> Status; 3] = [
        || Status::business("sold out"),
        || Status::not_found("no user 7").with_origin(Origin::Remote),
        || {
            Status::unknown("thrown")
                .with_origin(Origin::Business)
                .with_detail(&7_i64)
        },
    ];
    for answer in answers {
        if answer().origin() != Origin::Business && !joining.tells_failures {
            continue;
        }
        let provider = Provider::new(1, move || {
            let mut status = answer();
            status.attachments_mut().insert("t", "2");
            Err(status)
        });
        let invoker = joining.join(&Listed::of(&[Arc::clone(&provider)]));
        let (got, want) = (
            invoker.invoke(call("Get")).await.expect_err("refused"),
            answer(),
        );
        let seen = |status: &Status| (status.code(), status.message().to_owned(), status.origin());
        assert_eq!(seen(&got), seen(&want));
        assert_eq!(got.details(), want.details());
        assert_eq!(got.attachments().get("t"), Some("2"));
        assert_eq!(provider.calls.load(Ordering::Relaxed), 1, "{want}");
    }
}

/// The error names service, method and provider.
pub async fn a_failure_says_what_was_tried_on_whom(joining: Joining) {
    if !joining.tells_failures {
        return;
    }
    let down = || Err(Status::unavailable("reset").with_origin(Origin::Transport));
    let providers = [1, 2].map(|port| Provider::new(port, down));
    let invoker = joining.join(&Listed::of(&providers));
    let status = invoker.invoke(call("Get")).await.expect_err("fails");
    assert_eq!(
        (status.code(), status.origin()),
        (Code::Unavailable, Origin::Transport)
    );
    let text = status.message();
    for part in [
        "reset",
        "calling Get of a.B",
        "tri://10.0.0.1:1 unavailable",
        "from a list",
    ] {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
}

/// Even if no provider looks at the clock. Callers who are told of failures are told of this one.
pub async fn a_call_ends_at_its_deadline(joining: Joining) {
    let providers = [1, 2, 3].map(Provider::silent);
    let invoker = joining.join(&Listed::of(&providers));
    let (limit, start) = (Duration::from_millis(300), Instant::now());
    let mut call = call("Get");
    call.deadline = Some(start + limit);
    let result = invoker.invoke(call).await;
    let late = start.elapsed().saturating_sub(limit);
    assert!(
        start.elapsed() >= limit && late <= GRACE,
        "it took {:?}",
        start.elapsed()
    );
    match result {
        Err(status) => assert_eq!(status.code(), Code::DeadlineExceeded, "{status}"),
        Ok(_) => assert!(!joining.tells_failures, "nobody has answered"),
    }
}

/// Nothing goes on for a caller who has gone.
pub async fn a_call_that_is_dropped_drops_its_attempts(joining: Joining) {
    let providers = [1, 2, 3].map(Provider::silent);
    let invoker = joining.join(&Listed::of(&providers));
    let under_way = || {
        let counts = providers.iter();
        counts
            .map(|provider| provider.under_way.load(Ordering::Relaxed))
            .sum::<usize>()
    };
    let limit = Duration::from_millis(50);
    let dropped = tokio::time::timeout(limit, invoker.invoke(call("Get"))).await;
    assert!(dropped.is_err(), "nobody answers");
    let calls = providers.iter();
    let calls: usize = calls
        .map(|provider| provider.calls.load(Ordering::Relaxed))
        .sum();
    assert!(calls > 0, "somebody was called");
    assert_eq!(under_way(), 0);
}

/// A call that cannot be sent twice is sent once.
pub async fn a_stream_of_requests_reaches_a_lone_provider(joining: Joining) {
    let provider = Provider::new(1, || Ok(empty()));
    let invoker = joining.join(&Listed::of(&[Arc::clone(&provider)]));
    let answer = invoker.invoke(call("Upload")).await;
    assert!(answer.is_ok(), "{:?}", answer.err());
    assert_eq!(provider.calls.load(Ordering::Relaxed), 1);
}

/// Attachments go with every attempt.
pub async fn what_the_caller_attached_arrives(joining: Joining) {
    let provider = Provider::new(1, || Ok(empty()));
    let invoker = joining.join(&Listed::of(&[Arc::clone(&provider)]));
    let mut call = call("Get");
    call.attachments.insert("tenant", "acme");
    invoker.invoke(call).await.expect("answers");
    assert!(provider.saw_tenant.load(Ordering::Relaxed));
}

/// A cluster is as available as those it calls.
#[expect(clippy::unused_async, reason = "all cases are async")]
pub async fn it_is_available_when_a_provider_is(joining: Joining) {
    let provider = Provider::new(1, || Ok(empty()));
    let directory = Listed::of(&[Arc::clone(&provider)]);
    let invoker = joining.join(&directory);
    assert!(invoker.is_available());
    assert_eq!(invoker.why_unavailable(), None);
    provider.is_available.store(false, Ordering::Relaxed);
    assert!(!invoker.is_available());
    assert_eq!(
        invoker.why_unavailable().as_deref(),
        Some("a list has nobody")
    );
    assert_eq!(invoker.url(), directory.consumer_url());
}

/// And with it what it holds.
pub async fn closing_closes_the_directory(joining: Joining) {
    let directory = Listed::of(&[Provider::new(1, || Ok(empty()))]);
    let invoker = joining.join(&directory);
    invoker.invoke(call("Get")).await.expect("answers");
    invoker.close().await;
    assert!(directory.is_closed.load(Ordering::Relaxed));
}

/// A provider that answers at once, or never.
struct Provider {
    url: Url,
    answer: Option<Box<dyn Fn() -> RpcResult + Send + Sync>>,
    is_available: AtomicBool,
    saw_tenant: AtomicBool,
    calls: AtomicUsize,
    under_way: AtomicUsize,
}

impl Provider {
    fn new(port: u16, answer: impl Fn() -> RpcResult + Send + Sync + 'static) -> Arc<Self> {
        Self::of(port, Some(Box::new(answer)))
    }

    fn silent(port: u16) -> Arc<Self> {
        Self::of(port, None)
    }

    fn of(port: u16, answer: Option<Box<dyn Fn() -> RpcResult + Send + Sync>>) -> Arc<Self> {
        Arc::new(Self {
            url: Url::new("tri", "10.0.0.1").with_port(port).with_path("a.B"),
            answer,
            is_available: AtomicBool::new(true),
            saw_tenant: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Invoker for Provider {
    fn url(&self) -> &Url {
        &self.url
    }

    fn is_available(&self) -> bool {
        self.is_available.load(Ordering::Relaxed)
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let saw = invocation.attachments.get("tenant") == Some("acme");
        self.saw_tenant.store(saw, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let _ended = Ended(&self.under_way);
        match &self.answer {
            Some(answer) => answer(),
            None => std::future::pending().await,
        }
    }
}

struct Ended<'a>(&'a AtomicUsize);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A directory that lists what it was given.
struct Listed {
    consumer: Url,
    nodes: Arc<NodeList>,
    is_closed: AtomicBool,
}

impl Listed {
    fn of(providers: &[Arc<Provider>]) -> Arc<Self> {
        let nodes = providers.iter().map(|provider| {
            let invoker: Arc<dyn Invoker> = Arc::clone(provider) as _;
            Node::new(invoker, NodeWeight::constant(1))
        });
        Arc::new(Self {
            consumer: consumer(),
            nodes: Arc::new(nodes.collect()),
            is_closed: AtomicBool::new(false),
        })
    }

    fn has_somebody(&self) -> bool {
        self.nodes.iter().any(|node| node.invoker.is_available())
    }
}

#[async_trait]
impl Directory for Listed {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        if self.nodes.is_empty() {
            let text = format!("no provider of {} in a list", invocation.service);
            return Err(Status::unavailable(text).not_processed());
        }
        Ok(Candidates::all(self.nodes()))
    }

    fn nodes(&self) -> Arc<NodeList> {
        Arc::clone(&self.nodes)
    }

    fn why_unavailable(&self) -> Option<String> {
        (!self.has_somebody()).then(|| "a list has nobody".to_owned())
    }

    fn explain(&self, _: &Invocation) -> Vec<Step> {
        Vec::new()
    }

    fn consumer_url(&self) -> &Url {
        &self.consumer
    }

    fn origin(&self) -> String {
        "a list".to_owned()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        watch::Sender::new(self.has_somebody()).subscribe()
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// The first of those it may choose from.
struct Lowest;

impl LoadBalance for Lowest {
    fn select(&self, candidates: &Candidates, _: &Invocation) -> Option<usize> {
        (!candidates.is_empty()).then_some(0)
    }
}

fn consumer() -> Url {
    Url::new("consumer", "10.0.0.9").with_path("a.B")
}

fn service() -> Arc<ServiceDescriptor> {
    let get = MethodDescriptor {
        idempotent: true,
        ..MethodDescriptor::new("Get", CallKind::Unary)
    };
    let upload = MethodDescriptor::new("Upload", CallKind::ClientStream);
    Arc::new(ServiceDescriptor::new("a.B", vec![get, upload]))
}

fn call(method: &str) -> Invocation {
    let method = service().find(method).expect("is there");
    let body = if method.kind().streams_requests() {
        Body::Stream(PayloadStream::new(stream::empty()))
    } else {
        empty().body
    };
    Invocation::new(Arc::new(ServiceKey::new("a.B")), method, body)
}

fn empty() -> Reply {
    Reply::new(Body::Unary(Payload::encoded(Codec::Protobuf, Bytes::new())))
}

/// An attempt that goes on after its time may be waited for so long.
const GRACE: Duration = Duration::from_millis(20);
