//! What connections may cost, and how long they and their requests may take (`docs/spec/triple.md` §9.5).

use std::time::Duration;

use dubbo_core::{
    units::{parse_duration, parse_size},
    url::{Key, Url, UrlError, UrlValue},
};

use crate::triple::ranges;

/// What the connections of one port are bounded by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bounds {
    /// How many connections there may be.
    pub(super) connections: usize,
    /// After how long a connection is asked to end.
    pub(super) age: Option<Duration>,
    /// How long it then may still have calls.
    pub(super) age_grace: Duration,
    /// After how long without calls it is asked to end.
    pub(super) idle: Option<Duration>,
    /// After how much silence a peer is asked whether it is there.
    pub(super) keep_alive: Option<Duration>,
    /// How long it may take to answer.
    pub(super) keep_alive_timeout: Duration,
    /// How long a peer may take to say what it speaks, for the handshake of TLS, and over HTTP/1 for the head of a request.
    pub(super) handshake: Duration,
    /// How long the request of a method that takes one message may take to be complete.
    pub(super) request: Option<Duration>,
    /// How many streams of a connection may be open.
    pub(super) streams: u32,
    /// How many headers a request may have.
    pub(super) headers: usize,
    /// How large they may be, in bytes as HTTP/2 counts them (RFC 9113 §6.5.2).
    pub(super) header_list: u32,
    /// The largest frame that is read, in bytes.
    pub(super) frame: u32,
    /// What a stream may send ahead of its handler, in bytes.
    pub(super) stream_window: u32,
    /// What all streams of a connection may: some that are not read must not hold up the others.
    pub(super) connection_window: u32,
    /// What unfinished requests of a connection may hold, and answers that it does not take, each in bytes.
    pub(super) held: usize,
}

impl Bounds {
    /// What `url` says, and the defaults.
    ///
    /// # Errors
    ///
    /// A parameter with a bad value.
    pub(super) fn read(url: &Url) -> Result<Self, UrlError> {
        Ok(Self {
            connections: url.get(&CONNECTIONS)?.0,
            age: url.get(&AGE)?.0,
            age_grace: url.get(&AGE_GRACE)?.0.unwrap_or_default(),
            idle: url.get(&IDLE)?.0,
            keep_alive: url.get(&KEEP_ALIVE)?.0,
            keep_alive_timeout: url.get(&KEEP_ALIVE_TIMEOUT)?.0,
            handshake: url.get(&HANDSHAKE)?.0,
            request: url.get(&REQUEST)?.0,
            streams: url.get(&STREAMS)?.0,
            headers: url.get(&HEADERS)?.0 as usize,
            header_list: url.get(&HEADER_LIST)?.0,
            frame: url.get(&FRAME)?.0,
            stream_window: url.get(&STREAM_WINDOW)?.0,
            connection_window: url.get(&CONNECTION_WINDOW)?.0,
            held: url.get(&HELD)?.0,
        })
    }

    /// Each of them by the name of its parameter, as text.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, String)> {
        let Self {
            connections,
            age,
            age_grace,
            idle,
            keep_alive,
            keep_alive_timeout,
            handshake,
            request,
            streams,
            headers,
            header_list,
            frame,
            stream_window,
            connection_window,
            held,
        } = self;
        let time = |time: Option<Duration>| format!("{:?}", time.unwrap_or_default());
        [
            (CONNECTIONS.name, connections.to_string()),
            (AGE.name, time(*age)),
            (AGE_GRACE.name, time(Some(*age_grace))),
            (IDLE.name, time(*idle)),
            (KEEP_ALIVE.name, time(*keep_alive)),
            (KEEP_ALIVE_TIMEOUT.name, time(Some(*keep_alive_timeout))),
            (HANDSHAKE.name, time(Some(*handshake))),
            (REQUEST.name, time(*request)),
            (STREAMS.name, streams.to_string()),
            (HEADERS.name, headers.to_string()),
            (HEADER_LIST.name, header_list.to_string()),
            (FRAME.name, frame.to_string()),
            (STREAM_WINDOW.name, stream_window.to_string()),
            (CONNECTION_WINDOW.name, connection_window.to_string()),
            (HELD.name, held.to_string()),
        ]
        .into_iter()
    }
}

