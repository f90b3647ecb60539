//! `broadcast`: every provider gets the call. For what each of them has to do, such as to drop a cache.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Cluster, ClusterConfig, Directory, Node, PerMethod},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    service::CallKind,
    status::Status,
    url::{Key, Url, UrlError},
};
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{
    attempt::{self, Reference},
    joined::{Failures, Joined, Manner, once},
};

/// Sends a unary call to every provider, one after the other in the order of the list, and answers with the last answer.
///
/// `docs/spec/cluster.md` §2.7. Any failure is an error of the call, which lists each provider that failed; what others
/// did stays done. Parameters, each for a method or for all:
///
/// - `broadcast.fail.percent` (100): no further provider is called once so many of a hundred have failed. 0, and a share
///   of less than one provider, are the first failure; what is not from 0 to 100 is 100.
/// - `broadcast.parallelism` (1): how many providers are called at a time.
#[derive(Debug)]
pub struct Broadcast;

impl Cluster for Broadcast {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        let options = config.per_method(|method| Options::read(&config.url, method))?;
        Ok(Joined::over(directory, config, Everyone(options)))
    }
}

struct Everyone(PerMethod<Options>);

#[derive(Debug, Clone, Copy)]
struct Options {
    fail_percent: usize,
    parallelism: usize,
}

impl Options {
    fn read(url: &Url, method: &str) -> Result<Self, UrlError> {
        let percent = url.get_for(method, &FAIL_PERCENT)?;
        let fail_percent = usize::try_from(percent)
            .ok()
            .filter(|percent| *percent <= ALL);
        if fail_percent.is_none() {
            tracing::warn!(service = %url.service_key(), method, percent, "`broadcast.fail.percent` is not from 0 to 100: 100");
        }
        Ok(Self {
            fail_percent: fail_percent.unwrap_or(ALL),
            parallelism: url.get_for(method, &PARALLELISM)?.max(1),
        })
    }

    /// How many failures of `count` providers end the call.
    fn threshold(self, count: usize) -> usize {
        (count.saturating_mul(self.fail_percent) / ALL).max(1)
    }
}

impl Manner for Everyone {
    const CLUSTER: &'static str = "broadcast";

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        let options = *self.0.get(&invocation.method);
        reference.prepare(&mut invocation);
        let nodes: Vec<Node> = {
            let candidates = reference.directory.list(&invocation)?;
            candidates.iter().cloned().collect()
        };
        if let [lone] = nodes.as_slice() {
            return once(reference, lone, 1, invocation).await;
        }
        if invocation.method.kind() != CallKind::Unary {
            return Err(streams(&invocation, nodes.len()));
        }
        let count = nodes.len();
        let threshold = options.threshold(count);
        let mut failures = Failures::new(reference, &invocation, count, count);
        let calls = nodes.into_iter().filter_map(move |node| {
            let copy = invocation.try_clone()?;
            Some(attempt(reference, node, copy))
        });
        let mut calls = stream::iter(calls).buffered(options.parallelism);
        let mut last = None;
        while let Some((node, elapsed, result)) = calls.next().await {
            match result {
                Ok(reply) => last = Some(reply),
                Err(status) => {
                    failures.push(&node, elapsed, status);
                    if failures.count() == threshold && threshold < count {
                        let percent = options.fail_percent;
                        failures.stop(format!(
                            "no further one was called after {threshold} had failed, for `broadcast.fail.percent` is {percent}"
                        ));
                        break;
                    }
                }
            }
        }
        match last {
            Some(reply) if failures.count() == 0 => Ok(reply),
            last => Err(failures.into_status_beside(last.is_some())),
        }
    }
}

async fn attempt(
    reference: &Reference,
    node: Node,
    invocation: Invocation,
) -> (Node, Duration, RpcResult) {
    attempt::let_others_run().await;
    let started = Instant::now();
    if invocation
        .deadline
        .is_some_and(|deadline| deadline <= started)
    {
        let late =
            Status::deadline_exceeded("the call's deadline passed before this provider's turn");
        return (node, Duration::ZERO, Err(late.not_processed()));
    }
    let result = attempt::call(reference, &node, invocation).await;
    (node, started.elapsed(), result)
}

fn streams(invocation: &Invocation, count: usize) -> Status {
    Status::unimplemented(format!(
        "calling {} of {}: `broadcast` sends one request to each of {count} providers and takes one answer of each, and \
         this method has a stream; give it another `cluster`",
        invocation.method.name(),
        invocation.service
    ))
    .not_processed()
}

dubbo_core::extension!(dyn Cluster, "broadcast", |_cx| Ok(Arc::new(Broadcast)));

const ALL: usize = 100;

const FAIL_PERCENT: Key<i64> = Key {
    name: "broadcast.fail.percent",
    default: || 100,
};

const PARALLELISM: Key<usize> = Key {
    name: "broadcast.parallelism",
    default: || 1,
};

