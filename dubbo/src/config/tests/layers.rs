use std::{fs, path::PathBuf};

use super::*;

#[test]
fn the_active_profile_is_laid_over_the_file_entry_by_entry() {
    let folder = Folder::new(
        "profile",
        &[
            (
                "dubbo.yaml",
                "
dubbo:
  profiles: {active: prod}
  application: {name: base, owner: ann, group: g}
  registries: {a: {protocol: memory, group: base}}
  provider: {filter: [audit, echo], services: {S: {group: '${dubbo.application.name}', retries: 1}}}
",
            ),
            (
                "dubbo-prod.yaml",
                "
dubbo:
  application: {name: prod, group: }
  registries: {a: {namespace: ns}, b: {protocol: memory}}
  provider: {filter: echo, services: {S: {retries: 0}}}
  consumer: {chek: 1}
",
            ),
            (
                "other.yml",
                "dubbo: {profiles: {active: '${PROFILE:default}'}}",
            ),
            ("other-dev.yaml", "dubbo: {application: {name: dev}}"),
            ("broken.yaml", "dubbo: {profiles: {active: x}}"),
            ("broken-x.yaml", "dubbo: ["),
        ],
    );
    let options = folder.options("dubbo.yaml");
    let draft = read(&options).expect("two good files");
    let config = &draft.config;
    assert_eq!(config.application.name.as_deref(), Some("prod"));
    assert_eq!(config.application.owner.as_deref(), Some("ann"));
    assert_eq!(
        config.application.group.as_deref(),
        Some("g"),
        "a key without value changes nothing"
    );
    assert_eq!(config.registries["a"].group.as_deref(), Some("base"));
    assert_eq!(config.registries["a"].namespace.as_deref(), Some("ns"));
    assert_eq!(config.registries.len(), 2);
    assert_eq!(
        config.provider.defaults.filter,
        Some(vec!["echo".to_owned()]),
        "a list is replaced"
    );
    let service = &config.provider.services["S"];
    assert_eq!(
        (service.group.as_deref(), service.retries),
        (Some("prod"), Some(0))
    );

    let want = "dubbo-prod.yaml:6:14: dubbo.consumer.chek: unknown key (did you mean `check`?)\n";
    assert_eq!(folder.clean(&outcome(&draft.check(&linked()))), want);

    // The variable is the stronger, and either ending of YAML will do.
    let options = folder.options("other.yml");
    for (variable, want) in [("", None), ("dev", Some("dev")), ("default", None)] {
        let options = options
            .clone()
            .environment(Environment::from_iter([("PROFILE", variable)]));
        let loaded = load(&options, &linked()).expect("good files");
        assert_eq!(
            loaded.config.application.name.as_deref(),
            want,
            "{variable}"
        );
        assert_eq!(loaded.files.len(), 1 + usize::from(want.is_some()));
    }
    for (profile, want) in [
        ("test", "there is no file `other-test.yml`"),
        ("../x", "`../x` is a path, not the name of a profile"),
    ] {
        let environment = Environment::from_iter([("DUBBO_PROFILES_ACTIVE", profile)]);
        let loaded = load(&options.clone().environment(environment), &linked());
        let place = "environment variable DUBBO_PROFILES_ACTIVE: dubbo.profiles.active";
        assert_eq!(
            folder.clean(&outcome(&loaded)),
            format!("warning: {place}: {want}\n")
        );
    }
    let errors = folder.clean(&outcome(&load(&folder.options("broken.yaml"), &linked())));
    assert!(
        errors.starts_with("broken-x.yaml:2:1: not valid YAML: "),
        "{errors}"
    );
}

