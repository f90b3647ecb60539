//! Mappings, metadata and texts of the config center.

use std::{collections::BTreeSet, sync::Arc};

use dubbo_core::{
    metadata::{CasOutcome, MetadataReport},
    registry::RegistryErrorKind,
};
use dubbo_test::soon;
use tokio::task::JoinSet;

use crate::{
    servers::{Program, corner, server},
    world::{Eyes, GLANCE},
};

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn registry_t10_of_many_that_write_a_mapping_none_is_lost() {
    let (eyes, root) = (Eyes::on(&server()), corner("race"));
    let report = |_| Program::new(&server(), &format!("group={root}")).report();
    let reports: Vec<_> = (0..4).map(report).collect();
    for report in &reports {
        ready(&**report).await;
    }
    for round in 0..100 {
        let interface = format!("x.Y{round}");
        let mut writers = JoinSet::new();
        for (number, report) in reports.iter().enumerate() {
            let (report, interface) = (Arc::clone(report), interface.clone());
            writers.spawn(async move {
                add(&*report, &interface, &format!("app-{number}")).await;
            });
        }
        writers.join_all().await;
        let (mapping, _) = reports[0].mapping(&interface).await.expect("answers");
        let names: BTreeSet<_> = mapping.applications().iter().collect();
        assert_eq!(names.len(), reports.len(), "{mapping}");
    }
    let text = eyes
        .text(&format!("{root}/mapping/x.Y0"))
        .await
        .expect("is there");
    assert_eq!(text.split(',').count(), 4, "{text}");
    assert_eq!(
        eyes.item(&format!("{root}/mapping/x.Y0"))
            .await
            .expect("is there")
            .lease,
        0
    );
    for report in reports {
        report.close().await;
    }
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_ticket_is_of_the_key_and_not_of_the_store() {
    let (eyes, root) = (Eyes::on(&server()), corner("ticket"));
    let report = Program::new(&server(), &format!("group={root}")).report();
    ready(&*report).await;
    eyes.put(&format!("{root}/mapping/x.Y"), "old").await;
    let (mut mapping, ticket) = report.mapping("x.Y").await.expect("answers");
    // dubbo-go 3.3.2 would fail from now on.
    eyes.put(&format!("{root}/else"), "").await;
    assert!(mapping.add("new"));
    let outcome = report.cas_mapping("x.Y", &mapping, ticket.clone()).await;
    assert_eq!(outcome.expect("answers"), CasOutcome::Written);
    let outcome = report.cas_mapping("x.Y", &mapping, ticket).await;
    assert_eq!(outcome.expect("answers"), CasOutcome::Conflict);
    let text = eyes.text(&format!("{root}/mapping/x.Y")).await;
    assert_eq!(text.as_deref(), Some("old,new"));
    report.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn registry_t12_metadata_of_dubbo_go_is_found_and_ours_stands_where_it_looks() {
    let (eyes, root) = (Eyes::on(&server()), corner("metadata"));
    let report = Program::new(&server(), &format!("group={root}")).report();
    ready(&*report).await;
    for (path, revision) in [("metadata/app/r1", "r1"), ("app/r2", "r2")] {
        eyes.put(&format!("{root}/{path}"), revision).await;
        let found = report.app("app", revision).await.expect("answers");
        assert_eq!(found.expect(revision), revision);
    }
    assert_eq!(report.app("app", "r3").await.expect("answers"), None);
    report
        .publish_app("app", "r3", "{}".into())
        .await
        .expect("publishes");
    for path in ["metadata/app/r3", "app/r3"] {
        let text = eyes.text(&format!("{root}/{path}")).await;
        assert_eq!(text.as_deref(), Some("{}"), "{path}");
    }
    let revisions = report.list_app("app").await.expect("answers");
    let revisions: Vec<_> = revisions.iter().map(|(revision, _)| &**revision).collect();
    assert_eq!(revisions, ["r1", "r3"]);
    report.remove_app("app", "r3").await.expect("removes");
    assert_eq!(eyes.keys(&format!("{root}/app")).await, ["r2"]);
    report.close().await;
    eyes.delete_all(&root).await;
}

#[tokio::test]
#[ignore = "needs an etcd server"]
async fn a_text_that_is_too_large_is_refused_and_the_connection_goes_on() {
    let (eyes, root) = (Eyes::on(&server()), corner("large"));
    let center = Program::new(&server(), &format!("namespace={root}")).center();
    soon("an answer", async {
        while center.publish("k", "g", "small").await.is_err() {
            tokio::time::sleep(GLANCE).await;
        }
    })
    .await;
    // The first is more than etcd takes, the second more than its gRPC does.
    for size in [1_700_000, 3_000_000] {
        let large = "x".repeat(size);
        let error = center
            .publish("k", "g", &large)
            .await
            .expect_err("too large");
        assert_eq!(error.kind, RegistryErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("--max-request-bytes"), "{error}");
    }
    let fits = "x".repeat(1_500_000);
    center.publish("k", "g", &fits).await.expect("fits");
    let text = center.get("k", "g").await.expect("answers");
    assert_eq!(text.expect("is there").len(), fits.len());
    center.close().await;
    eyes.delete_all(&root).await;
}

/// Waits until the report answers: it makes one attempt each time.
async fn ready(report: &dyn MetadataReport) {
    soon("an answer", async {
        while report.mapping("none").await.is_err() {
            tokio::time::sleep(GLANCE).await;
        }
    })
    .await;
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
