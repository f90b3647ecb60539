use std::time::Duration;

use examples::greet::GreeterClient;
use tokio::net::TcpListener;

use super::{
    probe::Probe,
    rig::{greet, load, named, provide, url_of},
    support::{HASTY, QOS, get, port, registered},
};

#[tokio::test]
async fn the_status_is_json_with_services_references_retries_and_breakers() {
    let provider = provide(&format!(", {HASTY}"), named("x")).await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("free");
    let dead = format!("tri://{}", nobody.local_addr().expect("bound"));
    drop(nobody);
    let probe = Probe::new();
    let retry = "retry: {policies: {all: {max-attempts: 3, breaker: quick}}, breakers: {quick: {count: 1, min-calls: 1}}}";
    let sections = format!(
        "{QOS}, {HASTY}, {retry}, consumer: {{references: {{GreeterClient: {{url: '{};{dead}', loadbalance: roundrobin}}}}}}",
        url_of(&provider)
    );
    let instance = registered(&probe, &sections)
        .provide(named("own"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    for _ in 0..4 {
        let _ = greet(&greeter, "").await;
    }
    let answer = get(port(&instance), "/status").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.head.contains("content-type: application/json"));
    assert!(answer.head.contains("cache-control: no-store"));
    let status: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    assert_eq!(status["application"], "shop");
    assert_eq!(status["phase"], "started");
    assert_eq!(status["not_ready"], serde_json::Value::Null);
    let service = &status["services"][0];
    assert_eq!(service["service"], "greet.Greeter");
    assert_eq!(
        service["registered"],
        serde_json::json!([{"registry": "r", "by": "interface", "online": true}])
    );
    assert_eq!(service["methods"][0]["method"], "Greet");
    let source = &status["references"][0]["sources"][0];
    assert_eq!(source["origin"], "direct URLs");
    assert_eq!(source["providers"].as_array().map(Vec::len), Some(2));
    let unavailable = source["providers"].as_array().into_iter().flatten();
    let unavailable = unavailable.filter(|one| !one["unavailable"].is_null());
    assert_eq!(unavailable.count(), 1, "{source}");
    assert_eq!(status["registries"][0]["address"], "probe://here");

    let own = instance.status().await;
    assert_eq!(own.services.len(), 1);
    assert_eq!(own.references.len(), 1);
    drop(greeter);
    assert!(
        instance.status().await.references.is_empty(),
        "nobody has a client any more"
    );
    instance.shutdown(Duration::ZERO).await;
    assert_eq!(instance.status().await.phase, "ended");
}

#[tokio::test]
async fn attempts_that_failed_are_told_the_last_one_first() {
    let failing = super::rig::answering(|_| Err(dubbo::Status::unavailable("down")));
    let provider = provide(&format!(", {HASTY}"), failing).await;
    let yaml = format!(
        "dubbo: {{{QOS}, consumer: {{references: {{GreeterClient: {{url: '{}', retries: 1}}}}}}}}",
        url_of(&provider)
    );
    let instance = load(&yaml).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    greet(&greeter, "").await.expect_err("down");
    let retries = instance.status().await.retries;
    let told: Vec<_> = retries
        .iter()
        .map(|one| {
            (
                one.attempt,
                one.allowed,
                one.method.as_str(),
                one.code.as_str(),
                one.message.as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (2, 2, "Greet", "unavailable", "down"),
            (1, 2, "Greet", "unavailable", "down")
        ]
    );
    assert_eq!(retries[0].provider, url_of(&provider));
    assert_eq!(retries[0].service, "greet.Greeter");
}

#[tokio::test]
async fn the_page_is_one_document_that_needs_nothing_else() {
    let instance = load(&format!("dubbo: {{{QOS}}}")).build().expect("valid");
    instance.start().await.expect("starts");
    let page = get(port(&instance), "/").await;
    assert_eq!(page.status, 200);
    assert!(
        page.head.contains("content-type: text/html"),
        "{}",
        page.head
    );
    assert!(
        page.head
            .contains("content-security-policy: default-src 'none'"),
        "{}",
        page.head
    );
    for outside in [
        "http://",
        "https://",
        "src=",
        "<link",
        "@import",
        "innerHTML",
    ] {
        assert!(!page.body.contains(outside), "{outside}");
    }
    instance.shutdown(Duration::ZERO).await;
}
