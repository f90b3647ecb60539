use std::sync::Arc;

use dubbo_core::{
    extension,
    filter::{ClusterFilter, Filter, Next},
    invocation::Invocation,
    status::Status,
};
use tokio::time::Instant;

use super::{Calling, at_once, called};

/// The first of a consumer's call: one whose time is over is not made at all. Who calls, and how much time is left, each
/// protocol says in its own way.
struct ConsumerContext;

impl Filter for ConsumerContext {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let is_over = |deadline| deadline <= Instant::now();
        if !invocation.deadline.is_some_and(is_over) {
            return next.run(invocation);
        }
        let text = format!(
            "{}: the time for it was over before it began",
            called(&invocation)
        );
        at_once(Err(Status::deadline_exceeded(text).not_processed()))
    }
}

impl ClusterFilter for ConsumerContext {}

extension!(dyn ClusterFilter, "consumercontext" | "context", |_cx| Ok(
    Arc::new(ConsumerContext)
));

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dubbo_core::status::Code;

    use super::*;
    use crate::filter::tests::rig::{Provider, invocation};

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_time_is_over_is_not_made() {
        let provider = Provider::echoing();
        let chain = provider.behind(vec![Arc::new(ConsumerContext)]);
        let now = Instant::now();
        for (deadline, want) in [
            (None, true),
            (Some(now + Duration::from_millis(1)), true),
            (Some(now), false),
        ] {
            let mut call = invocation();
            call.deadline = deadline;
            match chain.invoke(call).await {
                Ok(_) => assert!(want),
                Err(status) => {
                    assert!(!want && status.is_not_processed());
                    assert_eq!(status.code(), Code::DeadlineExceeded);
                }
            }
        }
        assert_eq!(provider.calls(), 2);
    }
}
