use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::Invocation,
    status::Status,
};

use super::{Calling, RejectedHandler, at_once, called, rejected::handler};
use crate::reject::{CLOSING, Reject};

/// How far the end of an instance has come, for its filter `pshutdown`: one for all its services, shared as
/// `cx.shared::<Leaving>()`.
#[derive(Debug, Default)]
pub struct Leaving(AtomicU8);

/// A step of the end (`docs/spec/cluster.md` §6.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// It is not about to end.
    Serving,
    /// Calls are served, and each answer says that the end is near.
    Closing,
    /// No call is begun any more.
    Refusing,
}

impl Leaving {
    /// Goes on to `stage`; there is no way back.
    pub fn reach(&self, stage: Stage) {
        self.0.fetch_max(stage as u8, Ordering::AcqRel);
    }

    /// The step that was reached.
    pub fn stage(&self) -> Stage {
        match self.0.load(Ordering::Acquire) {
            0 => Stage::Serving,
            1 => Stage::Closing,
            _ => Stage::Refusing,
        }
    }
}

/// Tells callers that the provider is about to end, and turns away those that come too late. The classic protocol says the
/// first by itself, at the same time.
struct Shutdown {
    leaving: Arc<Leaving>,
    rejected: Arc<dyn RejectedHandler>,
}

impl Filter for Shutdown {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let stage = self.leaving.stage();
        if stage == Stage::Serving {
            return next.run(invocation);
        }
        if let Some(reply) = &invocation.reply {
            reply.trailer(CLOSING, "true");
        }
        if stage == Stage::Closing {
            return next.run(invocation);
        }
        let text = format!(
            "{}: the provider ends, and did not begin",
            called(&invocation)
        );
        let refusal = Reject::Closing.mark(Status::unavailable(text));
        at_once(self.rejected.reject(&invocation, refusal))
    }
}

fn make(cx: &ExtensionContext<'_>) -> Result<Arc<dyn Filter>, BoxError> {
    Ok(Arc::new(Shutdown {
        leaving: cx.shared(),
        rejected: handler(cx, ".shutdown.reject-handler")?,
    }))
}

extension!(dyn Filter, "pshutdown", make);

#[cfg(test)]
mod tests {
    use dubbo_core::{extension::Extensions, status::Code};

    use super::*;
    use crate::filter::tests::rig::{Provider, invocation};

    fn leaving(extensions: &Extensions) -> Arc<Leaving> {
        extensions.shared()
    }

    #[tokio::test]
    async fn cluster_t40_a_provider_that_ends_says_so_and_then_begins_no_call() {
        let provider = Provider::echoing();
        let chain = provider.chain("pshutdown", "");
        let closing = async || {
            let call = invocation();
            let reply = call.reply.clone().expect("a provider's");
            let result = chain.invoke(call).await;
            let told = reply.take_trailers().get(CLOSING).map(str::to_owned);
            (result, told)
        };
        let (result, told) = closing().await;
        assert!(result.is_ok() && told.is_none());
        leaving(provider.extensions()).reach(Stage::Closing);
        let (result, told) = closing().await;
        assert!(result.is_ok());
        assert_eq!(told.as_deref(), Some("true"));
        leaving(provider.extensions()).reach(Stage::Refusing);
        leaving(provider.extensions()).reach(Stage::Closing);
        let (result, told) = closing().await;
        let refusal = result.expect_err("it is too late");
        assert_eq!(refusal.code(), Code::Unavailable);
        assert!(refusal.is_not_processed());
        assert_eq!(refusal.attachments().get("dubbo-reject"), Some("closing"));
        assert_eq!(told.as_deref(), Some("true"));
        assert_eq!(provider.calls(), 2);
    }
}
