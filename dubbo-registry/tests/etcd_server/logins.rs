//! Servers that ask who one is.

use std::time::Duration;

use dubbo_core::registry::RegistryErrorKind;
use dubbo_test::soon;

use crate::{
    servers::{OwnServer, Program, consumer, provider, sees},
    world::{Eyes, GLANCE},
};

/// A server where `root` may do everything, and `demo` what is below `/dubbo/`.
async fn guarded(test: &str) -> (OwnServer, Eyes) {
    let server = OwnServer::start(test).await;
    let eyes = Eyes::on(&server.address());
    for command in [
        "user add root:top",
        "user grant-role root root",
        "role add demo",
        "role grant-permission --prefix demo readwrite /dubbo/",
        "user add demo:secret",
        "user grant-role demo demo",
        "auth enable",
    ] {
        let words: Vec<_> = command.split(' ').collect();
        eyes.tell(&words).await;
    }
    (server, eyes.with_login("root:top"))
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn a_user_does_what_its_roles_allow_and_outlives_its_tokens() {
    let (server, eyes) = guarded("login").await;
    let registry = Program::new(&format!("demo:secret@{}", server.address()), "").registry();
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("registers");
    sees(&mut providers, &[1], false).await;
    // Tokens end after a second here; nothing is asked for longer than that.
    tokio::time::sleep(Duration::from_secs(4)).await;
    registry
        .register(&provider("x.Y", 2))
        .await
        .expect("logs in again");
    sees(&mut providers, &[1, 2], true).await;
    let other = provider("x.Y", 3).encode();
    eyes.put(&format!("/dubbo/x.Y/providers/{other}"), "").await;
    sees(&mut providers, &[1, 2, 3], true).await;
    // A watch that begins with an old token.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let mut more = registry.subscribe(&consumer("x.Z")).await.expect("follows");
    registry
        .register(&provider("x.Z", 4))
        .await
        .expect("registers");
    sees(&mut more, &[4], false).await;
    registry.close().await;
    assert_eq!(eyes.keys("/dubbo/x.Y/providers").await, [other]);
    assert_eq!(eyes.leases().await, 0);
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn what_a_user_may_not_do_is_refused_by_name() {
    let (server, _eyes) = guarded("rights").await;
    let login = format!("demo:secret@{}", server.address());
    let registry = Program::new(&login, "group=/other").registry();
    let error = registry
        .register(&provider("x.Y", 1))
        .await
        .expect_err("not below /other");
    assert_eq!(error.kind, RegistryErrorKind::Refused, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("permission denied") && text.contains("roles"),
        "{text}"
    );
    let mut providers = registry.subscribe(&consumer("x.Y")).await.expect("follows");
    let error = providers.current().state.expect_err("nor may it look");
    assert!(error.to_string().contains("permission denied"), "{error}");
    registry.close().await;
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn who_is_not_let_in_is_told_why() {
    let (server, _eyes) = guarded("wrong").await;
    for (login, want) in [
        ("demo:wrong@", "does not accept this login"),
        ("nobody:secret@", "does not accept this login"),
        ("", "lets nobody in without a login"),
    ] {
        let address = format!("{login}{}", server.address());
        let registry = Program::new(&address, "").registry();
        let error = registry
            .lookup(&consumer("x.Y"))
            .await
            .expect_err("not let in");
        let text = error.to_string();
        assert!(text.contains(want), "{text}");
        assert!(
            !text.contains("secret") && !text.contains("wrong@"),
            "{text}"
        );
        registry.close().await;
    }
}

#[tokio::test]
#[ignore = "needs etcd's files"]
async fn a_server_that_begins_to_ask_for_logins_lets_those_go_on_that_have_one() {
    let server = OwnServer::start("enable").await;
    let eyes = Eyes::on(&server.address());
    let address = format!("root:top@{}", server.address());
    let registry = Program::new(&address, "session=2s").registry();
    registry
        .register(&provider("x.Y", 1))
        .await
        .expect("nobody asks yet");
    for command in [
        "user add root:top",
        "user grant-role root root",
        "auth enable",
    ] {
        let words: Vec<_> = command.split(' ').collect();
        eyes.tell(&words).await;
    }
    let eyes = eyes.with_login("root:top");
    registry
        .register(&provider("x.Y", 2))
        .await
        .expect("logs in");
    // Longer than the session: it is kept alive with the login.
    tokio::time::sleep(Duration::from_secs(5)).await;
    soon("both providers", async {
        while eyes.keys("/dubbo/x.Y/providers").await.len() != 2 {
            tokio::time::sleep(GLANCE).await;
        }
    })
    .await;
    registry.close().await;
}
