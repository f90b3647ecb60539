//! Watches that are armed, refused, lost, begun again and given up.

use std::time::Duration;

use bytes::Bytes;
use dubbo_core::registry::RegistryErrorKind;
use tokio::time::{sleep, timeout};

use super::{connection, down, hint, member::World, up};
use crate::etcd::client::{
    Depth,
    messages::{Event, KeyValue},
};

const URL: &str = "etcdv3://a:1?session=1h&timeout=1s";

/// A key that was made at the revision 5, and last changed at this one.
fn written(revision: i64) -> Event {
    Event {
        kind: 0,
        kv: Some(KeyValue {
            key: Bytes::from_static(b"/a/b"),
            create_revision: 5,
            mod_revision: revision,
            ..KeyValue::default()
        }),
    }
}

/// Whether a hint was or is given before anything else happens.
async fn hinted(hints: &tokio::sync::Notify) -> bool {
    timeout(Duration::from_millis(1), hints.notified())
        .await
        .is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_change_gives_a_hint_until_the_guard_is_dropped() {
    let world = World::new();
    let client = connection(&world, URL);
    up(&client).await;
    let (hint, hints) = hint();
    let guard = client.watch("/a/b", hint).await.expect("watches");
    assert!(!hinted(&hints).await);
    for revision in [5, 6] {
        world.tell(&written(revision));
        assert!(hinted(&hints).await);
    }
    world.log();
    drop(guard);
    assert!(!hinted(&hints).await);
    assert_eq!(world.log(), ["cancel"]);
    world.tell(&written(7));
    assert!(!hinted(&hints).await);
}

#[tokio::test(start_paused = true)]
async fn for_names_a_change_of_what_stays_is_no_news() {
    let world = World::new();
    let client = connection(&world, URL);
    up(&client).await;
    let (hint, hints) = hint();
    let watching = client.watch_below("/a", Depth::Names, hint).await;
    let _guard = watching.expect("watches");
    let deleted = Event {
        kind: 1,
        ..written(9)
    };
    for (event, want) in [(written(5), true), (written(6), false), (deleted, true)] {
        world.tell(&event);
        assert_eq!(hinted(&hints).await, want, "{event:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_with_the_next_connection_and_says_so() {
    let world = World::new();
    let client = connection(&world, URL);
    up(&client).await;
    let (first, hints) = hint();
    let _guard = client
        .watch_below("/a", Depth::Values, first)
        .await
        .expect("watches");
    let (second, _hints) = hint();
    drop(client.watch("/x", second).await.expect("watches"));
    world.cut();
    down(&client).await;
    up(&client).await;
    assert!(hinted(&hints).await);
    let log = world.log();
    assert_eq!(
        log.iter().filter(|line| *line == "watch /a/").count(),
        2,
        "{log:?}"
    );
    assert_eq!(
        log.iter().filter(|line| *line == "watch /x").count(),
        1,
        "{log:?}"
    );
    world.tell(&written(6));
    assert!(hinted(&hints).await);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_the_member_ends_is_begun_anew_and_says_so() {
    let world = World::new();
    let client = connection(&world, URL);
    up(&client).await;
    let (hint, hints) = hint();
    let _guard = client.watch("/a/b", hint).await.expect("watches");
    world.end_watches();
    assert!(hinted(&hints).await);
    world.tell(&written(6));
    assert!(hinted(&hints).await);
    assert_eq!(up(&client).await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_an_error_and_harms_no_other() {
    let world = World::new();
    let client = connection(&world, URL);
    up(&client).await;
    let (good, hints) = hint();
    let _guard = client.watch("/a/b", good).await.expect("watches");
    let refusal = "etcdserver: permission denied";
    world.state.lock().refuses_watches = Some(refusal.to_owned());
    let (bad, _hints) = hint();
    let error = client.watch("/secret", bad).await.expect_err("refused");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    assert!(error.to_string().contains(refusal), "{error}");
    world.tell(&written(6));
    assert!(hinted(&hints).await);
    // One that may no longer be is given a hint of, and is tried again with the next connection.
    world.end_watches();
    assert!(hinted(&hints).await);
    world.state.lock().refuses_watches = None;
    world.cut();
    down(&client).await;
    up(&client).await;
    assert!(hinted(&hints).await);
    world.tell(&written(7));
    assert!(hinted(&hints).await);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_no_longer_good_for_watching_is_renewed() {
    let world = World::new();
    world.state.lock().login = Some(("u".to_owned(), "p".to_owned()));
    let client = connection(&world, "etcdv3://u:p@a:1?session=1h");
    up(&client).await;
    let (first, _hints) = hint();
    let _guard = client.watch("/a", first).await.expect("watches");
    let old = "etcdserver: invalid auth token".to_owned();
    world.state.lock().refuses_watches = Some(old);
    let (second, hints) = hint();
    let watching = client.watch("/b", second);
    let mended = async {
        down(&client).await;
        world.state.lock().refuses_watches = None;
    };
    let (watched, ()) = tokio::join!(watching, mended);
    let _watched = watched.expect("on the next connection");
    world.tell(&written(6));
    assert!(hinted(&hints).await);
    assert_eq!(up(&client).await, (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_nobody_arms_is_given_up_in_time() {
    let world = World::new();
    let client = connection(&world, URL);
    up(&client).await;
    let (first, _hints) = hint();
    let _guard = client.watch("/a", first).await.expect("watches");
    world.state.lock().away.insert("a:1".to_owned());
    world.cut();
    down(&client).await;
    let (second, _hints) = hint();
    let error = client
        .watch("/b", second)
        .await
        .expect_err("nobody is there");
    assert!(error.to_string().contains("no answer within 1s"), "{error}");
    world.state.lock().away.clear();
    up(&client).await;
    sleep(Duration::from_millis(1)).await;
    let log = world.log();
    assert!(!log.contains(&"watch /b".to_owned()), "{log:?}");
}
