//! What every [`ServiceDiscovery`] does.
//!
//! As in [`registry`](super::registry): [`discovery_suite!`](crate::discovery_suite!) makes each function a test.

use dubbo_core::{
    discovery::{Instances, ServiceDiscovery, ServiceInstance},
    subscription::Subscription,
};
use futures_util::future::join_all;

use super::{Hook, Subject, subject::own};

/// What the suite runs on.
pub type Discoveries = Subject<dyn ServiceDiscovery>;

/// Runs the suite on a subject, as [`registry_suite!`](crate::registry_suite!) does.
#[macro_export]
macro_rules! discovery_suite {
    ([$($attributes:tt)+] $subject:expr) => {
        $crate::suite_tests! { discovery [$($attributes)+] $subject;
            a_changed_instance_is_never_missing,
            a_watch_starts_with_what_is_there_and_gets_every_change,
            an_application_is_listed_as_long_as_it_has_an_instance,
            an_instance_comes_back_as_it_was,
            an_instance_that_moved_is_there_before_the_old_one_goes,
            applications_do_not_see_each_other,
            closing_takes_back_what_was_registered_through_that_handle,
            everything_survives_a_restart_of_the_server,
            everything_survives_an_expired_session,
            everything_survives_lost_connections,
            groups_of_a_registry_do_not_see_each_other,
            many_come_and_go_at_once,
            nobody_is_an_empty_list_and_no_error,
            unsubscribing_leaves_nothing_behind,
        }
    };
    ($subject:expr) => {
        $crate::discovery_suite! { [#[tokio::test]] $subject }
    };
}

/// A watch is a state at once and follows every change, also those of other handles; its epochs grow.
pub async fn a_watch_starts_with_what_is_there_and_gets_every_change(subject: Discoveries) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let (first, second) = (instance(1, "changes", "1"), instance(2, "changes", "1"));
    theirs.register(&first).await.expect("registers");
    let mut early = watch(&*ours, "changes").await;
    sees(&subject, &mut early, &[&first]).await;
    let before = early.current().epoch;
    theirs.register(&second).await.expect("registers");
    sees(&subject, &mut early, &[&first, &second]).await;
    let mut late = watch(&*ours, "changes").await;
    sees(&subject, &mut late, &[&first, &second]).await;
    theirs.unregister(&first).await.expect("unregisters");
    theirs.unregister(&second).await.expect("unregisters");
    for watch in [&mut early, &mut late] {
        sees(&subject, watch, &[]).await;
        assert!(watch.current().epoch > before, "epochs grow");
    }
    let found = ours.snapshot(&own("changes")).await.expect("reads");
    assert!(found.is_empty(), "{found:?}");
    theirs.close().await;
    ours.close().await;
}

/// Tools find applications whose names they do not know.
pub async fn an_application_is_listed_as_long_as_it_has_an_instance(subject: Discoveries) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let names = ["listed", "listed.too-1"];
    let instances = names.map(|name| instance(1, name, "1"));
    for instance in &instances {
        theirs.register(instance).await.expect("registers");
    }
    let listed = ours.applications().await.expect("lists");
    assert!(listed.is_sorted(), "{listed:?}");
    for name in names {
        assert!(listed.contains(&own(name)), "{name} in {listed:?}");
    }
    theirs.close().await;
    ours.close().await;
}

/// Nobody is an empty list and no error, and who is not there can be taken back.
pub async fn nobody_is_an_empty_list_and_no_error(subject: Discoveries) {
    let discovery = subject.handle();
    let mut watch = watch(&*discovery, "nobody").await;
    assert!(watch.current().state.expect("no error").is_empty());
    let found = discovery.snapshot(&own("nobody")).await.expect("no error");
    assert!(found.is_empty());
    let unknown = instance(1, "nobody", "1");
    discovery
        .unregister(&unknown)
        .await
        .expect("it is not there, as was asked");
    discovery.close().await;
}

/// Address and metadata are what they were.
pub async fn an_instance_comes_back_as_it_was(subject: Discoveries) {
    let discovery = subject.handle();
    let mut exact = instance(1, "exact", "1");
    let endpoints = r#"[{"port":20880,"protocol":"tri"}]"#;
    for (key, value) in [
        ("dubbo.endpoints", endpoints),
        ("dubbo.metadata.storage-type", "local"),
    ] {
        exact.metadata.insert(key.to_owned(), value.to_owned());
    }
    discovery.register(&exact).await.expect("registers");
    let mut watch = watch(&*discovery, "exact").await;
    sees(&subject, &mut watch, &[&exact]).await;
    let found = watch.current().state.expect("no error");
    assert_eq!(found[0].metadata, exact.metadata);
    assert_eq!(
        (found[0].healthy, found[0].enabled, found[0].weight),
        (true, true, 100)
    );
    assert_eq!(found[0].application, exact.application);
    discovery.close().await;
}

