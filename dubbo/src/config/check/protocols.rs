//! What only the whole configuration can tell of protocols.

use std::collections::BTreeMap;

use dubbo_core::{protocol::Protocol, yaml::ProblemKind};

use super::{Check, IN_PROCESS, TRIPLE};
use crate::config::{
    CompressionConfig, CorsConfig, OpenApiConfig, ProtocolConfig, ReflectionConfig,
};

impl Check<'_> {
    /// Each of `dubbo.protocols`.
    pub(super) fn protocols(&mut self) {
        let mut by_address = BTreeMap::new();
        for (id, protocol) in &self.config.protocols {
            let path = format!("dubbo.protocols.{id}");
            self.plugin_opt::<dyn Protocol>(&format!("{path}.name"), protocol.name.as_ref());
            self.openapi(&path, protocol);
            self.cors(&path, protocol);
            self.compression(&path, protocol);
            self.server_limits(&path, protocol);
            self.reflection(&path, protocol);
            let (name, port) = (protocol.name_or_default(), protocol.port_or_default());
            if name.eq_ignore_ascii_case(IN_PROCESS) {
                continue;
            }
            // Different protocols can share a port: what a connection speaks tells them apart.
            let name = self
                .extensions
                .canonical::<dyn Protocol>(name)
                .unwrap_or(name);
            let name = name.to_ascii_lowercase();
            if let Some(other) = by_address.insert((name, protocol.ip.as_ref(), port), id) {
                let port = match port {
                    0 => "any free port".to_owned(),
                    port => format!("port {port}"),
                };
                let message = format!("listens on {port}, as `dubbo.protocols.{other}` does");
                self.error(ProblemKind::Conflict, &path, "", message);
            }
        }
    }

    fn openapi(&mut self, path: &str, protocol: &ProtocolConfig) {
        let openapi = &protocol.triple.openapi;
        let path = format!("{path}.triple.openapi");
        for bad in openapi.resolve().err().into_iter().flatten() {
            let path = format!("{path}.{}", bad.key);
            self.error(ProblemKind::Type, &path, &bad.value, bad.message);
        }
        if self.is_not_triple(protocol) && *openapi != OpenApiConfig::new() {
            let name = protocol.name_or_default();
            let message = format!("only `{TRIPLE}` serves pages, and the protocol is `{name}`");
            self.error(ProblemKind::Conflict, &path, "", message);
        }
    }

    fn cors(&mut self, path: &str, protocol: &ProtocolConfig) {
        let path = format!("{path}.triple.cors");
        let settings = protocol.triple.cors.resolve();
        for bad in settings.check() {
            let path = format!("{path}.{}", bad.key);
            self.error(ProblemKind::Conflict, &path, &bad.value, bad.reason);
        }
        if self.is_not_triple(protocol) && protocol.triple.cors != CorsConfig::new() {
            let name = protocol.name_or_default();
            let message =
                format!("only `{TRIPLE}` is called by browsers, and the protocol is `{name}`");
            self.error(ProblemKind::Conflict, &path, "", message);
        } else if settings.is_off_but_set() {
            let message =
                "has no effect: no page of another origin is let in without `allow-origins`";
            let problem = self.problem(ProblemKind::NoEffect, &path, "", message);
            self.problems.warn(problem);
        }
    }

    fn server_limits(&mut self, path: &str, protocol: &ProtocolConfig) {
        if self.is_not_triple(protocol) && protocol.triple.server_params().next().is_some() {
            let path = format!("{path}.triple");
            let name = protocol.name_or_default();
            let message = format!(
                "only `{TRIPLE}` has the limits that stand here, and the protocol is `{name}`"
            );
            self.error(ProblemKind::Conflict, &path, "", message);
        }
    }

    fn compression(&mut self, path: &str, protocol: &ProtocolConfig) {
        let nothing = CompressionConfig::new();
        if self.is_not_triple(protocol) && protocol.triple.compression != nothing {
            let path = format!("{path}.triple.compression");
            let name = protocol.name_or_default();
            let message = format!("only `{TRIPLE}` compresses, and the protocol is `{name}`");
            self.error(ProblemKind::Conflict, &path, "", message);
        }
    }

    fn reflection(&mut self, path: &str, protocol: &ProtocolConfig) {
        let nothing = ReflectionConfig::new();
        if self.is_not_triple(protocol) && protocol.triple.reflection != nothing {
            let path = format!("{path}.triple.reflection");
            let name = protocol.name_or_default();
            let message = format!("only `{TRIPLE}` has it, and the protocol is `{name}`");
            self.error(ProblemKind::Conflict, &path, "", message);
        }
    }

    fn is_not_triple(&self, protocol: &ProtocolConfig) -> bool {
        let name = protocol.name_or_default();
        let plugin = self.extensions.canonical::<dyn Protocol>(name);
        plugin.is_ok_and(|plugin| plugin != TRIPLE)
    }
}
