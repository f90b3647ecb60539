use std::sync::Arc;

use dubbo_core::{
    extension,
    filter::{Filter, Next},
    invocation::Invocation,
    url::Url,
};
use metrics::{Counter, counter};
use tokio::time::Instant;

use super::{
    Calling,
    methods::ByMethod,
    watch::{End, Watch},
};

/// Warns of calls that were not done when their caller stopped waiting, and counts them as
/// `dubbo_provider_late_calls_total`. What ends them is the protocol.
struct Late {
    interface: Arc<str>,
    counters: ByMethod<Counter>,
}

impl Late {
    fn of(url: &Url) -> Self {
        Self {
            interface: url.service_key().interface().into(),
            counters: ByMethod::new(),
        }
    }
}

impl Filter for Late {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let Some(deadline) = invocation.deadline else {
            return next.run(invocation);
        };
        let counter = self.counters.get(&invocation.method, |method| {
            let labels = [
                ("interface", self.interface.to_string()),
                ("method", method.to_owned()),
            ];
            counter!("dubbo_provider_late_calls_total", &labels)
        });
        let (counter, method) = (counter.clone(), invocation.method.clone());
        let began = Instant::now();
        let watch = Watch::new(move |_: End<'_>| {
            let now = Instant::now();
            if now < deadline {
                return;
            }
            counter.increment(1);
            tracing::warn!(
                service = method.service().interface(),
                method = method.name(),
                elapsed_ms = (now - began).as_millis(),
                allowed_ms = deadline.saturating_duration_since(began).as_millis(),
                "a call was not done when its caller stopped waiting"
            );
        });
        Box::pin(async move { watch.settle(next.run(invocation).await) })
    }
}

extension!(dyn Filter, "timeout", |cx| Ok(Arc::new(Late::of(cx.url))));

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dubbo_core::status::Status;
    use dubbo_test::metrics::Numbers;

    use super::*;
    use crate::filter::tests::rig::{Provider, invocation};

    #[tokio::test(start_paused = true)]
    async fn calls_that_are_not_done_in_time_are_counted_and_those_that_are_are_not() {
        let numbers = Numbers::default();
        let _recording = metrics::set_default_local_recorder(&numbers);
        let slow = Provider::slow(Duration::from_millis(100));
        let chain = slow.chain("timeout", "");
        for (millis, want) in [
            (None, 0.0),
            (Some(200), 0.0),
            (Some(50), 1.0),
            (Some(100), 2.0),
        ] {
            let mut call = invocation();
            let deadline = millis.map(|millis| Instant::now() + Duration::from_millis(millis));
            call.deadline = deadline;
            let call = chain.invoke(call);
            match deadline {
                // As protocols do, which drop a call that is late.
                Some(deadline) => drop(tokio::time::timeout_at(deadline, call).await),
                None => drop(call.await),
            }
            let counted =
                numbers.get("dubbo_provider_late_calls_total{interface=test.Greeter,method=Greet}");
            assert_eq!(counted.to_string(), f64::to_string(&want), "{millis:?}");
        }
        let failing = Provider::answering(vec![Err(Status::internal("x"))]);
        let failed = failing.through("timeout", "").await;
        assert!(failed.is_err());
    }
}
