use std::sync::Arc;

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    url::Key,
};
use tokio::time::{Instant, timeout_at};

use super::{
    BUSY, Calling, called,
    gate::{Gate, Pass},
    kept::Kept,
    limit_met,
    methods::PerMethod,
    watch::{End, Watch},
};

/// `actives`: how many calls of one method may be under way to one provider; 0 and below is no limit. One more waits for as
/// long as its attempt has time.
struct Active(PerMethod<Option<Limit>>);

struct Limit {
    at_once: u32,
    gate: Arc<Gate>,
}

impl Active {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        let gates = cx.shared::<Kept<Gate>>();
        let (service, address) = (cx.url.service_key(), cx.url.address());
        let limits = PerMethod::read(cx.url, |method| {
            let limit = cx.url.get_for(method, &ACTIVES)?;
            if limit <= 0 {
                return Ok(None);
            }
            let at_once = u32::try_from(limit).unwrap_or(u32::MAX);
            let gate = gates.get(
                format!("active {address} {service}#{method}"),
                Gate::default,
            );
            Ok(Some(Limit { at_once, gate }))
        });
        limits.map(Self)
    }
}

impl Limit {
    async fn call(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let entered = match self.gate.try_enter(self.at_once) {
            Some(pass) => Some(pass),
            None => self.wait(invocation.attempt_deadline(Instant::now())).await,
        };
        let Some(pass) = entered else {
            let text = format!(
                "{}: {} calls at once may be under way to one provider (`actives`), and none of the {} ended in time",
                called(&invocation),
                self.at_once,
                self.gate.inside(),
            );
            return Err(limit_met(text, BUSY));
        };
        let watch = Watch::new(move |_: End<'_>| drop(pass));
        watch.settle(next.run(invocation).await)
    }

    async fn wait(&self, deadline: Option<Instant>) -> Option<Pass> {
        let entering = self.gate.enter(self.at_once);
        match deadline {
            Some(deadline) => timeout_at(deadline, entering).await.ok(),
            None => Some(entering.await),
        }
    }
}

impl Filter for Active {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        match self.0.get(&invocation.method) {
            Some(limit) => Box::pin(limit.call(invocation, next)),
            None => next.run(invocation),
        }
    }
}

extension!(
    dyn Filter,
    "active" | "active-limit" | "activelimit",
    |cx| { Ok(Arc::new(Active::read(cx)?)) }
);

const ACTIVES: Key<i64> = Key {
    name: "actives",
    default: || 0,
};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dubbo_core::status::Code;

    use super::*;
    use crate::filter::tests::rig::{Provider, invocation_of};

    #[tokio::test(start_paused = true)]
    async fn one_more_waits_for_its_turn_as_long_as_it_has_time() {
        let provider = Provider::slow(Duration::from_millis(100));
        let chain = provider.chain("active", "actives=2&methods.Find.actives=0");
        let call = |timeout: Option<u64>| {
            let mut call = invocation_of("Greet");
            call.timeout = timeout.map(Duration::from_millis);
            chain.invoke(call)
        };
        let began = Instant::now();
        let (one, two, three, four) =
            tokio::join!(call(None), call(None), call(Some(150)), call(Some(60)));
        assert!(one.is_ok() && two.is_ok() && three.is_ok());
        assert_eq!(began.elapsed().as_millis(), 200);
        let late = four.expect_err("no turn in time");
        assert_eq!(late.code(), Code::ResourceExhausted);
        assert!(late.is_not_processed(), "{late}");

        let unlimited = (0..5).map(|_| chain.invoke(invocation_of("Find")));
        let began = Instant::now();
        futures_util::future::join_all(unlimited).await;
        assert_eq!(began.elapsed().as_millis(), 100);
    }

    #[tokio::test]
    async fn each_method_has_its_own_turns_and_who_gives_up_leaves() {
        let provider = Provider::hanging();
        let chain = provider.chain("active", "actives=1");
        let mut first = chain.invoke(invocation_of("Greet"));
        assert!(futures_util::poll!(first.as_mut()).is_pending());
        let mut other = chain.invoke(invocation_of("Find"));
        assert!(futures_util::poll!(other.as_mut()).is_pending());
        assert_eq!(provider.calls(), 2);
        let mut second = chain.invoke(invocation_of("Greet"));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        assert_eq!(provider.calls(), 2, "it waits");
        drop(first);
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        assert_eq!(provider.calls(), 3);
    }
}
