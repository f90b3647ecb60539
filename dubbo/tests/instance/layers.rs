//! From weak to strong: file, profile, environment, code.

use std::{fs, path::PathBuf};

use dubbo::{
    Instance, InstanceBuilder, Url,
    config::{ApplicationConfig, LoadOptions, ProtocolConfig, RegistryConfig, ServiceConfig},
    spi::registry::Registry,
};

use super::{
    probe::Probe,
    rig::{load_in, named},
};

/// What an instance registers for its one service.
async fn registered(builder: InstanceBuilder) -> Url {
    let probe = Probe::new();
    let instance = builder
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("x"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    probe.asked("register").remove(0)
}

/// A directory of this test's own. It goes with this value.
struct Directory(PathBuf);

impl Directory {
    /// With these files in it.
    fn with(test: &str, files: &[(&str, &str)]) -> Self {
        let name = format!("{test}-{}", std::process::id());
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&directory).expect("can be made");
        for (name, text) in files {
            fs::write(directory.join(name), text).expect("can be written");
        }
        Self(directory)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // It is among what is built; what stays there does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const BASE: &str = "
dubbo:
  profiles: {active: prod}
  application: {name: file, owner: file, module: file, organization: file}
  registries: {r: {protocol: probe, address: here}}
  protocols: {t: {ip: 127.0.0.1, port: 0}}
  provider: {weight: 1, services: {Answering: {group: file, params: {a: file, b: file}}}}
";

const PROD: &str = "
dubbo:
  application: {owner: profile, module: profile, organization: profile}
  provider: {weight: 2, services: {Answering: {version: profile, params: {b: profile}}}}
";

#[tokio::test]
async fn each_layer_wins_over_the_weaker_ones_key_by_key() {
    let directory = Directory::with("layers", &[("dubbo.yaml", BASE), ("dubbo-prod.yaml", PROD)]);
    let environment = [
        ("DUBBO_APPLICATION_MODULE", "environment"),
        ("DUBBO_APPLICATION_ORGANIZATION", "environment"),
        ("DUBBO_PROVIDER_SERVICES_ANSWERING_WEIGHT", "3"),
    ];
    let options = LoadOptions::path("dubbo.yaml")
        .directory(&directory.0)
        .environment(environment.into_iter().collect());
    let builder = Instance::load_with(&options)
        .expect("it is there")
        .application(ApplicationConfig::new().organization("code"));
    let url = registered(builder).await;
    for (key, want) in [
        ("application", "file"),
        ("owner", "profile"),
        ("module", "environment"),
        ("organization", "code"),
        ("weight", "3"),
        ("group", "file"),
        ("version", "profile"),
        ("a", "file"),
        ("b", "profile"),
    ] {
        assert_eq!(url.param(key), Some(want), "{key}");
    }
}

#[tokio::test]
async fn the_profile_may_come_from_the_environment_and_may_be_missing() {
    let other = PROD.replace("profile", "other");
    let files = [
        ("dubbo.yml", BASE),
        ("dubbo-prod.yml", PROD),
        ("dubbo-other.yaml", &other),
    ];
    let directory = Directory::with("profiles", &files);
    for (active, want) in [
        (None, "profile"),
        (Some("other"), "other"),
        (Some("gone"), "file"),
        (Some("default"), "file"),
    ] {
        let environment = active.map(|active| ("DUBBO_PROFILES_ACTIVE", active));
        let options = LoadOptions::search()
            .directory(&directory.0)
            .environment(environment.into_iter().collect());
        let url = registered(Instance::load_with(&options).expect("it is there")).await;
        assert_eq!(url.param("owner"), Some(want), "{active:?}");
    }
}

#[tokio::test]
async fn placeholders_are_keys_variables_or_defaults() {
    let yaml = "
dubbo:
  custom: {config-map: {owner: me}}
  application:
    name: '${APP:unnamed}'
    owner: '${dubbo.custom.config-map.owner:nobody}'
    module: '${MODULE:of ${dubbo.custom.config-map.owner}}'
    environment: a-${STAGE}-b
  registries: {r: {protocol: probe, address: '${ADDRESS:10.0.0.1:8848}'}}
  protocols: {t: {ip: 127.0.0.1, port: '${PORT:0}'}}
";
    let variables = [("STAGE", "test"), ("APP", "shop")];
    let url = registered(load_in(yaml, &variables)).await;
    for (key, want) in [
        ("application", "shop"),
        ("owner", "me"),
        ("module", "of me"),
        ("environment", "a-test-b"),
    ] {
        assert_eq!(url.param(key), Some(want), "{key}");
    }
}

/// The same without a file.
#[tokio::test]
async fn everything_can_be_said_in_code() {
    let builder = Instance::builder()
        .application(ApplicationConfig::from("shop").owner("code"))
        .registry("r", RegistryConfig::new().protocol("probe").address("here"))
        .protocol("t", ProtocolConfig::tri().ip("127.0.0.1").port(0))
        .provider(
            dubbo::config::ProviderConfig::new()
                .defaults(ServiceConfig::new().weight(4).group("g")),
        );
    let url = registered(builder).await;
    for (key, want) in [
        ("application", "shop"),
        ("owner", "code"),
        ("weight", "4"),
        ("group", "g"),
    ] {
        assert_eq!(url.param(key), Some(want), "{key}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Instance::load("/nowhere/dubbo.yaml").expect_err("not there");
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/dubbo.yaml: cannot be read: "),
        "{error}"
    );
    let directory = Directory::with("nothing", &[]);
    let options = LoadOptions::search().directory(&directory.0);
    let error = Instance::load_with(&options)
        .expect_err("not there")
        .to_string();
    assert!(
        error.contains("no configuration") && error.contains("dubbo.yaml"),
        "{error}"
    );
}