/// An update is in place: those who watch see the old or the new one at any time.
pub async fn a_changed_instance_is_never_missing(subject: Discoveries) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let mut now = instance(1, "in-place", "0");
    theirs.register(&now).await.expect("registers");
    let mut watch = watch(&*ours, "in-place").await;
    sees(&subject, &mut watch, &[&now]).await;
    let changes = async {
        for revision in 1..=20 {
            let next = instance(1, "in-place", &revision.to_string());
            theirs.update(&now, &next).await.expect("updates");
            now = next;
        }
        now
    };
    let looks = async {
        loop {
            let update = watch.changed().await.expect("goes on");
            let found = update.state.expect("no error");
            assert_eq!(found.len(), 1, "{found:?}");
        }
    };
    let last = tokio::select! {
        last = changes => last,
        () = looks => unreachable!("looks for ever"),
    };
    sees(&subject, &mut watch, &[&last]).await;
    theirs.close().await;
    sees(&subject, &mut watch, &[]).await;
    ours.close().await;
}

/// An instance at another address is another one, which is there before the old one goes.
pub async fn an_instance_that_moved_is_there_before_the_old_one_goes(subject: Discoveries) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let (old, new) = (instance(1, "moved", "1"), instance(2, "moved", "1"));
    theirs.register(&old).await.expect("registers");
    let mut watch = watch(&*ours, "moved").await;
    sees(&subject, &mut watch, &[&old]).await;
    let moves = theirs.update(&old, &new);
    let looks = async {
        loop {
            let found = watch.changed().await.expect("goes on").state;
            let found = found.expect("no error");
            assert!(!found.is_empty(), "somebody is always there");
        }
    };
    tokio::select! {
        outcome = moves => outcome.expect("moves"),
        () = looks => unreachable!("looks for ever"),
    }
    sees(&subject, &mut watch, &[&new]).await;
    theirs.close().await;
    ours.close().await;
}

/// One address may be an instance of two applications.
pub async fn applications_do_not_see_each_other(subject: Discoveries) {
    let discovery = subject.handle();
    let (one, other) = (instance(1, "one", "1"), instance(1, "other", "2"));
    discovery.register(&one).await.expect("registers");
    discovery.register(&other).await.expect("registers");
    sees(&subject, &mut watch(&*discovery, "one").await, &[&one]).await;
    let mut watch = watch(&*discovery, "other").await;
    sees(&subject, &mut watch, &[&other]).await;
    discovery.unregister(&one).await.expect("unregisters");
    let found = discovery.snapshot(&own("one")).await.expect("reads");
    assert!(found.is_empty(), "{found:?}");
    sees(&subject, &mut watch, &[&other]).await;
    discovery.close().await;
}

/// A group, in a registry's URL, is a registry of its own on the same server.
pub async fn groups_of_a_registry_do_not_see_each_other(subject: Discoveries) {
    let (one, other) = (subject.handle_in("suite-g1"), subject.handle_in("suite-g2"));
    let (first, second) = (instance(1, "groups", "1"), instance(2, "groups", "1"));
    one.register(&first).await.expect("registers");
    other.register(&second).await.expect("registers");
    sees(&subject, &mut watch(&*one, "groups").await, &[&first]).await;
    sees(&subject, &mut watch(&*other, "groups").await, &[&second]).await;
    one.close().await;
    other.close().await;
}

/// Many changes at once end with what is there, also when one program is several instances.
pub async fn many_come_and_go_at_once(subject: Discoveries) {
    let ours = subject.handle();
    let mut watch = watch(&*ours, "many").await;
    let handles: Vec<_> = (0..4).map(|_| subject.handle()).collect();
    let instances: Vec<_> = (1..=60).map(|port| instance(port, "many", "1")).collect();
    let each = || {
        let numbered = instances.iter().enumerate();
        numbered.map(|(n, instance)| (&handles[n % 4], instance))
    };
    let come = each().map(|(handle, instance)| handle.register(instance));
    for outcome in join_all(come).await {
        outcome.expect("registers");
    }
    sees(&subject, &mut watch, &instances.iter().collect::<Vec<_>>()).await;
    let go = each().skip(1);
    for outcome in join_all(go.map(|(handle, instance)| handle.unregister(instance))).await {
        outcome.expect("unregisters");
    }
    sees(&subject, &mut watch, &[&instances[0]]).await;
    for handle in handles {
        handle.close().await;
    }
    sees(&subject, &mut watch, &[]).await;
    ours.close().await;
}

