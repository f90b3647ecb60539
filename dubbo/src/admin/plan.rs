//! Which ports there are for operators, and what each of them answers.

use crate::{
    config::{Config, defaults},
    instance::Probe,
};

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) host: String,
    pub(super) port: u16,
    /// Whether commands are taken there.
    pub(super) commands: bool,
    /// The paths of `metrics.probe`.
    pub(super) probes: Vec<(Probe, String)>,
}

/// The ports that `config` asks for: that of `application.qos-*`, that of `metrics.probe`, or one for both.
pub(super) fn ports(config: &Config) -> Vec<Planned> {
    let (application, probe) = (&config.application, &config.metrics.probe);
    let commands = (application.qos_enable == Some(true)).then(|| Planned {
        host: application
            .qos_host
            .clone()
            .unwrap_or_else(|| LOOPBACK.to_owned()),
        port: application.qos_port.unwrap_or(defaults::QOS_PORT),
        commands: true,
        probes: Vec::new(),
    });
    let path =
        |path: &Option<String>, default: &str| path.clone().unwrap_or_else(|| default.to_owned());
    let probes = (probe.enabled == Some(true)).then(|| Planned {
        // Whoever probes comes from elsewhere, and learns nothing but yes or no.
        host: ALL_ADDRESSES.to_owned(),
        port: probe.port.unwrap_or(defaults::QOS_PORT),
        commands: false,
        probes: vec![
            (Probe::Live, path(&probe.liveness_path, "/live")),
            (Probe::Ready, path(&probe.readiness_path, "/ready")),
            (Probe::Startup, path(&probe.startup_path, "/startup")),
        ],
    });
    match (commands, probes) {
        (Some(commands), Some(probes)) if commands.port == probes.port => vec![Planned {
            // Commands of others than this machine's need permission wherever they come in.
            host: application.qos_host.clone().unwrap_or(probes.host),
            probes: probes.probes,
            ..commands
        }],
        (commands, probes) => commands.into_iter().chain(probes).collect(),
    }
}

const LOOPBACK: &str = "127.0.0.1";
const ALL_ADDRESSES: &str = "0.0.0.0";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ApplicationConfig, MetricsConfig, ProbeConfig};

    fn planned(application: ApplicationConfig, probe: ProbeConfig) -> Vec<String> {
        let metrics = MetricsConfig::new().probe(probe);
        let config = Config::new().application(application).metrics(metrics);
        let ports = ports(&config);
        let shown = ports.iter().map(|port| {
            let probes: Vec<_> = port.probes.iter().map(|(_, path)| path.as_str()).collect();
            let Planned {
                host,
                port,
                commands,
                ..
            } = port;
            format!("{host}:{port} {commands} {}", probes.join(" "))
        });
        shown.collect()
    }

    #[test]
    fn equal_ports_are_one_port() {
        let qos = || ApplicationConfig::new().qos_enable(true);
        let probe = || ProbeConfig::new().enabled(true);
        let all = "/live /ready /startup";
        for (application, probe, want) in [
            (ApplicationConfig::new(), ProbeConfig::new(), vec![]),
            (
                qos(),
                ProbeConfig::new(),
                vec!["127.0.0.1:22222 true ".to_owned()],
            ),
            (
                ApplicationConfig::new(),
                probe(),
                vec![format!("0.0.0.0:22222 false {all}")],
            ),
            (qos(), probe(), vec![format!("0.0.0.0:22222 true {all}")]),
            (
                qos().qos_host("127.0.0.1").qos_port(7),
                probe().port(7).readiness_path("/r"),
                vec!["127.0.0.1:7 true /live /r /startup".to_owned()],
            ),
            (
                qos(),
                probe().port(7),
                vec![
                    "127.0.0.1:22222 true ".to_owned(),
                    format!("0.0.0.0:7 false {all}"),
                ],
            ),
        ] {
            assert_eq!(planned(application, probe), want);
        }
    }
}