/// A duration; 0 is none.
struct Time(Option<Duration>);

impl UrlValue for Time {
    fn parse(text: &str) -> Result<Self, String> {
        let time = parse_duration(text).map_err(|error| error.to_string())?;
        Ok(Self(Some(time).filter(|time| !time.is_zero())))
    }
}

/// A duration that is never none.
struct SomeTime(Duration);

impl UrlValue for SomeTime {
    fn parse(text: &str) -> Result<Self, String> {
        let none = "expected a duration of at least 1 ms: there has to be a limit".to_owned();
        Time::parse(text)?.0.map(Self).ok_or(none)
    }
}

/// A number of things; 0 is any number.
struct Count(usize);

impl UrlValue for Count {
    fn parse(text: &str) -> Result<Self, String> {
        match usize::parse(text)? {
            0 => Ok(Self(usize::MAX)),
            count => Ok(Self(count)),
        }
    }
}

/// A number of bytes; 0 is any number.
struct Bytes(usize);

impl UrlValue for Bytes {
    fn parse(text: &str) -> Result<Self, String> {
        let bytes = parse_size(text).map_err(|error| error.to_string())?;
        // More than the address space is as good as no limit.
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Ok(Self(if bytes == 0 { usize::MAX } else { bytes }))
    }
}

/// A number from `LOW` to `HIGH`, or a size in any unit.
struct Within<const LOW: u32, const HIGH: u32>(u32);

impl<const LOW: u32, const HIGH: u32> UrlValue for Within<LOW, HIGH> {
    fn parse(text: &str) -> Result<Self, String> {
        let number = parse_size(text).ok().and_then(|n| u32::try_from(n).ok());
        let within = number.filter(|n| (LOW..=HIGH).contains(n));
        within
            .map(Self)
            .ok_or_else(|| format!("expected a number from {LOW} to {HIGH}"))
    }
}

const CONNECTIONS: Key<Count> = Key {
    name: ".max-connections",
    default: || Count(usize::MAX),
};

const AGE: Key<Time> = Key {
    name: ".max-connection-age",
    default: || Time(None),
};

const AGE_GRACE: Key<Time> = Key {
    name: ".max-connection-age-grace",
    default: || Time(Some(Duration::from_mins(1))),
};

const IDLE: Key<Time> = Key {
    name: ".max-connection-idle",
    default: || Time(None),
};

/// A process that hangs, and one that has sent no more than a preface, have a machine that answers when TCP asks.
const KEEP_ALIVE: Key<Time> = Key {
    name: ".keep-alive-interval",
    default: || Time(Some(Duration::from_mins(1))),
};

const KEEP_ALIVE_TIMEOUT: Key<SomeTime> = Key {
    name: ".keep-alive-timeout",
    default: || SomeTime(Duration::from_secs(20)),
};

const HANDSHAKE: Key<SomeTime> = Key {
    name: ".handshake-timeout",
    default: || SomeTime(Duration::from_secs(10)),
};

const REQUEST: Key<Time> = Key {
    name: ".request-timeout",
    default: || Time(Some(Duration::from_mins(1))),
};

/// Dubbo Java does not wait for a free stream but fails the call, so there are plenty.
const STREAMS: Key<Within<{ *ranges::STREAMS.start() }, { *ranges::STREAMS.end() }>> = Key {
    name: ".max-concurrent-streams",
    default: || Within(1_000),
};

const HEADERS: Key<Within<{ *ranges::HEADERS.start() }, { *ranges::HEADERS.end() }>> = Key {
    name: ".max-header-count",
    default: || Within(256),
};

