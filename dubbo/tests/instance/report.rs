//! One report with all that is wrong, and nothing is started.

use dubbo::{Error, InstanceBuilder, config::ServiceConfig, spi::registry::Registry};
use tokio::net::TcpListener;

use super::{
    probe::Probe,
    rig::{free_again, load, load_in, named},
};

/// What building says, one problem a line.
fn report(builder: InstanceBuilder) -> Vec<String> {
    let error = builder.build().expect_err("it is wrong");
    assert!(matches!(error, Error::Config(_)), "{error:?}");
    error.to_string().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn every_problem_is_told_with_its_place_and_nothing_has_been_started() {
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("free");
    let port = taken.local_addr().expect("bound").port();
    drop(taken);
    let yaml = format!(
        "\
dubbo:
  aplication: {{name: x}}
  registries:
    here: {{protocol: probe, address: h}}
  protocols:
    tri: {{ip: 127.0.0.1, port: {port}}}
    rest: {{name: rest, port: 1}}
  provider:
    filter: [trace]
    services:
      Answering:
        registry-ids: [there]
        loadbalance: roundrobbin
        methods:
          - {{name: Greet, timeout: soon}}
          - {{name: Meet, retries: 1}}
      Ghost:
        interface: org.example.Ghost
        protocol-ids: [tro]
  consumer:
    request-timeout: [1, 2]
    references:
      GreeterClient: {{cluster: failsafe, url: 'tri://nowhere'}}
  shutdown:
    timeout: ${{NOPE}}
"
    );
    let probe = Probe::new();
    let builder = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("x"));
    let want = "
dubbo.yaml:2:3: dubbo.aplication: unknown key (did you mean `application`?)
dubbo.yaml:7:18: dubbo.protocols.rest.name: the protocol `rest` is not supported yet; linked: dubbo, injvm, tri
dubbo.yaml:9:14: dubbo.provider.filter: the filter `trace` has no place here: it is of Dubbo's telnet console; use `accesslog` or `tracing`
dubbo.yaml:11:7: dubbo.provider.services.Answering: `methods` names `Meet`, but greet.Greeter has only Greet, GreetMany, GreetAll, GreetEach
dubbo.yaml:12:24: dubbo.provider.services.Answering.registry-ids: no registry has the id `there`; there are: here (did you mean `here`?)
dubbo.yaml:13:22: dubbo.provider.services.Answering.loadbalance: no load balance is called `roundrobbin`; linked: adaptive, aliasmethod, consistenthashing, interleavedweightedroundrobin, leastactive, p2c, random, roundrobin, shortestresponse (did you mean `roundrobin`?)
dubbo.yaml:15:36: dubbo.provider.services.Answering.methods[0].timeout: expected a duration such as `3s` or `500ms`, or a number of milliseconds, found `soon`
dubbo.yaml:17:7: dubbo.provider.services.Ghost: no handler is provided for it: pass one to `provide` whose type has this name or whose interface is this one's
dubbo.yaml:19:24: dubbo.provider.services.Ghost.protocol-ids: no protocol has the id `tro`; there are: rest, tri (did you mean `tri`?)
dubbo.yaml:21:22: dubbo.consumer.request-timeout: expected a duration such as `3s` or `500ms`, or a number of milliseconds, found a list
dubbo.yaml:23:47: dubbo.consumer.references.GreeterClient.url: `tri://nowhere` has no port
dubbo.yaml:25:14: dubbo.shutdown.timeout: `${NOPE}` is neither a key nor an environment variable, and has no default
";
    assert_eq!(report(builder), want.trim().lines().collect::<Vec<_>>());
    assert!(probe.made().is_empty(), "no registry was made");
    free_again(("127.0.0.1", port)).await;
}

#[tokio::test]
async fn what_is_wrong_in_code_is_told_as_well() {
    let builder = load("dubbo: {}").provide_with(
        named("x"),
        ServiceConfig::new()
            .filter(["classloader"])
            .protocol_ids(["tri", "dubbo"]),
    );
    let want = [
        "code: dubbo.provider.services.Answering.filter: the filter `classloader` has no place here: class loaders have no meaning in Rust",
        "code: dubbo.provider.services.Answering.protocol-ids: no protocol has the id `dubbo`; there are: tri",
    ];
    assert_eq!(report(builder), want);

    let builder = load("dubbo: {}").provide(named("x")).provide(named("y"));
    let want = [
        "code: `provide` was called twice for `greet.Greeter` (handlers `Answering` and `Answering`): give them different groups or versions",
    ];
    assert_eq!(report(builder), want);
}

#[tokio::test]
async fn without_strict_an_unknown_key_is_a_warning_and_a_wrong_value_is_not() {
    let lax = "dubbo: {strict: false, aplication: {name: x}, logger: {levle: debug}}";
    load(lax).build().expect("only unknown keys");
    let builder = load("dubbo: {strict: false, aplication: {name: x}, consumer: {check: perhaps}}");
    let report = report(builder);
    assert!(
        report[0].starts_with("dubbo.yaml:1:65: dubbo.consumer.check: expected"),
        "{report:?}"
    );
    assert!(
        report[1].starts_with("warning: dubbo.yaml:1:24: dubbo.aplication: unknown key"),
        "{report:?}"
    );
}

#[test]
fn a_main_that_returns_an_error_prints_its_text() {
    let main = |yaml: &str| -> Result<(), Box<dyn std::error::Error>> {
        load(yaml).build()?;
        Ok(())
    };
    for (yaml, want) in [
        (
            "dubbo: {a: 1}",
            "Error: dubbo.yaml:1:9: dubbo.a: unknown key",
        ),
        (
            "dubbo: {a: 1, b: 2}",
            "Error: \ndubbo.yaml:1:9: dubbo.a: unknown key\ndubbo.yaml:1:15: dubbo.b: unknown key",
        ),
    ] {
        let error = main(yaml).expect_err("it is wrong");
        // As the standard library does it.
        assert_eq!(format!("Error: {error:?}"), want);
    }
    assert_eq!(
        format!("{:?}", Error::Interrupted),
        Error::Interrupted.to_string()
    );
}

#[tokio::test]
async fn a_program_that_only_consumes_may_share_its_file_with_one_that_provides() {
    let yaml = "dubbo: {provider: {services: {Ghost: {interface: org.example.Ghost}}}, protocols: {tri: {port: 0}}}";
    let instance = load(yaml).build().expect("nothing is provided");
    instance.start().await.expect("nothing to start");
    assert!(instance.exported().is_empty());
}

#[test]
fn a_problem_of_the_environment_names_its_variable() {
    let variables = [
        ("DUBBO_CONSUMER_CHECK", "perhaps"),
        ("DUBBO_SHUTDOWN_TIMEOUT", "5s"),
    ];
    let report = report(load_in("dubbo: {}", &variables));
    let [line] = report.as_slice() else {
        panic!("one: {report:?}");
    };
    assert!(
        line.starts_with(
            "environment variable DUBBO_CONSUMER_CHECK: dubbo.consumer.check: expected"
        ),
        "{line}"
    );
}
