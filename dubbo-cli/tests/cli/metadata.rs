//! `dubbo metadata diff`.

use dubbo::{
    Instance,
    config::{ProtocolConfig, RegistryConfig},
};
use examples::{
    Polite,
    greet::GreeterServer,
    users::{UserServiceServer, Users},
};

use crate::rig::{Provider, dubbo, dubbo_of, folder};

/// Two instances of one application that do not serve the same.
async fn two(registry: &str) -> [Instance; 2] {
    let on = |registry: &str| {
        Instance::builder()
            .application("shop")
            .protocol("triple", ProtocolConfig::tri().ip("127.0.0.1").port(0))
            .registry("local", RegistryConfig::at(registry))
            .provide(GreeterServer::new(Polite))
    };
    let older = on(registry).build().expect("valid");
    let newer = on(registry).provide(UserServiceServer::new(Users));
    let both = [older, newer.build().expect("valid")];
    for instance in &both {
        instance.start().await.expect("starts");
    }
    both
}

#[tokio::test]
async fn two_instances_differ_in_what_they_serve() {
    let registry = format!("file://{}", folder().display());
    let both = two(&registry).await;
    let [older, newer] = both
        .each_ref()
        .map(|instance| instance.exported()[0].address());
    let diff = ["metadata", "diff", "--registry", &registry, "--app", "shop"];
    let run = dubbo_of(&[&diff[..], &[&older, &newer]]).await.exits(1);
    let added = "+ com.example.UserService:1.0.0:tri";
    assert!(run.out.lines().any(|line| line == added), "{run:?}");
    let run = dubbo_of(&[&["--json"], &diff[..], &[&newer, &older]])
        .await
        .exits(1);
    assert_eq!(
        run.json()["removed"][0],
        "com.example.UserService:1.0.0:tri"
    );
    let run = dubbo_of(&[&diff[..], &[&older, &older]]).await.exits(0);
    assert!(run.out.contains("the same services"), "{run:?}");
    // Revisions will do, and their first letters.
    let run = dubbo(&["--json", "ls", "--registry", &registry, "--app", "shop"]).await;
    let listed = run.exits(0).json();
    let instances = listed["instances"].as_array().expect("a list").clone();
    let revision = |address: &str| {
        let found = instances.iter().find(|one| one["instance"] == address);
        let revision = &found.expect("is listed")["metadata"]["dubbo.metadata.revision"];
        revision.as_str().expect("is text")[..8].to_owned()
    };
    let revisions = [revision(&older), revision(&newer)];
    let words = [&diff[..], &[&revisions[0], &revisions[1]]].concat();
    assert!(dubbo(&words).await.exits(1).out.contains(added));
    let run = dubbo_of(&[&diff[..], &["0", "10.0.0.1:1"]]).await.exits(2);
    assert!(
        run.err.contains(&older),
        "it names those that there are: {run:?}"
    );
}

#[tokio::test]
async fn a_process_answers_for_its_revisions() {
    let yaml = "dubbo: {metadata: {admin: true, token: s3cret}, registries: {m: {protocol: memory}}, \
                protocols: {t: {name: tri, ip: 127.0.0.1, port: 0}}}";
    let options = dubbo::config::LoadOptions::text("dubbo.yaml", yaml);
    let builder = Instance::load_with(&options).expect("is YAML");
    let builder = builder
        .application("shop")
        .provide(GreeterServer::new(Polite));
    let shop = Provider::triple_of(builder).await;
    let diff = ["metadata", "diff", "0", "0", "--at", &shop.1];
    let run = dubbo_of(&[&diff[..], &["--token", "s3cret"]])
        .await
        .exits(0);
    assert!(run.out.contains("the same services"), "{run:?}");
    let run = dubbo(&diff).await.exits(4);
    assert!(run.err.contains("token"), "{run:?}");
    let run = dubbo(&["metadata", "diff", "0", "1"]).await.exits(2);
    assert!(run.err.contains("--app"), "{run:?}");
}
