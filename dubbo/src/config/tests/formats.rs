use super::{layers::Folder, *};

/// The same in every language, profile and placeholders included.
#[test]
fn whatever_the_language_the_configuration_is_the_same() {
    let yaml = "
dubbo:
  profiles: {active: prod}
  application: {name: base, version: 1.10, owner: '${dubbo.custom.owner:nobody}'}
  registries:
    local: {protocol: memory, timeout: 3s, params: {nacos.logDir: /tmp, k: v}}
  provider:
    filter: [audit, echo]
    services:
      com.example.Greeter:
        tps.limit.rate: 5
        tps.limiter: default
        methods: [{name: Get, retries: 0}, {name: Set, timeout: 1500}]
  custom: {owner: ann}
";
    let toml = r#"
[dubbo]
profiles.active = "prod"
custom = { owner = "ann" }

[dubbo.application]
name = "base"
version = 1.10
owner = "${dubbo.custom.owner:nobody}"

[dubbo.registries.local]
protocol = "memory"
timeout = "3s"
params = { "nacos.logDir" = "/tmp", k = "v" }

[dubbo.provider]
filter = ["audit", "echo"]

[dubbo.provider.services."com.example.Greeter"]
"tps.limit.rate" = 5
"tps.limiter" = "default"

[[dubbo.provider.services."com.example.Greeter".methods]]
name = "Get"
retries = 0

[[dubbo.provider.services."com.example.Greeter".methods]]
name = "Set"
timeout = 1500
"#;
    let properties = "
dubbo.profiles.active=prod
dubbo.application.name=base
dubbo.application.version=1.10
dubbo.application.owner=${dubbo.custom.owner:nobody}
dubbo.registries.local.protocol=memory
dubbo.registries.local.timeout=3s
dubbo.registries.local.params.nacos.logDir=/tmp
dubbo.registries.local.params.k=v
dubbo.provider.filter=audit,echo
dubbo.provider.services[com.example.Greeter].tps.limit.rate=5
dubbo.provider.services[com.example.Greeter].tps.limiter=default
dubbo.provider.services[com.example.Greeter].methods[0].name=Get
dubbo.provider.services[com.example.Greeter].methods[0].retries=0
dubbo.provider.services[com.example.Greeter].methods[1].name=Set
dubbo.provider.services[com.example.Greeter].methods[1].timeout=1500
dubbo.custom.owner=ann
";
    let json = r#"{"dubbo": {
        "profiles": {"active": "prod"},
        "application": {"name": "base", "version": 1.10, "owner": "${dubbo.custom.owner:nobody}"},
        "registries": {"local": {"protocol": "memory", "timeout": "3s", "params": {"nacos.logDir": "/tmp", "k": "v"}}},
        "provider": {"filter": ["audit", "echo"], "services": {"com.example.Greeter": {
            "tps.limit.rate": 5, "tps.limiter": "default",
            "methods": [{"name": "Get", "retries": 0}, {"name": "Set", "timeout": 1500}]}}},
        "custom": {"owner": "ann"}}}"#;
    let folder = Folder::new(
        "formats",
        &[
            ("a.yaml", yaml),
            ("a-prod.yaml", "dubbo: {application: {name: prod}}"),
            ("b.toml", toml),
            ("b-prod.toml", "dubbo.application.name = 'prod'"),
            ("c.v1.properties", properties),
            ("c.v1-prod.properties", "dubbo.application.name: prod"),
            ("d.json", json),
            (
                "d-prod.json",
                r#"{"dubbo": {"application": {"name": "prod"}}}"#,
            ),
        ],
    );
    let read = |file: &str| {
        let draft = read(&folder.options(file)).expect(file);
        assert_eq!(draft.sources().files().len(), 2, "{file}");
        let mut config = draft.config;
        assert!(config.custom.take().is_some(), "{file}");
        config
    };
    let want = read("a.yaml");
    assert_eq!(want.application.name.as_deref(), Some("prod"));
    assert_eq!(want.application.version.as_deref(), Some("1.10"));
    assert_eq!(want.application.owner.as_deref(), Some("ann"));
    let service = &want.provider.services["com.example.Greeter"];
    assert_eq!(service.methods.len(), 2);
    for file in ["b.toml", "c.v1.properties", "d.json"] {
        assert_eq!(read(file), want, "{file}");
    }
}

#[test]
fn a_mistake_has_its_place_in_every_language() {
    for (file, text, want) in [
        (
            "t.toml",
            "[dubbo.consumer]\nchek = true\nrequest-timeout = 'soon'\n",
            "t.toml:2:1: dubbo.consumer.chek: unknown key (did you mean `check`?)\n\
             t.toml:3:19: dubbo.consumer.request-timeout: expected a duration",
        ),
        (
            "t.properties",
            "dubbo.consumer.chek=true\ndubbo.consumer.request-timeout : soon\nserver.port=1\n",
            "t.properties:1:1: dubbo.consumer.chek: unknown key (did you mean `check`?)\n\
             t.properties:2:34: dubbo.consumer.request-timeout: expected a duration",
        ),
        (
            "t.properties",
            "dubbo.application.name=a\\u12\n",
            "t.properties:1:25: `\\\\u` needs four hexadecimal digits",
        ),
        ("t.toml", "dubbo = 1\nx = \n", "t.toml:2:5: not valid TOML"),
        (
            "t.toml",
            "dubbo = 1\n",
            "t.toml:1:9: dubbo: expected a map, found a text",
        ),
    ] {
        let report = outcome(&load(&LoadOptions::text(file, text), &linked()));
        let want = want.replace("\\\\", "\\");
        assert!(report.starts_with(&want), "{text}: {report}");
    }
}

/// The points in a key of the model are no levels of the tree, in properties either.
#[test]
fn every_key_with_points_can_be_written_in_properties() {
    use crate::config::format::properties::DOTTED;

    let service = "dubbo.provider.services.S";
    for key in DOTTED {
        let (path, value) = match key {
            "force.tag" => ("dubbo.consumer.references.R".to_owned(), "true"),
            "heartbeat.timeout" => ("dubbo.protocols.dubbo.params".to_owned(), "1000"),
            _ => (service.to_owned(), "1"),
        };
        let text = format!("dubbo.protocols.dubbo.name=dubbo\n{path}.{key}={value}\n");
        let report = outcome(&load(&LoadOptions::text("t.properties", text), &linked()));
        assert!(!report.contains("unknown key"), "{key}: {report}");
    }
}
