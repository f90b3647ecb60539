//! The parameters of the protocol `dubbo`: ours and Dubbo Java's, and what dubbo-go's network library calls the same.

use std::collections::BTreeMap;

use dubbo_core::yaml::{ProblemKind, Section};

/// Reads `params` (`docs/spec/config.md` §1.9): the parameters by the names that servers know them by.
pub(super) fn read(s: &mut Section<'_, '_>) -> BTreeMap<String, String> {
    let known = KNOWN.iter();
    let mut params: BTreeMap<_, _> = known
        .filter_map(|key| Some(((*key).to_owned(), s.string(key)?)))
        .collect();
    let millis = s.duration("heartbeat-period").map(|it| it.as_millis());
    take(s, &mut params, "heartbeat-period", "heartbeat", millis);
    s.section("getty-session-param", |s| {
        let bytes = s.size("max-msg-len");
        take(s, &mut params, "max-msg-len", "payload", bytes);
        let why = "dubbo-go compresses no message of this protocol by it either";
        s.no_effect("compress-encoding", why);
        for key in OF_SOCKETS {
            s.no_effect(key, "the operating system and the runtime see to that");
        }
        s.no_effect("session-name", "connections are told by their addresses");
    });
    for key in OF_POOLS {
        s.no_effect(
            key,
            "calls are tasks of the runtime, which has threads of its own",
        );
    }
    let why = "a connection that answers is kept; `max-calls` and `max-connection-calls` limit what is served";
    s.no_effect("session-number", why);
    s.no_effect("session-timeout", why);
    for key in OF_CLIENTS {
        s.no_effect(
            key,
            "it is of a client, and dubbo-go does not read it there either",
        );
    }
    params
}

/// Takes a value that dubbo-go's library has under a name of its own.
fn take(
    s: &mut Section<'_, '_>,
    params: &mut BTreeMap<String, String>,
    key: &'static str,
    name: &str,
    value: Option<impl ToString>,
) {
    let Some(value) = value.map(|value| value.to_string()) else {
        return;
    };
    let ours = params
        .entry(name.to_owned())
        .or_insert_with(|| value.clone());
    if *ours != value {
        let message = format!("says otherwise than `{name}`, which is the same: `{ours}`");
        s.error(key, ProblemKind::Conflict, message);
    }
}

/// What servers of the protocol know. dubbo-go's `heartbeat-timeout` is one of them.
const KNOWN: [&str; 6] = [
    "accepts",
    "heartbeat",
    "heartbeat.timeout",
    "max-calls",
    "max-connection-calls",
    "payload",
];

const OF_CLIENTS: [&str; 2] = ["connection-number", "reconnect-interval"];

const OF_POOLS: [&str; 3] = ["gr-pool-size", "queue-len", "queue-number"];

const OF_SOCKETS: [&str; 8] = [
    "keep-alive-period",
    "tcp-keep-alive",
    "tcp-no-delay",
    "tcp-r-buf-size",
    "tcp-read-timeout",
    "tcp-w-buf-size",
    "tcp-write-timeout",
    "wait-timeout",
];

#[cfg(test)]
mod tests {
    use dubbo_core::yaml::{Problems, Reader, parse};

    use super::*;

    #[test]
    fn what_both_have_is_one_parameter_and_the_rest_is_told_of() {
        for (text, want, problems) in [
            (
                "{payload: 8388608, heartbeat: 1000, accepts: 5}",
                "accepts=5 heartbeat=1000 payload=8388608",
                "",
            ),
            (
                "{heartbeat-period: 30s, heartbeat-timeout: 60s, getty-session-param: {max-msg-len: 8mib}}",
                "heartbeat=30000 heartbeat.timeout=60s payload=8388608",
                "",
            ),
            (
                "{heartbeat: 1, heartbeat-period: 2ms}",
                "heartbeat=1",
                "t:1:16: heartbeat-period: says otherwise than `heartbeat`, which is the same: `1`\n",
            ),
            (
                "{gr-pool-size: 9, getty-session-param: {tcp-no-delay: true}}",
                "",
                "warning: t:1:2: gr-pool-size: has no effect: calls are tasks of the runtime, which has threads of its own\n\
                 warning: t:1:41: getty-session-param.tcp-no-delay: has no effect: the operating system and the runtime see to \
                 that\n",
            ),
        ] {
            let mut found = Problems::default();
            let document = parse("t", text, &mut found);
            let mut reader = Reader::new(found);
            let params = reader.read("", document.as_ref(), read);
            let params: Vec<_> = params
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            assert_eq!(params.join(" "), want, "{text}");
            let (errors, warnings) = reader.finish().0.into_parts();
            let errors = errors.iter().map(|error| format!("{error}\n"));
            let warnings = warnings
                .iter()
                .map(|warning| format!("warning: {warning}\n"));
            assert_eq!(
                errors.chain(warnings).collect::<String>(),
                problems,
                "{text}"
            );
        }
    }
}
