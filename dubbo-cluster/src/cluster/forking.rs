//! `forking`: several providers get the call at once, and the first answer counts. For reads that have to be fast.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dubbo_core::{
    cluster::{
        Candidates, Cluster, ClusterConfig, Directory, MethodConfig, Node, NodeId, PerMethod,
    },
    extension::BoxError,
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    service::{CallKind, MethodRef},
    status::{Retry, Status},
    url::{Key, Url, UrlError},
};
use smallvec::SmallVec;

use super::{
    Failover,
    attempt::{self, Reference},
    joined::{Failures, Joined, Manner},
};
use crate::resend::hedge::{Pace, race};

/// Sends a call to several providers at once. The first that answers wins, with a result or an error that every provider
/// would give; what the others do is cancelled at once, on the wire too. When all fail, the error lists them.
///
/// `docs/spec/cluster.md` §2.6. Only a method that may be called several times for one call is forked: one that its
/// definition or the parameter `idempotent` declares so, or any with `forking.allow-unsafe`. Other methods, and calls with a
/// stream of requests, are made as by [`Failover`]. Parameters, each for a method or for all:
///
/// - `forks` (2): how many providers; 0 and less, and more than there are, mean all that are available.
/// - `timeout` (1 s, where nobody says one): how long a unary call may take.
/// - `idempotent` (false): calling it twice does what calling it once does.
/// - `forking.allow-unsafe` (false): fork it whether it is idempotent or not.
#[derive(Debug, Default)]
pub struct Forking {
    /// Whether it was said which methods are not forked.
    told: AtomicBool,
}

impl Cluster for Forking {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        let forks = config.per_method(|method| Forks::read(&config.url, method))?;
        let failover = Failover.join(Arc::clone(&directory), Arc::clone(&config))?;
        let reference = Reference::new(directory, config);
        let manner = Forked { forks, failover };
        self.tell(&reference, &manner);
        Ok(Joined::of(reference, manner))
    }
}

impl Forking {
    /// A user of other Dubbos expects these methods to be forked.
    fn tell(&self, reference: &Reference, manner: &Forked) {
        let service = reference.config.descriptor();
        let methods =
            (0..service.methods().len()).map(|at| MethodRef::new(Arc::clone(service), at));
        let unforked = methods.filter(|method| {
            let cluster = reference.config.url.get_for(method.name(), &CLUSTER);
            let is_ours = cluster.is_ok_and(|cluster| cluster.eq_ignore_ascii_case("forking"));
            let can_fork = !method.kind().streams_requests() && !method.name().starts_with('$');
            is_ours && can_fork && manner.forks(reference, method).is_none()
        });
        let unforked: Vec<String> = unforked.map(|method| method.name().to_owned()).collect();
        if !unforked.is_empty() && !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                service = %reference.config.service, methods = unforked.join(", "),
                "`cluster: forking` sends a call to several providers, and nothing says that these methods may be called \
                 more than once: they are called as by `failover`; set `idempotent: true` for them, or `forking.allow-unsafe`"
            );
        }
    }
}

struct Forked {
    forks: PerMethod<Forks>,
    failover: Arc<dyn Invoker>,
}

impl Forked {
    /// None for a method that is not forked.
    fn forks(&self, reference: &Reference, method: &MethodRef) -> Option<Forks> {
        let forks = *self.forks.get(method);
        let may_repeat = forks.allow_unsafe || reference.policies.is_idempotent(method);
        may_repeat.then_some(forks)
    }
}

#[derive(Debug, Clone, Copy)]
struct Forks {
    /// How many; `None` is all.
    count: Option<usize>,
    /// How long a unary call may take; `None` is for ever.
    timeout: Option<Duration>,
    /// Whether it is forked whatever it does.
    allow_unsafe: bool,
}

impl Forks {
    fn read(url: &Url, method: &str) -> Result<Self, UrlError> {
        let count = url.get_for(method, &FORKS)?;
        let timeout = url.get_for(method, &TIMEOUT)?.unwrap_or(TIMEOUT_DEFAULT);
        // What is no such value is told here; the policies of the reference know whose it is.
        url.get_for(method, &IDEMPOTENT)?;
        Ok(Self {
            count: usize::try_from(count).ok().filter(|count| *count > 0),
            timeout: (!timeout.is_zero()).then_some(timeout),
            allow_unsafe: url.get_for(method, &ALLOW_UNSAFE)?,
        })
    }

