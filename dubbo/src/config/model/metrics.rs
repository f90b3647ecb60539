use dubbo_core::yaml::Section;

use super::settings;

settings! {
    /// `dubbo.metrics`: what is counted of calls (`docs/spec/config.md` §1.18).
    pub struct MetricsConfig {
        /// `enable`, by default false: whether calls and attempts are counted and measured. What is counted goes out through
        /// the crate `metrics`, to the recorder that the program has installed.
        enable: Option<bool>,
    }
}

impl MetricsConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        for key in [
            "aggregation",
            "enable-config-center",
            "enable-metadata",
            "enable-registry",
            "path",
            "port",
            "probe",
            "prometheus",
            "protocol",
        ] {
            s.unsupported(key);
        }
        Self {
            enable: s.bool("enable"),
        }
    }
}
