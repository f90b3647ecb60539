//! What every [`ConfigCenter`] does.
//!
//! As in [`registry`](super::registry): [`center_suite!`](crate::center_suite!) makes each function a test.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    config_center::ConfigCenter, registry::RegistryErrorKind, subscription::Subscription,
};

use super::{Hook, Subject, subject::own};

/// What the suite runs on.
pub type Centers = Subject<dyn ConfigCenter>;

/// Runs the suite on a subject, as [`registry_suite!`](crate::registry_suite!) does.
#[macro_export]
macro_rules! center_suite {
    ([$($attributes:tt)+] $subject:expr) => {
        $crate::suite_tests! { center [$($attributes)+] $subject;
            a_text_is_followed_through_its_whole_life,
            a_text_is_kept_as_it_is,
            an_empty_text_is_a_text_or_refused,
            following_survives_a_restart_of_the_server,
            following_survives_lost_connections,
            groups_do_not_see_each_other,
            unsubscribing_leaves_nothing_behind,
            what_is_closed_says_so,
        }
    };
    ($subject:expr) => {
        $crate::center_suite! { [#[tokio::test]] $subject }
    };
}

/// No character is lost or changed, and what is not there is no error.
pub async fn a_text_is_kept_as_it_is(subject: Centers) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let key = own("kept");
    assert_eq!(ours.get(&key, GROUP).await.expect("no error"), None);
    for text in ["a: 1\nb: \"名\"\n", " x ", "{}"] {
        theirs.publish(&key, GROUP, text).await.expect("publishes");
        reads(&subject, &*ours, &key, Some(text)).await;
    }
    theirs.remove(&key, GROUP).await.expect("removes");
    reads(&subject, &*ours, &key, None).await;
    theirs
        .remove(&key, GROUP)
        .await
        .expect("it is gone, as was asked");
}

/// Where a server takes it, an empty text is another thing than none.
pub async fn an_empty_text_is_a_text_or_refused(subject: Centers) {
    let center = subject.handle();
    let key = own("empty");
    match center.publish(&key, GROUP, "").await {
        Ok(()) => reads(&subject, &*center, &key, Some("")).await,
        Err(error) => assert_eq!(error.kind, RegistryErrorKind::Refused, "{error}"),
    }
    center.remove(&key, GROUP).await.expect("removes");
}

/// A watch is a state at once, and sees a text come, change, go and come again as it was.
pub async fn a_text_is_followed_through_its_whole_life(subject: Centers) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let key = own("life");
    let mut watch = ours.watch(&key, GROUP).await.expect("watches");
    assert_eq!(watch.current().state.expect("no error"), None);
    for text in [Some("one"), Some("two"), None, Some("two")] {
        match text {
            Some(text) => theirs.publish(&key, GROUP, text).await.expect("publishes"),
            None => theirs.remove(&key, GROUP).await.expect("removes"),
        }
        sees(&subject, &mut watch, text).await;
    }
    let mut late = ours.watch(&key, GROUP).await.expect("watches");
    sees(&subject, &mut late, Some("two")).await;
    theirs.remove(&key, GROUP).await.expect("removes");
    for watch in [&mut watch, &mut late] {
        sees(&subject, watch, None).await;
    }
}

/// One key in two groups is two texts.
pub async fn groups_do_not_see_each_other(subject: Centers) {
    let center = subject.handle();
    let key = own("groups");
    center.publish(&key, GROUP, "one").await.expect("publishes");
    center
        .publish(&key, "suite-other", "two")
        .await
        .expect("publishes");
    reads(&subject, &*center, &key, Some("one")).await;
    center.remove(&key, "suite-other").await.expect("removes");
    reads(&subject, &*center, &key, Some("one")).await;
    center.remove(&key, GROUP).await.expect("removes");
}

/// Connections that are lost cost nothing.
pub async fn following_survives_lost_connections(subject: Centers) {
    let hook = &subject.hooks.drop_connections;
    survives(
        &subject,
        "lost",
        "following_survives_lost_connections",
        hook,
    )
    .await;
}

/// A server that was away is followed when it is back.
pub async fn following_survives_a_restart_of_the_server(subject: Centers) {
    let hook = &subject.hooks.restart;
    survives(
        &subject,
        "restarted",
        "following_survives_a_restart_of_the_server",
        hook,
    )
    .await;
}

async fn survives(subject: &Centers, key: &str, test: &str, fault: &Hook) {
    let (ours, theirs) = (subject.handle(), subject.handle());
    let key = own(key);
    let mut watch = ours.watch(&key, GROUP).await.expect("watches");
    write(&*theirs, &key, "0").await;
    sees(subject, &mut watch, Some("0")).await;
    for text in ["1", "2"] {
        if !fault.act(test).await {
            break;
        }
        write(&*theirs, &key, text).await;
        sees(subject, &mut watch, Some(text)).await;
    }
    theirs.remove(&key, GROUP).await.expect("removes");
}

/// The server has as many watches afterwards as before.
pub async fn unsubscribing_leaves_nothing_behind(subject: Centers) {
    let center = subject.handle();
    let key = own("leaves");
    // The first one may leave what belongs to the connection.
    drop(center.watch(&key, GROUP).await.expect("watches"));
    let test = "unsubscribing_leaves_nothing_behind";
    let Some(before) = subject.settled(test).await else {
        return;
    };
    let watch = center.watch(&key, GROUP).await.expect("watches");
    let during = subject.hooks.watches.now(test).unwrap_or_default();
    assert!(
        during > before,
        "{during} watches with one, {before} before"
    );
    drop(watch);
    subject.returns_to(test, before).await;
}

/// Closing ends watches, and is final.
pub async fn what_is_closed_says_so(subject: Centers) {
    let (closed, open) = (subject.handle(), subject.handle());
    let key = own("closed");
    let mut watch = closed.watch(&key, GROUP).await.expect("watches");
    closed.close().await;
    subject
        .soon("the end of the watch", async {
            while watch.changed().await.is_some() {}
        })
        .await;
    let error = closed.get(&key, GROUP).await.expect_err("is closed");
    assert!(error.to_string().contains("closed"), "{error}");
    assert!(closed.watch(&key, GROUP).await.is_err());
    open.get(&key, GROUP).await.expect("another one is open");
    closed.close().await;
}

/// Waits until the text reads as `want`.
async fn reads(subject: &Centers, center: &dyn ConfigCenter, key: &str, want: Option<&str>) {
    subject
        .soon(&format!("{want:?} under {key}"), async {
            while center.get(key, GROUP).await.expect("reads").as_deref() != want {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
}

/// Publishes `text`, however often it takes.
async fn write(center: &dyn ConfigCenter, key: &str, text: &str) {
    crate::soon("the text is published", async {
        while center.publish(key, GROUP, text).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// Waits until `watch` shows `want`.
async fn sees(subject: &Centers, watch: &mut Subscription<Option<Arc<str>>>, want: Option<&str>) {
    subject
        .soon(&format!("{want:?}"), async {
            loop {
                if let Ok(found) = watch.current().state
                    && found.as_deref() == want
                {
                    return;
                }
                watch.changed().await.expect("the watch goes on");
            }
        })
        .await;
}

const GROUP: &str = "suite";
