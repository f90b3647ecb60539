//! The behaviour suite of registries, on real servers.

use crate::{failure::Failure, process};

use super::{
    cell::Registry,
    server::{self, Server},
};

/// Starts a server of each kind and runs the suite on them.
pub(super) fn run(registries: &[Registry]) -> Result<(), Failure> {
    let mut test = process::cargo([
        "test",
        "--package=dubbo-registry",
        "--features=full",
        "--test=real_servers",
        "--",
        "--ignored",
        "--nocapture",
    ]);
    let mut servers = Vec::new();
    for &registry in registries {
        server::install(registry)?;
        let folder = process::target_dir()
            .join("interop/registry")
            .join(format!("suite-{registry}"));
        let server = Server::start(registry, &folder)?;
        test.env(variable(registry), server.address());
        servers.push(server);
    }
    // Names of tests begin with the registry that they are about.
    if registries.len() < Registry::ALL.len() {
        test.args(registries.iter().map(ToString::to_string));
    }
    process::run(&mut test, "look at the failed tests above")
}

/// How the suite is told where a server is.
fn variable(registry: Registry) -> &'static str {
    match registry {
        Registry::Nacos => "DUBBO_TEST_NACOS",
        Registry::Zookeeper => "DUBBO_TEST_ZOOKEEPER",
        Registry::Etcd => "DUBBO_TEST_ETCD",
    }
}
