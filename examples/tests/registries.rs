//! The examples that find each other by a registry, each part a process of its own, and the one that has a part of its
//! configuration in a config center.
//!
//! Those that need a server are ignored unless one is there: `DUBBO_TEST_ZOOKEEPER=host:port` and its like say where, and
//! `cargo test -p examples --all-features --test registries -- --ignored` runs them.

mod programs;

use std::{fs, io};

use programs::{Serving, ended, program, run};

#[test]
fn programs_of_one_machine_find_each_other_in_a_directory() {
    let address = directory("registry-file");
    let variables = [("DUBBO_REGISTRIES_LOCAL_ADDRESS", address.as_str())];
    let path = env!("CARGO_BIN_EXE_registry-file");
    fails_without_provider(path, &variables, "maps greet.Greeter to no application yet");
    find_each_other(path, &variables);
    fails_without_provider(path, &variables, "greeter-provider has none -> 0");
}

#[test]
fn a_consumer_says_why_nobody_answers_and_goes_on_when_somebody_is_there() {
    let address = directory("service-discovery");
    let variables = [("DUBBO_REGISTRIES_LOCAL_ADDRESS", address.as_str())];
    let part = |name| program(env!("CARGO_BIN_EXE_service-discovery"), &[name], &variables);
    let provider = || Serving::start(part("provider"), "is there: tri://127.0.0.1:");
    let answer = |of: &Serving| format!("answered by process {}", of.id());

    let mut consumer = Serving::start(part("consumer"), "has no provider that can be called");
    let why = consumer.wait("<- here");
    assert!(
        why.contains("maps com.example.Worker to no application yet"),
        "{why}"
    );

    let (one, other) = (provider(), provider());
    for provider in [&one, &other, &one] {
        consumer.wait(&answer(provider));
    }
    let first = answer(&one);
    one.stop();
    consumer.wait(&answer(&other));
    other.stop();
    let seen = consumer.wait("has no provider that can be called");
    let left = seen.lines().filter(|line| !line.starts_with("answered by"));
    assert_eq!(
        left.count(),
        1,
        "no call failed while one was there:\n{seen}"
    );
    let why = consumer.wait("<- here");
    assert!(why.contains("instances: worker has none -> 0"), "{why}");

    let again = provider();
    let seen = consumer.wait(&answer(&again));
    assert!(!seen.contains(&first), "{seen}");
    again.stop();
    consumer.stop();
}

#[test]
fn a_program_follows_its_document_in_a_directory() {
    follows_its_document(&directory("config-center"));
}

#[cfg(feature = "etcd")]
#[test]
#[ignore = "needs an etcd at DUBBO_TEST_ETCD"]
fn programs_find_each_other_by_etcd() {
    find_each_other_on_a_server(env!("CARGO_BIN_EXE_registry-etcd"), "ETCD", "etcdv3");
}

#[cfg(feature = "etcd")]
#[test]
#[ignore = "needs an etcd at DUBBO_TEST_ETCD"]
fn a_program_follows_its_document_in_etcd() {
    follows_its_document(&address_of("ETCD", "etcdv3"));
}

#[cfg(feature = "nacos")]
#[test]
#[ignore = "needs a Nacos at DUBBO_TEST_NACOS"]
fn programs_find_each_other_by_nacos() {
    find_each_other_on_a_server(env!("CARGO_BIN_EXE_registry-nacos"), "NACOS", "nacos");
}

#[cfg(feature = "nacos")]
#[test]
#[ignore = "needs a Nacos at DUBBO_TEST_NACOS"]
fn a_program_follows_its_document_in_nacos() {
    follows_its_document(&address_of("NACOS", "nacos"));
}

#[cfg(feature = "zookeeper")]
#[test]
#[ignore = "needs a ZooKeeper at DUBBO_TEST_ZOOKEEPER"]
fn programs_find_each_other_by_zookeeper() {
    find_each_other_on_a_server(
        env!("CARGO_BIN_EXE_registry-zookeeper"),
        "ZOOKEEPER",
        "zookeeper",
    );
}

