//! What tests call: providers that follow a script, and lists of them. Integration tests include this file, too.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    attachments::Attachments,
    cluster::{
        Candidates, Cluster, ClusterConfig, Directory, MethodConfig, Node, NodeList, NodeWeight,
    },
    explain::Step,
    extension::Extensions,
    invocation::{Body, Invocation, PayloadStream, Reply, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::Instant};

use crate::loadbalance::{Clock, RoundRobin};

/// A provider that answers as it was told to, and notes what it got.
pub(crate) struct Scripted {
    url: Url,
    script: Mutex<VecDeque<Answer>>,
    calls: Mutex<Vec<Got>>,
    available: AtomicBool,
    connecting: AtomicBool,
    why_unavailable: Mutex<Option<String>>,
    in_flight: AtomicUsize,
    closed: AtomicBool,
}

/// What a scripted provider does with a call.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Answers after a time, or gives up at the attempt's deadline, as protocols do.
    After(Duration),
    /// Fails at once.
    Fail(Status),
    /// Fails after a time.
    FailAfter(Duration, Status),
    /// Never answers, and gives up at the attempt's deadline.
    Hang,
    /// Never answers, and does not look at the clock.
    Deaf,
}

/// One call that came.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    /// When.
    pub(crate) at: Instant,
    /// How much time it had.
    pub(crate) time: Option<Duration>,
    /// Its attachment `retries`.
    pub(crate) retries: Option<String>,
    /// All that came beside the message.
    pub(crate) attachments: Attachments,
}

impl Scripted {
    /// A provider at `port` that answers every call.
    pub(crate) fn at(port: u16) -> Arc<Self> {
        Self::with(port, [])
    }

    /// A provider at `port` that follows `script` and then stays with its last line.
    pub(crate) fn with(port: u16, script: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Self::of(url(port), script)
    }

