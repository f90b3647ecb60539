//! What is said about the port for operators and about probes, as far as one key alone does not tell.

use std::collections::BTreeSet;

use dubbo_core::yaml::ProblemKind;

use super::Check;
use crate::{
    admin::{Network, is_command},
    config::{ApplicationConfig, PermissionLevel, ProbeConfig},
};

impl Check<'_> {
    pub(super) fn admin(&mut self) {
        let application = &self.config.application;
        let path = |key: &str| format!("dubbo.application.{key}");
        for text in application.qos_accept_foreign_ip_whitelist.iter().flatten() {
            if let Err(reason) = text.parse::<Network>() {
                let path = path("qos-accept-foreign-ip-whitelist");
                self.error(ProblemKind::Type, &path, text, reason);
            }
        }
        for name in application
            .qos_anonymous_access_allow_commands
            .iter()
            .flatten()
        {
            if let Err(reason) = is_command(name) {
                let path = path("qos-anonymous-access-allow-commands");
                self.error(ProblemKind::UnknownName, &path, name, reason);
            }
        }
        let is_closed =
            application.qos_anonymous_access_permission_level == Some(PermissionLevel::None);
        let is_opened = application.qos_accept_foreign_ip == Some(true);
        if is_closed && is_opened && application.qos_token.is_none() {
            let message = "with the permission level `NONE` every caller could do everything: set `qos-token`, too";
            self.error(
                ProblemKind::Conflict,
                &path("qos-accept-foreign-ip"),
                "true",
                message,
            );
        }
        if application
            .qos_token
            .as_ref()
            .is_some_and(|token| token.expose().is_empty())
        {
            self.error(
                ProblemKind::Type,
                &path("qos-token"),
                "",
                "is empty, and so is no secret",
            );
        }
        if application.qos_enable != Some(true) && sets_qos(application) {
            let message =
                "`qos-*` has no effect: nobody listens to operators without `qos-enable: true`";
            let problem = self.problem(ProblemKind::NoEffect, "dubbo.application", "", message);
            self.problems.warn(problem);
        }
        self.probe();
    }

    fn probe(&mut self) {
        let probe = &self.config.metrics.probe;
        let paths = [
            ("liveness-path", &probe.liveness_path, "/live"),
            ("readiness-path", &probe.readiness_path, "/ready"),
            ("startup-path", &probe.startup_path, "/startup"),
        ];
        let mut seen = BTreeSet::new();
        for (key, set, default) in paths {
            let path = set.as_deref().unwrap_or(default);
            let key = format!("dubbo.metrics.probe.{key}");
            if !path.starts_with('/') || path.contains(['?', '#', ' ']) || path == "/" {
                let message = format!("expected a path such as `{default}`, found `{path}`");
                self.error(ProblemKind::Type, &key, path, message);
            } else if !seen.insert(path.trim_end_matches('/')) {
                let message = format!("`{path}` is the path of another probe already");
                self.error(ProblemKind::Conflict, &key, path, message);
            }
        }
        let untouched = ProbeConfig {
            enabled: probe.enabled,
            ..ProbeConfig::new()
        };
        if probe.enabled != Some(true) && *probe != untouched {
            let message = "has no effect: nobody can ask without `enabled: true`";
            let problem = self.problem(ProblemKind::NoEffect, "dubbo.metrics.probe", "", message);
            self.problems.warn(problem);
        }
    }
}

/// Whether anything but the switch is set.
fn sets_qos(application: &ApplicationConfig) -> bool {
    application.qos_check.is_some()
        || application.qos_host.is_some()
        || application.qos_port.is_some()
        || application.qos_token.is_some()
        || application.qos_accept_foreign_ip.is_some()
        || application.qos_accept_foreign_ip_whitelist.is_some()
        || application.qos_anonymous_access_permission_level.is_some()
        || application.qos_anonymous_access_allow_commands.is_some()
}
