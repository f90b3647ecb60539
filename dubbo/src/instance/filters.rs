//! Which filters stand around a call: those that are built in and those of a configured list, turned into chains.

use std::sync::Arc;

use dubbo_core::{
    extension::{ExtensionError, ExtensionPoint, Extensions},
    filter::{ClusterFilter, Filter},
    url::Url,
};

use super::INJVM;
use crate::config::Config;

/// A place in a chain that is taken without being asked for.
struct BuiltIn {
    name: &'static str,
    when: When,
}

/// What has to be there for that. A call pays for nothing that its service does not use.
enum When {
    Always,
    /// Callers come from beyond the process.
    Beyond,
    /// One of these parameters, for the service or for any of its methods.
    Any(&'static [&'static str]),
    /// `metrics.enable`.
    Measured,
    /// This parameter, where callers come from beyond the process: those within it are of the same program.
    Guarded(&'static str),
}

/// What is built in (`docs/spec/cluster.md` §6.1): first what stands before a configured list, then what stands after it.
struct Table {
    before: &'static [BuiltIn],
    after: &'static [BuiltIn],
}

const PROVIDER: Table = Table {
    before: &[
        built_in("tracing", When::Always),
        built_in("metrics", When::Measured),
        built_in("pshutdown", When::Beyond),
        built_in("echo", When::Always),
        built_in("token", When::Guarded("token")),
        built_in("auth", When::Guarded("auth")),
        built_in("accesslog", When::Any(&["accesslog"])),
        built_in("tps", When::Any(&["tps.limiter", "tps"])),
        built_in("execute", When::Any(&["execute.limit", "executes"])),
        built_in("padasvc", When::Any(&["adaptive-service"])),
        // Callers ask as they like: no parameter of the service says whether they do.
        built_in("adaptive-load", When::Always),
    ],
    // Filters see what came, and applications what is for them.
    after: &[built_in("context", When::Always)],
};

/// Once per call of a consumer.
const CALL: Table = Table {
    before: &[
        built_in("consumercontext", When::Always),
        built_in("tracing", When::Always),
        built_in("metrics", When::Measured),
    ],
    after: &[],
};

/// Once per attempt.
const ATTEMPT: Table = Table {
    before: &[
        built_in("tracing", When::Always),
        built_in("metrics", When::Measured),
    ],
    after: &[
        built_in("sign", When::Any(&["auth"])),
        built_in("active", When::Any(&["actives"])),
        built_in("deprecated", When::Any(&["deprecated"])),
    ],
};

const fn built_in(name: &'static str, when: When) -> BuiltIn {
    BuiltIn { name, when }
}

/// Makes the chains of one instance.
#[derive(Clone)]
pub(super) struct Filters {
    extensions: Extensions,
    is_measured: bool,
}

impl Filters {
    pub(super) fn new(extensions: &Extensions, config: &Config) -> Self {
        Self {
            extensions: extensions.clone(),
            is_measured: config.metrics.enable == Some(true),
        }
    }

    /// The filters before a service, for its URL.
    ///
    /// # Errors
    ///
    /// One of them is not there, or refuses an option.
    pub(super) fn of_provider(
        &self,
        listed: Option<&[String]>,
        url: &Url,
    ) -> Result<Vec<Arc<dyn Filter>>, ExtensionError> {
        let names = self.names::<dyn Filter>(listed, &PROVIDER, url);
        let made = names.iter();
        made.map(|name| self.extensions.create(name, url)).collect()
    }

    /// The filters before the cluster of a reference: what is listed of this kind.
    ///
    /// # Errors
    ///
    /// One of them refuses an option.
    pub(super) fn of_calls(
        &self,
        listed: Option<&[String]>,
        url: &Url,
    ) -> Result<Vec<Arc<dyn Filter>>, ExtensionError> {
        let names = self.names::<dyn ClusterFilter>(listed, &CALL, url);
        let made = names
            .iter()
            .filter(|name| self.extensions.contains::<dyn ClusterFilter>(name));
        made.map(|name| {
            let made = self.extensions.create::<dyn ClusterFilter>(name, url)?;
            Ok(made as Arc<dyn Filter>)
        })
        .collect()
    }

