//! What the files say, and who uses it.

use std::sync::Arc;

use dubbo::{
    Instance, Url,
    config::{self, Environment, LoadOptions},
    extension::Extensions,
    spi::{discovery::ServiceDiscovery, metadata::MetadataReport, registry::Registry},
};
use dubbo_registry::memory::MemoryRegistry;
use parking_lot::Mutex;

use super::rig::{Folder, load, load_in, named, provide, refusal};

#[tokio::test]
async fn config_a01_an_empty_file_serves_on_the_usual_port_and_registers_nowhere() {
    let instance = load("dubbo: {}")
        .provide(named("x"))
        .build()
        .expect("valid");
    match instance.start().await {
        Ok(()) => {
            let exported = instance.exported();
            let [url] = exported.as_slice() else {
                panic!("one service by one protocol: {exported:?}");
            };
            assert_eq!((url.protocol(), url.port()), ("tri", Some(50_051)));
            assert_eq!(url.param("application"), Some("dubbo.io"));
        }
        // Another program may have the port; the message says which one it is.
        Err(error) => assert!(error.to_string().contains(":50051"), "{error}"),
    }
    let loaded = config::load(
        &LoadOptions::text("t.yaml", "dubbo: {}"),
        &Extensions::none(),
    );
    let config = loaded.expect("valid").config;
    assert_eq!(
        config,
        config::Config::new(),
        "nothing is set, no registry either"
    );
}

/// The registries, discoveries and reports that an instance makes, by their URLs.
type Made = Arc<Mutex<Vec<String>>>;

fn remembering(
    builder: dubbo::InstanceBuilder,
    name: &'static str,
    made: &Made,
) -> dubbo::InstanceBuilder {
    let made = [made.clone(), made.clone(), made.clone()];
    let [by_interface, by_application, reports] = made;
    let note = |made: &Made, kind: &str, url: &Url| {
        made.lock()
            .push(format!("{kind} {}://{}", url.protocol(), url.address()));
        MemoryRegistry::new(url.clone())
    };
    builder
        .extension::<dyn Registry>(name, move |cx| {
            Ok(Arc::new(note(&by_interface, "interface", cx.url)))
        })
        .extension::<dyn ServiceDiscovery>(name, move |cx| {
            Ok(note(&by_application, "service", cx.url).discovery())
        })
        .extension::<dyn MetadataReport>(name, move |cx| {
            Ok(note(&reports, "report", cx.url).report())
        })
}

#[tokio::test]
async fn config_a02_the_scheme_of_an_address_is_the_protocol_of_a_registry() {
    let made = Made::default();
    let builder = load("dubbo: {registries: {a: {address: 'nacos://h:8848'}}}");
    remembering(builder, "nacos", &made).build().expect("valid");
    let mut made = made.lock().clone();
    made.sort();
    made.dedup();
    assert_eq!(made, ["report nacos://h:8848", "service nacos://h:8848"]);
}

#[tokio::test]
async fn config_a03_two_registries_of_one_address_must_differ_in_their_namespaces() {
    let same =
        "dubbo: {registries: {one: {address: 'memory://h:1'}, two: {address: 'memory://h:1'}}}";
    let error = refusal(same);
    assert!(
        error.contains("dubbo.registries.two: has the same address"),
        "{error}"
    );
    assert!(error.contains("`dubbo.registries.one`"), "{error}");
    let other = same.replacen("'}", "', namespace: dev}", 1);
    load(&other).build().expect("they are two");
}

#[tokio::test]
async fn config_a04_a_registry_id_that_is_nowhere_is_named() {
    let yaml = "dubbo: {registries: {here: {protocol: memory}}, provider: {services: {greet.Greeter: {registry-ids: [missing]}}}}";
    let error = load(yaml)
        .provide(named("x"))
        .build()
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains("registry-ids: no registry has the id `missing`; there are: here"),
        "{error}"
    );
}

