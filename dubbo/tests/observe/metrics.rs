//! Numbers for Prometheus (`docs/spec/config.md` §5.1, §5.2): under dubbo-go's names and labels, asked for or pushed.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use dubbo::{Instance, Request, Status};
use examples::greet::{GreetRequest, GreeterServer};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    receiver::Receiver,
    rig::{Answering, consume, greet, load, provide, refusal, url_of},
};

/// Greets, but for one name.
fn answer(request: &Request<GreetRequest>) -> Result<String, Status> {
    match &*request.message().name {
        "nobody" => Err(Status::business("nobody is greeted")),
        name => Ok(format!("Hello, {name}!")),
    }
}

/// What a page answers: the head and the rest.
pub(crate) async fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let local = SocketAddr::from(([127, 0, 0, 1], address.port()));
    let mut io = TcpStream::connect(local).await.expect("it listens");
    let request = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    io.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    io.read_to_string(&mut answer).await.expect("answered");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// The numbers of one application: by name and method, with all their labels.
pub(crate) struct Numbers(Vec<(String, BTreeMap<String, String>, f64)>);

impl Numbers {
    pub(crate) fn read(text: &str) -> Self {
        let lines = text
            .lines()
            .filter(|line| line.contains('{') && !line.starts_with('#'));
        Self(lines.map(number).collect())
    }

    pub(crate) fn get(&self, name: &str, application: &str) -> Option<f64> {
        self.find(name, application).map(|(_, value)| value)
    }

    pub(crate) fn find(
        &self,
        name: &str,
        application: &str,
    ) -> Option<(&BTreeMap<String, String>, f64)> {
        let mut all = self.0.iter();
        let found = all.find(|(of, labels, _)| {
            let method = labels.get("method").is_none_or(|method| method == "Greet");
            of == name
                && labels
                    .get("application_name")
                    .is_some_and(|it| it == application)
                && method
        });
        found.map(|(_, labels, value)| (labels, *value))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &BTreeMap<String, String>)> {
        self.0.iter().map(|(name, labels, _)| (&**name, labels))
    }
}

fn number(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (name, rest) = line.split_once('{').expect("labels");
    let (labels, value) = rest.rsplit_once("} ").expect("a value");
    let labels = labels.split("\",").map(|label| {
        let (name, value) = label.split_once("=\"").expect("a label");
        (name.to_owned(), value.trim_end_matches('"').to_owned())
    });
    (
        name.to_owned(),
        labels.collect(),
        value.parse().expect("a number"),
    )
}

/// Three calls that work and one that the application refuses, of a provider and a consumer with these names.
pub(crate) async fn four_calls(
    provider: &str,
    consumer: &str,
    sections: &str,
) -> (Instance, Instance) {
    let of_service =
        "provider: {services: {Answering: {interface: greet.Greeter, group: g, version: 1.0.0}}}";
    let own = format!(
        "application: {{name: {provider}, version: '7'}}, {of_service}, metrics: {{enable: true{sections}}}"
    );
    let serving = provide(&own, GreeterServer::new(Answering(answer))).await;
    let own = format!("application: {{name: {consumer}}}, metrics: {{enable: true}}");
    let (calling, greeter) = consume(&url_of(&serving), &own, "group: g, version: 1.0.0").await;
    for name in ["Ada", "Bob", "Eve"] {
        greet(&greeter, name).await.expect("greets");
    }
    let refused = greet(&greeter, "nobody").await.expect_err("refused");
    assert_eq!(refused.message(), "nobody is greeted");
    (serving, calling)
}

/// Case 142 too: the interface stands alone in its label, and group and version have their own.
#[tokio::test]
async fn config_a14_calls_are_counted_under_the_names_and_labels_of_dubbo_go_at_the_given_url() {
    let (provider, _consumer) = four_calls(
        "a14-provider",
        "a14-consumer",
        ", port: 0, path: /prometheus",
    )
    .await;
    let address = provider.metrics_address().expect("it is open");
    let (head, text) = ask(address, "GET /prometheus").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    let numbers = Numbers::read(&text);
    for (side, application) in [("provider", "a14-provider"), ("consumer", "a14-consumer")] {
        for (name, want) in [
            ("requests_total", 4.0),
            ("requests_succeed_total", 3.0),
            ("requests_failed_total", 1.0),
            ("requests_business_failed_total", 1.0),
            ("requests_timeout_total", 0.0),
            ("requests_limit_total", 0.0),
            ("requests_failed_service_unavailable_total", 0.0),
            ("requests_failed_network_total", 0.0),
            ("requests_failed_codec_total", 0.0),
            ("requests_unknown_failed_total", 0.0),
            ("requests_processing_total", 0.0),
            ("requests_total_aggregate", 4.0),
            ("requests_succeed_total_aggregate", 3.0),
            ("requests_failed_total_aggregate", 1.0),
            ("requests_business_failed_total_aggregate", 1.0),
        ] {
            let name = format!("dubbo_{side}_{name}");
            assert_eq!(
                numbers.get(&name, application),
                Some(want),
                "{name}: {text}"
            );
        }
        for name in [
            "qps_total",
            "rt_milliseconds_sum",
            "rt_milliseconds_last",
            "rt_milliseconds_min",
            "rt_milliseconds_max",
            "rt_milliseconds_avg",
            "rt_avg_milliseconds_aggregate",
            "rt_min_milliseconds_aggregate",
            "rt_max_milliseconds_aggregate",
            "rt_milliseconds_p50",
            "rt_milliseconds_p90",
            "rt_milliseconds_p95",
            "rt_milliseconds_p99",
        ] {
            let name = format!("dubbo_{side}_{name}");
            let value = numbers.get(&name, application);
            assert!(
                value.is_some_and(|value| value > 0.0),
                "{name} is {value:?}: {text}"
            );
        }
    }
    let (labels, _) = numbers
        .find("dubbo_provider_requests_total", "a14-provider")
        .expect("counted");
    let names: Vec<&str> = labels.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "application_name",
            "application_version",
            "group",
            "hostname",
            "interface",
            "ip",
            "method",
            "version"
        ]
    );
    for (label, want) in [
        ("application_version", "7"),
        ("group", "g"),
        ("interface", "greet.Greeter"),
        ("version", "1.0.0"),
    ] {
        assert_eq!(labels[label], want, "{label}");
    }
    let own = numbers.find("dubbo_application_info_total", "a14-provider");
    assert_eq!(own.expect("told").1.to_string(), "1");

    let (head, _) = ask(address, "POST /prometheus").await;
    assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    let (head, _) = ask(address, "GET /metrics").await;
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    provider.shutdown(Duration::from_secs(5)).await;
    let local = SocketAddr::from(([127, 0, 0, 1], address.port()));
    TcpStream::connect(local)
        .await
        .expect_err("the port is closed");
}