#[test]
fn the_environment_is_stronger_than_the_files() {
    let text = "
dubbo:
  application: {name: file}
  registries:
    local-1: {protocol: memory, timeout: 1s, params: {ttl: 1s}}
    a.b: {protocol: memory, namespace: n}
  consumer: {references: {Users: {group: '${dubbo.application.name}'}}}
";
    let environment = Environment::from_iter([
        ("DUBBO_APPLICATION_NAME", "env"),
        ("DUBBO_LOGGER_LEVEL", "debug"),
        ("DUBBO_CONSUMER_REQUEST_TIMEOUT", "1500"),
        ("DUBBO_CONSUMER_REFERENCES_USERS_RETRIES", "0"),
        ("DUBBO_PROVIDER_FILTER", "audit, echo"),
        ("DUBBO_REGISTRIES_LOCAL_1_TIMEOUT", "2s"),
        ("DUBBO_REGISTRIES_LOCAL_1_PARAMS_TTL", "2s"),
        ("DUBBO_SHUTDOWN_TIMEOUT", ""),
        ("DUBBO_IP_TO_REGISTRY", "10.0.0.1"),
        ("DUBBO_ADMIN_SERVICE_HOST", "10.1.0.1"),
        ("DUBBO_ADMIN_SERVICE_PORT_HTTP", "80"),
        ("DUBBO_ADMIN_PORT", "tcp://10.1.0.1:80"),
        ("DUBBO_ADMIN_PORT_80_TCP_ADDR", "10.1.0.1"),
        ("DUBBO_METRICS_PORT_80_TCP", "tcp://10.1.0.2:80"),
        ("OTHER", "x"),
    ]);
    let options = LoadOptions::text("t.yaml", text).environment(environment);
    let loaded = load(&options, &linked()).expect("all good");
    assert_eq!(loaded.warnings, []);
    let config = loaded.config;
    assert_eq!(config.application.name.as_deref(), Some("env"));
    assert_eq!(config.logger.level, Some(LogLevel::Debug));
    assert_eq!(
        config
            .consumer
            .request_timeout
            .map(|timeout| timeout.as_millis()),
        Some(1_500)
    );
    let users = &config.consumer.references["Users"];
    assert_eq!(
        (users.retries, users.group.as_deref()),
        (Some(0), Some("env"))
    );
    assert_eq!(
        config.provider.defaults.filter,
        Some(vec!["audit".to_owned(), "echo".to_owned()])
    );
    let registry = &config.registries["local-1"];
    assert_eq!(registry.timeout.map(|timeout| timeout.as_secs()), Some(2));
    assert_eq!(registry.params["ttl"], "2s");
    assert_eq!(
        config.shutdown,
        ShutdownConfig::new(),
        "an empty variable is none"
    );
}

#[test]
fn a_variable_that_is_wrong_or_sets_nothing_is_named() {
    let text =
        "dubbo: {registries: {a: {protocol: memory}, a-params: {protocol: memory, namespace: n}}}";
    let environment = Environment::from_iter([
        ("DUBBO_APPLICATON_NAME", "typo"),
        ("DUBBO_CONSUMER_CHECK", "yes"),
        ("DUBBO_PROTOCOLS_TRI_PORT", "1"),
        ("DUBBO_REGISTRIES_A_TIMEOUTS", "1s"),
        ("DUBBO_REGISTRIES_B_TIMEOUT", "1s"),
        ("DUBBO_CONSUMER_PROTOCOL", "trio"),
        ("DUBBO_CONSUMER_MESH_ENABLED", "true"),
        ("DUBBO_TLS_CONFIG_TLS_KEY_FILE", "k"),
    ]);
    let options = LoadOptions::text("t.yaml", text).environment(environment);
    let want = "
environment variable DUBBO_CONSUMER_CHECK: dubbo.consumer.check: expected `true` or `false`, found `yes`
environment variable DUBBO_CONSUMER_MESH_ENABLED: dubbo.consumer.mesh-enabled: not supported: nothing makes up the addresses of a mesh; name the service of the cluster in the `url` of a reference; leave it out or set it to `false`
environment variable DUBBO_CONSUMER_PROTOCOL: dubbo.consumer.protocol: no protocol is called `trio`; linked: injvm, tri (did you mean `tri`?)
environment variable DUBBO_TLS_CONFIG_TLS_KEY_FILE: dubbo.tls_config.tls-key-file: needs the certificate that it is the key of: set `tls-cert-file` too
warning: environment variable DUBBO_APPLICATON_NAME: it sets nothing: no key has this name (did you mean `DUBBO_APPLICATION_NAME`?)
warning: environment variable DUBBO_PROTOCOLS_TRI_PORT: it sets nothing: `dubbo.protocols` has no such id; the id must be in the file first
warning: environment variable DUBBO_REGISTRIES_A_TIMEOUTS: it sets nothing: no key has this name (did you mean `DUBBO_REGISTRIES_A_TIMEOUT`?)
warning: environment variable DUBBO_REGISTRIES_B_TIMEOUT: it sets nothing: `dubbo.registries` has no such id; the id must be in the file first (did you mean `DUBBO_REGISTRIES_A_TIMEOUT`?)
";
    assert_eq!(outcome(&load(&options, &linked())), want.trim_start());

    let text = "dubbo: {consumer: {references: {a-b: {}, a_b: {}}}}";
    let options = LoadOptions::text("t.yaml", text).environment(Environment::from_iter([(
        "DUBBO_CONSUMER_REFERENCES_A_B_GROUP",
        "g",
    )]));
    let want = "environment variable DUBBO_CONSUMER_REFERENCES_A_B_GROUP: it could set \
                `dubbo.consumer.references.a-b.group` and `dubbo.consumer.references.a_b.group`\n";
    assert_eq!(outcome(&load(&options, &linked())), want);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_an_error_only_if_it_is_ours() {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};

    let bytes = || OsString::from_vec(vec![0xff]);
    let environment = Environment::from_iter([
        (OsString::from("DUBBO_APPLICATION_NAME"), bytes()),
        (OsString::from("OTHER"), bytes()),
    ]);
    let options = LoadOptions::text("t.yaml", "").environment(environment);
    let want = "environment variable DUBBO_APPLICATION_NAME: the value is not UTF-8\n";
    assert_eq!(outcome(&load(&options, &linked())), want);
}

