//! Degradation: an answer in place of the providers', when they fail a call or without asking them.

mod rule;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    invocation::{Invocation, RpcResult},
    invoker::Invoker,
    status::{Origin, Retry, Status},
    url::Url,
};

pub(super) use self::rule::MockRule;
use self::rule::Substitute;

/// Puts the mock of a method around the cluster that its calls go to.
pub(super) fn around(invoker: Arc<dyn Invoker>, rule: Option<&Arc<MockRule>>) -> Arc<dyn Invoker> {
    match rule {
        Some(rule) => Arc::new(Mocked {
            invoker,
            rule: Arc::clone(rule),
        }),
        None => invoker,
    }
}

struct Mocked {
    invoker: Arc<dyn Invoker>,
    rule: Arc<MockRule>,
}

impl Mocked {
    async fn instead(&self, failure: Status, invocation: Option<Invocation>) -> RpcResult {
        let told = failure.clone();
        let answer = match (&self.rule.substitute, invocation) {
            (Substitute::Fixed(fixed), _) => fixed.answer(),
            (Substitute::Named(mock), Some(invocation)) => {
                mock.answer(invocation, Some(failure)).await
            }
            (Substitute::Named(_), None) => {
                return Err(told.context("the mock cannot have its requests, which are a stream"));
            }
        };
        answer.map_err(|status| {
            if status.origin() == Origin::Business {
                return status;
            }
            let text = format!(
                "{} (mocked, because the call failed: {told})",
                status.message()
            );
            let status = Status::new(status.code(), text)
                .with_origin(status.origin())
                .with_details(status.details().to_vec())
                .with_attachments(status.attachments().clone());
            status.with_source(told)
        })
    }
}

#[async_trait]
impl Invoker for Mocked {
    fn url(&self) -> &Url {
        self.invoker.url()
    }

    fn is_available(&self) -> bool {
        self.invoker.is_available()
    }

    fn why_unavailable(&self) -> Option<String> {
        self.invoker.why_unavailable()
    }

    fn in_flight(&self) -> usize {
        self.invoker.in_flight()
    }

    async fn invoke(&self, invocation: Invocation) -> RpcResult {
        let (service, method) = (Arc::clone(&invocation.service), invocation.method.clone());
        let count = |mode: &'static str| {
            let labels = [
                ("service", service.to_string()),
                ("method", method.name().to_owned()),
                ("mode", mode.to_owned()),
            ];
            metrics::counter!("dubbo_mocked_calls_total", &labels).increment(1);
        };
        if self.rule.forced {
            count("force");
            return match &self.rule.substitute {
                Substitute::Fixed(fixed) => fixed.answer(),
                Substitute::Named(mock) => mock.answer(invocation, None).await,
            };
        }
        let kept = match self.rule.substitute {
            Substitute::Fixed(_) => None,
            Substitute::Named(_) => invocation.try_clone(),
        };
        match self.invoker.invoke(invocation).await {
            Err(failure) if failure.retry() != Retry::Never => {
                tracing::debug!(%service, method = method.name(), error = %failure, "a call is mocked");
                count("fail");
                self.instead(failure, kept).await
            }
            answer => answer,
        }
    }

    async fn close(&self) {
        self.invoker.close().await;
    }
}

impl fmt::Debug for Mocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mocked").field(self.url()).finish()
    }
}
