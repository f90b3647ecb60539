//! §6.

use std::time::Duration;

use dubbo_test::nacos::ScriptedNacos;
use nacos_sdk::api::{
    error::Error,
    naming::{NamingService, NamingServiceBuilder},
};

use super::sdk::{Named, instance, props, quick_nacos, service};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_needs_the_right_password_but_is_not_told_so_when_it_is_built() {
    let nacos = quick_nacos().await;
    nacos.require_login(&[("nacos", "se cret&")], Duration::from_hours(5));
    for (user, password, allowed) in [
        ("nacos", "se cret&", true),
        ("nacos", "wrong", false),
        ("nobody", "secret", false),
        ("", "", false),
    ] {
        let client = login(&nacos, user, password).await;
        let named = Named(&client, "secured");
        let registered = named.register(instance(1)).await;
        if allowed {
            registered.expect("it has a token");
            assert_eq!(named.addresses().await, ["10.0.0.1:1"]);
            named.deregister(instance(1)).await.expect("it has a token");
            continue;
        }
        assert_eq!(
            registered.expect_err("it has no token").to_string(),
            "get result failed: handle register_ephemeral_instance failed: result_code=500, error_code=403, \
             message=user not found!",
            "{user}"
        );
        let query = named.query(&[]).await.expect_err("it has no token");
        assert!(matches!(query, Error::Serialization(_)), "{query}");
        let _events = named.subscribe().await;
        assert!(nacos.subscribers(&service("secured")).is_empty());
        assert!(nacos.registered(&service("secured")).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_token_is_not_renewed_by_the_call_that_fails() {
    let nacos = quick_nacos().await;
    nacos.require_login(&[("nacos", "nacos")], Duration::ZERO);
    let client = login(&nacos, "nacos", "nacos").await;
    let named = Named(&client, "expired");
    for _ in 0..2 {
        let refused = named.register(instance(1)).await.expect_err("it is");
        let text = "error_code=403, message=token expired!";
        assert!(refused.to_string().contains(text), "{refused}");
    }
}

async fn login(nacos: &ScriptedNacos, user: &str, password: &str) -> NamingService {
    let props = props(nacos).auth_username(user).auth_password(password);
    let builder = NamingServiceBuilder::new(props).enable_auth_plugin_http();
    builder.build().await.expect("whatever the password is")
}