/// Closing a handle takes back what came through it alone, ends its watches, and is final.
pub async fn closing_takes_back_what_was_registered_through_that_handle(subject: Discoveries) {
    let (first, second, watcher) = (subject.handle(), subject.handle(), subject.handle());
    let (mine, theirs) = (instance(1, "close", "1"), instance(2, "close", "1"));
    first.register(&mine).await.expect("registers");
    second.register(&theirs).await.expect("registers");
    let mut left = watch(&*watcher, "close").await;
    sees(&subject, &mut left, &[&mine, &theirs]).await;
    let mut ends = watch(&*first, "close").await;
    first.close().await;
    sees(&subject, &mut left, &[&theirs]).await;
    subject
        .soon("the end of the closed handle's watch", async {
            while ends.changed().await.is_some() {}
        })
        .await;
    let again = first.register(&mine).await.expect_err("is closed");
    assert!(again.to_string().contains("closed"), "{again}");
    let application = own("close");
    assert!(
        first.watch(&application).await.is_err() && first.snapshot(&application).await.is_err()
    );
    first.close().await;
    second.close().await;
    watcher.close().await;
}

/// The server has as many watches afterwards as before.
pub async fn unsubscribing_leaves_nothing_behind(subject: Discoveries) {
    let discovery = subject.handle();
    // The first one may leave what belongs to the connection.
    drop(watch(&*discovery, "leaves").await);
    let test = "unsubscribing_leaves_nothing_behind";
    let Some(before) = subject.settled(test).await else {
        return;
    };
    let watches = [
        watch(&*discovery, "leaves").await,
        watch(&*discovery, "leaves-too").await,
    ];
    let during = subject.hooks.watches.now(test).unwrap_or_default();
    assert!(
        during > before,
        "{during} watches with two, {before} before"
    );
    drop(watches);
    subject.returns_to(test, before).await;
    discovery.close().await;
}

/// Connections that are lost cost nothing.
pub async fn everything_survives_lost_connections(subject: Discoveries) {
    let hook = &subject.hooks.drop_connections;
    survives(
        &subject,
        "lost",
        "everything_survives_lost_connections",
        hook,
    )
    .await;
}

/// A server that forgot who was there is told again, and gets the newest, never an older one.
pub async fn everything_survives_an_expired_session(subject: Discoveries) {
    let hook = &subject.hooks.expire;
    survives(
        &subject,
        "expired",
        "everything_survives_an_expired_session",
        hook,
    )
    .await;
}

/// A server that was away has everything back when it is.
pub async fn everything_survives_a_restart_of_the_server(subject: Discoveries) {
    let hook = &subject.hooks.restart;
    survives(
        &subject,
        "restarted",
        "everything_survives_a_restart_of_the_server",
        hook,
    )
    .await;
}

async fn survives(subject: &Discoveries, application: &str, test: &str, fault: &Hook) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let (stays, goes) = (instance(1, application, "1"), instance(2, application, "1"));
    for instance in [&stays, &goes] {
        theirs.register(instance).await.expect("registers");
    }
    let mut watch = watch(&*ours, application).await;
    sees(subject, &mut watch, &[&stays, &goes]).await;
    if !fault.act(test).await {
        return;
    }
    // What is taken back now must not come back with the connection (T16).
    theirs.unregister(&goes).await.expect("unregisters");
    let changed = instance(1, application, "2");
    theirs.update(&stays, &changed).await.expect("updates");
    sees(subject, &mut watch, &[&changed]).await;
    assert!(fault.act(test).await);
    sees(subject, &mut watch, &[&changed]).await;
    let late = subject.handle();
    sees(
        subject,
        &mut self::watch(&*late, application).await,
        &[&changed],
    )
    .await;
    theirs.close().await;
    sees(subject, &mut watch, &[]).await;
    ours.close().await;
    late.close().await;
}

async fn watch(discovery: &dyn ServiceDiscovery, application: &str) -> Subscription<Instances> {
    let watch = discovery.watch(&own(application)).await;
    watch.expect("watches")
}

/// Waits until `watch` shows exactly `want`, by address and revision.
async fn sees(
    subject: &Discoveries,
    watch: &mut Subscription<Instances>,
    want: &[&ServiceInstance],
) {
    let known = |instance: &ServiceInstance| {
        let revision = instance.metadata.text(REVISION).cloned();
        (instance.host.clone(), instance.port, revision)
    };
    let mut wanted: Vec<_> = want.iter().map(|instance| known(instance)).collect();
    wanted.sort();
    let what = format!("the instances {wanted:?}");
    subject
        .soon(&what, async {
            loop {
                if let Ok(found) = watch.current().state {
                    let mut found: Vec<_> = found.iter().map(|instance| known(instance)).collect();
                    found.sort();
                    if found == wanted {
                        return;
                    }
                }
                watch.changed().await.expect("the watch goes on");
            }
        })
        .await;
}

fn instance(port: u16, application: &str, revision: &str) -> ServiceInstance {
    let mut instance = ServiceInstance::new(own(application), "10.0.0.1", port);
    instance
        .metadata
        .insert(REVISION.to_owned(), revision.to_owned());
    instance
}

const REVISION: &str = "dubbo.metadata.revision";
