//! What is said about metrics and traces, as far as one key alone does not tell.

use dubbo_core::yaml::ProblemKind;

use super::Check;
use crate::config::{OtelExporter, OtelSampleMode, observe::Endpoint};

impl Check<'_> {
    pub(super) fn metrics(&mut self) {
        let metrics = &self.config.metrics;
        let push = &metrics.prometheus.pushgateway;
        let (window, exporter) = (&metrics.aggregation, &metrics.prometheus.exporter);
        let text = |it: Option<String>| it.unwrap_or_default();
        let of_prometheus = [
            ("port", text(metrics.port.map(|port| port.to_string()))),
            ("path", text(metrics.path.clone())),
            (
                "prometheus.exporter.enabled",
                text(exporter.enabled.map(|it| it.to_string())),
            ),
            (
                "prometheus.pushgateway.enabled",
                text(push.enabled.map(|it| it.to_string())),
            ),
            (
                "aggregation.enabled",
                text(window.enabled.map(|it| it.to_string())),
            ),
            (
                "aggregation.bucket-num",
                text(window.bucket_num.map(|it| it.to_string())),
            ),
            (
                "aggregation.time-window-seconds",
                text(window.time_window_seconds.map(|it| it.to_string())),
            ),
        ];
        let said = of_prometheus.iter().filter(|(_, value)| !value.is_empty());
        if !cfg!(feature = "prometheus") {
            for (key, value) in said {
                let path = format!("dubbo.metrics.{key}");
                self.error(
                    ProblemKind::Unsupported,
                    &path,
                    value,
                    not_built_in("prometheus"),
                );
            }
            return;
        }
        if metrics.enable != Some(true) {
            for (key, value) in said {
                let message = "has no effect: nothing is counted without `metrics.enable: true`";
                self.no_effect(&format!("dubbo.metrics.{key}"), value, message);
            }
            return;
        }
        if exporter.enabled == Some(false) && (metrics.port.is_some() || metrics.path.is_some()) {
            let message = "asks for no pages, but there is a `port` or `path` for them; leave out one or the other";
            self.error(
                ProblemKind::Conflict,
                "dubbo.metrics.prometheus.exporter.enabled",
                "false",
                message,
            );
        }
        if let Some(path) = metrics.path.as_ref().filter(|path| !path.starts_with('/')) {
            let message = format!("expected a path such as `/metrics`, found `{path}`");
            self.error(ProblemKind::Type, "dubbo.metrics.path", path, message);
        }
        if push.enabled == Some(true) {
            self.push();
        }
    }

    fn push(&mut self) {
        let push = &self.config.metrics.prometheus.pushgateway;
        let path = "dubbo.metrics.prometheus.pushgateway";
        let Some(url) = &push.base_url else {
            let message = "needs a `base-url`, such as `http://pushgateway:9091`";
            self.error(ProblemKind::Missing, path, "", message);
            return;
        };
        match Endpoint::of_url(url) {
            Err(reason) => {
                let message = format!(
                    "expected a URL such as `http://pushgateway:9091`, found `{url}`: {reason}"
                );
                self.error(ProblemKind::Type, &format!("{path}.base-url"), url, message);
            }
            Ok(endpoint) if endpoint.tls => {
                self.trusted(&format!("{path}.base-url"), url, "`http://`");
            }
            Ok(_) => {}
        }
        if push.username.is_none() && push.password.is_some() {
            let message = "has no effect: it belongs to a `username`, and there is none";
            self.no_effect(&format!("{path}.password"), "", message);
        }
    }

    pub(super) fn otel(&mut self) {
        let otel = &self.config.otel.tracing;
        let path = |key: &str| format!("dubbo.otel.tracing.{key}");
        if otel.enable != Some(true) {
            return;
        }
        if !cfg!(feature = "otel") {
            self.error(
                ProblemKind::Unsupported,
                &path("enable"),
                "true",
                not_built_in("otel"),
            );
            return;
        }
        if otel.sample_ratio.is_some()
            && matches!(
                otel.sample_mode,
                Some(OtelSampleMode::Always | OtelSampleMode::Never)
            )
        {
            let message = "has no effect: it belongs to the `sample-mode` `ratio`";
            self.no_effect(&path("sample-ratio"), "", message);
        }
        let exporter = otel.exporter.unwrap_or(OtelExporter::Stdout);
        match (&otel.endpoint, exporter) {
            (None, OtelExporter::Stdout) => {}
            (Some(endpoint), OtelExporter::Stdout) => {
                let message = "has no effect: spans go to standard output; set `exporter` to `otlp-http` or `otlp-grpc`";
                self.no_effect(&path("endpoint"), endpoint, message);
            }
            (None, _) => {
                let message =
                    "needs an `endpoint`: the `host:port` of a collector of OpenTelemetry";
                self.error(ProblemKind::Missing, "dubbo.otel.tracing", "", message);
            }
            (Some(endpoint), _) => {
                let is_plain = otel.insecure == Some(true);
                match Endpoint::of_authority(endpoint, !is_plain) {
                    Err(reason) => {
                        let message = format!(
                            "expected the `host:port` of a collector, found `{endpoint}`: {reason}"
                        );
                        self.error(ProblemKind::Type, &path("endpoint"), endpoint, message);
                    }
                    Ok(_) if is_plain => {}
                    Ok(_) => self.trusted(&path("endpoint"), endpoint, "`insecure: true`"),
                }
            }
        }
    }

    /// What is spoken to by TLS is trusted by the authorities that are set, and there are no others.
    fn trusted(&mut self, path: &str, value: &str, plain: &str) {
        if self.config.tls_config.ca_cert_file.is_none() {
            let message = format!(
                "is spoken to by TLS, so set `tls_config.ca-cert-file` to what it is trusted by; without TLS write {plain}"
            );
            self.error(ProblemKind::Missing, path, value, message);
        }
    }

    fn no_effect(&mut self, path: &str, value: &str, message: &str) {
        let problem = self.problem(ProblemKind::NoEffect, path, value, message);
        self.problems.warn(problem);
    }
}

fn not_built_in(feature: &str) -> String {
    format!("is not built in: add the feature `{feature}` to the dependency `dubbo`")
}
