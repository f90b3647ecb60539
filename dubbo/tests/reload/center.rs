//! A configuration whose document in a config center changes: case 116 of dubbo-go#1517.

use std::sync::Arc;

use dubbo::{Instance, spi::config_center::ConfigCenter};
use dubbo_test::center::Center;
use examples::greet::GreeterClient;

use super::rig::{
    File, Traffic, answering, becomes, greet, provide, remaining, says, url_of, wait_in_vain,
};

const FILE: &str = "dubbo: {application: {name: boss}, config-center: {address: 'central://here:1', data-id: boss.yaml}}";

fn build(file: &File, center: &Center) -> Instance {
    let center = center.clone();
    let builder = file
        .load()
        .extension::<dyn ConfigCenter>("central", move |_| Ok(Arc::new(center.clone())));
    builder.build().expect("valid")
}

#[tokio::test]
async fn timeout_load_balance_and_tag_rule_change_in_the_center_while_calls_run() {
    let named =
        |name: &'static str| answering(move |request| Ok(format!("{name}/{}", remaining(request))));
    let (one, gray) = (provide(named("one")).await, provide(named("gray")).await);
    let two = provide(named("two")).await;
    let urls = [&one, &gray, &two].map(|it| format!("{}/?application=users", url_of(it)));
    let urls = urls.join(";");
    let document = |sections: &str, options: &str| {
        format!(
            "dubbo: {{{sections} consumer: {{references: {{GreeterClient: {{url: '{urls}', {options}}}}}}}}}"
        )
    };
    let center = Center::new("here");
    center.put(
        "boss.yaml",
        &document("", "loadbalance: random, timeout: 60s"),
    );
    let file = File::new(FILE);
    let instance = build(&file, &center);
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let seen = || async {
        let mut seen = Vec::new();
        for _ in 0..6 {
            seen.push(greet(&greeter).await.expect("answers"));
        }
        seen
    };
    assert!(seen().await.iter().all(|answer| answer.ends_with("/60")));
    let traffic = Traffic::start(&greeter);

    center.put(
        "boss.yaml",
        &document("", "loadbalance: random, timeout: 20s"),
    );
    becomes("the timeout", || async {
        seen().await.iter().all(|answer| answer.ends_with("/20"))
    })
    .await;

    center.put(
        "boss.yaml",
        &document("", "loadbalance: roundrobin, timeout: 20s"),
    );
    becomes("the load balance", || async {
        let seen = seen().await;
        // Others call meanwhile, so no order is sure; but nobody is left out for long.
        ["one", "gray", "two"]
            .iter()
            .all(|name| seen.iter().any(|answer| answer.starts_with(name)))
    })
    .await;

    let address = url_of(&gray);
    let address = address.trim_start_matches("tri://");
    let rule =
        format!("key: users\nenabled: true\ntags: [{{name: gray, addresses: ['{address}']}}]");
    center.put("users.tag-router", &rule);
    becomes("the tag rule", || async {
        seen()
            .await
            .iter()
            .all(|answer| !answer.starts_with("gray"))
    })
    .await;
    center.put(
        "boss.yaml",
        &document("", "loadbalance: roundrobin, timeout: 20s, tag: gray"),
    );
    becomes("the tag", || async {
        seen().await.iter().all(|answer| answer.starts_with("gray"))
    })
    .await;

    center.put("boss.yaml", "dubbo: {consumer: [");
    wait_in_vain().await;
    assert!(
        seen().await.iter().all(|answer| answer == "gray/20"),
        "the old stays"
    );
    traffic.was_all_well().await;
}

#[tokio::test]
async fn a_center_that_fails_keeps_what_it_said_and_a_file_changes_beneath_it() {
    let provider = provide(answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let yaml = |timeout: &str| {
        FILE.replace(
            "application:",
            &format!("consumer: {{request-timeout: {timeout}, references: {{GreeterClient: {{url: '{url}'}}}}}}, application:"),
        )
    };
    let of_center = |timeout: &str| format!("dubbo: {{consumer: {{request-timeout: {timeout}}}}}");
    let center = Center::new("here");
    center.put("boss.yaml", &of_center("60s"));
    let file = File::new(&yaml("50s"));
    let instance = build(&file, &center);
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter).await.expect("answers"), "60");
    center.fail("boss.yaml", "out of order");
    file.write(&yaml("40s"));
    wait_in_vain().await;
    assert_eq!(
        greet(&greeter).await.expect("answers"),
        "60",
        "the center is stronger"
    );
    center.put("boss.yaml", &of_center("30s"));
    says(&greeter, "30").await;
    center.delete("boss.yaml");
    says(&greeter, "40").await;
}