#[tokio::test]
async fn without_a_port_of_their_own_numbers_are_on_the_port_for_operators() {
    let yaml = "dubbo: {application: {name: on-admin, qos-enable: true, qos-port: 0}, metrics: {enable: true}}";
    let instance = load(yaml).build().expect("valid");
    instance.start().await.expect("starts");
    assert_eq!(instance.metrics_address(), None);
    let (head, text) = ask(instance.admin_addresses()[0], "GET /metrics").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let numbers = Numbers::read(&text);
    assert_eq!(
        numbers.get("dubbo_application_info_total", "on-admin"),
        Some(1.0),
        "{text}"
    );
    instance.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn numbers_are_pushed_to_the_job_of_a_gateway_again_and_again_and_in_the_end() {
    let mut gateway = Receiver::http1(&[]).await;
    let yaml = format!(
        "dubbo: {{application: {{name: pushes}}, metrics: {{enable: true, prometheus: {{exporter: {{enabled: false}}, \
         pushgateway: {{enabled: true, base-url: 'http://{}/gate', job: a/b, username: u, password: p, \
         push-interval: 1}}}}}}}}",
        gateway.address
    );
    let instance = load(&yaml).build().expect("valid");
    instance.start().await.expect("starts");
    for _ in 0..2 {
        let (parts, body) = gateway.next().await;
        assert_eq!(parts.method, "POST");
        assert_eq!(parts.uri, "/gate/metrics/job@base64/YS9i");
        assert_eq!(parts.headers["authorization"], "Basic dTpw");
        assert_eq!(
            parts.headers["content-type"],
            "text/plain; version=0.0.4; charset=utf-8"
        );
        let text = String::from_utf8(body.to_vec()).expect("a text");
        let numbers = Numbers::read(&text);
        assert_eq!(
            numbers.get("dubbo_application_info_total", "pushes"),
            Some(1.0),
            "{text}"
        );
    }
    gateway.rest();
    instance.shutdown(Duration::from_secs(5)).await;
    assert!(!gateway.rest().is_empty(), "the last numbers are pushed");
}

#[tokio::test]
async fn a_gateway_that_is_not_there_holds_up_no_end() {
    let yaml = "dubbo: {metrics: {enable: true, prometheus: {pushgateway: {enabled: true, base-url: 'http://127.0.0.1:1'}}}}";
    let instance = load(yaml).build().expect("valid");
    instance.start().await.expect("starts");
    dubbo_test::soon("the end", instance.shutdown(Duration::from_millis(100))).await;
}

#[test]
fn what_cannot_work_is_refused_with_the_key_and_what_to_do() {
    for (metrics, want) in [
        (
            "enable: true, protocol: statsd",
            "dubbo.metrics.protocol: expected `prometheus`",
        ),
        (
            "enable: true, path: metrics",
            "dubbo.metrics.path: expected a path",
        ),
        (
            "enable: true, port: 1, prometheus: {exporter: {enabled: false}}",
            "dubbo.metrics.prometheus.exporter.enabled: asks for no pages",
        ),
        (
            "enable: true, prometheus: {pushgateway: {enabled: true}}",
            "dubbo.metrics.prometheus.pushgateway: needs a `base-url`",
        ),
        (
            "enable: true, prometheus: {pushgateway: {enabled: true, base-url: 'gate:9091'}}",
            "base-url: expected a URL such as `http://pushgateway:9091`",
        ),
        (
            "enable: true, prometheus: {pushgateway: {enabled: true, base-url: 'https://gate'}}",
            "set `tls_config.ca-cert-file` to what it is trusted by",
        ),
        (
            "enable: true, prometheus: {pushgateway: {push-interval: 0}}",
            "push-interval: expected at least 1 s",
        ),
        (
            "enable: true, aggregation: {bucket-num: 0}",
            "expected a whole number from 1 to 120",
        ),
    ] {
        let refused = refusal(&format!("dubbo: {{metrics: {{{metrics}}}}}"));
        assert!(refused.contains(want), "{metrics}: {refused}");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_keeps_an_instance_from_starting() {
    let taken = tokio::net::TcpListener::bind("0.0.0.0:0")
        .await
        .expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let yaml = format!("dubbo: {{metrics: {{enable: true, port: {port}}}}}");
    let instance = load(&yaml).build().expect("valid");
    let refused = instance.start().await.expect_err("it is taken").to_string();
    assert!(
        refused.contains(&format!("`dubbo.metrics.port` cannot be used: {port}: ")),
        "{refused}"
    );
}
