//! The tests of registries that need real servers.

use std::process::{Command, Stdio};

use crate::{failure::Failure, process};

use super::{
    cell::Registry,
    server::{self, Server},
};

/// Starts a server of each kind and runs the tests on them. Prints what they print, and the count on the last line.
/// Whether all passed.
pub(super) fn run(registries: &[Registry]) -> Result<bool, Failure> {
    let mut count = Count::default();
    let mut well = true;
    for &registry in registries {
        server::install(registry)?;
        let folder = process::target_dir()
            .join("interop/registry")
            .join(format!("suite-{registry}"));
        let server = Server::start(registry, &folder)?;
        for (target, filter) in targets(registry) {
            let mut test = those_in(target, filter);
            let variable = variable(registry);
            test.env(variable, server.address())
                .env(format!("{variable}_RESTART"), server.restart_command());
            println!("\ninterop: {target} on {registry}");
            let output = test
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .output()
                .map_err(|e| Failure::new(format!("cargo cannot be run: {e}"), "put it on PATH"))?;
            let printed = String::from_utf8_lossy(&output.stdout);
            print!("{printed}");
            let has_run = count.add(&printed);
            if !has_run {
                println!("interop: {target} on {registry} did not run: see above");
                count.failed += 1;
            }
            well &= output.status.success();
        }
    }
    println!("\n{} passed, {} failed", count.passed, count.failed);
    Ok(well && count.failed == 0 && count.passed > 0)
}

/// Which tests need a server of this kind: a test target, and how the names of those in it begin. The examples' are last.
fn targets(registry: Registry) -> &'static [(&'static str, &'static str)] {
    match registry {
        Registry::Nacos => &[
            ("real_servers", "nacos::"),
            ("reload", "servers::nacos::"),
            ("registries", "programs_find_each_other_by_nacos"),
            ("registries", "a_program_follows_its_document_in_nacos"),
        ],
        Registry::Zookeeper => &[
            ("real_servers", "zookeeper::"),
            ("zookeeper_server", ""),
            ("reload", "servers::zookeeper::"),
            ("registries", "programs_find_each_other_by_zookeeper"),
            ("registries", "a_program_follows_its_document_in_zookeeper"),
        ],
        Registry::Etcd => &[
            ("real_servers", "etcd::"),
            ("etcd_server", ""),
            ("reload", "servers::etcd::"),
            ("registries", "programs_find_each_other_by_etcd"),
            ("registries", "a_program_follows_its_document_in_etcd"),
        ],
    }
}

/// They take turns, as some end the server.
fn those_in(target: &str, filter: &str) -> Command {
    let mut test = process::cargo([
        "test",
        "--package=dubbo",
        "--package=dubbo-registry",
        "--package=examples",
        "--all-features",
    ]);
    test.arg(format!("--test={target}"))
        .args(["--", "--ignored", "--test-threads=1", filter]);
    test
}

/// How the tests are told where a server is.
fn variable(registry: Registry) -> &'static str {
    match registry {
        Registry::Nacos => "DUBBO_TEST_NACOS",
        Registry::Zookeeper => "DUBBO_TEST_ZOOKEEPER",
        Registry::Etcd => "DUBBO_TEST_ETCD",
    }
}

/// How many tests there were.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
}

impl Count {
    /// Adds those that the output of a test program counts; whether there are results.
    fn add(&mut self, output: &str) -> bool {
        let results = output
            .lines()
            .filter_map(|line| line.strip_prefix("test result: "));
        let has_run = results.clone().next().is_some();
        for part in results.flat_map(|result| result.split(['.', ';'])) {
            let Some((number, word)) = part.trim().split_once(' ') else {
                continue;
            };
            let number = number.parse().unwrap_or(0);
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                _ => {}
            }
        }
        has_run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_test_programs_add_up() {
        let mut count = Count::default();
        let has_run = count.add("running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 3 ignored; 0 measured; 1 filtered out; finished in 0.01s\n");
        assert!(has_run);
        count.add("test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.23s\n");
        assert!(!count.add("error: it does not compile\n"));
        assert_eq!(
            count,
            Count {
                passed: 7,
                failed: 1
            }
        );
    }
}
