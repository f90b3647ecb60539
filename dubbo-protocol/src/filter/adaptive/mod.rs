//! A limit of calls at once that finds itself (`docs/spec/cluster.md` §6.5).

mod aimd;
mod gradient;
mod hill_climbing;
mod limiter;

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    attachments::Attachments,
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    service::ServiceKey,
};

use self::limiter::{Algorithm, Limiter};
use super::{
    BUSY, called,
    kept::Kept,
    limit_met,
    methods::ByMethod,
    watch::{End, Watch},
};

/// Serves as many calls of each method at once as it can without becoming slower, and refuses the rest.
/// `adaptive-service.limiter` is how it finds out how many: `hill-climbing`, `gradient2` or `aimd`.
///
/// It holds for all callers. Those that ask for it, with `adaptive-service.enabled`, are told with each answer how much room
/// is left.
struct Adaptive {
    service: ServiceKey,
    algorithm: Algorithm,
    kept: Arc<Kept<Limiter>>,
    limiters: ByMethod<Arc<Limiter>>,
}

impl Adaptive {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        let name = cx
            .url
            .param("adaptive-service.limiter")
            .filter(|name| !name.is_empty());
        Ok(Self {
            service: cx.url.service_key(),
            algorithm: name.map_or(Ok(Algorithm::HillClimbing), str::parse)?,
            kept: cx.shared(),
            limiters: ByMethod::new(),
        })
    }

    fn limiter(&self, method: &str) -> Arc<Limiter> {
        let Self {
            service, algorithm, ..
        } = self;
        let name = format!("{service}#{method} {algorithm:?}");
        self.kept.get(name, || Limiter::new(*algorithm))
    }
}

#[async_trait]
impl Filter for Adaptive {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let limiter = self
            .limiters
            .get(&invocation.method, |method| self.limiter(method));
        let asks = invocation.attachments.get(ENABLED) == Some("1");
        let mut result = if let Some(permit) = limiter.try_enter() {
            let watch = Watch::new(move |end: End<'_>| permit.ended(&end));
            watch.settle(next.run(invocation).await)
        } else {
            let text = format!("{}: {REFUSAL}", called(&invocation));
            Err(limit_met(text, BUSY))
        };
        if asks {
            tell(
                limiter,
                match &mut result {
                    Ok(reply) => &mut reply.trailers,
                    Err(status) => status.attachments_mut(),
                },
            );
        }
        result
    }
}

fn tell(limiter: &Limiter, attachments: &mut Attachments) {
    let (limit, in_flight) = (limiter.limit(), limiter.in_flight());
    attachments.insert(REMAINING, limit.saturating_sub(in_flight).to_string());
    attachments.insert(IN_FLIGHT, in_flight.to_string());
}

extension!(dyn Filter, "padasvc", |cx| Ok(Arc::new(Adaptive::read(
    cx
)?)));

const ENABLED: &str = "adaptive-service.enabled";
const REMAINING: &str = "adaptive-service.remaining";
const IN_FLIGHT: &str = "adaptive-service.inflight";

/// As dubbo-go says it.
const REFUSAL: &str = "adaptive service interrupted: reach limitation";

#[cfg(test)]
mod tests;