    /// Who gets the call: distinct providers, those that are available if any is.
    fn nodes(
        self,
        reference: &Reference,
        candidates: &Candidates,
        method: &MethodConfig,
        invocation: &Invocation,
    ) -> Result<Vec<Node>, Status> {
        let count = self.count.unwrap_or(usize::MAX);
        if count >= candidates.len() {
            let admitted = candidates
                .iter()
                .filter(|node| node.admits(&invocation.method));
            let admitted: Vec<Node> = admitted.cloned().collect();
            return Ok(if admitted.is_empty() {
                candidates.iter().cloned().collect()
            } else {
                admitted
            });
        }
        let mut nodes = Vec::with_capacity(count);
        let mut chosen: SmallVec<[NodeId; 4]> = SmallVec::new();
        while nodes.len() < count {
            let node = reference.choose(candidates, &chosen, method, invocation)?;
            // One that was chosen already: nobody else is available.
            let Some(node) = node.filter(|node| !chosen.contains(&node.id)) else {
                break;
            };
            chosen.push(node.id);
            nodes.push(node);
        }
        Ok(nodes)
    }
}

impl Manner for Forked {
    const CLUSTER: &'static str = "forking";

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        let forks = self.forks(reference, &invocation.method);
        let Some(forks) = forks.filter(|_| matches!(invocation.body, Body::Unary(_))) else {
            return self.failover.invoke(invocation).await;
        };
        if invocation.timeout.is_none() && invocation.method.kind() == CallKind::Unary {
            invocation.timeout = forks.timeout;
        }
        let method = reference.prepare(&mut invocation);
        let (nodes, listed) = {
            let candidates = reference.directory.list(&invocation)?;
            let nodes = forks.nodes(reference, &candidates, method, &invocation)?;
            (nodes, candidates.len())
        };
        encode_once(&mut invocation, &nodes);
        let mut failures = Failures::new(reference, &invocation, nodes.len(), listed);
        let pace = Pace {
            attempts: u32::try_from(nodes.len()).unwrap_or(u32::MAX),
            delay: Duration::ZERO,
        };
        let copies: Vec<Invocation> = nodes
            .iter()
            .filter_map(|_| invocation.try_clone())
            .collect();
        drop(invocation);
        let mut branches = nodes.iter().zip(copies);
        let begin = |_| {
            let (node, copy) = branches.next()?;
            Some(attempt::call(node, copy))
        };
        let raced = race(pace, begin, |status| status.retry() == Retry::Never).await;
        if let Some((_, answer)) = raced.answer {
            return answer;
        }
        for lost in raced.failures {
            failures.push(&nodes[lost.number as usize], lost.elapsed, lost.status);
        }
        Err(failures.into_status())
    }
}

/// Encodes the message once for all branches, if they all need it in one form. One that cannot be encoded stays what it is:
/// each branch says better why not.
fn encode_once(invocation: &mut Invocation, nodes: &[Node]) {
    let Body::Unary(payload) = &mut invocation.body else {
        return;
    };
    let all_speak = |protocol| {
        nodes
            .iter()
            .all(|node| node.invoker.url().protocol() == protocol)
    };
    if nodes.len() < 2 {
        return;
    }
    let is_java = invocation.method.descriptor().java.is_some();
    if all_speak("tri") && is_java {
        // Each argument stands alone there.
        if let Ok(values) = payload.encode_values(Codec::Hessian2) {
            *payload = Payload::values(Codec::Hessian2, values);
        }
    } else if all_speak("tri") {
        let _ = payload.freeze(Codec::Protobuf);
    } else if all_speak("dubbo") && is_java {
        let _ = payload.freeze(Codec::Hessian2);
    }
}

dubbo_core::extension!(dyn Cluster, "forking", |_cx| Ok(Arc::new(
    Forking::default()
)));

/// `docs/spec/cluster.md` §2.0.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(1);

const CLUSTER: Key<String> = Key {
    name: "cluster",
    default: String::new,
};

const FORKS: Key<i64> = Key {
    name: "forks",
    default: || 2,
};

const TIMEOUT: Key<Option<Duration>> = Key {
    name: "timeout",
    default: || None,
};

const IDEMPOTENT: Key<Option<bool>> = Key {
    name: "idempotent",
    default: || None,
};

const ALLOW_UNSAFE: Key<bool> = Key {
    name: "forking.allow-unsafe",
    default: || false,
};
