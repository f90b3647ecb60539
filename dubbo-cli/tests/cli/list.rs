//! `dubbo ls`, `dubbo mapping` and `dubbo explain` on a registry.

use crate::rig::{Provider, dubbo, dubbo_of, folder};

#[tokio::test]
async fn applications_and_services_are_listed() {
    let (_provider, registry) = Provider::registered().await;
    let run = dubbo(&["ls", "--registry", &registry]).await.exits(0);
    assert!(run.out.starts_with("APPLICATION"), "{run:?}");
    for want in [
        "greeter-provider  1",
        "com.example.UserService:1.0.0  2",
        "greet.Greeter",
    ] {
        assert!(run.out.contains(want), "{want} in {run:?}");
    }
    let run = dubbo(&["--json", "ls", "--registry", &registry])
        .await
        .exits(0);
    let registries = run.json()["registries"].clone();
    assert_eq!(registries[0]["registry"], registry);
    assert_eq!(
        registries[0]["applications"][0]["application"],
        "greeter-provider"
    );
    let services = registries[0]["services"].as_array().expect("a list");
    let is_greeter = |one: &serde_json::Value| one["service"] == "greet.Greeter";
    assert!(services.iter().any(is_greeter), "{services:?}");
}

#[tokio::test]
async fn instances_and_providers_are_listed_by_their_names() {
    let (provider, registry) = Provider::registered().await;
    let ls = ["--json", "ls", "--registry", &registry];
    let run = dubbo_of(&[&ls[..], &["--app", "greeter-provider"]]).await;
    let listed = run.exits(0).json();
    let instance = &listed["instances"][0];
    assert_eq!(instance["healthy"], true);
    assert!(instance["metadata"]["dubbo.metadata.revision"].is_string());
    let run = dubbo_of(&[&ls[..], &["--service", "greet.Greeter"]]).await;
    let listed = run.exits(0).json();
    let providers = listed["providers"].as_array().expect("a list");
    for path in ["application", "interface"] {
        let is_listed =
            |one: &serde_json::Value| one["provider"] == *provider.triple && one["foundBy"] == path;
        assert!(providers.iter().any(is_listed), "{path}: {listed}");
    }
}

#[tokio::test]
async fn nobody_is_the_answer_no() {
    let (_provider, registry) = Provider::registered().await;
    let empty = format!("file://{}", folder().display());
    for (words, want) in [
        (
            &["ls", "--registry", &registry, "--app", "nobody"][..],
            "nobody has no instance",
        ),
        (
            &["ls", "--registry", &registry, "--service", "a.B"],
            "a.B has no provider",
        ),
        (
            &["mapping", "--registry", &empty, "a.B"],
            "a.B is mapped to no application",
        ),
        (
            &["explain", "--registry", &registry, "a.B"],
            "a.B has no provider that can be called",
        ),
    ] {
        let run = dubbo(words).await.exits(1);
        assert!(run.err.contains(want), "{want} in {run:?}");
        assert!(!run.out.is_empty(), "{run:?}");
    }
    let run = dubbo(&["ls"]).await.exits(2);
    assert!(run.err.contains("--registry"), "{run:?}");
}

#[tokio::test]
async fn a_mapping_names_the_applications_of_an_interface() {
    let (_provider, registry) = Provider::registered().await;
    let run = dubbo(&["mapping", "--registry", &registry, "greet.Greeter"]).await;
    let run = run.exits(0);
    assert!(run.out.contains("greeter-provider"), "{run:?}");
    let run = dubbo(&[
        "--json",
        "mapping",
        "--registry",
        &registry,
        "greet.Greeter",
    ])
    .await;
    let mapping = run.exits(0).json();
    assert_eq!(mapping["reports"][0]["applications"][0], "greeter-provider");
}

#[tokio::test]
async fn an_explanation_has_its_steps() {
    let (_provider, registry) = Provider::registered().await;
    let run = dubbo(&["explain", "--registry", &registry, "greet.Greeter"]).await;
    let run = run.exits(0);
    assert!(
        run.out.starts_with("greet.Greeter can be called"),
        "{run:?}"
    );
    let words = [
        "--json",
        "explain",
        "--registry",
        &registry,
        "com.example.UserService:1.0.0",
        "--method",
        "getUser",
    ];
    let explained = dubbo(&words).await.exits(0).json();
    assert_eq!(explained["available"], true);
    let steps = explained["roads"][0]["steps"].as_array().expect("a list");
    assert!(!steps.is_empty());
}
