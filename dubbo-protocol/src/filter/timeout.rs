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
