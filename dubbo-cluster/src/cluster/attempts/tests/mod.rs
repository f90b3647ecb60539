//! How calls with a policy are made, on scripted providers and a paused clock.

mod bounds;
mod classes;
mod ends;
mod guards;
mod switched;
mod telling;
mod waits;

use std::{error::Error as _, sync::Arc, time::Duration};

use dubbo_core::{
    cluster::{Cluster, ClusterConfig},
    invocation::Invocation,
    invoker::Invoker,
    status::{Code, Origin, Status},
};
use tokio::time::Instant;

use crate::{
    cluster::{FailedCall, Failover},
    resend::{PolicyDocument, Resend},
    testing::{Answer, Fixed, Scripted, asking, invocation, join},
};

/// A reference of `cluster` to `providers`, in an instance whose policies are `document`.
struct Rig {
    resend: Resend,
    invoker: Arc<dyn Invoker>,
    directory: Arc<Fixed>,
    providers: Vec<Arc<Scripted>>,
}

impl Rig {
    fn new(document: &str, providers: &[Arc<Scripted>]) -> Self {
        Self::of(&Failover, document, providers, &[])
    }

    /// The same with parameters of the reference.
    fn of(
        cluster: &dyn Cluster,
        document: &str,
        providers: &[Arc<Scripted>],
        params: &[(&str, &str)],
    ) -> Self {
        Self::by(cluster, document, providers, asking(params))
    }

    fn by(
        cluster: &dyn Cluster,
        document: &str,
        providers: &[Arc<Scripted>],
        config: Arc<ClusterConfig>,
    ) -> Self {
        let resend = Resend::clone(&config.extensions.shared());
        let document = PolicyDocument::parse("test.yaml", document);
        resend.set_policies(document.expect("no mistakes"));
        let directory = Fixed::of(providers);
        Self {
            resend,
            invoker: join(cluster, Arc::clone(&directory) as _, config),
            directory,
            providers: providers.to_vec(),
        }
    }

    /// The error of a call of `First`.
    async fn fails(&self) -> Status {
        self.fails_with(invocation()).await
    }

    async fn fails_with(&self, invocation: Invocation) -> Status {
        let failed = self.invoker.invoke(invocation).await;
        failed.expect_err("nobody answers")
    }

    /// How many calls came, to all.
    fn made(&self) -> usize {
        let providers = self.providers.iter();
        providers.map(|provider| provider.calls().len()).sum()
    }

    /// When calls came, to all, in milliseconds after `start`.
    fn moments(&self, start: Instant) -> Vec<u128> {
        let calls = self.providers.iter().flat_map(|provider| provider.calls());
        let mut moments: Vec<u128> = calls
            .map(|got| got.at.duration_since(start).as_millis())
            .collect();
        moments.sort_unstable();
        moments
    }
}

/// `count` providers, each of which gives the same answer for ever.
fn providers(count: u16, answer: &Answer) -> Vec<Arc<Scripted>> {
    (1..=count)
        .map(|port| Scripted::with(port, [answer.clone()]))
        .collect()
}

fn fail(code: Code, origin: Origin) -> Answer {
    Answer::Fail(Status::new(code, "no").with_origin(origin))
}

/// Nothing was sent.
fn unsent() -> Answer {
    let status = Status::unavailable("refused").with_origin(Origin::Transport);
    Answer::Fail(status.not_processed())
}

/// It was sent, and nobody knows.
fn broken() -> Answer {
    fail(Code::Unavailable, Origin::Transport)
}

fn told(status: &Status) -> &FailedCall {
    let source = status.source().expect("a story");
    source.downcast_ref().expect("a failed call")
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