#[tokio::test]
async fn config_a05_a_profile_wins_key_by_key_and_may_be_missing() {
    let base = "dubbo: {profiles: {active: PROFILE}, application: {name: base, owner: ann}, \
                protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
    let (prod, gone) = (
        base.replace("PROFILE", "prod"),
        base.replace("PROFILE", "gone"),
    );
    let folder = Folder::new(
        "profile",
        &[
            ("a.yaml", &prod),
            ("a-prod.yaml", "dubbo: {application: {name: prod}}"),
            ("b.yaml", &gone),
        ],
    );
    for (file, want) in [("a.yaml", "prod"), ("b.yaml", "base")] {
        let builder = Instance::load_with(&folder.options(file)).expect("is read");
        let instance = builder.provide(named("x")).build().expect("valid");
        instance.start().await.expect("starts");
        let url = &instance.exported()[0];
        assert_eq!(url.param("application"), Some(want), "{file}");
        assert_eq!(url.param("owner"), Some("ann"), "{file}");
    }
    let loaded = config::load(
        &folder.options("b.yaml"),
        &Extensions::linked().expect("linked"),
    );
    let warnings = loaded.expect("valid").warnings;
    let [warning] = warnings.as_slice() else {
        panic!("one warning: {warnings:?}");
    };
    assert!(
        warning.to_string().contains("there is no file `"),
        "{warning}"
    );
    assert!(warning.to_string().contains("b-gone.yaml"), "{warning}");
}

#[tokio::test]
async fn config_a06_an_address_may_be_another_key_or_a_variable_or_a_default() {
    let with = "dubbo: {custom: {config-map: {zk: '10.0.0.1:2181'}}, registries: {r: {protocol: zookeeper, ADDRESS}}}";
    let without = "dubbo: {registries: {r: {protocol: zookeeper, ADDRESS}}}";
    let of_key = "address: '${dubbo.custom.config-map.zk:127.0.0.1:2181}'";
    let of_variable = "address: '${ZK_ADDR:127.0.0.1:2181}'";
    for (file, address, variable, want) in [
        (with, of_key, "", "10.0.0.1:2181"),
        (without, of_key, "", "127.0.0.1:2181"),
        (without, of_variable, "10.0.0.9:2181", "10.0.0.9:2181"),
        (without, of_variable, "", "127.0.0.1:2181"),
    ] {
        let made = Made::default();
        let builder = load_in(&file.replace("ADDRESS", address), &[("ZK_ADDR", variable)]);
        remembering(builder, "zookeeper", &made)
            .build()
            .expect("valid");
        let made = made.lock().concat();
        assert!(made.contains(&format!("zookeeper://{want}")), "{made}");
    }
}

/// The same file in every format starts the same program.
#[tokio::test]
async fn every_format_starts_the_same_program() {
    let folder = Folder::new(
        "formats",
        &[
            (
                "a.toml",
                "[dubbo]\napplication.name = 'shop'\n[dubbo.protocols.tri]\nip = '127.0.0.1'\nport = 0\n\
                 [dubbo.provider.services.\"greet.Greeter\"]\ngroup = 'g'\n\"tps.limit.rate\" = 5\n",
            ),
            (
                "b.properties",
                "dubbo.application.name=shop\ndubbo.protocols.tri.ip=127.0.0.1\ndubbo.protocols.tri.port=0\n\
                 dubbo.provider.services[greet.Greeter].group=g\ndubbo.provider.services[greet.Greeter].tps.limit.rate=5\n",
            ),
            (
                "c.json",
                "{\"dubbo\": {\"application\": {\"name\": \"shop\"}, \"protocols\": {\"tri\": {\"ip\": \"127.0.0.1\", \"port\": 0}}, \
                 \"provider\": {\"services\": {\"greet.Greeter\": {\"group\": \"g\", \"tps.limit.rate\": 5}}}}}",
            ),
        ],
    );
    for file in ["a.toml", "b.properties", "c.json"] {
        let options = folder.options(file).environment(Environment::default());
        let builder = Instance::load_with(&options).expect(file);
        let instance = builder.provide(named("x")).build().expect(file);
        instance.start().await.expect(file);
        let url = &instance.exported()[0];
        let params = ["application", "group", "tps.limit.rate"].map(|key| url.param(key));
        assert_eq!(params, [Some("shop"), Some("g"), Some("5")], "{file}");
    }
    // As a file in YAML would, without one.
    let plain = provide("", named("x")).await;
    assert_eq!(plain.exported()[0].param("application"), Some("dubbo.io"));
}
