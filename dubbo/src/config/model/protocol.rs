use std::{collections::BTreeMap, time::Duration};

use dubbo_core::yaml::{ProblemKind, Section};
use dubbo_protocol::TripleDialect;

use super::{
    CompressionConfig, CorsConfig, OpenApiConfig, ReflectionConfig, TripleServerConfig, getty,
    settings, triple_server,
};
use crate::config::{Layered as _, defaults};

settings! {
    /// `dubbo.protocols.<id>`: one protocol that this program serves (`docs/spec/config.md` §1.9).
    pub struct ProtocolConfig {
        /// `name`, by default `tri`: the protocol's plugin.
        name: Option<String>,
        /// `ip`, by default all addresses: the address to listen on, published as it is.
        ip: Option<String>,
        /// `port`: the port to listen on. 0 is any free one; YAML may say so with `-1` or `""` too. By default 50051, and
        /// 20880 for the protocol `dubbo`.
        port: Option<u16>,
        /// `params`: what holds for every service on the protocol `dubbo`: `payload`, `heartbeat`, `heartbeat.timeout`,
        /// `accepts`, `max-calls` and `max-connection-calls`. A service's own `params` win over them.
        params[param]: BTreeMap<String, String>,
        /// `triple`: the settings of the protocol `tri`.
        triple: TripleConfig,
    }
}

impl ProtocolConfig {
    /// The protocol `tri`: Triple and gRPC.
    pub fn tri() -> Self {
        Self::new().name("tri")
    }

    /// The plugin's name, the default applied.
    pub fn name_or_default(&self) -> &str {
        self.name.as_deref().unwrap_or(defaults::PROTOCOL)
    }

    /// The port to listen on, the default applied; 0 is any free one.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or_else(|| {
            if self.name_or_default().eq_ignore_ascii_case("dubbo") {
                defaults::PORT_DUBBO
            } else {
                defaults::PORT_TRIPLE
            }
        })
    }

    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let mut triple = s.section("triple", TripleConfig::read);
        s.deprecated(
            "max-server-send-msg-size",
            "triple.max-server-send-msg-size",
        );
        s.deprecated(
            "max-server-recv-msg-size",
            "triple.max-server-recv-msg-size",
        );
        triple.complete_from(&TripleConfig {
            max_server_send_msg_size: s.size("max-server-send-msg-size"),
            max_server_recv_msg_size: s.size("max-server-recv-msg-size"),
            ..TripleConfig::default()
        });
        let name = s.string("name");
        let params = s.section("params", getty::read);
        let is_dubbo = |name: &String| name.eq_ignore_ascii_case("dubbo");
        if !params.is_empty() && !name.as_ref().is_some_and(is_dubbo) {
            let message =
                "these are parameters of the protocol `dubbo`; `tri` has its own under `triple`";
            s.error("params", ProblemKind::Conflict, message);
        }
        Self {
            name,
            ip: s.string("ip"),
            port: s.parse(
                "port",
                "a port from 0 to 65535, or -1 for any free one",
                |text| match text {
                    "" | "-1" => Some(0),
                    port => port.parse().ok(),
                },
            ),
            params,
            triple,
        }
    }
}

settings! {
    /// `triple`, of a protocol and of a reference's `protocol_config`: the settings of the protocol `tri`.
    pub struct TripleConfig {
        /// `max-server-send-msg-size`, in bytes, by default 2 GiB less one: the largest message a server sends.
        max_server_send_msg_size: Option<u64>,
        /// `max-server-recv-msg-size`, in bytes, by default 4 MiB: the largest message a server takes. A larger one is
        /// refused before it is read.
        max_server_recv_msg_size: Option<u64>,
        /// `keep-alive-interval`, by default 10 s of a consumer and 1 m of a server: how long a connection may be silent
        /// before it is probed. 0 does not probe.
        keep_alive_interval: Option<Duration>,
        /// `keep-alive-timeout`, by default 20 s: how long the answer to a probe may take before the connection is given
        /// up.
        keep_alive_timeout: Option<Duration>,
        /// `compression`: what is sent compressed.
        compression: CompressionConfig,
        /// `dialect`, by default `grpc`: what a reference speaks to its providers. `grpc-web` and `connect` get through proxies
        /// that do not pass gRPC on; over HTTP/1.1 they go with the parameter `triple.http-version: 1.1`.
        dialect: Option<TripleDialect>,
        /// `cors`: which pages of other origins may use a server from a browser.
        cors: CorsConfig,
        /// `openapi`: documents of what a server serves.
        openapi: OpenApiConfig,
        /// `reflection`: what gRPC's clients can ask a server about its services.
        reflection: ReflectionConfig,
        /// What a server puts up with: keys that stand beside these.
        server: TripleServerConfig,
    }
}

