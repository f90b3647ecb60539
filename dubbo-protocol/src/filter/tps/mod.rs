//! How many calls may come in a time (`docs/spec/cluster.md` §6.4).

mod strategy;
mod window;

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    extension,
    extension::{BoxError, ExtensionContext},
    filter::{Filter, Next},
    invocation::Invocation,
    url::{Key, Url},
};
use tokio::time::Instant;

pub use self::strategy::Strategy;
use self::window::{Rate, Window};
use super::{
    Calling, RejectedHandler, at_once, called, execute::has_own, kept::Kept, limit_met,
    methods::PerMethod, rejected::handler,
};

/// Refuses calls that are more than `tps.limit.rate` in `tps.limit.interval` milliseconds, if there is a `tps.limiter`; or
/// more than Dubbo Java's `tps` in `tps.interval`. A method with a rate or an interval of its own is counted by itself, and
/// takes the other half from the service; all others are counted together.
///
/// What has been counted stays when the rate changes.
struct Tps {
    limits: PerMethod<Option<Limit>>,
    rejected: Arc<dyn RejectedHandler>,
}

struct Limit {
    rate: Rate,
    window: Arc<Window>,
}

impl Tps {
    fn read(cx: &ExtensionContext<'_>) -> Result<Self, BoxError> {
        let windows = cx.shared::<Kept<Window>>();
        let service = cx.url.service_key();
        let go = has_limiter(cx.url)?;
        let limits = PerMethod::read(cx.url, |method| {
            let keys = if go { &OF_GO } else { &OF_JAVA };
            let Some(rate) = keys.rate(cx.url, method)? else {
                return Ok(None);
            };
            let strategy = cx.url.get_for(method, &STRATEGY)?;
            let strategy: Strategy = strategy.as_deref().map_or(Ok(Strategy::Gcra), str::parse)?;
            let own = [keys.rate.name, keys.interval.name];
            let is_own = own.iter().any(|key| has_own(cx.url, method, key));
            let scope = if is_own { method } else { "" };
            let name = format!("{service}#{scope} {strategy}");
            let window = windows.get(name, || Window::new(strategy));
            Ok(Some(Limit { rate, window }))
        });
        Ok(Self {
            limits: limits?,
            rejected: handler(cx, "tps.limit.rejected.handler")?,
        })
    }
}

/// Whether dubbo-go's limiter is on.
fn has_limiter(url: &Url) -> Result<bool, BoxError> {
    match url.param("tps.limiter").unwrap_or_default() {
        "" => Ok(false),
        name if LIMITERS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known)) =>
        {
            Ok(true)
        }
        name => Err(format!(
            "`tps.limiter` is {name:?}, and there are: {}",
            LIMITERS.join(", ")
        )
        .into()),
    }
}

struct Keys {
    rate: Key<i64>,
    interval: Key<i64>,
}

impl Keys {
    fn rate(&self, url: &Url, method: &str) -> Result<Option<Rate>, BoxError> {
        let calls = url.get_for(method, &self.rate)?;
        let millis = url.get_for(method, &self.interval)?;
        let (Ok(calls), Ok(millis @ 1..)) = (u64::try_from(calls), u64::try_from(millis)) else {
            // As in dubbo-go: below 0 there is no limit.
            return Ok(None);
        };
        Ok(Some(Rate {
            calls,
            interval: Duration::from_millis(millis),
        }))
    }
}

impl Filter for Tps {
    fn invoke<'a, 'n, 'c>(&'a self, invocation: Invocation, next: Next<'n>) -> Calling<'c>
    where
        'a: 'c,
        'n: 'c,
        Self: 'c,
    {
        let Some(limit) = self.limits.get(&invocation.method) else {
            return next.run(invocation);
        };
        let Err(wait) = limit.window.admit(limit.rate, Instant::now()) else {
            return next.run(invocation);
        };
        let (what, Rate { calls, interval }) = (called(&invocation), limit.rate);
        let text = format!(
            "{what}: {calls} calls are taken in {interval:?} here (`tps.limit.rate`), and there is room again in {wait:?}"
        );
        at_once(self.rejected.reject(&invocation, limit_met(text, wait)))
    }
}

extension!(dyn Filter, "tps", |cx| Ok(Arc::new(Tps::read(cx)?)));

const LIMITERS: [&str; 2] = ["default", "method-service"];

const OF_GO: Keys = Keys {
    rate: Key {
        name: "tps.limit.rate",
        default: || -1,
    },
    interval: Key {
        name: "tps.limit.interval",
        default: || -1,
    },
};

const OF_JAVA: Keys = Keys {
    rate: Key {
        name: "tps",
        default: || -1,
    },
    interval: Key {
        name: "tps.interval",
        default: || 60_000,
    },
};

const STRATEGY: Key<Option<String>> = Key {
    name: "tps.limit.strategy",
    default: || None,
};

#[cfg(test)]
mod tests;
