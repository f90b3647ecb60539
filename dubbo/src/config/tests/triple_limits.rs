//! What a server of Triple puts up with: keys of `dubbo.protocols.<id>.triple` (`docs/spec/triple.md` §9.5).

use std::{collections::BTreeSet, time::Duration};

use super::{documented::keys, *};

#[test]
fn nonsense_is_refused_where_it_stands() {
    for (text, want) in [
        (
            "max-connections: -1",
            "max-connections: expected a whole number from 0 to 4294967295, found `-1`",
        ),
        (
            "max-concurrent-streams: 0",
            "max-concurrent-streams: expected a whole number from 1 to 1000000, found `0`",
        ),
        (
            "max-header-count: 5",
            "max-header-count: expected a whole number from 16 to 20000, found `5`",
        ),
        (
            "max-header-list-size: 4kib",
            "max-header-list-size: expected a size from 8192 to 16777216 bytes, found `4kib`",
        ),
        (
            "max-frame-size: 16mib",
            "max-frame-size: expected a size from 16384 to 16777215 bytes, found `16mib`",
        ),
        (
            "initial-window-size: 1",
            "initial-window-size: expected a size from 65535 to 2147483647 bytes, found `1`",
        ),
        (
            "connection-initial-window-size: 2gib",
            "connection-initial-window-size: expected a size from 65535 to 2147483647 bytes, found `2gib`",
        ),
        (
            "handshake-timeout: 0",
            "handshake-timeout: there has to be a limit: at least `1ms`",
        ),
        (
            "keep-alive-timeout: 1us",
            "keep-alive-timeout: there has to be a limit: at least `1ms`",
        ),
        (
            "max-connection-age: 1us",
            "max-connection-age: at least `1ms`, or `0` for no limit",
        ),
        (
            "request-timeout: soon",
            "request-timeout: expected a duration such as `3s` or `500ms`, or a number of milliseconds, found `soon`",
        ),
        (
            "max-unfinished-size: all",
            "max-unfinished-size: expected a size such as `4mib`, `4mb` or a number of bytes, found `all`",
        ),
        (
            "max-server-recv-msg-size: 1mib, max-body-size: 2mib",
            "max-body-size: says otherwise than `max-server-recv-msg-size`, which is the same limit",
        ),
    ] {
        let report = report(&format!(
            "dubbo:\n  protocols: {{a: {{triple: {{{text}}}}}}}\n"
        ));
        let (place, message) = report
            .trim_end()
            .split_once(": dubbo.protocols.a.triple.")
            .unwrap_or_else(|| panic!("{text}: {report}"));
        assert!(place.starts_with("t.yaml:2:"), "{text}: {report}");
        assert_eq!(message, want);
    }
}

#[test]
fn they_are_those_of_one_protocol_and_of_its_servers() {
    let text = "dubbo:\n  protocols: {a: {name: injvm, triple: {max-connections: 5}}}\n";
    assert_eq!(
        report(text),
        "t.yaml:2:32: dubbo.protocols.a.triple: only `tri` has the limits that stand here, and the protocol is `injvm`\n"
    );
    let text = "dubbo:\n  consumer: {references: {R: {protocol_config: {triple: {max-connections: 5}}}}}\n";
    assert_eq!(
        report(text),
        "warning: t.yaml:2:58: dubbo.consumer.references.R.protocol_config.triple.max-connections: has no effect: it limits a \
         server; write it under `dubbo.protocols`\n"
    );
}

#[test]
fn the_largest_body_has_the_name_that_java_gives_it_too() {
    let config = config("dubbo: {protocols: {a: {triple: {max-body-size: 3mib}}}}");
    let triple = &config.protocols["a"].triple;
    assert_eq!(triple.max_server_recv_msg_size, Some(3 << 20));
}

/// Whatever is said arrives at the server, under names that are not published.
#[test]
fn every_key_is_a_parameter_and_a_row_of_the_table() {
    let time = Duration::from_secs(1);
    let triple = TripleConfig::new()
        .keep_alive_interval(time)
        .keep_alive_timeout(time)
        .server(
            TripleServerConfig::new()
                .connection_initial_window_size(1 << 20)
                .handshake_timeout(time)
                .initial_window_size(1 << 20)
                .max_concurrent_streams(1)
                .max_connection_age(time)
                .max_connection_age_grace(time)
                .max_connection_idle(time)
                .max_connections(1)
                .max_frame_size(1 << 20)
                .max_header_count(100)
                .max_header_list_size(1 << 16)
                .max_unfinished_size(1)
                .request_timeout(time),
        );
    let params: BTreeSet<_> = triple.server_params().map(|(name, _)| name).collect();
    let of_server = keys(&TripleServerConfig::new());
    let both = ["keep-alive-interval", "keep-alive-timeout"];
    let want: BTreeSet<_> = of_server.iter().map(String::as_str).chain(both).collect();
    let got: BTreeSet<_> = params
        .iter()
        .map(|name| name.strip_prefix('.').expect("it is not published"))
        .collect();
    assert_eq!(got, want);
    let page = include_str!("../../../../docs/spec/triple.md");
    for key in want {
        let row = format!("| `{key}` |");
        assert!(page.contains(&row), "`{key}` is in no row");
    }
}
