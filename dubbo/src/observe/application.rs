//! Who numbers are of.

use std::fs;

use dubbo_protocol::filter::Machine;

use crate::config::{Config, Environment, defaults};

/// An application on its machine, as dubbo-go's numbers of whole applications name it (`docs/spec/config.md` §5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Application {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) machine: Machine,
}

impl Application {
    /// `ip` is the address that others reach the machine at.
    pub(crate) fn new(config: &Config, environment: &Environment, ip: String) -> Self {
        let application = &config.application;
        let name = application.name.as_deref();
        Self {
            name: name.unwrap_or(defaults::APPLICATION_NAME).to_owned(),
            version: application.version.clone().unwrap_or_default(),
            machine: Machine {
                hostname: hostname(environment),
                ip,
            },
        }
    }

    /// The labels of whatever is counted of all of it.
    pub(crate) fn labels(&self) -> Vec<(&'static str, String)> {
        vec![
            ("application_name", self.name.clone()),
            ("application_version", self.version.clone()),
            // dubbo-go has it, and never fills it.
            ("git_commit_id", String::new()),
            ("hostname", self.machine.hostname.clone()),
            ("ip", self.machine.ip.clone()),
        ]
    }
}

/// What the kernel calls the machine, or else what the environment does.
fn hostname(environment: &Environment) -> String {
    let of_kernel = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let said = ["HOSTNAME", "COMPUTERNAME"].into_iter();
    let mut said =
        said.filter_map(|name| environment.parsed::<String>(name, "a name").ok().flatten());
    let name = of_kernel.or_else(|| said.next()).unwrap_or_default();
    name.trim().to_owned()
}
