//! What is written about telemetry: the dashboard shows what there is, and what the page says works.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use examples::greet::{GreeterClient, GreeterServer};
use serde_json::Value;

use super::{
    metrics::{Numbers, ask},
    rig::{Answering, greet, load},
};

const DASHBOARD: &str = include_str!("../../../dashboards/dubbo.json");
const PAGE: &str = include_str!("../../../docs/observability.md");

/// All that an application shows that provides and calls by a registry.
async fn shown() -> BTreeMap<String, BTreeSet<String>> {
    let yaml = "dubbo: {application: {name: shown}, protocols: {tri: {ip: 127.0.0.1, port: 0}}, \
                registries: {m: {protocol: memory, registry-type: all}}, \
                metrics: {enable: true, enable-registry: true, enable-metadata: true, port: 0}}";
    let service = Answering(|_: &dubbo::Request<examples::greet::GreetRequest>| Ok(String::new()));
    let instance = load(yaml).provide(GreeterServer::new(service));
    let instance = instance.build().expect("valid");
    instance.start().await.expect("starts");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    greet(&greeter, "").await.expect("greets");
    let address = instance.metrics_address().expect("it is open");
    let (_, text) = ask(address, "GET /metrics").await;
    let mut shown: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (name, labels) in Numbers::read(&text).all() {
        let known = shown.entry(name.to_owned()).or_default();
        known.extend(labels.keys().cloned());
    }
    drop(greeter);
    instance.shutdown(Duration::from_secs(5)).await;
    shown
}

/// The words of an expression, and whether a parenthesis or brace follows.
fn words(expression: &str) -> Vec<String> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let words = expression.split(|c: char| !is_of_word(c));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The texts in double quotes are values and no names.
fn without_values(expression: &str) -> String {
    expression
        .split('"')
        .step_by(2)
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn the_dashboard_shows_only_numbers_and_labels_that_there_are() {
    let shown = shown().await;
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() > 10);
    let mut seen = 0;
    for target in panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("targets"))
    {
        let expression = target["expr"].as_str().expect("an expression");
        let words = words(&without_values(expression));
        let metrics: Vec<_> = words
            .iter()
            .filter(|word| word.starts_with("dubbo_"))
            .collect();
        assert!(!metrics.is_empty(), "{expression}");
        for metric in &metrics {
            seen += 1;
            let labels = shown.get(*metric);
            let labels =
                labels.unwrap_or_else(|| panic!("{metric} is not there: {:?}", shown.keys()));
            let used = words.iter().filter(|word| {
                let language = [
                    "sum",
                    "by",
                    "rate",
                    "max",
                    "avg",
                    "count",
                    "$__rate_interval",
                ];
                !word.starts_with("dubbo_") && !language.contains(&word.as_str())
            });
            for label in used {
                assert!(
                    labels.contains(label),
                    "{metric} has no label {label}: {labels:?}"
                );
            }
            let legend = target["legendFormat"].as_str().expect("a legend");
            for label in legend.split("{{").skip(1) {
                let label = label.split("}}").next().expect("an end");
                assert!(
                    labels.contains(label),
                    "{metric} has no label {label}: {labels:?}"
                );
            }
        }
    }
    assert!(seen > 30, "{seen} numbers are shown");
    for variable in dashboard["templating"]["list"]
        .as_array()
        .expect("variables")
    {
        let Some(query) = variable["query"]["query"].as_str() else {
            continue;
        };
        let names = words(&without_values(query));
        let label = names.last().expect("a label");
        assert!(
            shown["dubbo_provider_requests_total"].contains(label),
            "{query}"
        );
    }
}

/// The blocks of the page in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fences = PAGE.split("```").skip(1).step_by(2);
    fences
        .filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'))
        .collect()
}

#[tokio::test]
async fn each_configuration_on_the_page_is_one() {
    let blocks = blocks("yaml");
    let ours: Vec<_> = blocks
        .iter()
        .filter(|block| block.starts_with("dubbo:"))
        .collect();
    assert!(ours.len() >= 3, "{blocks:?}");
    for block in ours {
        if let Err(error) = load(block).build() {
            panic!("{error}: {block}");
        }
    }
}

#[tokio::test]
async fn each_number_on_the_page_is_there() {
    let shown = shown().await;
    let tables = PAGE.lines().filter(|line| line.starts_with("| `dubbo_"));
    let mut names = 0;
    for line in tables {
        let column = line.split('|').nth(1).expect("a column");
        for name in column.split('`').skip(1).step_by(2) {
            for side in ["provider", "consumer"] {
                names += 1;
                let name = name.replace("<side>", side);
                assert!(
                    shown.contains_key(&name),
                    "{name} is not there: {:?}",
                    shown.keys()
                );
            }
        }
    }
    assert!(names > 30, "{names} names are on the page");
}
