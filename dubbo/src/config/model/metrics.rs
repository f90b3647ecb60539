use std::time::Duration;

use dubbo_core::yaml::{ProblemKind, Section};

use super::{Secret, settings};

settings! {
    /// `dubbo.metrics`: what is counted of calls, and where it can be had (`docs/spec/config.md` §1.18).
    pub struct MetricsConfig {
        /// `enable`, by default false: whether calls and attempts are counted and measured. With the feature `prometheus` what
        /// is counted is shown in the format of Prometheus; without it, or when the program has installed a recorder of the
        /// crate `metrics` itself, it goes to that recorder.
        enable: Option<bool>,
        /// `port`, by default 9090 if there is a `path`: a port of its own where the numbers can be had. Without `port` and
        /// `path` they are on the port for operators.
        port: Option<u16>,
        /// `path`, by default `/metrics`: where on that port.
        path: Option<String>,
        /// `enable-registry`, by default false: whether registering, subscribing and being notified are counted.
        enable_registry: Option<bool>,
        /// `enable-metadata`, by default false: whether publishing and fetching metadata are counted.
        enable_metadata: Option<bool>,
        /// `enable-config-center`, by default false: whether changes of a config center are counted.
        enable_config_center: Option<bool>,
        /// `prometheus`: how Prometheus gets the numbers.
        prometheus: PrometheusConfig,
        /// `aggregation`: the window that `…_aggregate`, `…_qps_total` and percentiles are about.
        aggregation: AggregationConfig,
        /// `probe`: whether the program lives and is ready, for Kubernetes.
        probe: ProbeConfig,
    }
}

impl MetricsConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        s.choice("protocol", &[("prometheus", ())]);
        Self {
            enable: s.bool("enable"),
            port: s.integer("port", 0..=u16::MAX),
            path: s.string("path"),
            enable_registry: s.bool("enable-registry"),
            enable_metadata: s.bool("enable-metadata"),
            enable_config_center: s.bool("enable-config-center"),
            prometheus: s.section("prometheus", PrometheusConfig::read),
            aggregation: s.section("aggregation", AggregationConfig::read),
            probe: s.section("probe", ProbeConfig::read),
        }
    }
}

settings! {
    /// `metrics.prometheus`: how Prometheus gets the numbers. It needs the feature `prometheus`.
    pub struct PrometheusConfig {
        /// `exporter`: Prometheus asks for them.
        exporter: PrometheusExporterConfig,
        /// `pushgateway`: they are pushed.
        pushgateway: PushgatewayConfig,
    }
}

impl PrometheusConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            exporter: s.section("exporter", |s| PrometheusExporterConfig {
                enabled: s.bool("enabled"),
            }),
            pushgateway: s.section("pushgateway", PushgatewayConfig::read),
        }
    }
}

settings! {
    /// `metrics.prometheus.exporter`.
    pub struct PrometheusExporterConfig {
        /// `enabled`, by default true: whether the numbers can be asked for.
        enabled: Option<bool>,
    }
}

settings! {
    /// `metrics.prometheus.pushgateway`: the numbers are pushed to a gateway of Prometheus, in the end too.
    pub struct PushgatewayConfig {
        /// `enabled`, by default false: whether they are.
        enabled: Option<bool>,
        /// `base-url`: where the gateway is: `http://host:port`, or `https://` with a `tls_config.ca-cert-file`.
        base_url: Option<String>,
        /// `job`, by default `default_dubbo_job`: the group that they are put in.
        job: Option<String>,
        /// `username`: who logs in there; without it nobody does.
        username: Option<String>,
        /// `password`: the password for that.
        password: Option<Secret>,
        /// `push-interval`, by default 30 s; a number is of seconds.
        push_interval: Option<Duration>,
    }
}

impl PushgatewayConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        let push_interval = s.duration_in_seconds("push-interval");
        if push_interval.is_some_and(|interval| interval < LEAST_INTERVAL) {
            let message = "expected at least 1 s";
            s.error("push-interval", ProblemKind::Type, message);
        }
        Self {
            enabled: s.bool("enabled"),
            base_url: s.string("base-url"),
            job: s.string("job"),
            username: s.string("username"),
            password: s.string("password").map(Secret::from),
            push_interval,
        }
    }
}

settings! {
    /// `metrics.aggregation`: the window of what is about the last minutes. It needs the feature `prometheus`, and holds for
    /// the process: the first instance says it.
    pub struct AggregationConfig {
        /// `enabled`, by default true: whether the numbers `…_aggregate` are there. `…_qps_total` and percentiles are in any
        /// case. dubbo-go's default is false and without effect: there they are always there.
        enabled: Option<bool>,
        /// `bucket-num`, by default 10: how many steps the window moves on in.
        bucket_num: Option<u32>,
        /// `time-window-seconds`, by default 120: how long the window is.
        time_window_seconds: Option<u32>,
    }
}

impl AggregationConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enabled: s.bool("enabled"),
            bucket_num: s.integer("bucket-num", 1..=MOST_STEPS),
            time_window_seconds: s.integer("time-window-seconds", 1..=LONGEST_WINDOW),
        }
    }
}

settings! {
    /// `metrics.probe`: whether the program lives and is ready (`docs/spec/config.md` §4.5). It needs no `metrics.enable`.
    pub struct ProbeConfig {
        /// `enabled`, by default false: whether it can be asked.
        enabled: Option<bool>,
        /// `port`, by default 22222: where; that of the port for operators is shared with it.
        port: Option<u16>,
        /// `liveness-path`, by default `/live`.
        liveness_path: Option<String>,
        /// `readiness-path`, by default `/ready`.
        readiness_path: Option<String>,
        /// `startup-path`, by default `/startup`.
        startup_path: Option<String>,
        /// `use-internal-state`, by default true: whether what the instance knows of itself counts beside the checks of the
        /// program.
        use_internal_state: Option<bool>,
    }
}

impl ProbeConfig {
    fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            enabled: s.bool("enabled"),
            port: s.integer("port", 0..=u16::MAX),
            liveness_path: s.string("liveness-path"),
            readiness_path: s.string("readiness-path"),
            startup_path: s.string("startup-path"),
            use_internal_state: s.bool("use-internal-state"),
        }
    }
}

/// Steps cost memory, each as much as a snapshot.
const MOST_STEPS: u32 = 120;

/// A day.
const LONGEST_WINDOW: u32 = 86_400;

const LEAST_INTERVAL: Duration = Duration::from_secs(1);
