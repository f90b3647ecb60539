//! What registries are told about a service and a reference, and what plugins are told about a registry.

use dubbo::{Url, config::ServiceConfig, spi::registry::Registry};
use examples::{
    Polite,
    greet::{GreeterClient, GreeterServer},
};

use super::{
    probe::Probe,
    rig::{consume, greet, load, load_in, named, url_of},
};

/// The parameters of a URL in order, but for those that change from run to run.
fn params(url: &Url) -> String {
    let lasting = |key: &str| key != "timestamp" && key != "release";
    let params: Vec<_> = url
        .params()
        .filter(|(key, _)| lasting(key))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    params.join("&")
}

/// Starts a provider of [`Polite`] with this configuration: what it registered.
async fn registered(yaml: &str, variables: &[(&str, &str)]) -> Vec<Url> {
    let probe = Probe::new();
    let instance = load_in(yaml, variables)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(GreeterServer::new(Polite))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    probe.asked("register")
}

const METHODS: &str = "methods=Greet,GreetMany,GreetAll,GreetEach";

#[tokio::test]
async fn a_service_is_registered_with_all_that_its_sections_say() {
    let yaml = "
dubbo:
  application:
    name: shop
    organization: acme
    module: front
    owner: me
    environment: test
    group: g
    version: 1.2.0
    tag: blue
  registries: {p: {protocol: probe, address: here}}
  protocols:
    t:
      ip: 127.0.0.1
      port: 0
      triple: {max-server-send-msg-size: 1mib, max-server-recv-msg-size: 2mb}
  provider:
    weight: 7
    params: {a: 1, b: 1}
    services:
      Polite:
        cluster: failfast
        loadbalance: roundrobin
        retries: 0
        warmup: 60
        serialization: protobuf
        params: {b: 2, weight: 9}
        methods:
          - {name: Greet, timeout: 1s, retries: 1, loadbalance: random, sticky: true, weight: 3}
          - {name: GreetMany, timeout: 20}
";
    let urls = registered(yaml, &[]).await;
    let [url] = urls.as_slice() else {
        panic!("one service on one protocol: {urls:?}");
    };
    assert_eq!(
        (url.protocol(), url.host(), url.path()),
        ("tri", "127.0.0.1", "greet.Greeter")
    );
    assert_ne!(url.port(), Some(0), "the port is the one that is bound");
    let want = format!(
        "a=1&app.version=1.2.0&application=shop&application.tag=blue&b=2&cluster=failfast&dubbo=2.0.2&dubbo.tag=blue&\
         environment=test&group=g&interface=greet.Greeter&loadbalance=roundrobin&max-server-recv-msg-size=2000000&\
         max-server-send-msg-size=1048576&{METHODS}&methods.Greet.loadbalance=random&methods.Greet.retries=1&\
         methods.Greet.sticky=true&methods.Greet.timeout=1000&methods.Greet.weight=3&methods.GreetMany.timeout=20&\
         module=front&organization=acme&owner=me&retries=0&serialization=protobuf&side=provider&version=1.2.0&\
         warmup=60000&weight=7"
    );
    assert_eq!(params(url), want);
    assert!(
        url.param("release")
            .is_some_and(|release| release.starts_with("dubbo-rust-"))
    );
    let started = url.param("timestamp").and_then(|at| at.parse::<u64>().ok());
    assert!(
        started.is_some_and(|at| at > 1_700_000_000_000),
        "milliseconds: {started:?}"
    );
}

#[tokio::test]
async fn what_is_not_set_is_not_published_and_the_nearest_setting_wins() {
    let head = "registries: {p: {protocol: probe, address: here}}, protocols: {t: {ip: 127.0.0.1, port: 0}}";
    for (sections, want) in [
        ("", "application=dubbo.io"),
        (
            "application: {tag: blue}",
            "application=dubbo.io&application.tag=blue",
        ),
        (
            "provider: {group: p, version: 2, services: {Polite: {group: s}}}",
            "group=s&version=2",
        ),
        (
            "application: {group: a, version: 1}, provider: {services: {Polite: {version: ''}}}",
            "app.version=1&group=a&version=",
        ),
        (
            "provider: {weight: 5, services: {greet.Greeter: {weight: 0}}}",
            "weight=0",
        ),
        (
            "provider: {services: {any: {interface: greet.Greeter, tag: own}}}, application: {tag: app}",
            "application.tag=app&dubbo.tag=own",
        ),
    ] {
        let urls = registered(&format!("dubbo: {{{head}, {sections}}}"), &[]).await;
        let published = params(&urls[0]);
        for param in want.split('&') {
            assert!(
                published.split('&').any(|one| one == param),
                "{sections}: {published}"
            );
        }
        for absent in [
            "organization",
            "cluster",
            "retries",
            "warmup",
            "max-server-recv-msg-size",
        ] {
            assert_eq!(urls[0].param(absent), None, "{sections}");
        }
    }
}

