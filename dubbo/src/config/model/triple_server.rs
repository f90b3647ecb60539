use std::{fmt, ops::RangeInclusive, time::Duration};

use dubbo_core::{
    units,
    yaml::{ProblemKind, Section},
};
use dubbo_protocol::triple_ranges as ranges;

use super::settings;

settings! {
    /// What a server of the protocol `tri` puts up with from its peers (`docs/spec/triple.md` §9.5). The keys stand in
    /// `dubbo.protocols.<id>.triple`, beside the others; what holds for a port holds for every service on it.
    pub struct TripleServerConfig {
        /// `connection-initial-window-size`, in bytes, by default 8 MiB: what all calls of a connection may send ahead of
        /// their handlers.
        connection_initial_window_size: Option<u32>,
        /// `handshake-timeout`, by default 10 s: how long a peer may take to say what it speaks, for the handshake of TLS,
        /// and over HTTP/1 for the headers of each request.
        handshake_timeout: Option<Duration>,
        /// `initial-window-size`, in bytes, by default 1 MiB: what one call may send ahead of its handler.
        initial_window_size: Option<u32>,
        /// `max-concurrent-streams`, by default 1000: how many calls of a connection may be under way.
        max_concurrent_streams: Option<u32>,
        /// `max-connection-age`, by default 0, which is any: after how long, give or take a tenth, a connection is asked to
        /// end.
        max_connection_age: Option<Duration>,
        /// `max-connection-age-grace`, by default 1 m: how long a connection that is too old may go on with the calls that it
        /// has. Then it is cut.
        max_connection_age_grace: Option<Duration>,
        /// `max-connection-idle`, by default 0, which is any: after how long without calls a connection is asked to end.
        max_connection_idle: Option<Duration>,
        /// `max-connections`, by default 0, which is any number: how many there may be. Those beyond are told, and closed.
        max_connections: Option<u32>,
        /// `max-frame-size`, in bytes, by default 1 MiB: the largest frame of HTTP/2 that is read.
        max_frame_size: Option<u32>,
        /// `max-header-count`, by default 256: how many headers a request may have.
        max_header_count: Option<u32>,
        /// `max-header-list-size`, in bytes as HTTP/2 counts them, by default 64 KiB: how large the headers of a request may
        /// be, all together.
        max_header_list_size: Option<u32>,
        /// `max-unfinished-size`, in bytes, by default 256 MiB: what the requests of a connection that are not complete may
        /// hold in memory, all together, and what its answers may that it does not take. 0 is any.
        max_unfinished_size: Option<u64>,
        /// `request-timeout`, by default 1 m: how long the request of a call that takes one message may take to be complete.
        /// 0 is any.
        request_timeout: Option<Duration>,
    }
}

impl TripleServerConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            connection_initial_window_size: size(
                s,
                "connection-initial-window-size",
                ranges::WINDOW,
            ),
            handshake_timeout: time(s, "handshake-timeout", true),
            initial_window_size: size(s, "initial-window-size", ranges::WINDOW),
            max_concurrent_streams: number(s, "max-concurrent-streams", ranges::STREAMS),
            max_connection_age: time(s, "max-connection-age", false),
            max_connection_age_grace: time(s, "max-connection-age-grace", false),
            max_connection_idle: time(s, "max-connection-idle", false),
            max_connections: number(s, "max-connections", 0..=u32::MAX),
            max_frame_size: size(s, "max-frame-size", ranges::FRAME),
            max_header_count: number(s, "max-header-count", ranges::HEADERS),
            max_header_list_size: size(s, "max-header-list-size", ranges::HEADER_LIST),
            max_unfinished_size: s.size("max-unfinished-size"),
            request_timeout: time(s, "request-timeout", false),
        }
    }

    /// Refuses what a consumer cannot say.
    pub(super) fn refuse(s: &mut Section<'_, '_>) {
        for key in KEYS {
            s.no_effect(key, "it limits a server; write it under `dubbo.protocols`");
        }
    }

    /// What is said, as parameters of a URL. Each is nobody's business but the server's.
    pub(crate) fn params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let time = |time: Option<Duration>| text(time.map(|time| time.as_millis()));
        let params = [
            (
                ".connection-initial-window-size",
                text(self.connection_initial_window_size),
            ),
            (".handshake-timeout", time(self.handshake_timeout)),
            (".initial-window-size", text(self.initial_window_size)),
            (".max-concurrent-streams", text(self.max_concurrent_streams)),
            (".max-connection-age", time(self.max_connection_age)),
            (
                ".max-connection-age-grace",
                time(self.max_connection_age_grace),
            ),
            (".max-connection-idle", time(self.max_connection_idle)),
            (".max-connections", text(self.max_connections)),
            (".max-frame-size", text(self.max_frame_size)),
            (".max-header-count", text(self.max_header_count)),
            (".max-header-list-size", text(self.max_header_list_size)),
            (".max-unfinished-size", text(self.max_unfinished_size)),
            (".request-timeout", time(self.request_timeout)),
        ];
        params
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
    }
}

/// A duration of whole milliseconds, as a URL counts them. `needed` when there has to be one.
pub(super) fn time(s: &mut Section<'_, '_>, key: &'static str, needed: bool) -> Option<Duration> {
    let time = s.duration(key)?;
    if time.as_millis() > 0 || (time.is_zero() && !needed) {
        return Some(time);
    }
    let message = if needed {
        "there has to be a limit: at least `1ms`"
    } else {
        "at least `1ms`, or `0` for no limit"
    };
    s.error(key, ProblemKind::Type, message);
    None
}

fn number(s: &mut Section<'_, '_>, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
    s.integer(key, range)
}

fn size(s: &mut Section<'_, '_>, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
    let expected = format!("a size from {} to {} bytes", range.start(), range.end());
    s.parse(key, &expected, |text| {
        let bytes = u32::try_from(units::parse_size(text).ok()?).ok()?;
        range.contains(&bytes).then_some(bytes)
    })
}

fn text(number: Option<impl fmt::Display>) -> Option<String> {
    number.map(|number| number.to_string())
}

const KEYS: [&str; 13] = [
    "connection-initial-window-size",
    "handshake-timeout",
    "initial-window-size",
    "max-concurrent-streams",
    "max-connection-age",
    "max-connection-age-grace",
    "max-connection-idle",
    "max-connections",
    "max-frame-size",
    "max-header-count",
    "max-header-list-size",
    "max-unfinished-size",
    "request-timeout",
];
