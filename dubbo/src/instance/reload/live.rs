//! The keys that come into force while the instance runs: the one table of them, and how each is taken over.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    config::{Config, ReferenceConfig, RegistryConfig, ServiceConfig},
    instance::builder::Provided,
};

/// What is in force: the configuration with what code says in it, and the services' options, in the order in which they
/// are provided.
#[derive(Clone, PartialEq)]
pub(super) struct Effective {
    pub(super) config: Arc<Config>,
    pub(super) services: Vec<ServiceConfig>,
}

impl Effective {
    pub(super) fn of(config: Config, services: &[Provided]) -> Self {
        Self {
            config: Arc::new(config),
            services: services.iter().map(|it| it.config.clone()).collect(),
        }
    }
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Changed,
    /// It is live, and what code says is stronger.
    Same,
    /// It is not live.
    Fixed,
}

/// Every key that comes into force while an instance runs, and how. `*` stands for the rest of a name, `<name>` for the
/// name of a service, a reference or a registry.
///
/// All others are refused with a warning that names them, and take a restart.
pub fn live_keys() -> impl Iterator<Item = (String, &'static str)> {
    LIVE.iter().flat_map(|row| {
        let places: &[&str] = match row.take {
            Take::Profile | Take::Whole(_) => &["dubbo."],
            Take::Reference(_) => &["dubbo.consumer.references.<name>."],
            Take::Registry(_) => &["dubbo.registries.<name>."],
            Take::Service(_) => &["dubbo.provider.", "dubbo.provider.services.<name>."],
        };
        places
            .iter()
            .map(move |place| (format!("{place}{}", row.key), row.how))
    })
}

/// Takes from `new` into `now` what the key `path` says, if it is live. `before` is what was there before this and other
/// keys: some are taken together.
pub(super) fn take(path: &str, before: &Effective, now: &mut Effective, new: &Effective) -> Taken {
    let mut alone = before.clone();
    if !is_taken(path, now, new) || !is_taken(path, &mut alone, new) {
        return Taken::Fixed;
    }
    // Which keys follow from a profile is told of each of them.
    if alone == *before && path != PROFILE {
        return Taken::Same;
    }
    Taken::Changed
}

fn is_taken(path: &str, now: &mut Effective, new: &Effective) -> bool {
    path.strip_prefix("dubbo.").is_some_and(|key| {
        take_of_registry(key, now, new)
            || take_of_reference(key, now, new)
            || take_of_service(key, now, new)
            || take_whole(key, now, new)
    })
}

fn take_of_registry(key: &str, now: &mut Effective, new: &Effective) -> bool {
    let Some(rest) = key.strip_prefix("registries.") else {
        return false;
    };
    LIVE.iter().any(|row| {
        let Take::Registry(take) = row.take else {
            return false;
        };
        let now = &mut Arc::make_mut(&mut now.config).registries;
        take_of_entry(rest, row, now, &new.config.registries, take)
    })
}

fn take_of_reference(key: &str, now: &mut Effective, new: &Effective) -> bool {
    let Some(rest) = key.strip_prefix("consumer.references.") else {
        return false;
    };
    LIVE.iter().any(|row| {
        let Take::Reference(take) = row.take else {
            return false;
        };
        let now = &mut Arc::make_mut(&mut now.config).consumer.references;
        take_of_entry(rest, row, now, &new.config.consumer.references, take)
    })
}

fn take_of_service(key: &str, now: &mut Effective, new: &Effective) -> bool {
    let Some(rest) = key.strip_prefix("provider.") else {
        return false;
    };
    LIVE.iter().any(|row| {
        let Take::Service(take) = row.take else {
            return false;
        };
        let provider = &mut Arc::make_mut(&mut now.config).provider;
        let is_live = match rest.strip_prefix("services.") {
            Some(rest) => take_of_entry(
                rest,
                row,
                &mut provider.services,
                &new.config.provider.services,
                take,
            ),
            None if row.means(rest) => {
                take(&mut provider.defaults, &new.config.provider.defaults);
                true
            }
            None => false,
        };
        if is_live {
            // Of the others the same option is the same, or is among the changes too.
            let services = now.services.iter_mut().zip(&new.services);
            services.for_each(|(now, new)| take(now, new));
        }
        is_live
    })
}