    /// The names of the filters before each provider of a reference: what is listed and not of calls alone.
    pub(super) fn of_attempts(&self, listed: Option<&[String]>, url: &Url) -> Vec<String> {
        let mut names = self.names::<dyn Filter>(listed, &ATTEMPT, url);
        names.retain(|name| {
            self.extensions.contains::<dyn Filter>(name)
                || !self.extensions.contains::<dyn ClusterFilter>(name)
        });
        names
    }

    /// Makes the filters of these names for `url`.
    ///
    /// # Errors
    ///
    /// One of them is not there, or refuses an option.
    pub(super) fn create(
        &self,
        names: &[String],
        url: &Url,
    ) -> Result<Vec<Arc<dyn Filter>>, ExtensionError> {
        let made = names.iter();
        made.map(|name| self.extensions.create(name, url)).collect()
    }

    fn names<F: ?Sized + ExtensionPoint>(
        &self,
        listed: Option<&[String]>,
        table: &Table,
        url: &Url,
    ) -> Vec<String> {
        let stands = |built_in: &&BuiltIn| match built_in.when {
            When::Always => true,
            When::Beyond => !is_within(url),
            When::Any(keys) => says_any(url, keys),
            When::Measured => self.is_measured,
            When::Guarded(key) => {
                !is_within(url) && url.param(key).is_some_and(|value| value != "false")
            }
        };
        let names = |of: &'static [BuiltIn]| {
            let standing = of.iter().filter(stands);
            standing.map(|built_in| built_in.name).collect::<Vec<_>>()
        };
        let canonical = |name: &str| match self.extensions.canonical::<F>(name) {
            Ok(name) => name.to_ascii_lowercase(),
            Err(_) => name.to_ascii_lowercase(),
        };
        merge(
            listed.unwrap_or_default(),
            &names(table.before),
            &names(table.after),
            canonical,
        )
    }
}

