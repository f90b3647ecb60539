//! Users and their passwords.

use std::time::Duration;

use dubbo_core::registry::RegistryErrorKind;

use crate::world::{Program, consumer, provider, quick_nacos, service};

/// nacos-sdk makes its clients whatever the password is, and loses what the server says about it.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_the_server_does_not_accept_is_told_by_its_name() {
    let nacos = quick_nacos().await;
    nacos.require_login(&[("nacos", "se cret&")], Duration::from_hours(5));
    let address = nacos.address();
    for (login, why) in [
        ("nacos:wrong@", "the user `nacos` cannot log in"),
        ("nobody:x@", "the user `nobody` cannot log in"),
        ("", "there is no `username` and `password`"),
    ] {
        let program = Program::at(&format!("{login}{address}"));
        let error = program.registry().lookup(&consumer("")).await;
        let error = error.expect_err("has no right to it");
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.kind, RegistryErrorKind::Refused, "{error}");
        assert!(!error.to_string().contains("wrong"), "{error}");
    }
}

/// Case 77: nothing is asked before there is a token, and it is renewed before it is expired. nacos-sdk looks at it every
/// 30 s.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_there_from_the_first_request_on_and_never_expires() {
    let nacos = quick_nacos().await;
    nacos.require_login(&[("nacos", "se cret&")], Duration::from_secs(5));
    let program = Program::at(&format!("nacos:se%20cret%26@{}", nacos.address()));
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    assert_eq!(nacos.addresses(&service("providers:a.B::")), ["10.0.0.1:1"]);
    let end = tokio::time::Instant::now() + Duration::from_secs(7);
    while tokio::time::Instant::now() < end {
        let found = registry.lookup(&consumer("")).await.expect("has a token");
        assert_eq!(found.providers.len(), 1);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
