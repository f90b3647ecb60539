//! Tokens, and lists that come in pages.

use bytes::Bytes;
use dubbo_core::registry::RegistryErrorKind;

use super::{connection, member::World, up};
use crate::etcd::client::messages::KeyValue;

#[tokio::test(start_paused = true)]
async fn a_token_that_is_no_longer_good_is_renewed_unseen() {
    let world = World::new();
    world.state.lock().login = Some(("u".to_owned(), "p".to_owned()));
    let client = connection(&world, "etcdv3://u:p@a:1?session=1h");
    up(&client).await;
    world.log();
    client.put("/a", b"").await.expect("writes");
    assert_eq!(world.log(), ["put /a"]);
    world.state.lock().token += 1;
    client.put("/b", b"").await.expect("writes");
    assert_eq!(world.log(), ["log in", "put /b"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_asks_for_a_login_says_so() {
    let world = World::new();
    world.state.lock().login = Some(("u".to_owned(), "p".to_owned()));
    let client = connection(&world, "etcdv3://a:1");
    let error = super::down(&client).await;
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    assert!(error.to_string().contains("invalid auth token"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_member_does_not_know_is_refused() {
    let world = World::new();
    let client = connection(&world, "etcdv3://a:1");
    up(&client).await;
    let error = client.put_if("/a", b"", 0).await.expect_err("unknown");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    assert!(error.to_string().contains("3.4 is the oldest"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_in_pages() {
    let world = World::new();
    for number in 0..600 {
        world.put(&format!("/a/{number:03}"), "v");
    }
    for other in ["/a", "/a.b/c", "/a/000/deep", "/a0", "/b/c"] {
        world.put(other, "");
    }
    let client = connection(&world, "etcdv3://a:1");
    up(&client).await;
    world.log();
    let list = client.list("/a").await.expect("lists");
    let names: Vec<_> = list.iter().map(|(name, _)| name.clone()).collect();
    let want: Vec<_> = (0..600).map(|number| format!("{number:03}")).collect();
    assert_eq!(names, want);
    assert!(list.iter().all(|(_, value)| &**value == b"v"));
    assert_eq!(
        world.log(),
        ["range /a/", "range /a/254\0", "range /a/510\0"]
    );
    assert_eq!(client.list("/c").await.expect("lists"), []);
}

#[tokio::test(start_paused = true)]
async fn names_are_found_without_reading_all_that_is_below_them() {
    let world = World::new();
    for number in 0..3000 {
        world.put(&format!("/a/x.Y/providers/{number:04}"), "");
    }
    for other in [
        "/a/x",
        "/a/x.Y",
        "/a/x.Y.Z/providers/1",
        "/a/y",
        "/a//z",
        "/ab/c",
    ] {
        world.put(other, "");
    }
    let client = connection(&world, "etcdv3://a:1");
    up(&client).await;
    world.log();
    let names = client.names("/a").await.expect("lists");
    assert_eq!(names, ["x", "x.Y", "x.Y.Z", "y"]);
    assert_eq!(world.log(), ["range /a/", "range /a/x.Y0"]);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_turns_in_circles_is_not_followed() {
    let world = World::new();
    let client = connection(&world, "etcdv3://a:1");
    up(&client).await;
    for (key, names) in [
        ("/a/b/c", &["b"][..]),
        ("/a/b", &["b"]),
        ("/z", &[]),
        ("", &[]),
    ] {
        world.state.lock().circles = Some(KeyValue {
            key: Bytes::from_static(key.as_bytes()),
            ..KeyValue::default()
        });
        world.log();
        assert_eq!(client.names("/a").await.expect("answers"), names, "{key}");
        client.list("/a").await.expect("answers");
        assert!(world.log().len() <= 4, "{key}");
    }
}