#[cfg(feature = "zookeeper")]
#[test]
#[ignore = "needs a ZooKeeper at DUBBO_TEST_ZOOKEEPER"]
fn a_program_follows_its_document_in_zookeeper() {
    follows_its_document(&address_of("ZOOKEEPER", "zookeeper"));
}

/// Where the server of this kind is.
#[cfg(any(feature = "etcd", feature = "nacos", feature = "zookeeper"))]
fn address_of(name: &str, scheme: &str) -> String {
    let variable = format!("DUBBO_TEST_{name}");
    let server = std::env::var(&variable);
    let server = server.unwrap_or_else(|_| panic!("{variable}=host:port says where it is"));
    format!("{scheme}://{server}")
}

/// As in a directory, on the server that a variable names.
#[cfg(any(feature = "etcd", feature = "nacos", feature = "zookeeper"))]
fn find_each_other_on_a_server(path: &str, name: &str, scheme: &str) {
    let (key, address) = (
        format!("DUBBO_REGISTRIES_{name}_ADDRESS"),
        address_of(name, scheme),
    );
    let variables = [
        (key.as_str(), address.as_str()),
        // Nothing is kept in the home folder of who tests.
        ("DUBBO_METADATA_CACHE_ENABLED", "false"),
    ];
    find_each_other(path, &variables);
    fails_without_provider(path, &variables, "greeter-provider has none -> 0");
}

/// A provider is found by a consumer, and goes.
fn find_each_other(path: &str, variables: &[(&str, &str)]) {
    let provider = Serving::start(
        program(path, &["provider"], variables),
        "registered: tri://",
    );
    let text = run(program(path, &["consumer"], variables));
    for line in [
        "Hello, Ada!\nHello, Grace!\nHello, Radia!\n",
        "greet.Greeter can be called\n",
        "mapping: greet.Greeter is provided by greeter-provider",
        "instances: greeter-provider has 1 -> 1\n",
    ] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
    let text = provider.stop();
    assert!(text.ends_with("gone from the registry\n"), "{text}");
}

/// A consumer does not start, and says why.
fn fails_without_provider(path: &str, variables: &[(&str, &str)], why: &str) {
    let (output, _, errors) = ended(&mut program(path, &["consumer"], variables));
    assert!(!output.status.success(), "{errors}");
    for text in ["no provider of greet.Greeter within", why] {
        assert!(errors.contains(text), "{text:?} is not in:\n{errors}");
    }
}

/// The document counts at the start, when it changes, and not any more when it has gone; no call fails meanwhile.
fn follows_its_document(address: &str) {
    let text = run(program(CONFIG_CENTER, &[address], &[]));
    let lines: Vec<&str> = text.lines().collect();
    let [first, to_two, second, back, third, calls] = *lines else {
        panic!("{text}");
    };
    assert_eq!(
        [first, second, third],
        ["callers wait 1 s", "callers wait 2 s", "callers wait 3 s"],
        "{text}"
    );
    let key = "dubbo.consumer.request-timeout";
    let changed = format!("{key}: 1s -> 2s ({address}/examples/config-center.yaml:1:");
    assert!(to_two.starts_with(&changed), "{to_two} is not {changed}");
    assert!(back.starts_with(&format!("{key}: 2s -> 3s (")), "{back}");
    let calls = calls.strip_suffix(" calls, and none of them failed");
    let calls: u64 = calls.and_then(|it| it.parse().ok()).expect(&text);
    assert!(calls > 0, "{text}");
}

/// The example that has a document in a config center.
const CONFIG_CENTER: &str = env!("CARGO_BIN_EXE_config-center");

/// The address of an empty directory.
fn directory(name: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{path}: {error}"),
        _ => format!("file://{path}"),
    }
}
