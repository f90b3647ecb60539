use std::sync::Arc;

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::Invocation,
    url::{Key, Url},
};

use super::{
    BUSY, Calling, RejectedHandler, at_once, called,
    gate::Gate,
    kept::Kept,
    limit_met,
    methods::PerMethod,
    rejected::handler,
    watch::{End, Watch},
};

/// How many calls may be served at once. `execute.limit` is dubbo-go's: below 0 there is none, and 0 lets nobody in.
/// `executes` is Dubbo Java's: 0 and below is none. The first counts where both are set. A limit of one method counts the
/// calls of this method, that of the service the calls of all methods without one.
struct Execute {
    limits: PerMethod<Option<Limit>>,
    rejected: Arc<dyn RejectedHandler>,
}

struct Limit {
    at_once: u32,
    gate: Arc<Gate>,
}

impl Execute {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        let gates = cx.shared::<Kept<Gate>>();
        let service = cx.url.service_key();
        let limits = PerMethod::read(cx.url, |method| {
            let Some((at_once, is_own)) = limit(cx.url, method)? else {
                return Ok(None);
            };
            let scope = if is_own { method } else { "" };
            let gate = gates.get(format!("execute {service}#{scope}"), Gate::default);
            Ok(Some(Limit { at_once, gate }))
        });
        Ok(Self {
            limits: limits?,
            rejected: handler(cx, "execute.limit.rejected.handler")?,
        })
    }
}

/// The limit of `method`, and whether it is its own.
fn limit(url: &Url, method: &str) -> Result<Option<(u32, bool)>, BoxError> {
    let of = |key: &Key<Option<i64>>| {
        let limit = url.get_for(method, key)?;
        Ok::<_, BoxError>(limit.map(|limit| (limit, has_own(url, method, key.name))))
    };
    let go = of(&EXECUTE_LIMIT)?.filter(|(limit, _)| *limit >= 0);
    let java = of(&EXECUTES)?.filter(|(limit, _)| *limit > 0);
    let Some((limit, is_own)) = go.or(java) else {
        return Ok(None);
    };
    let limit = u32::try_from(limit)
        .map_err(|_| format!("`{limit}` calls at once are more than can be counted"))?;
    Ok(Some((limit, is_own)))
}

/// Whether `url` has `key` for `method` itself.
pub(super) fn has_own(url: &Url, method: &str, key: &str) -> bool {
    let names = [format!("methods.{method}.{key}"), format!("{method}.{key}")];
    let mut values = names.iter().filter_map(|name| url.param(name));
    !method.is_empty() && values.any(|value| !value.is_empty())
}

impl Filter for Execute {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let Some(limit) = self.limits.get(&invocation.method) else {
            return next.run(invocation);
        };
        if let Some(pass) = limit.gate.try_enter(limit.at_once) {
            let watch = Watch::new(move |_: End<'_>| drop(pass));
            return Box::pin(async move { watch.settle(next.run(invocation).await) });
        }
        let (what, most) = (called(&invocation), limit.at_once);
        let text = format!(
            "{what}: {most} calls at once are served here (`execute.limit`), and so many are under way"
        );
        at_once(self.rejected.reject(&invocation, limit_met(text, BUSY)))
    }
}

extension!(dyn Filter, "execute" | "executelimit", |cx| Ok(Arc::new(
    Execute::read(cx)?
)));

const EXECUTE_LIMIT: Key<Option<i64>> = Key {
    name: "execute.limit",
    default: || None,
};

const EXECUTES: Key<Option<i64>> = Key {
    name: "executes",
    default: || None,
};

#[cfg(test)]
mod tests {
    use dubbo_core::status::Code;

    use crate::filter::tests::rig::{Provider, invocation_of};

    #[tokio::test]
    async fn so_many_calls_are_served_at_once_and_zero_means_what_its_key_means() {
        for (params, want) in [
            ("execute.limit=2", 2),
            ("executes=2", 2),
            ("execute.limit=1&executes=5", 1),
            ("execute.limit=-1&executes=2", 2),
            ("execute.limit=0", 0),
            ("executes=0", 9),
            ("execute.limit=-1", 9),
            ("", 9),
            ("execute.limit=5&methods.Greet.execute.limit=1", 1),
            ("Greet.executes=3", 3),
        ] {
            let provider = Provider::hanging();
            let chain = provider.chain("execute", params);
            let mut calls: Vec<_> = (0..9)
                .map(|_| chain.invoke(invocation_of("Greet")))
                .collect();
            let mut served = 0;
            for call in &mut calls {
                match futures_util::poll!(call.as_mut()) {
                    std::task::Poll::Pending => served += 1,
                    std::task::Poll::Ready(result) => {
                        let status = result.expect_err("it is refused");
                        assert_eq!(status.code(), Code::ResourceExhausted);
                        assert!(status.is_not_processed() && status.pushback().is_some());
                    }
                }
            }
            assert_eq!(served, want, "{params}");
            drop(calls);
            let mut again = chain.invoke(invocation_of("Greet"));
            let is_served = futures_util::poll!(again.as_mut()).is_pending();
            assert_eq!(
                is_served,
                want > 0,
                "{params}: what was given up is free again"
            );
        }
    }

    #[tokio::test]
    async fn a_limit_of_the_service_is_one_for_all_methods_without_their_own() {
        let provider = Provider::hanging();
        let chain = provider.chain("execute", "execute.limit=2&methods.Greet.execute.limit=1");
        let mut calls = Vec::new();
        for (method, want) in [
            ("Greet", true),
            ("Greet", false),
            ("Find", true),
            ("Find", true),
            ("Other", false),
        ] {
            let mut call = chain.invoke(invocation_of(method));
            assert_eq!(
                futures_util::poll!(call.as_mut()).is_pending(),
                want,
                "{method}"
            );
            calls.push(call);
        }
    }

    #[test]
    fn what_is_no_limit_is_an_error_of_the_start() {
        let provider = Provider::hanging();
        for params in [
            "execute.limit=many",
            "methods.Greet.execute.limit=x",
            "executes=1s",
            "execute.limit=5000000000",
            "execute.limit.rejected.handler=nobody",
        ] {
            assert!(provider.try_chain("execute", params).is_err(), "{params}");
        }
    }
}
