//! Texts as they stand on the server.

use std::sync::Arc;

use dubbo_core::{
    metadata::{CasOutcome, Mapping, MetadataReport},
    registry::RegistryErrorKind,
    subscription::Subscription,
};
use dubbo_test::soon;

use crate::{
    servers::{Program, corner, server},
    world::Eyes,
};

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn two_who_write_one_mapping_lose_nobody() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("race"));
    let params = format!("group={root}");
    let reports = [(); 2].map(|()| Program::new(&server(), &params).report());
    let [a, b] = &reports;
    for round in 0..100 {
        let interface = format!("x.Y{round}");
        tokio::join!(add(&**a, &interface, "appA"), add(&**b, &interface, "appB"));
        let text = eyes
            .data(&format!("{root}/mapping/{interface}"))
            .await
            .expect("is there");
        let mut names: Vec<_> = text.split(',').collect();
        names.sort_unstable();
        assert_eq!(names, ["appA", "appB"], "round {round}");
    }
    for report in reports {
        report.close().await;
    }
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_mapping_is_one_node_that_stays_and_is_followed() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("mapping"));
    let report = Program::new(&server(), &format!("group={root}")).report();
    let path = format!("{root}/mapping/org.example.Outer$Inner");
    let mut followed = report
        .watch_mapping("org.example.Outer$Inner")
        .await
        .expect("follows");
    add(&*report, "org.example.Outer$Inner", "demo-app").await;
    assert_eq!(eyes.data(&path).await.as_deref(), Some("demo-app"));
    assert_eq!(eyes.owner(&path).await, Some(0));
    until(&mut followed, |mapping| mapping.contains("demo-app")).await;
    eyes.put(&path, "demo-app, other").await;
    until(&mut followed, |mapping| mapping.contains("other")).await;
    eyes.delete(&path).await;
    until(&mut followed, Mapping::is_empty).await;
    report.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn metadata_of_java_and_of_dubbo_go_is_found() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("metadata"));
    let report = Program::new(&server(), &format!("group={root}")).report();
    for (path, revision) in [("metadata/app/r1", "r1"), ("app/r2", "r2")] {
        eyes.put(&format!("{root}/{path}"), revision).await;
        let found = report
            .app("app", revision)
            .await
            .expect("answers")
            .expect(revision);
        assert_eq!(found, revision);
    }
    assert_eq!(report.app("app", "r3").await.expect("answers"), None);
    report
        .publish_app("app", "r3", "{}".into())
        .await
        .expect("publishes");
    let revisions = report.list_app("app").await.expect("answers");
    let revisions: Vec<_> = revisions.iter().map(|(revision, _)| &**revision).collect();
    assert_eq!(revisions, ["r1", "r3"]);
    report.remove_app("app", "r3").await.expect("removes");
    assert_eq!(eyes.children(&format!("{root}/app")).await, ["r2"]);
    report
        .store_definition("x.Y:1.0.0:g1:provider:app", "{}".into())
        .await
        .expect("stores");
    let path = format!("{root}/metadata/x.Y/1.0.0/g1/provider/app");
    assert_eq!(eyes.data(&path).await.as_deref(), Some("{}"));
    report.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn registry_t14_an_empty_rule_is_told_from_none() {
    let (eyes, root) = (Eyes::on(&server()).await, corner("rules"));
    let center = Program::new(&server(), &format!("namespace={root}")).center();
    let (key, path) = (
        "demo-app.condition-router",
        format!("{root}/config/dubbo/demo-app.condition-router"),
    );
    let mut followed = center.watch(key, "dubbo").await.expect("follows");
    let mut text = async |want: Option<&str>| {
        soon(&format!("{want:?}"), async {
            while followed.current().state.ok().as_ref().map(Option::as_deref) != Some(want) {
                followed.changed().await.expect("it goes on");
            }
        })
        .await;
    };
    text(None).await;
    center
        .publish(key, "dubbo", "force: true")
        .await
        .expect("publishes");
    text(Some("force: true")).await;
    assert_eq!(eyes.data(&path).await.as_deref(), Some("force: true"));
    eyes.put(&path, "").await;
    text(Some("")).await;
    eyes.delete(&path).await;
    text(None).await;
    eyes.put(&path, "force: false").await;
    text(Some("force: false")).await;
    center.remove(key, "dubbo").await.expect("removes");
    text(None).await;
    center
        .remove(key, "dubbo")
        .await
        .expect("it is gone, as was asked");
    center.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs a ZooKeeper server"]
async fn a_text_that_is_too_large_is_refused_before_the_server_hangs_up() {
    let root = corner("large");
    let center = Program::new(&server(), &format!("namespace={root}")).center();
    center.publish("k", "g", "small").await.expect("publishes");
    let large = "x".repeat(1_048_576);
    let error = center
        .publish("k", "g", &large)
        .await
        .expect_err("too large");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    assert!(error.to_string().contains("jute.maxbuffer"), "{error}");
    let text = center
        .get("k", "g")
        .await
        .expect("answers")
        .expect("is there");
    assert_eq!(&*text, "small");
    let fits = "x".repeat(1_048_575 - 1_000);
    center.publish("k", "g", &fits).await.expect("fits");
    center.close().await;
    Eyes::on(&server()).await.delete_all(&root).await;
}

async fn add(report: &dyn MetadataReport, interface: &str, application: &str) {
    loop {
        let (mut mapping, ticket) = report.mapping(interface).await.expect("answers");
        if !mapping.add(application) {
            return;
        }
        let outcome = report.cas_mapping(interface, &mapping, ticket).await;
        if outcome.expect("answers") == CasOutcome::Written {
            return;
        }
    }
}

async fn until(followed: &mut Subscription<Arc<Mapping>>, is_it: impl Fn(&Mapping) -> bool) {
    soon("a mapping", async {
        while !followed
            .current()
            .state
            .is_ok_and(|mapping| is_it(&mapping))
        {
            followed.changed().await.expect("it goes on");
        }
    })
    .await;
}