fn take_whole(key: &str, now: &mut Effective, new: &Effective) -> bool {
    LIVE.iter().filter(|row| row.means(key)).any(|row| {
        match row.take {
            Take::Profile => {}
            Take::Whole(take) => take(Arc::make_mut(&mut now.config), &new.config),
            _ => return false,
        }
        true
    })
}

/// Takes the option of `row` over for the entry that `rest` begins with, if it is that option.
fn take_of_entry<T: Clone + Default + PartialEq>(
    rest: &str,
    row: &Row,
    now: &mut BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
    take: fn(&mut T, &T),
) -> bool {
    // A name may have dots in it.
    let named = now.keys().chain(new.keys()).find(|name| {
        let key = rest
            .strip_prefix(name.as_str())
            .and_then(|rest| rest.strip_prefix('.'));
        key.is_some_and(|key| row.means(key))
    });
    let Some(name) = named.cloned() else {
        return false;
    };
    let new = new.get(&name).cloned().unwrap_or_default();
    let is_new = !now.contains_key(&name);
    let entry = now.entry(name.clone()).or_default();
    take(entry, &new);
    if is_new && *entry == T::default() {
        now.remove(&name);
    }
    true
}

/// One key, or those that begin alike.
struct Row {
    key: &'static str,
    how: &'static str,
    take: Take,
}

impl Row {
    fn means(&self, key: &str) -> bool {
        match self.key.strip_suffix('*') {
            Some(begin) => key.starts_with(begin),
            None => key == self.key,
        }
    }
}

/// Where an option is, and how it gets from the one to the other.
#[derive(Clone, Copy)]
enum Take {
    /// It is in the keys that follow from it.
    Profile,
    Reference(fn(&mut ReferenceConfig, &ReferenceConfig)),
    Registry(fn(&mut RegistryConfig, &RegistryConfig)),
    Service(fn(&mut ServiceConfig, &ServiceConfig)),
    Whole(fn(&mut Config, &Config)),
}

const fn of_reference(
    key: &'static str,
    how: &'static str,
    take: fn(&mut ReferenceConfig, &ReferenceConfig),
) -> Row {
    let take = Take::Reference(take);
    Row { key, how, take }
}

const fn of_service(
    key: &'static str,
    how: &'static str,
    take: fn(&mut ServiceConfig, &ServiceConfig),
) -> Row {
    let take = Take::Service(take);
    Row { key, how, take }
}

const fn whole(key: &'static str, how: &'static str, take: fn(&mut Config, &Config)) -> Row {
    let take = Take::Whole(take);
    Row { key, how, take }
}

const PROFILE: &str = "dubbo.profiles.active";

const CALLS: &str = "calls that begin from then on go by it";

const LOGGED: &str = "what is logged from then on goes by it, in the whole process";

const PUBLISHED: &str = "consumers are told of it by the registries, with no gap";

const SERVED: &str =
    "calls that come from then on go by it; those that are counted already stay counted";

const AT_THE_END: &str = "the shutdown goes by it";