/// A list and what is built in, as one (`docs/spec/cluster.md` §6.1): `default` is where the built-in ones stand, at first
/// unless it is there; `-name` takes a filter out, and `-default` all that are built in. One that is built in and listed
/// stands where it is listed.
fn merge(
    listed: &[String],
    before: &[&'static str],
    after: &[&'static str],
    canonical: impl Fn(&str) -> String,
) -> Vec<String> {
    let is_default = |name: &str| name.eq_ignore_ascii_case("default");
    let (removed, listed): (Vec<_>, Vec<_>) = listed
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty())
        .partition(|name| name.starts_with('-'));
    let removed: Vec<_> = removed
        .iter()
        .map(|name| canonical(name[1..].trim()))
        .collect();
    let own: Vec<_> = listed.iter().map(|name| canonical(name)).collect();
    let keeps_none = removed.iter().any(|name| name == "default");
    let built_in = |names: &[&'static str]| {
        let kept = names
            .iter()
            .filter(|name| !keeps_none && !own.contains(&canonical(name)));
        kept.map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    let at = listed.iter().position(|name| is_default(name)).unwrap_or(0);
    let of_list = |names: &[&str]| {
        let named = names.iter().filter(|name| !is_default(name));
        named.map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    let mut chain = of_list(&listed[..at]);
    chain.extend(built_in(before));
    chain.extend(of_list(&listed[at..]));
    chain.extend(built_in(after));
    chain.retain(|name| !removed.contains(&canonical(name)));
    chain
}

/// Whether a service at `url` is for this process alone.
fn is_within(url: &Url) -> bool {
    url.protocol().eq_ignore_ascii_case(INJVM)
}

/// Whether `url` has a value for one of `keys`, for its service or a method.
fn says_any(url: &Url, keys: &[&str]) -> bool {
    let is_of = |param: &str, key: &str| {
        let method = param.strip_suffix(key);
        method.is_some_and(|method| method.is_empty() || method.ends_with('.'))
    };
    url.params()
        .filter(|(_, value)| !value.is_empty() && *value != "false")
        .any(|(param, _)| keys.iter().any(|key| is_of(param, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters() -> Filters {
        Filters {
            extensions: Extensions::linked().expect("no duplicates"),
            is_measured: false,
        }
    }

    fn listed(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn url(protocol: &str, params: &str) -> Url {
        format!("{protocol}://h:1/a.B?{params}")
            .parse()
            .expect(params)
    }

    #[test]
    fn a_list_is_merged_with_what_is_built_in() {
        let canonical = |name: &str| match name.to_ascii_lowercase().as_str() {
            "executelimit" => "execute".to_owned(),
            name => name.to_owned(),
        };
        for (list, want) in [
            ("", "echo execute context"),
            ("audit", "echo execute audit context"),
            ("audit default", "audit echo execute context"),
            ("audit DEFAULT more", "audit echo execute more context"),
            ("default audit -execute", "echo audit context"),
            ("-ExecuteLimit", "echo context"),
            ("- audit", "echo execute audit context"),
            ("audits -audit", "echo execute audits context"),
            ("-default audit", "audit"),
            ("-default -audit audit", ""),
            ("-context", "echo execute"),
            (
                "audit executelimit last",
                "echo audit executelimit last context",
            ),
            ("a a", "echo execute a a context"),
        ] {
            let list = listed(list);
            let got = merge(&list, &["echo", "execute"], &["context"], canonical);
            let want: Vec<&str> = want.split(' ').filter(|name| !name.is_empty()).collect();
            assert_eq!(got, want, "{list:?}");
        }
    }

    #[test]
    fn what_is_built_in_stands_in_the_order_of_the_specification_where_it_is_asked_for() {
        let all = "token=t&auth=true&accesslog=true&tps.limiter=default&execute.limit=1&adaptive-service=true&actives=1&\
                   deprecated=true";
        let everything = "tracing metrics pshutdown echo token auth accesslog tps execute padasvc adaptive-load context";
        let measured = Filters {
            is_measured: true,
            ..filters()
        };
        for (filters, protocol, params, want) in [
            (
                filters(),
                "tri",
                "",
                "tracing pshutdown echo adaptive-load context",
            ),
            (measured.clone(), "tri", all, everything),
            (
                measured.clone(),
                "injvm",
                all,
                "tracing metrics echo accesslog tps execute padasvc adaptive-load context",
            ),
            (
                filters(),
                "tri",
                "methods.a.execute.limit=1",
                "tracing pshutdown echo execute adaptive-load context",
            ),
            (
                filters(),
                "tri",
                "a.executes=1&tps=5",
                "tracing pshutdown echo tps execute adaptive-load context",
            ),
            (
                filters(),
                "tri",
                "tps.limiter=&no-tps=1",
                "tracing pshutdown echo adaptive-load context",
            ),
        ] {
            let names = filters.names::<dyn Filter>(None, &PROVIDER, &url(protocol, params));
            assert_eq!(names.join(" "), want, "{params}");
        }
        let calls = measured.names::<dyn ClusterFilter>(None, &CALL, &url("consumer", all));
        assert_eq!(calls.join(" "), "consumercontext tracing metrics");
        let attempts = measured.of_attempts(None, &url("consumer", all));
        assert_eq!(attempts.join(" "), "tracing metrics sign active deprecated");
        let attempts = filters().of_attempts(None, &url("consumer", ""));
        assert_eq!(attempts.join(" "), "tracing");
    }

    #[test]
    fn a_consumers_list_is_of_both_kinds_and_a_name_with_both_sees_calls_and_attempts() {
        let list = listed("consumercontext otelClientTrace active nobody");
        let url = url("consumer", "");
        assert_eq!(
            filters().of_attempts(Some(&list), &url).join(" "),
            "otelClientTrace active nobody",
            "a name that nobody has is refused with the other filters"
        );
        let calls = filters().of_calls(Some(&list), &url).expect("made");
        assert_eq!(calls.len(), 2);
        let none = listed("-context -tracing");
        let calls = filters().of_calls(Some(&none), &url).expect("made");
        assert!(calls.is_empty());
    }
}
