use dubbo_core::yaml::{ProblemKind, Section};
use dubbo_protocol::filter::Strategy;

use super::settings;

settings! {
    /// How many calls a service, or one of its methods, takes (`docs/spec/cluster.md` §6.3, §6.4). The keys stand beside
    /// those of the service or method.
    pub struct LimitsConfig {
        /// `tps.limiter`: `default` switches the limit of calls in a time on. Of a service alone.
        tps_limiter: Option<String>,
        /// `tps.limit.rate`: so many calls in an interval; below 0 is no limit.
        tps_rate: Option<i32>,
        /// `tps.limit.interval`: in milliseconds; 0 and below is no limit.
        tps_interval: Option<i32>,
        /// `tps.limit.strategy`, by default `gcra`: how they are counted.
        tps_strategy: Option<Strategy>,
        /// `tps.limit.rejected.handler`, by default `default`: what the caller of one too many gets. Of a service alone.
        tps_rejected_handler: Option<String>,
        /// `execute.limit`, by default -1: so many calls are served at once; below 0 is no limit, and 0 lets nobody in.
        execute: Option<i32>,
        /// `execute.limit.rejected.handler`, by default `default`: what the caller of one too many gets.
        execute_rejected_handler: Option<String>,
    }
}

impl LimitsConfig {
    /// Reads what a service can say.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let limits = Self {
            tps_limiter: s.string("tps.limiter"),
            tps_rejected_handler: s.string("tps.limit.rejected.handler"),
            ..Self::read_of_method(s)
        };
        if let Some(name) = &limits.tps_limiter
            && !["", "default", "method-service"].contains(&name.to_ascii_lowercase().as_str())
        {
            let message = format!("`{name}` is not supported; `default` (`method-service`) is");
            s.error("tps.limiter", ProblemKind::Unsupported, message);
        }
        limits
    }

    /// Reads what a method can say.
    pub(super) fn read_of_method(s: &mut Section<'_, '_>) -> Self {
        Self {
            tps_limiter: None,
            tps_rate: s.integer("tps.limit.rate", -1..=i32::MAX),
            tps_interval: s.integer("tps.limit.interval", -1..=i32::MAX),
            tps_strategy: read_strategy(s),
            tps_rejected_handler: None,
            execute: s.integer("execute.limit", -1..=i32::MAX),
            execute_rejected_handler: s.string("execute.limit.rejected.handler"),
        }
    }

    /// Refuses what a consumer cannot say.
    pub(super) fn refuse(s: &mut Section<'_, '_>) {
        for key in [
            "tps.limit.interval",
            "tps.limit.rate",
            "tps.limit.strategy",
            "execute.limit",
            "execute.limit.rejected.handler",
        ] {
            s.no_effect(
                key,
                "a limit is the provider's to set; `actives` among `params` is a consumer's",
            );
        }
    }

    /// What is said, as parameters of a URL.
    pub(crate) fn params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let number = |number: Option<i32>| number.map(|number| number.to_string());
        let params = [
            ("tps.limiter", self.tps_limiter.clone()),
            ("tps.limit.rate", number(self.tps_rate)),
            ("tps.limit.interval", number(self.tps_interval)),
            (
                "tps.limit.strategy",
                self.tps_strategy.map(|strategy| strategy.to_string()),
            ),
            (
                "tps.limit.rejected.handler",
                self.tps_rejected_handler.clone(),
            ),
            ("execute.limit", number(self.execute)),
            (
                "execute.limit.rejected.handler",
                self.execute_rejected_handler.clone(),
            ),
        ];
        params
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
    }
}

fn read_strategy(s: &mut Section<'_, '_>) -> Option<Strategy> {
    const KEY: &str = "tps.limit.strategy";
    let strategy = s.string(KEY)?.parse::<Strategy>();
    let strategy =
        strategy.map_err(|error| s.error(KEY, ProblemKind::UnknownName, error.to_string()));
    strategy.ok()
}