/// Twice what Dubbo Java takes.
const HEADER_LIST: Key<Within<{ *ranges::HEADER_LIST.start() }, { *ranges::HEADER_LIST.end() }>> =
    Key {
        name: ".max-header-list-size",
        default: || Within(64 << 10),
    };

const FRAME: Key<Within<{ *ranges::FRAME.start() }, { *ranges::FRAME.end() }>> = Key {
    name: ".max-frame-size",
    default: || Within(1 << 20),
};

const STREAM_WINDOW: Key<Within<{ *ranges::WINDOW.start() }, { *ranges::WINDOW.end() }>> = Key {
    name: ".initial-window-size",
    default: || Within(1 << 20),
};

const CONNECTION_WINDOW: Key<Within<{ *ranges::WINDOW.start() }, { *ranges::WINDOW.end() }>> =
    Key {
        name: ".connection-initial-window-size",
        default: || Within(8 << 20),
    };

/// As many calls as a connection may have, each with a request of a quarter of a MiB that is not there yet: a sender
/// which serves its streams in turn has all of them unfinished until the end.
const HELD: Key<Bytes> = Key {
    name: ".max-unfinished-size",
    default: || Bytes(256 << 20),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str, value: &str) -> Result<Bounds, UrlError> {
        Bounds::read(&Url::new("tri", "h").with_param(key.to_owned(), value))
    }

    #[test]
    fn every_parameter_has_its_effect_alone() {
        let defaults = Bounds::read(&Url::new("tri", "h")).expect("defaults");
        for (key, value) in [
            (".max-connections", "5"),
            (".max-connection-age", "1h"),
            (".max-connection-age-grace", "0"),
            (".max-connection-idle", "5m"),
            (".keep-alive-interval", "0"),
            (".keep-alive-timeout", "1s"),
            (".handshake-timeout", "1"),
            (".request-timeout", "0"),
            (".max-concurrent-streams", "1"),
            (".max-header-count", "16"),
            (".max-header-list-size", "16mib"),
            (".max-frame-size", "16kib"),
            (".initial-window-size", "64kib"),
            (".connection-initial-window-size", "2147483647"),
            (".max-unfinished-size", "1mib"),
        ] {
            let bounds = read(key, value).expect(key);
            let differing: Vec<_> = std::iter::zip(defaults.named(), bounds.named())
                .filter(|(before, after)| before != after)
                .map(|((name, _), _)| name)
                .collect();
            assert_eq!(differing, [key]);
        }
        assert_eq!(defaults.named().count(), 15);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (key, value) in [
            (".max-connections", "-1"),
            (".max-connection-age", "old"),
            (".max-connection-age-grace", "-1s"),
            (".max-connection-idle", "1y"),
            (".keep-alive-interval", "x"),
            (".keep-alive-timeout", "0"),
            (".handshake-timeout", "0s"),
            (".request-timeout", "soon"),
            (".max-concurrent-streams", "0"),
            (".max-header-count", "1000000"),
            (".max-header-list-size", "1kib"),
            (".max-frame-size", "16383"),
            (".max-frame-size", "16mib"),
            (".initial-window-size", "65534"),
            (".connection-initial-window-size", "2gib"),
            (".max-unfinished-size", "much"),
        ] {
            let error = read(key, value).expect_err(value);
            assert_eq!((error.key.as_str(), error.value.as_str()), (key, value));
        }
    }

    #[test]
    fn nothing_is_no_limit_where_there_need_be_none() {
        let none = |key| read(key, "0").expect(key);
        assert_eq!(none(".max-connections").connections, usize::MAX);
        assert_eq!(none(".max-connection-age").age, None);
        assert_eq!(none(".max-connection-idle").idle, None);
        assert_eq!(none(".keep-alive-interval").keep_alive, None);
        assert_eq!(none(".request-timeout").request, None);
        assert_eq!(none(".max-unfinished-size").held, usize::MAX);
        // This one is a time to wait, and not a limit that can be lifted.
        assert_eq!(none(".max-connection-age-grace").age_grace, Duration::ZERO);
    }
}