#[tokio::test]
async fn a_service_is_called_by_the_interface_that_is_configured() {
    let probe = Probe::new();
    let yaml = "dubbo: {registries: {p: {protocol: probe, address: here}}, protocols: {t: {ip: 127.0.0.1, port: 0}}, \
                provider: {services: {Polite: {interface: org.example.Greeter}}}}";
    let instance = load(yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(GreeterServer::new(Polite))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let url = &probe.asked("register")[0];
    assert_eq!(
        (url.path(), url.param("interface")),
        ("org.example.Greeter", Some("org.example.Greeter"))
    );

    let alias = consume(&url_of(&instance), "interface: org.example.Greeter").await;
    assert_eq!(greet(&alias, "you").await.expect("answers"), "Hello, you!");
    let own = consume(&url_of(&instance), "").await;
    let status = greet(&own, "you").await.expect_err("another name");
    assert_eq!(status.code(), dubbo::Code::Unimplemented);
    assert!(
        status.message().contains("`org.example.Greeter`"),
        "it says what there is: {status}"
    );
}

#[tokio::test]
async fn ids_choose_protocols_and_registries() {
    let (one, two) = (Probe::new(), Probe::new());
    for (options, want) in [
        ("", [2, 2]),
        ("registry-ids: [], protocol-ids: []", [2, 2]),
        ("registry-ids: [b]", [0, 2]),
        ("protocol-ids: x", [1, 1]),
        ("registry-ids: 'a, b', protocol-ids: [y]", [1, 1]),
        ("not_register: true", [0, 0]),
    ] {
        let yaml = format!(
            "dubbo: {{registries: {{a: {{protocol: one, address: h}}, b: {{protocol: two, address: h}}, \
             off: {{protocol: one, address: N/A}}}}, \
             protocols: {{x: {{ip: 127.0.0.1, port: 0}}, y: {{ip: localhost, port: -1}}}}, \
             provider: {{services: {{greet.Greeter: {{{options}}}}}}}}}"
        );
        let instance = load(&yaml)
            .extension::<dyn Registry>("one", one.plugin())
            .extension::<dyn Registry>("two", two.plugin())
            .provide(named("one of two"))
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        for url in instance.exported() {
            let reached = consume(&format!("tri://{}", url.address()), "").await;
            assert_eq!(greet(&reached, "").await.expect("answers"), "one of two");
        }
        let seen = [one.providers().await.len(), two.providers().await.len()];
        assert_eq!(seen, want, "{options}");
        instance.shutdown(std::time::Duration::ZERO).await;
        let left = [one.providers().await.len(), two.providers().await.len()];
        assert_eq!(left, [0, 0], "{options}");
    }
}

#[tokio::test]
async fn a_registrys_settings_reach_its_plugin() {
    let probe = Probe::new();
    let yaml = "dubbo: {registries: {a: {address: 'probe://10.0.0.1:8848, 10.0.0.2:8848', group: g, namespace: n, \
                username: u, password: p, params: {x: 1}}, b: {protocol: probe, address: h:1}}}";
    let plugin = || probe.plugin();
    load(yaml)
        .extension::<dyn Registry>("probe", plugin())
        .build()
        .expect("valid");
    let made = [
        "probe://u:p@10.0.0.1:8848?backup=10.0.0.2:8848&group=g&namespace=n&x=1",
        "probe://h:1",
    ];
    assert_eq!(probe.made(), made);
}

#[tokio::test]
async fn a_reference_subscribes_with_all_that_its_sections_say() {
    let probe = Probe::new();
    let yaml = "
dubbo:
  application: {name: shop, owner: me, group: g, version: 1}
  registries: {p: {protocol: probe, address: here}}
  consumer:
    check: false
    request-timeout: 2s
    references:
      GreeterClient:
        cluster: failfast
        loadbalance: roundrobin
        retries: 1
        version: 2
        sticky: true
        params: {a: b, version: 7}
        protocol_config: {triple: {keep-alive-interval: 7s, keep-alive-timeout: 3s}}
";
    let instance = load(yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .build()
        .expect("valid");
    let _greeter: GreeterClient = instance.refer().await.expect("does not check");
    let asked = probe.asked("subscribe");
    assert_eq!(
        (asked[0].protocol(), asked[0].path()),
        ("consumer", "greet.Greeter")
    );
    assert_eq!(
        params(&asked[0]),
        "a=b&app.version=1&application=shop&cluster=failfast&dubbo=2.0.2&group=g&interface=greet.Greeter&\
         keep-alive-interval=7000&keep-alive-timeout=3000&loadbalance=roundrobin&owner=me&protocol=tri&retries=1&\
         side=consumer&sticky=true&timeout=2000&version=2"
    );
}

#[tokio::test]
async fn the_environment_says_what_address_others_use() {
    let yaml = "dubbo: {registries: {p: {protocol: probe, address: here}}, protocols: {t: {ip: 127.0.0.1, port: 0}}}";
    let variables = [
        ("DUBBO_IP_TO_REGISTRY", "node.example"),
        ("DUBBO_PORT_TO_REGISTRY", "30001"),
    ];
    let urls = registered(yaml, &variables).await;
    assert_eq!(urls[0].address(), "node.example:30001");

    let problem = load_in(yaml, &[("DUBBO_PORT_TO_REGISTRY", "x")])
        .extension::<dyn Registry>("probe", Probe::new().plugin())
        .provide_with(GreeterServer::new(Polite), ServiceConfig::new())
        .build()
        .expect_err("no port");
    let want =
        "environment variable DUBBO_PORT_TO_REGISTRY: expected a port from 0 to 65535, found `x`";
    assert_eq!(problem.to_string(), want);

    let everywhere =
        "dubbo: {registries: {p: {protocol: probe, address: here}}, protocols: {t: {port: 0}}}";
    let urls = registered(everywhere, &[]).await;
    assert_ne!(urls[0].host(), "0.0.0.0", "nobody can call that");
}
