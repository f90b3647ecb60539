//! `available`: the first provider of the list that can be called. Nothing is balanced, and nothing is tried again.

use std::{fmt::Write as _, sync::Arc};

use dubbo_core::{
    cluster::{Candidates, Cluster, ClusterConfig, Directory},
    extension::BoxError,
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::Status,
};

use super::{
    attempt::Reference,
    joined::{Joined, Manner, once},
};

/// Calls the first provider that is available, in the order of the list, and tells what failed
/// ([`FailedCall`](super::FailedCall)). When none is, the error lists them and says what is wrong with each.
///
/// `docs/spec/cluster.md` §2.8.
#[derive(Debug)]
pub struct Available;

impl Cluster for Available {
    fn join(
        &self,
        directory: Arc<dyn Directory>,
        config: Arc<ClusterConfig>,
    ) -> Result<Arc<dyn Invoker>, BoxError> {
        Ok(Joined::over(directory, config, First))
    }
}

struct First;

impl Manner for First {
    const CLUSTER: &'static str = "available";

    async fn call(&self, reference: &Reference, mut invocation: Invocation) -> RpcResult {
        reference.prepare(&mut invocation);
        let candidates = reference.directory.list(&invocation)?;
        let available = candidates
            .iter()
            .find(|node| node.admits(&invocation.method));
        let Some(node) = available.cloned() else {
            return Err(nobody(&candidates, &invocation));
        };
        let count = candidates.len();
        drop(candidates);
        once(reference, &node, count, invocation).await
    }
}

fn nobody(candidates: &Candidates, invocation: &Invocation) -> Status {
    let mut text = format!(
        "calling {} of {}: none of {} providers is available: ",
        invocation.method.name(),
        invocation.service,
        candidates.len()
    );
    for (index, node) in candidates.iter().take(SHOWN).enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        // Writing to a text cannot fail.
        let _ = write!(text, "{separator}{}", node.invoker.url().origin());
        let why = node.invoker.why_unavailable();
        if let Some(why) = why.or_else(|| node.state.why_not(&invocation.method)) {
            let _ = write!(text, " ({why})");
        }
    }
    let more = candidates.len().saturating_sub(SHOWN);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    Status::unavailable(text).not_processed()
}

dubbo_core::extension!(dyn Cluster, "available", |_cx| Ok(Arc::new(Available)));

/// How many providers the text names.
const SHOWN: usize = 8;

#[cfg(test)]
mod tests {
    use dubbo_core::status::Code;

    use super::*;
    use crate::testing::{Answer, Fixed, Scripted, asking, invocation, join};

    #[tokio::test(start_paused = true)]
    async fn cluster_t20_the_first_available_provider_is_called_once_and_none_is_an_error_that_lists_them()
     {
        let down = Answer::Fail(Status::unavailable("refused"));
        let all = [
            Scripted::at(1),
            Scripted::with(2, [Answer::After(std::time::Duration::ZERO), down]),
            Scripted::at(3),
        ];
        all[0].set_unreachable("connecting was refused");
        let cluster = join(&Available, Fixed::of(&all), asking(&[("retries", "2")]));
        cluster
            .invoke(invocation())
            .await
            .expect("the second answers");
        let status = cluster.invoke(invocation()).await.expect_err("fails");
        assert!(
            status.message().starts_with(
                "refused (calling First of a.B: 1 of 1 attempts failed: tri://10.0.0.1:2 "
            ),
            "{status}"
        );
        let calls: Vec<_> = all.iter().map(|provider| provider.calls().len()).collect();
        assert_eq!(
            calls,
            [0, 2, 0],
            "nothing is tried again, nothing is balanced"
        );

        all[1].set_available(false);
        all[2].set_unreachable("it is closing");
        let status = cluster.invoke(invocation()).await.expect_err("nobody is");
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.is_not_processed());
        assert_eq!(
            status.message(),
            "calling First of a.B: none of 3 providers is available: tri://10.0.0.1:1 (connecting was refused), \
             tri://10.0.0.1:2, tri://10.0.0.1:3 (it is closing)"
        );
    }
}