impl TripleConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        refuse_features(s);
        Self {
            max_server_send_msg_size: s.size("max-server-send-msg-size"),
            max_server_recv_msg_size: read_max_body(s),
            keep_alive_interval: triple_server::time(s, "keep-alive-interval", false),
            keep_alive_timeout: triple_server::time(s, "keep-alive-timeout", true),
            compression: s.section("compression", CompressionConfig::read),
            dialect: refuse_dialect(s),
            cors: s.section("cors", CorsConfig::read),
            openapi: s.section("openapi", OpenApiConfig::read),
            reflection: s.section("reflection", ReflectionConfig::read),
            server: TripleServerConfig::read(s),
        }
    }

    /// Reads what a client can use.
    pub(super) fn read_client(s: &mut Section<'_, '_>) -> Self {
        refuse_features(s);
        let why = "it limits a server; write it under `dubbo.protocols`";
        s.no_effect("max-server-send-msg-size", why);
        s.no_effect("max-server-recv-msg-size", why);
        s.no_effect("max-body-size", why);
        TripleServerConfig::refuse(s);
        let why = "a server describes its services; write it under `dubbo.protocols`";
        s.no_effect("openapi", why);
        s.no_effect("reflection", why);
        s.no_effect(
            "cors",
            "a server lets pages in; write it under `dubbo.protocols`",
        );
        Self {
            compression: s.section("compression", CompressionConfig::read_client),
            dialect: read_dialect(s),
            keep_alive_interval: s.duration("keep-alive-interval"),
            keep_alive_timeout: s.duration("keep-alive-timeout"),
            ..Self::default()
        }
    }

    /// What a server puts up with, as parameters of a URL.
    pub(crate) fn server_params(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let time = |time: Option<Duration>| time.map(|time| time.as_millis().to_string());
        let probes = [
            (".keep-alive-interval", time(self.keep_alive_interval)),
            (".keep-alive-timeout", time(self.keep_alive_timeout)),
        ];
        let probes = probes
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)));
        self.server.params().chain(probes)
    }
}

/// Reads the largest message that a server takes, by dubbo-go's name or by Java's.
fn read_max_body(s: &mut Section<'_, '_>) -> Option<u64> {
    let (ours, java) = (s.size("max-server-recv-msg-size"), s.size("max-body-size"));
    if ours.is_some() && java.is_some() && ours != java {
        let message = "says otherwise than `max-server-recv-msg-size`, which is the same limit";
        s.error("max-body-size", ProblemKind::Conflict, message);
    }
    ours.or(java)
}

/// A server does not choose.
fn refuse_dialect(s: &mut Section<'_, '_>) -> Option<TripleDialect> {
    let why = "a server speaks all of them, and a reference chooses: write it under its `protocol_config`";
    s.no_effect("dialect", why);
    None
}

fn read_dialect(s: &mut Section<'_, '_>) -> Option<TripleDialect> {
    match s.string("dialect")?.parse::<TripleDialect>() {
        Ok(dialect) => Some(dialect),
        Err(error) => {
            s.error("dialect", ProblemKind::UnknownName, error.to_string());
            None
        }
    }
}

fn refuse_features(s: &mut Section<'_, '_>) {
    s.section("http3", |s| {
        let why = "Triple is on HTTP/2 and HTTP/1.1 here, and there is no HTTP/3";
        s.unsupported_switch("enable", why);
        for key in HTTP3 {
            s.no_effect(key, "there is no HTTP/3 here");
        }
    });
}

/// What else dubbo-go has in the section.
const HTTP3: [&str; 5] = [
    "keep-alive-period",
    "max-idle-timeout",
    "max-incoming-streams",
    "max-incoming-uni-streams",
    "negotiation",
];