static LIVE: &[Row] = &[
    Row {
        key: "profiles.active",
        how: "the keys of the other profile count, each by itself",
        take: Take::Profile,
    },
    whole("logger.level", LOGGED, |now, new| {
        now.logger.level = new.logger.level;
    }),
    whole("logger.format", LOGGED, |now, new| {
        now.logger.format = new.logger.format;
    }),
    whole("logger.appender", LOGGED, |now, new| {
        now.logger.appender.clone_from(&new.logger.appender);
    }),
    whole("logger.file.*", LOGGED, |now, new| {
        now.logger.file = new.logger.file.clone();
    }),
    whole("logger.trace-integration.*", LOGGED, |now, new| {
        now.logger.trace_integration = new.logger.trace_integration.clone();
    }),
    whole(
        "router*",
        "the rules count until somebody else says others, as at the start",
        |now, new| {
            now.router.clone_from(&new.router);
        },
    ),
    whole(
        "rules.path",
        "rules are looked for in the other folder; without one, in the last",
        |now, new| {
            if new.rules.path.is_some() {
                now.rules.path.clone_from(&new.rules.path);
            }
        },
    ),
    whole(
        "retry.*",
        "calls that begin from then on go by it; but `retry.dead-letter` is read once",
        |now, new| {
            let dead_letter = now
                .retry
                .as_ref()
                .and_then(|retry| retry.dead_letter.clone());
            let mut retry = new.retry.clone().unwrap_or_default();
            retry.dead_letter = dead_letter;
            if now.retry.clone().unwrap_or_default() != retry {
                now.retry = Some(retry);
            }
        },
    ),
    whole("shutdown.timeout", AT_THE_END, |now, new| {
        now.shutdown.timeout = new.shutdown.timeout;
    }),
    whole("shutdown.step-timeout", AT_THE_END, |now, new| {
        now.shutdown.step_timeout = new.shutdown.step_timeout;
    }),
    whole("shutdown.notify-timeout", AT_THE_END, |now, new| {
        now.shutdown.notify_timeout = new.shutdown.notify_timeout;
    }),
    whole(
        "shutdown.consumer-update-wait-time",
        AT_THE_END,
        |now, new| {
            now.shutdown.consumer_update_wait_time = new.shutdown.consumer_update_wait_time;
        },
    ),
    whole(
        "shutdown.offline-request-window-timeout",
        AT_THE_END,
        |now, new| {
            now.shutdown.offline_request_window_timeout =
                new.shutdown.offline_request_window_timeout;
        },
    ),
    Row {
        key: "timeout",
        how: "what is asked of the registry from then on goes by it; requests of its own client go by what was at the start",
        take: Take::Registry(|now, new| now.timeout = new.timeout),
    },
    whole("consumer.request-timeout", CALLS, |now, new| {
        now.consumer.request_timeout = new.consumer.request_timeout;
    }),
    whole(
        "consumer.check",
        "references that are made from then on go by it",
        |now, new| {
            now.consumer.check = new.consumer.check;
        },
    ),
    whole(
        "consumer.max-wait-time-for-service-discovery",
        "references that are made from then on go by it",
        |now, new| {
            now.consumer.max_wait_time_for_service_discovery =
                new.consumer.max_wait_time_for_service_discovery;
        },
    ),
    of_reference("timeout", CALLS, |now, new| now.timeout = new.timeout),
    of_reference("retries", CALLS, |now, new| now.retries = new.retries),
    of_reference("loadbalance", CALLS, |now, new| {
        now.loadbalance.clone_from(&new.loadbalance);
    }),
    of_reference("cluster", CALLS, |now, new| {
        now.cluster.clone_from(&new.cluster);
    }),
    of_reference("sticky", CALLS, |now, new| now.sticky = new.sticky),
    of_reference("tag", CALLS, |now, new| now.tag.clone_from(&new.tag)),
    of_reference("force.tag", CALLS, |now, new| now.force_tag = new.force_tag),
    of_reference("methods*", CALLS, |now, new| {
        now.methods.clone_from(&new.methods);
    }),
    of_reference("params.*", CALLS, |now, new| {
        now.params.clone_from(&new.params);
    }),
    of_reference(
        "check",
        "references that are made from then on go by it",
        |now, new| now.check = new.check,
    ),
    of_service("weight", PUBLISHED, |now, new| now.weight = new.weight),
    of_service("warmup", PUBLISHED, |now, new| now.warmup = new.warmup),
    of_service("cluster", PUBLISHED, |now, new| {
        now.cluster.clone_from(&new.cluster);
    }),
    of_service("loadbalance", PUBLISHED, |now, new| {
        now.loadbalance.clone_from(&new.loadbalance);
    }),
    of_service("retries", PUBLISHED, |now, new| now.retries = new.retries),
    of_service("tag", PUBLISHED, |now, new| now.tag.clone_from(&new.tag)),
    of_service("tps.limiter", SERVED, |now, new| {
        now.limits.tps_limiter.clone_from(&new.limits.tps_limiter);
    }),
    of_service("tps.limit.rate", SERVED, |now, new| {
        now.limits.tps_rate = new.limits.tps_rate;
    }),
    of_service("tps.limit.interval", SERVED, |now, new| {
        now.limits.tps_interval = new.limits.tps_interval;
    }),
    of_service("tps.limit.strategy", SERVED, |now, new| {
        now.limits.tps_strategy = new.limits.tps_strategy;
    }),
    of_service("tps.limit.rejected.handler", SERVED, |now, new| {
        now.limits
            .tps_rejected_handler
            .clone_from(&new.limits.tps_rejected_handler);
    }),
    of_service("execute.limit", SERVED, |now, new| {
        now.limits.execute = new.limits.execute;
    }),
    of_service("execute.limit.rejected.handler", SERVED, |now, new| {
        now.limits
            .execute_rejected_handler
            .clone_from(&new.limits.execute_rejected_handler);
    }),
    of_service(
        "accesslog",
        "calls that come from then on are logged as it says",
        |now, new| {
            now.accesslog.clone_from(&new.accesslog);
        },
    ),
    of_service("methods*", SERVED, |now, new| {
        now.methods.clone_from(&new.methods);
    }),
    of_service("params.*", PUBLISHED, |now, new| {
        now.params.clone_from(&new.params);
    }),
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{
        ConsumerConfig, LogLevel, LoggerConfig, MethodConfig, ProviderConfig, ShutdownConfig,
    };

    fn effective(config: Config, services: &[ServiceConfig]) -> Effective {
        Effective {
            config: Arc::new(config),
            services: services.to_vec(),
        }
    }

    #[test]
    fn a_key_is_taken_alone_and_what_is_not_live_stays() {
        let new = Config::new()
            .registry(
                "r",
                RegistryConfig::memory()
                    .timeout(Duration::from_secs(1))
                    .zone("z"),
            )
            .logger(LoggerConfig::new().level(LogLevel::Debug))
            .shutdown(ShutdownConfig::new().internal_signal(false))
            .provider(ProviderConfig::new().defaults(ServiceConfig::new().weight(7).group("g")))
            .consumer(
                ConsumerConfig::new()
                    .request_timeout(Duration::from_secs(9))
                    .reference(
                        "a.B",
                        ReferenceConfig::new()
                            .retries(5)
                            .protocol("dubbo")
                            .method("x", MethodConfig::new().retries(1)),
                    ),
            );
        let new = effective(new, &[ServiceConfig::new().weight(7).group("g")]);
        let before = effective(
            Config::new().registry("r", RegistryConfig::memory()),
            &[ServiceConfig::new()],
        );
        let mut now = before.clone();
        for (path, taken) in [
            ("dubbo.registries.r.timeout", Taken::Changed),
            ("dubbo.registries.r.zone", Taken::Fixed),
            ("dubbo.registries.s.timeout", Taken::Fixed),
            ("dubbo.logger.level", Taken::Changed),
            ("dubbo.logger.format", Taken::Same),
            ("dubbo.shutdown.internal-signal", Taken::Fixed),
            ("dubbo.provider.weight", Taken::Changed),
            ("dubbo.provider.group", Taken::Fixed),
            ("dubbo.consumer.request-timeout", Taken::Changed),
            ("dubbo.consumer.references.a.B.retries", Taken::Changed),
            ("dubbo.consumer.references.a.B.protocol", Taken::Fixed),
            (
                "dubbo.consumer.references.a.B.methods[0].name",
                Taken::Changed,
            ),
            (
                "dubbo.consumer.references.a.B.methods[0].retries",
                Taken::Changed,
            ),
            ("dubbo.consumer.references.a.B.loadbalance", Taken::Same),
            ("dubbo.profiles.active", Taken::Changed),
            ("dubbo.application.name", Taken::Fixed),
            ("custom.timeout", Taken::Fixed),
        ] {
            assert_eq!(take(path, &before, &mut now, &new), taken, "{path}");
        }
        let reference = &now.config.consumer.references["a.B"];
        assert_eq!((reference.retries, &reference.protocol), (Some(5), &None));
        assert_eq!(now.services, [ServiceConfig::new().weight(7)]);
        assert_eq!(now.config.shutdown, ShutdownConfig::new());
    }

    #[test]
    fn what_dead_letters_are_kept_in_is_not_taken() {
        let retry = |text: &str| {
            dubbo_cluster::resend::PolicyDocument::parse("t", text).expect("no mistakes")
        };
        let new = Config::new().retry(retry("mode: strict\ndead-letter: {store: memory}"));
        let new = effective(new, &[]);
        let before = effective(Config::new(), &[]);
        let mut now = before.clone();
        assert_eq!(
            take("dubbo.retry.mode", &before, &mut now, &new),
            Taken::Changed
        );
        assert_eq!(now.config.retry, Some(retry("mode: strict")));
    }

    #[test]
    fn every_live_key_has_one_row() {
        let keys: Vec<String> = live_keys().map(|(key, _)| key).collect();
        let mut once = keys.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), keys.len());
        assert!(keys.contains(&"dubbo.provider.services.<name>.weight".to_owned()));
    }
}