#[cfg(test)]
mod tests {
    use dubbo_core::status::{Code, Origin};

    use super::*;
    use crate::testing::{Answer, Fixed, Scripted, asking, invocation, invocation_of, join};

    fn down() -> Answer {
        Answer::Fail(
            Status::unavailable("refused")
                .with_origin(Origin::Transport)
                .not_processed(),
        )
    }

    /// Ten providers, those at the `failing` ports of which fail.
    fn ten(failing: impl Fn(u16) -> bool) -> Vec<Arc<Scripted>> {
        let of = |port| {
            let answer = if failing(port) {
                down()
            } else {
                Answer::After(Duration::ZERO)
            };
            Scripted::with(port, [answer])
        };
        (1..=10).map(of).collect()
    }

    fn called(providers: &[Arc<Scripted>]) -> usize {
        providers
            .iter()
            .map(|provider| provider.calls().len())
            .sum()
    }

    #[tokio::test(start_paused = true)]
    async fn cluster_t20_a_broadcast_ends_when_its_share_of_providers_has_failed() {
        for (percent, count, failing, asked, named) in [
            ("50", 10, 6, 5, 5),
            ("0", 10, 6, 1, 1),
            ("100", 10, 1, 10, 1),
            ("100", 10, 10, 10, 8),
            ("33", 3, 1, 1, 1),
            ("34", 3, 3, 1, 1),
            ("67", 3, 3, 2, 2),
            ("101", 10, 1, 10, 1),
            ("-1", 10, 2, 10, 2),
            ("", 10, 2, 10, 2),
        ] {
            let mut all = ten(|port| port <= failing);
            all.truncate(count);
            let config = asking(&[("broadcast.fail.percent", percent)]);
            let cluster = join(&Broadcast, Fixed::of(&all), config);
            let status = cluster.invoke(invocation()).await.expect_err("some fail");
            assert_eq!(called(&all), asked, "{percent} percent of {count}");
            let text = status.message();
            assert_eq!(text.matches("tri://").count(), named, "{text}");
            assert_eq!(status.code(), Code::Unavailable);
            let all_failed = failing as usize >= asked;
            assert_eq!(
                status.is_not_processed(),
                all_failed,
                "{percent} percent of {count}: {text}"
            );
        }
        let all = ten(|port| port <= 6);
        let config = asking(&[("broadcast.fail.percent", "50")]);
        let status = join(&Broadcast, Fixed::of(&all), config)
            .invoke(invocation())
            .await;
        let text = status.expect_err("fails");
        let want =
            "; no further one was called after 5 had failed, for `broadcast.fail.percent` is 50";
        assert!(text.message().contains(want), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn providers_are_called_one_after_the_other_or_so_many_at_a_time() {
        for (parallelism, want) in [("", 100), ("1", 100), ("4", 30), ("0", 100), ("99", 10)] {
            let all: Vec<_> = (1..=10)
                .map(|port| Scripted::with(port, [Answer::After(Duration::from_millis(10))]))
                .collect();
            let config = asking(&[("broadcast.parallelism", parallelism)]);
            let start = Instant::now();
            let cluster = join(&Broadcast, Fixed::of(&all), config);
            cluster.invoke(invocation()).await.expect("all answer");
            assert_eq!(called(&all), 10);
            assert_eq!(
                start.elapsed().as_millis(),
                want,
                "{parallelism:?} at a time"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_of_the_call_ends_it_and_says_who_had_no_turn() {
        let all: Vec<_> = (1..=3)
            .map(|port| Scripted::with(port, [Answer::After(Duration::from_millis(60))]))
            .collect();
        let mut call = invocation();
        call.deadline = Some(Instant::now() + Duration::from_millis(100));
        let start = Instant::now();
        let cluster = join(&Broadcast, Fixed::of(&all), asking(&[]));
        let status = cluster.invoke(call).await.expect_err("too late");
        assert_eq!(
            (status.code(), start.elapsed().as_millis()),
            (Code::DeadlineExceeded, 100)
        );
        assert_eq!(called(&all), 2);
        assert!(!status.is_not_processed(), "the first has done it");
        assert!(
            status
                .message()
                .starts_with("the call's deadline passed before this provider's turn"),
            "{status}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_a_stream_goes_to_a_lone_provider_or_is_refused() {
        for (method, ok) in [("First", true), ("Upload", false), ("Download", false)] {
            let all = ten(|_| false);
            let cluster = join(&Broadcast, Fixed::of(&all[..1]), asking(&[]));
            assert!(
                cluster.invoke(invocation_of(method)).await.is_ok(),
                "{method}"
            );
            let cluster = join(&Broadcast, Fixed::of(&all[1..]), asking(&[]));
            match cluster.invoke(invocation_of(method)).await {
                Ok(_) => assert!(ok, "{method}"),
                Err(status) => assert!(
                    !ok && status.code() == Code::Unimplemented && called(&all) == 1,
                    "{method}: {status}"
                ),
            }
        }
    }
}