    /// The same behind `url`.
    pub(crate) fn of(url: Url, script: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            url,
            script: Mutex::new(script.into_iter().collect()),
            calls: Mutex::default(),
            available: AtomicBool::new(true),
            connecting: AtomicBool::new(false),
            why_unavailable: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn set_available(&self, available: bool) {
        self.available.store(available, Ordering::Relaxed);
    }

    /// Whether its first attempt to connect is under way.
    pub(crate) fn set_connecting(&self, connecting: bool) {
        self.connecting.store(connecting, Ordering::Relaxed);
    }

    /// Makes it unavailable, and has it say why.
    pub(crate) fn set_unreachable(&self, why: &str) {
        *self.why_unavailable.lock() = Some(why.to_owned());
        self.set_available(false);
    }

    /// Has it carry so many calls that nobody made.
    pub(crate) fn set_in_flight(&self, calls: usize) {
        self.in_flight.store(calls, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    pub(crate) fn calls(&self) -> Vec<Got> {
        self.calls.lock().clone()
    }
}

#[async_trait]
impl Invoker for Scripted {
    fn url(&self) -> &Url {
        &self.url
    }

    fn is_available(&self) -> bool {
        self.available.load(Ordering::Relaxed) && !self.is_closed()
    }

    fn is_connecting(&self) -> bool {
        self.connecting.load(Ordering::Relaxed)
    }

    fn why_unavailable(&self) -> Option<String> {
        self.why_unavailable.lock().clone()
    }

    fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        if self.is_closed() {
            return Err(Status::internal("called after it was closed"));
        }
        let now = Instant::now();
        let deadline = invocation.attempt_deadline(now);
        self.calls.lock().push(Got {
            at: now,
            time: deadline.map(|deadline| deadline - now),
            retries: invocation.attachments.get("retries").map(str::to_owned),
            attachments: invocation.attachments.clone(),
        });
        let answer = {
            let mut script = self.script.lock();
            let answer = script.front().cloned();
            if script.len() > 1 {
                script.pop_front();
            }
            answer
        };
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let _call = Ended(&self.in_flight);
        match answer {
            None => Ok(reply()),
            Some(Answer::After(time)) if deadline.is_none_or(|deadline| now + time < deadline) => {
                tokio::time::sleep(time).await;
                Ok(reply())
            }
            Some(Answer::Fail(status)) => Err(status),
            Some(Answer::FailAfter(time, status)) => {
                tokio::time::sleep(time).await;
                Err(status)
            }
            Some(Answer::After(_) | Answer::Hang) => match deadline {
                Some(deadline) => {
                    tokio::time::sleep_until(deadline).await;
                    Err(Status::deadline_exceeded("hung"))
                }
                None => std::future::pending().await,
            },
            Some(Answer::Deaf) => std::future::pending().await,
        }
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

struct Ended<'a>(&'a AtomicUsize);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A directory that lists what it was given.
pub(crate) struct Fixed {
    consumer: Url,
    nodes: Mutex<Arc<NodeList>>,
}

impl Fixed {
    pub(crate) fn of(providers: &[Arc<Scripted>]) -> Arc<Self> {
        let fixed = Self {
            consumer: consumer(),
            nodes: Mutex::default(),
        };
        fixed.set(providers);
        Arc::new(fixed)
    }

    pub(crate) fn set(&self, providers: &[Arc<Scripted>]) {
        let nodes = providers
            .iter()
            .map(|provider| Node::new(Arc::clone(provider) as _, NodeWeight::constant(1)));
        self.set_nodes(nodes);
    }

    pub(crate) fn set_nodes(&self, nodes: impl IntoIterator<Item = Node>) {
        *self.nodes.lock() = Arc::new(nodes.into_iter().collect());
    }
}

#[async_trait]
impl Directory for Fixed {
    fn list(&self, _invocation: &Invocation) -> Result<Candidates, Status> {
        let candidates = Candidates::all(self.nodes());
        if candidates.is_empty() {
            return Err(Status::unavailable("nobody is there").not_processed());
        }
        Ok(candidates)
    }

    fn nodes(&self) -> Arc<NodeList> {
        Arc::clone(&self.nodes.lock())
    }

    fn why_unavailable(&self) -> Option<String> {
        None
    }

    fn explain(&self, _: &Invocation) -> Vec<Step> {
        Vec::new()
    }

    fn consumer_url(&self) -> &Url {
        &self.consumer
    }

    fn origin(&self) -> String {
        "a test".to_owned()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }

    async fn close(&self) {}
}

/// `cluster` over `directory`.
pub(crate) fn join(
    cluster: &dyn Cluster,
    directory: Arc<dyn Directory>,
    config: Arc<ClusterConfig>,
) -> Arc<dyn Invoker> {
    let joined = cluster.join(directory, config);
    joined.expect("invariant: tests give options that the cluster can use")
}

/// The options of a reference whose URL has these parameters. Its calls go round, and an attempt may take 400 ms.
pub(crate) fn asking(params: &[(&str, &str)]) -> Arc<ClusterConfig> {
    asking_of(&service(), params)
}

/// The same for another service.
pub(crate) fn asking_of(
    descriptor: &Arc<ServiceDescriptor>,
    params: &[(&str, &str)],
) -> Arc<ClusterConfig> {
    asking_by(Clock::new(|| 0), descriptor, params)
}

/// The same with weights as they are at `clock`.
pub(crate) fn asking_by(
    clock: Clock,
    descriptor: &Arc<ServiceDescriptor>,
    params: &[(&str, &str)],
) -> Arc<ClusterConfig> {
    let method = MethodConfig {
        timeout: Some(Duration::from_millis(400)),
        retries: None,
        sticky: false,
        load_balance: Arc::new(RoundRobin::new(clock)),
    };
    let url = consumer().with_params(params.iter().copied());
    let key = ServiceKey::new(descriptor.interface());
    let config = ClusterConfig::new(key, descriptor, url, method, &HashMap::new());
    let extensions = Extensions::linked().expect("invariant: no two plugins have one name");
    Arc::new(config.with_extensions(extensions))
}

/// The provider at `port`.
pub(crate) fn url(port: u16) -> Url {
    Url::new("tri", "10.0.0.1").with_port(port).with_path("a.B")
}

pub(crate) fn consumer() -> Url {
    Url::new("consumer", "10.0.0.9").with_path("a.B")
}

/// The service `a.B`: `First` and `Second` are unary, the others stream as they are called.
pub(crate) fn service() -> Arc<ServiceDescriptor> {
    let methods = [
        ("First", CallKind::Unary),
        ("Second", CallKind::Unary),
        ("Upload", CallKind::ClientStream),
        ("Download", CallKind::ServerStream),
    ];
    Arc::new(ServiceDescriptor::new(
        "a.B",
        methods
            .map(|(name, kind)| MethodDescriptor::new(name, kind))
            .to_vec(),
    ))
}

pub(crate) fn invocation() -> Invocation {
    invocation_of("First")
}

pub(crate) fn invocation_of(method: &str) -> Invocation {
    let method = service()
        .find(method)
        .expect("invariant: tests name methods that the service has");
    let body = if method.kind().streams_requests() {
        Body::Stream(PayloadStream::new(futures_util::stream::empty()))
    } else {
        message()
    };
    Invocation::new(Arc::new(ServiceKey::new("a.B")), method, body)
}

/// Nodes of these weights at ports 1, 2, 3, …
pub(crate) fn candidates(weights: &[NodeWeight]) -> Candidates {
    let nodes = (1..)
        .zip(weights)
        .map(|(port, &weight)| Node::new(Scripted::at(port), weight));
    Candidates::all(Arc::new(nodes.collect()))
}

pub(crate) fn node(port: u16, weight: u32) -> Node {
    Node::new(Scripted::at(port), NodeWeight::constant(weight))
}

pub(crate) fn weighted(weights: &[u32]) -> Vec<NodeWeight> {
    weights
        .iter()
        .map(|&base| NodeWeight::constant(base))
        .collect()
}

pub(crate) fn ports(candidates: &Candidates) -> Vec<u16> {
    candidates
        .iter()
        .filter_map(|node| node.invoker.url().port())
        .collect()
}

fn reply() -> Reply {
    Reply::new(message())
}

fn message() -> Body {
    Body::Unary(Payload::encoded(Codec::Protobuf, Bytes::new()))
}