#[test]
fn the_file_is_found_where_dubbo_go_looks_and_nearer() {
    let named = |name: &str| format!("dubbo: {{application: {{name: {name}}}}}");
    let folder = Folder::new(
        "search",
        &[
            ("conf/dubbogo.yaml", &named("parent")),
            ("app/conf/dubbogo.yml", &named("conf")),
            ("app/dubbo.yml", &named("yml")),
            ("app/dubbo.yaml", &named("yaml")),
            (
                "app/go.json",
                r#"{"dubbo": {"application": {"name": "json"}}}"#,
            ),
            ("app/plain", &named("no ending")),
            ("app/dubbo.prod.yaml", &named("two points")),
        ],
    );
    let name = |environment: &Environment| {
        let options = LoadOptions::search()
            .directory(folder.0.join("app"))
            .environment(environment.clone());
        let loaded = load(&options, &linked()).unwrap_or_else(|errors| panic!("{errors}"));
        loaded.config.application.name.expect("each file has one")
    };
    for (variables, want) in [
        (
            &[
                ("DUBBO_CONFIG_PATH", "go.json"),
                ("DUBBO_GO_CONFIG_PATH", "plain"),
            ][..],
            "json",
        ),
        (&[("DUBBO_GO_CONFIG_PATH", "plain")], "no ending"),
        (&[("DUBBO_GO_CONFIG_PATH", "dubbo.prod.yaml")], "two points"),
        (&[], "yaml"),
    ] {
        assert_eq!(
            name(&variables.iter().copied().collect()),
            want,
            "{variables:?}"
        );
    }
    for (gone, next) in [
        ("dubbo.yaml", "yml"),
        ("dubbo.yml", "conf"),
        ("conf/dubbogo.yml", "parent"),
    ] {
        fs::remove_file(folder.0.join("app").join(gone)).expect("it was there");
        assert_eq!(name(&Environment::default()), next);
    }
    fs::remove_file(folder.0.join("conf/dubbogo.yaml")).expect("it was there");
    let options = LoadOptions::search().directory(folder.0.join("app"));
    let want = "dubbo: no configuration: DUBBO_CONFIG_PATH and DUBBO_GO_CONFIG_PATH are not set, and `app` has none of \
                dubbo.yaml, dubbo.yml, conf/dubbogo.yaml, conf/dubbogo.yml, ../conf/dubbogo.yaml, ../conf/dubbogo.yml\n";
    assert_eq!(folder.clean(&outcome(&load(&options, &linked()))), want);
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let folder = Folder::new(
        "unreadable",
        &[
            ("dubbo.toml", ""),
            ("list.yaml", "[dubbo]"),
            ("two.yaml", "dubbo: {}\n---\n"),
        ],
    );
    fs::write(
        folder.0.join("latin1.yaml"),
        b"dubbo:\n  application: {name: caf\xe9}\n",
    )
    .expect("writable");
    for (file, want) in [
        (
            "dubbo.xml",
            "dubbo.xml: files ending in `.xml` are not read; what is read ends in one of yaml, yml, json, toml, properties",
        ),
        ("absent.yaml", "absent.yaml: cannot be read: "),
        ("latin1.yaml", "latin1.yaml: line 2 is not UTF-8"),
        (
            "list.yaml",
            "list.yaml:1:1: expected the key `dubbo`, found a list",
        ),
        (
            "two.yaml",
            "two.yaml:2:1: a second document begins here; one is read",
        ),
    ] {
        let message = folder.clean(&outcome(&load(&folder.options(file), &linked())));
        assert!(message.starts_with(want), "{file}: {message}");
    }
}

/// Files in a folder of their own, gone at the end of the test.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder =
            std::env::temp_dir().join(format!("dubbo-config-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        Self(folder)
    }

    pub(super) fn options(&self, file: &str) -> LoadOptions {
        LoadOptions::path(file).directory(&self.0)
    }

    /// The text without the folder's name.
    pub(super) fn clean(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is the system's to clear.
        let _ = fs::remove_dir_all(&self.0);
    }
}
