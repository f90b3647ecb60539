//! What every [`MetadataReport`] does.
//!
//! As in [`registry`](super::registry): [`report_suite!`](crate::report_suite!) makes each function a test.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use dubbo_core::{
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::RegistryErrorKind,
    subscription::Subscription,
};

use super::{
    Hook, Subject,
    subject::{left_out, own},
};

/// What the suite runs on.
pub type Reports = Subject<dyn MetadataReport>;

/// Runs the suite on a subject, as [`registry_suite!`](crate::registry_suite!) does.
#[macro_export]
macro_rules! report_suite {
    ([$($attributes:tt)+] $subject:expr) => {
        $crate::suite_tests! { report [$($attributes)+] $subject;
            a_definition_is_kept,
            a_mapping_is_followed,
            a_mapping_is_made_by_one_and_changed_by_who_read_it,
            following_survives_a_restart_of_the_server,
            following_survives_lost_connections,
            groups_of_a_report_do_not_see_each_other,
            metadata_is_kept_by_revision,
            of_those_who_collect_one_is_first,
            revisions_are_listed_or_it_is_said_that_they_cannot_be,
            two_writers_lose_no_name,
            unsubscribing_leaves_nothing_behind,
            what_is_closed_says_so,
        }
    };
    ($subject:expr) => {
        $crate::report_suite! { [#[tokio::test]] $subject }
    };
}

/// Each revision has a text of its own, which others can read as soon as it is published.
pub async fn metadata_is_kept_by_revision(subject: Reports) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let app = own("app");
    assert_eq!(ours.app(&app, "r1").await.expect("no error"), None);
    let texts = [r#"{"app":"demo","revision":"r1"}"#, "{\"名\":\"a\\nb\"}"];
    for (revision, text) in ["r1", "r2"].into_iter().zip(texts) {
        let published = theirs.publish_app(&app, revision, Bytes::from(text)).await;
        published.expect("publishes");
        metadata(&subject, &*ours, &app, revision, Some(text)).await;
    }
    let changed = "{\"app\":\"demo\",\"revision\":\"r1\",\"lastUpdatedTime\":1}";
    let published = theirs.publish_app(&app, "r1", Bytes::from(changed)).await;
    published.expect("publishes again");
    metadata(&subject, &*ours, &app, "r1", Some(changed)).await;
    theirs.remove_app(&app, "r1").await.expect("removes");
    metadata(&subject, &*ours, &app, "r1", None).await;
    metadata(&subject, &*ours, &app, "r2", Some(texts[1])).await;
    theirs
        .remove_app(&app, "r1")
        .await
        .expect("it is gone, as was asked");
    let error = theirs
        .publish_app(&app, "r3", Bytes::from_static(b"\xff"))
        .await;
    assert_eq!(
        error.expect_err("not a text").kind,
        RegistryErrorKind::Refused
    );
    theirs.remove_app(&app, "r2").await.expect("removes");
}

/// What can be listed is complete; what cannot is refused, and not empty.
pub async fn revisions_are_listed_or_it_is_said_that_they_cannot_be(subject: Reports) {
    let report = subject.handle();
    let app = own("listed");
    for revision in ["r1", "r2"] {
        let published = report
            .publish_app(&app, revision, Bytes::from_static(b"{}"))
            .await;
        published.expect("publishes");
    }
    match report.list_app(&app).await {
        Ok(listed) => {
            let mut revisions: Vec<_> = listed.into_iter().map(|(revision, _)| revision).collect();
            revisions.sort();
            assert_eq!(revisions, ["r1", "r2"]);
            let none = report.list_app(&own("unlisted")).await.expect("lists");
            assert!(none.is_empty(), "{none:?}");
        }
        Err(error) => assert_eq!(error.kind, RegistryErrorKind::Refused, "{error}"),
    }
    for revision in ["r1", "r2"] {
        report.remove_app(&app, revision).await.expect("removes");
    }
}

/// Who read it may change it, once; of two who found nothing one writes.
pub async fn a_mapping_is_made_by_one_and_changed_by_who_read_it(subject: Reports) {
    if let Err(reason) = subject.hooks.compares {
        left_out(
            "a_mapping_is_made_by_one_and_changed_by_who_read_it",
            reason,
        );
        return;
    }
    let report = subject.handle();
    let interface = own("Cas");
    let (absent, ticket) = report.mapping(&interface).await.expect("reads");
    assert!(absent.is_empty());
    let (x, y) = (Mapping::parse("x"), Mapping::parse("y"));
    let first = report.cas_mapping(&interface, &x, ticket.clone()).await;
    assert_eq!(first.expect("writes"), CasOutcome::Written);
    let second = report.cas_mapping(&interface, &y, ticket).await;
    assert_eq!(second.expect("answers"), CasOutcome::Conflict);
    let (found, ticket) = mapped(&subject, &*report, &interface, "x").await;
    let mut both = found.clone();
    assert!(both.add("y"));
    let third = report.cas_mapping(&interface, &both, ticket.clone()).await;
    assert_eq!(third.expect("writes"), CasOutcome::Written);
    let stale = report.cas_mapping(&interface, &found, ticket).await;
    assert_eq!(stale.expect("answers"), CasOutcome::Conflict);
    mapped(&subject, &*report, &interface, "x,y").await;
}

/// Who says first that it looks for stale metadata is the one who does, and the others are told.
pub async fn of_those_who_collect_one_is_first(subject: Reports) {
    if let Err(reason) = subject.hooks.compares {
        left_out("of_those_who_collect_one_is_first", reason);
        return;
    }
    let (one, other) = (subject.handle(), subject.handle());
    let app = own("collected");
    let mut last = None;
    for now in [1_700_000_000_000, 1_700_086_400_000] {
        let (found, ticket) = collection(&subject, &*one, &app, last).await;
        assert_eq!(found, last);
        let (_, late) = collection(&subject, &*other, &app, last).await;
        let first = one.cas_last_collection(&app, now, ticket.clone()).await;
        assert_eq!(first.expect("writes"), CasOutcome::Written);
        for (report, ticket) in [(&other, late), (&one, ticket)] {
            let second = report.cas_last_collection(&app, now + 1, ticket).await;
            assert_eq!(second.expect("answers"), CasOutcome::Conflict);
        }
        last = Some(now);
    }
    collection(&subject, &*other, &app, last).await;
    let another = other.last_collection(&own("uncollected")).await;
    assert_eq!(another.expect("reads").0, None);
}

/// Case 82 and T10: two who add names as fast as they can, a hundred times.
pub async fn two_writers_lose_no_name(subject: Reports) {
    if let Err(reason) = subject.hooks.compares {
        left_out("two_writers_lose_no_name", reason);
        return;
    }
    let interface = own("Race");
    let (one, other) = (subject.handle(), subject.handle());
    let add_all = async |report: &dyn MetadataReport, name: &str| {
        for round in 0..ROUNDS {
            let interface = format!("{interface}{}", round % 20);
            loop {
                let (mut mapping, ticket) = report.mapping(&interface).await.expect("reads");
                if !mapping.add(&format!("{name}{round}")) {
                    break;
                }
                let outcome = report.cas_mapping(&interface, &mapping, ticket).await;
                if outcome.expect("answers") == CasOutcome::Written {
                    break;
                }
                // Reads of some servers lag behind writes.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    let both = async { tokio::join!(add_all(&*one, "x"), add_all(&*other, "y")) };
    tokio::time::timeout(subject.hooks.patience.saturating_mul(10), both)
        .await
        .expect("both come to an end");
    for start in 0..20 {
        let interface = format!("{interface}{start}");
        let rounds = (start..ROUNDS).step_by(20);
        let mut want: Vec<_> = rounds
            .flat_map(|n| [format!("x{n}"), format!("y{n}")])
            .collect();
        want.sort();
        subject
            .soon("all names", async {
                loop {
                    let (found, _) = one.mapping(&interface).await.expect("reads");
                    let mut found = found.applications().to_vec();
                    found.sort();
                    if found == want {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            })
            .await;
    }
}

/// A watch is a state at once, also of what is not there, and follows what others write.
pub async fn a_mapping_is_followed(subject: Reports) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let interface = own("Followed");
    let mut watch = ours.watch_mapping(&interface).await.expect("watches");
    assert!(watch.current().state.expect("no error").is_empty());
    for names in ["x", "x,y", "x,y,z"] {
        write(&*theirs, &interface, names).await;
        sees(&subject, &mut watch, names).await;
    }
    let mut late = ours.watch_mapping(&interface).await.expect("watches");
    sees(&subject, &mut late, "x,y,z").await;
    drop(watch);
    write(&*theirs, &interface, "x,y,z,w").await;
    sees(&subject, &mut late, "x,y,z,w").await;
}

/// A definition is stored under its id, with all its empty parts.
pub async fn a_definition_is_kept(subject: Reports) {
    let report = subject.handle();
    let id = format!("{}:::provider:demo", own("Defined"));
    assert_eq!(report.definition(&id).await.expect("no error"), None);
    let definition = Bytes::from_static(br#"{"canonicalName":"a.B","methods":[]}"#);
    let stored = report.store_definition(&id, definition.clone()).await;
    stored.expect("stores");
    subject
        .soon("the definition", async {
            while report.definition(&id).await.expect("reads").as_ref() != Some(&definition) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
}

/// A group, in a report's URL, is a report of its own on the same server. Where only some contents have groups
/// (`docs/spec/registry.md` §7), it is so for definitions.
pub async fn groups_of_a_report_do_not_see_each_other(subject: Reports) {
    let (one, other) = (subject.handle_in("suite-g1"), subject.handle_in("suite-g2"));
    let id = format!("{}:::provider:demo", own("Grouped"));
    let stored = one.store_definition(&id, Bytes::from_static(b"{}")).await;
    stored.expect("stores");
    subject
        .soon("the definition", async {
            while one.definition(&id).await.expect("reads").is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    assert_eq!(other.definition(&id).await.expect("reads"), None);
}

/// Connections that are lost cost nothing.
pub async fn following_survives_lost_connections(subject: Reports) {
    let hook = &subject.hooks.drop_connections;
    survives(
        &subject,
        "Lost",
        "following_survives_lost_connections",
        hook,
    )
    .await;
}

/// A server that was away is followed when it is back.
pub async fn following_survives_a_restart_of_the_server(subject: Reports) {
    let hook = &subject.hooks.restart;
    survives(
        &subject,
        "Restarted",
        "following_survives_a_restart_of_the_server",
        hook,
    )
    .await;
}

async fn survives(subject: &Reports, interface: &str, test: &str, fault: &Hook) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let interface = own(interface);
    let mut watch = ours.watch_mapping(&interface).await.expect("watches");
    write(&*theirs, &interface, "x").await;
    sees(subject, &mut watch, "x").await;
    for names in ["x,y", "x,y,z"] {
        if !fault.act(test).await {
            return;
        }
        write(&*theirs, &interface, names).await;
        sees(subject, &mut watch, names).await;
    }
}

/// The server has as many watches afterwards as before.
pub async fn unsubscribing_leaves_nothing_behind(subject: Reports) {
    let report = subject.handle();
    let interface = own("Leaves");
    // The first one may leave what belongs to the connection.
    drop(report.watch_mapping(&interface).await.expect("watches"));
    let test = "unsubscribing_leaves_nothing_behind";
    let Some(before) = subject.settled(test).await else {
        return;
    };
    let watch = report.watch_mapping(&interface).await.expect("watches");
    let during = subject.hooks.watches.now(test).unwrap_or_default();
    assert!(
        during > before,
        "{during} watches with one, {before} before"
    );
    drop(watch);
    subject.returns_to(test, before).await;
}

/// Closing ends watches, and is final.
pub async fn what_is_closed_says_so(subject: Reports) {
    let (closed, open) = (subject.handle(), subject.handle());
    let interface = own("Closed");
    let mut watch = closed.watch_mapping(&interface).await.expect("watches");
    closed.close().await;
    subject
        .soon("the end of the watch", async {
            while watch.changed().await.is_some() {}
        })
        .await;
    let error = closed.mapping(&interface).await.expect_err("is closed");
    assert!(error.to_string().contains("closed"), "{error}");
    assert!(closed.watch_mapping(&interface).await.is_err());
    open.mapping(&interface).await.expect("another one is open");
    closed.close().await;
}

/// Waits until the metadata reads as `want`.
async fn metadata(
    subject: &Reports,
    report: &dyn MetadataReport,
    app: &str,
    revision: &str,
    want: Option<&str>,
) {
    subject
        .soon(&format!("{want:?} at {revision}"), async {
            loop {
                let found = report.app(app, revision).await.expect("reads");
                if found.as_deref() == want.map(str::as_bytes) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
}

/// Waits until the last collection is `want`.
async fn collection(
    subject: &Reports,
    report: &dyn MetadataReport,
    app: &str,
    want: Option<u64>,
) -> (Option<u64>, Ticket) {
    subject
        .soon(&format!("the last collection {want:?}"), async {
            loop {
                let found = report.last_collection(app).await.expect("reads");
                if found.0 == want {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
}

/// Waits until the mapping reads as `want`.
async fn mapped(
    subject: &Reports,
    report: &dyn MetadataReport,
    interface: &str,
    want: &str,
) -> (Mapping, Ticket) {
    subject
        .soon(&format!("the mapping {want}"), async {
            loop {
                let found = report.mapping(interface).await.expect("reads");
                if found.0.to_string() == want {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
}

/// Writes `names`, however often it takes. Answers that fail are tried again: a report makes one attempt a call.
async fn write(report: &dyn MetadataReport, interface: &str, names: &str) {
    let mapping = Mapping::parse(names);
    crate::soon("the mapping is written", async {
        loop {
            if let Ok((found, ticket)) = report.mapping(interface).await {
                if found == mapping {
                    return;
                }
                let _ = report.cas_mapping(interface, &mapping, ticket).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// Waits until `watch` shows `want`.
async fn sees(subject: &Reports, watch: &mut Subscription<Arc<Mapping>>, want: &str) {
    subject
        .soon(&format!("the mapping {want}"), async {
            loop {
                if let Ok(found) = watch.current().state
                    && found.to_string() == want
                {
                    return;
                }
                watch.changed().await.expect("the watch goes on");
            }
        })
        .await;
}

const ROUNDS: u32 = 100;
