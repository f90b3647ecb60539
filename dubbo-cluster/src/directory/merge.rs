//! What a consumer makes of a provider's URL.

use dubbo_core::url::Url;

/// The URL that a consumer calls `provider` with: where the provider is, and what both say about the call.
///
/// `docs/spec/cluster.md` §1.7, Java's rules. The consumer's parameters win, but for what only the provider can know
/// (its `timestamp`, `methods`, `release`, `dubbo`, `dubbo.tag`) and for the `group`, `version` and `generic` that it set.
/// Parameters about the provider's own threads are dropped; `reference.filter` and `invoker.listener` of both are joined,
/// the provider's first. `remote.application` and `remote.timestamp` keep what the provider said of itself.
pub fn merge(provider: &Url, consumer: &Url) -> Url {
    let kept = OF_THE_PROVIDER_ALONE
        .iter()
        .filter(|key| provider.param(key).is_some())
        .fold(provider.clone(), |url, key| url.without_param(key));
    let ours = consumer
        .params()
        .filter(|(key, value)| consumer_wins(provider, key, value))
        .map(|(key, value)| (key, value.to_owned()));
    let joined = JOINED.iter().filter_map(|key| {
        let (theirs, ours) = (non_empty(provider, key)?, non_empty(consumer, key)?);
        Some((*key, format!("{theirs},{ours}")))
    });
    let remote = REMOTE
        .iter()
        .filter_map(|(key, from)| Some((*key, non_empty(provider, from)?.to_owned())));
    // In this order: what comes later stands.
    kept.with_params(ours.chain(joined).chain(remote))
}

fn consumer_wins(provider: &Url, key: &str, value: &str) -> bool {
    if KNOWN_BY_THE_PROVIDER.contains(&key) || OF_THE_CONSUMER_ALONE.contains(&key) {
        return false;
    }
    if !SET_BY_THE_PROVIDER.contains(&key) {
        return true;
    }
    // `*` and lists say which providers are wanted; no provider is in the group `*`.
    non_empty(provider, key).is_none() && value != "*" && !value.contains(',')
}

fn non_empty<'a>(url: &'a Url, key: &str) -> Option<&'a str> {
    url.param(key).filter(|value| !value.is_empty())
}

const SET_BY_THE_PROVIDER: [&str; 3] = ["generic", "group", "version"];

const KNOWN_BY_THE_PROVIDER: [&str; 5] = ["dubbo", "dubbo.tag", "methods", "release", "timestamp"];

/// What the consumer tells its registry, not its providers.
const OF_THE_CONSUMER_ALONE: [&str; 2] = ["category", "check"];

const OF_THE_PROVIDER_ALONE: [&str; 14] = [
    "alive",
    "corethreads",
    "default.alive",
    "default.corethreads",
    "default.queues",
    "default.threadname",
    "default.threadpool",
    "default.threads",
    "queues",
    "threadname",
    "threadpool",
    "threads",
    "transporter",
    "default.transporter",
];

const REMOTE: [(&str, &str); 2] = [
    ("remote.application", "application"),
    ("remote.timestamp", "timestamp"),
];

const JOINED: [&str; 2] = ["invoker.listener", "reference.filter"];

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(provider: &str, consumer: &str) -> String {
        let url =
            |query: &str, start: &str| format!("{start}?{query}").parse::<Url>().expect(query);
        let merged = merge(
            &url(provider, "tri://10.0.0.1:50051/a.B"),
            &url(consumer, "consumer://10.0.0.9/a.B"),
        );
        assert_eq!(
            (merged.protocol(), merged.address().as_str()),
            ("tri", "10.0.0.1:50051")
        );
        merged
            .params()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
            .join("&")
    }

    #[test]
    fn the_consumer_wins_but_for_what_the_provider_knows_or_set() {
        for (provider, consumer, want) in [
            (
                "timeout=1&side=provider",
                "timeout=2&side=consumer",
                "side=consumer&timeout=2",
            ),
            ("timeout=1", "retries=3", "retries=3&timeout=1"),
            (
                "group=g&version=1",
                "group=*&version=2",
                "group=g&version=1",
            ),
            ("", "group=g&version=1", "group=g&version=1"),
            ("", "group=*&version=1,2", ""),
            (
                "release=3.3.6&methods=a&dubbo.tag=t",
                "release=x&methods=b&dubbo.tag=u",
                "dubbo.tag=t&methods=a&release=3.3.6",
            ),
            (
                "",
                "release=x&timestamp=9&check=false&category=consumers",
                "",
            ),
            (
                "threads=200&threadpool=fixed&threadname=x&weight=5",
                "",
                "weight=5",
            ),
            (
                "reference.filter=a",
                "reference.filter=b",
                "reference.filter=a,b",
            ),
            (
                "reference.filter=a",
                "reference.filter=",
                "reference.filter=",
            ),
        ] {
            assert_eq!(merged(provider, consumer), want, "{provider} + {consumer}");
        }
    }

    #[test]
    fn what_the_provider_said_of_itself_is_kept_aside() {
        assert_eq!(
            merged(
                "application=theirs&timestamp=1700000000000",
                "application=ours&timestamp=5"
            ),
            "application=ours&remote.application=theirs&remote.timestamp=1700000000000&timestamp=1700000000000"
        );
    }
}
