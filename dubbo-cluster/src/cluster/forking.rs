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

    /// Who gets the call: distinct providers, those that are available if any is, and, when these are too few, those whose
    /// first connection is just being made. With the first calls of a consumer, one provider may be far ahead of the others.
    fn nodes(
        self,
        reference: &Reference,
        candidates: &Candidates,
        method: &MethodConfig,
        invocation: &Invocation,
    ) -> Result<Vec<Node>, Status> {
        let count = self.count.unwrap_or(usize::MAX);
        let called = &invocation.method;
        // Asked in this order: what is no longer being connected is there.
        let has_a_chance = |node: &&Node| {
            let connecting = node.invoker.is_connecting() && node.state.admits(called);
            connecting || node.admits(called)
        };
        if count >= candidates.len() {
            let mut nodes: Vec<Node> = candidates.iter().filter(has_a_chance).cloned().collect();
            if nodes.is_empty() {
                nodes.extend(candidates.iter().cloned());
            }
            return Ok(nodes);
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
        let late = candidates.iter().filter(has_a_chance);
        let late = late.filter(|node| !chosen.contains(&node.id));
        nodes.extend(late.take(count - nodes.len()).cloned());
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
            Some(attempt::call(reference, node, copy))
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

#[cfg(test)]
mod tests {
    use dubbo_core::{
        cluster::NodeWeight,
        codegen::Proto,
        payload::Adapter as _,
        service::{MethodDescriptor, ServiceDescriptor, ServiceKey},
        status::Code,
    };
    use tokio::time::Instant;

    use super::*;
    use crate::testing::{
        Answer, Fixed, Scripted, asking, asking_of, invocation, invocation_of, join,
    };

    fn ok(millis: u64) -> Answer {
        Answer::After(Duration::from_millis(millis))
    }

    fn fails(millis: u64) -> Answer {
        Answer::FailAfter(Duration::from_millis(millis), Status::unavailable("down"))
    }

    fn forking(params: &[(&str, &str)], providers: &[Arc<Scripted>]) -> Arc<dyn Invoker> {
        join(&Forking::default(), Fixed::of(providers), asking(params))
    }

    fn called(providers: &[Arc<Scripted>]) -> Vec<usize> {
        providers
            .iter()
            .map(|provider| provider.calls().len())
            .collect()
    }

    const SAFE: (&str, &str) = ("idempotent", "true");

    #[tokio::test(start_paused = true)]
    async fn cluster_t25_the_first_success_of_the_forks_wins_and_the_others_are_dropped_at_once() {
        let refused = || Answer::FailAfter(Duration::from_millis(7), Status::business("sold out"));
        for (forks, answers, took, code, calls) in [
            ("2", [fails(5), ok(20), ok(1)], 20, None, [1, 1, 0]),
            ("", [fails(5), ok(20), ok(1)], 20, None, [1, 1, 0]),
            (
                "2",
                [fails(5), fails(20), ok(1)],
                20,
                Some(Code::Unavailable),
                [1, 1, 0],
            ),
            ("0", [fails(5), ok(20), ok(9)], 9, None, [1, 1, 1]),
            ("-1", [ok(300), ok(200), ok(100)], 100, None, [1, 1, 1]),
            ("99", [ok(300), ok(5), ok(100)], 5, None, [1, 1, 1]),
            ("1", [ok(30), ok(5), ok(1)], 30, None, [1, 0, 0]),
            (
                "3",
                [fails(1), refused(), ok(20)],
                7,
                Some(Code::Business),
                [1, 1, 1],
            ),
        ] {
            let name = format!("{forks} forks of {answers:?}");
            let mut port = 0;
            let all = answers.map(|answer| {
                port += 1;
                Scripted::with(port, [answer])
            });
            let start = Instant::now();
            let result = forking(&[SAFE, ("forks", forks)], &all)
                .invoke(invocation())
                .await;
            assert_eq!(result.err().map(|status| status.code()), code, "{name}");
            assert_eq!(start.elapsed().as_millis(), took, "{name}");
            assert_eq!(called(&all), calls, "{name}");
            assert!(
                all.iter().all(|provider| provider.in_flight() == 0),
                "{name}: losers are gone"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_t25_fewer_that_can_be_chosen_are_fewer_branches() {
        for (available, calls) in [
            ([false, true, false], [0, 1, 0]),
            ([true, false, true], [1, 0, 1]),
            ([false, false, false], [1, 1, 0]),
        ] {
            let all = [1, 2, 3].map(|port| Scripted::with(port, [ok(5)]));
            for (provider, available) in all.iter().zip(available) {
                provider.set_available(available);
            }
            let cluster = forking(&[SAFE], &all);
            assert!(cluster.invoke(invocation()).await.is_ok());
            assert_eq!(called(&all), calls, "{available:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_just_being_connected_gets_a_branch_when_too_few_are_there() {
        for (forks, ready, connecting, calls) in [
            ("3", [true, false, false], [false, true, true], [1, 1, 1]),
            ("2", [false, true, false], [true, false, true], [1, 1, 0]),
            ("2", [true, true, false], [false, false, true], [1, 1, 0]),
            ("0", [false, false, true], [true, false, false], [1, 0, 1]),
        ] {
            let all = [1, 2, 3].map(|port| Scripted::with(port, [ok(5)]));
            for (at, provider) in all.iter().enumerate() {
                provider.set_available(ready[at]);
                provider.set_connecting(connecting[at]);
            }
            let cluster = forking(&[SAFE, ("forks", forks)], &all);
            assert!(cluster.invoke(invocation()).await.is_ok());
            assert_eq!(
                called(&all),
                calls,
                "{forks} forks: {ready:?}, {connecting:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_t25_a_call_ends_with_its_time_and_tells_of_every_branch() {
        for (timeout, own, want) in [
            ("", None, 1_000),
            ("3s", None, 3_000),
            ("250", None, 250),
            ("3s", Some(100), 100),
        ] {
            let all = [
                Scripted::with(1, [fails(5)]),
                Scripted::with(2, [Answer::Hang]),
            ];
            let mut call = invocation();
            call.timeout = own.map(Duration::from_millis);
            let start = Instant::now();
            let status = forking(&[SAFE, ("timeout", timeout)], &all)
                .invoke(call)
                .await;
            let status = status.expect_err("nobody answers");
            let took = start.elapsed().as_millis();
            assert_eq!(
                (status.code(), took),
                (Code::DeadlineExceeded, want),
                "{timeout:?}"
            );
            let text = status.message();
            for part in [
                "calling First of a.B: 2 of 2 attempts failed: ",
                "tri://10.0.0.1:1 unavailable after 5ms, tri://10.0.0.1:2 deadline_exceeded after ",
            ] {
                assert!(text.contains(part), "{text}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_may_be_repeated_is_forked() {
        let method = |name: &'static str, idempotent| MethodDescriptor {
            idempotent,
            ..MethodDescriptor::new(name, CallKind::Unary)
        };
        let methods = vec![method("Read", true), method("Write", false)];
        let descriptor = Arc::new(ServiceDescriptor::new("a.B", methods));
        for (params, name, branches) in [
            (&[][..], "Read", 2),
            (&[], "Write", 1),
            (&[("methods.Write.idempotent", "true")], "Write", 2),
            (&[("forking.allow-unsafe", "true")], "Write", 2),
            (&[("methods.Read.idempotent", "false")], "Read", 1),
        ] {
            let all = [1, 2, 3].map(|port| Scripted::with(port, [ok(5)]));
            let config = asking_of(&descriptor, params);
            let cluster = join(&Forking::default(), Fixed::of(&all), config);
            let mut call = invocation();
            call.method = descriptor.find(name).expect("is there");
            cluster.invoke(call).await.expect("answers");
            assert_eq!(
                called(&all).iter().sum::<usize>(),
                branches,
                "{name} with {params:?}"
            );
        }
        // A stream of requests cannot be sent twice, one of answers has one winner.
        for (name, branches) in [("Upload", 1), ("Download", 2)] {
            let all = [1, 2, 3].map(|port| Scripted::with(port, [ok(5)]));
            forking(&[SAFE], &all)
                .invoke(invocation_of(name))
                .await
                .expect("answers");
            assert_eq!(called(&all).iter().sum::<usize>(), branches, "{name}");
        }
    }

    #[test]
    fn a_value_that_is_none_is_an_error_of_the_reference() {
        for (key, value) in [
            ("forks", "two"),
            ("timeout", "soon"),
            ("idempotent", "maybe"),
            ("methods.First.forking.allow-unsafe", "1"),
        ] {
            let joined = Forking::default().join(Fixed::of(&[]), asking(&[(key, value)]));
            let error = joined.err().expect(key).to_string();
            assert!(
                error.starts_with(&format!("parameter `{key}` is {value:?}: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_message_is_encoded_once_where_all_branches_need_the_same_bytes() {
        let java = MethodDescriptor::java("get", CallKind::Unary, ["int"], "int");
        let message = MethodDescriptor::new("Get", CallKind::Unary);
        for (protocols, method, want) in [
            (&["tri", "tri"][..], &message, "3 bytes of protobuf"),
            (&["tri"], &message, "Proto(\"x\")"),
            (&["tri", "injvm"], &message, "Proto(\"x\")"),
            (&["tri", "tri"], &java, "Proto(\"x\")"),
        ] {
            let nodes: Vec<Node> = protocols
                .iter()
                .map(|protocol| {
                    let url = crate::testing::url(1).with_protocol(*protocol);
                    Node::new(Scripted::of(url, []), NodeWeight::constant(1))
                })
                .collect();
            let service = Arc::new(ServiceDescriptor::new("a.B", vec![method.clone()]));
            let payload = Payload::typed(Proto::wrap("x".to_owned()));
            let mut call = Invocation::new(
                Arc::new(ServiceKey::new("a.B")),
                MethodRef::new(service, 0),
                Body::Unary(payload),
            );
            encode_once(&mut call, &nodes);
            let got = format!("{:?}", call.body);
            assert!(got.contains(want), "{protocols:?}: {got}");
        }
    }
}
