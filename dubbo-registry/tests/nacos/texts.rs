//! Metadata, mappings and rules.

use std::time::Duration;

use bytes::Bytes;
use dubbo_core::{
    metadata::{CasOutcome, Mapping},
    registry::RegistryErrorKind,
};
use dubbo_test::{nacos::ConfigKey, soon};
use tokio::time::sleep;

use crate::world::{Program, quick_nacos};

/// Case 89 and T12.
#[tokio::test(flavor = "multi_thread")]
async fn registry_t12_metadata_are_written_and_read_where_java_has_them() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let report = program.report();
    let document = Bytes::from_static(br#"{"app":"demo","revision":"r1","services":{}}"#);
    let published = report.publish_app("demo", "r1", document.clone()).await;
    published.expect("publishes");
    // What was written is read at once, although servers take their time.
    let read = report.app("demo", "r1").await.expect("reads");
    assert_eq!(read, Some(document));
    for (group, data_id) in [("r1", "demo"), ("DEFAULT_GROUP", "demo:r1")] {
        let key = ConfigKey::new("", group, data_id);
        assert!(nacos.config(&key).is_some(), "{key}");
    }
    // dubbo-go's revisions just fit into the name of a group.
    for (length, legal) in [(128, true), (129, false)] {
        let revision = "f".repeat(length);
        nacos.publish_config(&ConfigKey::new("", &revision, "theirs"), "{}");
        let read = report.app("theirs", &revision);
        match read.await {
            Ok(_) => assert!(legal),
            Err(error) => {
                assert!(!legal, "{error}");
                assert!(error.to_string().contains("129 characters long"), "{error}");
                assert_eq!(error.kind, RegistryErrorKind::Refused);
            }
        }
    }
    report.remove_app("demo", "r1").await.expect("removes");
    assert_eq!(report.app("demo", "r1").await.expect("reads"), None);
    assert_eq!(nacos.config(&ConfigKey::new("", "r1", "demo")), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn registry_t11_a_mapping_is_compared_by_the_digest_of_its_bytes() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let report = program.report();
    let (none, ticket) = report.mapping("org.example.Greeter").await.expect("reads");
    assert!(none.is_empty());
    let [first, other, both] = ["demo-app", "x", "demo-app,x"].map(Mapping::parse);
    let interface = "org.example.Greeter";
    let written = report.cas_mapping(interface, &first, ticket.clone());
    assert_eq!(written.await.expect("writes"), CasOutcome::Written);
    let key = ConfigKey::new("", "mapping", interface);
    let config = nacos.config(&key).expect("is there");
    assert_eq!(config.content, "demo-app");
    assert_eq!(nacos.requests("ConfigPublishRequest")[0]["casMd5"], "0");
    // The key is not absent any more.
    let again = report.cas_mapping(interface, &other, ticket);
    assert_eq!(again.await.expect("no error"), CasOutcome::Conflict);
    let (read, ticket) = report.mapping(interface).await.expect("reads");
    assert_eq!(read, first);
    assert_eq!(ticket.0.as_deref(), Some(config.md5.as_str()));
    let written = report.cas_mapping(interface, &both, ticket);
    assert_eq!(written.await.expect("writes"), CasOutcome::Written);
}

/// T11 and T14: nacos-sdk tells neither that a text is new nor that it is deleted, and reads on what it was.
#[tokio::test(flavor = "multi_thread")]
async fn registry_t14_a_text_that_comes_or_goes_is_noticed() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let center = program.center();
    let key = ConfigKey::new("", "dubbo", "demo.tag-router");
    let mut watch = center
        .watch("demo.tag-router", "dubbo")
        .await
        .expect("watches");
    assert_eq!(watch.current().state.expect("no error"), None);
    for text in [Some("one"), None, Some("one"), Some("two"), None] {
        match text {
            Some(text) => nacos.publish_config(&key, text),
            None => nacos.remove_config(&key),
        }
        soon(&format!("{text:?}"), async {
            while watch.current().state.expect("no error").as_deref() != text {
                watch.changed().await.expect("goes on");
            }
        })
        .await;
    }
}

/// Case 75: an empty text is another thing than none, and cannot be had.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_text_is_refused_with_the_reason() {
    let nacos = quick_nacos().await;
    let program = Program::on(&nacos);
    let center = program.center();
    for text in ["", " \n"] {
        let error = center.publish("demo.tag-router", "dubbo", text).await;
        let error = error.expect_err("cannot be kept");
        assert_eq!(error.kind, RegistryErrorKind::Refused);
        assert!(
            error.to_string().contains("no text that is empty or blank"),
            "{error}"
        );
    }
    assert!(nacos.requests("ConfigPublishRequest").is_empty());
}

/// The client of nacos-sdk for texts hears nothing of the end of its connection, and asking keeps it from noticing.
#[tokio::test(flavor = "multi_thread")]
async fn texts_are_read_and_written_again_after_a_restart() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=1s");
    let report = program.report();
    let metadata = Bytes::from_static(b"{}");
    report
        .publish_app("demo", "r1", metadata.clone())
        .await
        .expect("publishes");
    nacos.stop().await;
    sleep(Duration::from_secs(1)).await;
    nacos.start_again().await;
    let asked = async {
        while report
            .publish_app("demo", "r2", metadata.clone())
            .await
            .is_err()
        {
            sleep(Duration::from_millis(100)).await;
        }
    };
    let asked = tokio::time::timeout(Duration::from_mins(1), asked).await;
    asked.expect("it is written again");
    assert_eq!(
        report.app("demo", "r2").await.expect("reads"),
        Some(metadata)
    );
}
