//! §7.

use std::time::Duration;

use dubbo_test::nacos::{ConfigKey, Delays};
use nacos_sdk::api::error::Error;

use super::sdk::{Configured, config, quick_nacos};

#[tokio::test(flavor = "multi_thread")]
async fn compare_and_set_tells_right_from_wrong() {
    let nacos = quick_nacos().await;
    let client = config(&nacos).await;
    let a = format!("{:x}", md5::compute("a"));
    for (row, (before, cas, done)) in [
        (None, "0", true),
        (Some("a"), &*a, true),
        (Some("a"), "0", false),
        (Some("a"), &*a.to_uppercase(), false),
    ]
    .into_iter()
    .enumerate()
    {
        let data_id = format!("cas-{row}");
        let (named, key) = (Configured(&client, &data_id), key(&data_id));
        if let Some(content) = before {
            nacos.publish_config(&key, content);
        }
        let result = named.cas("b", cas).await;
        let content = nacos.config(&key).map(|config| config.content);
        if done {
            assert!(result.expect("it is accepted"), "{before:?} {cas}");
            assert_eq!(content.as_deref(), Some("b"), "{before:?} {cas}");
        } else {
            assert_eq!(
                result.expect_err("it is not accepted").to_string(),
                "get result failed: handle publish_config failed: result_code=500, error_code=500, \
                 message=Cas publish fail, server md5 may have changed."
            );
            assert_eq!(content.as_deref(), before, "{cas}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_lag_behind_writes() {
    let nacos = quick_nacos().await;
    let client = config(&nacos).await;
    let named = Configured(&client, "lag");
    let missing = named.get().await.expect_err("there is nothing");
    assert!(matches!(missing, Error::ConfigNotFound(_)), "{missing}");
    assert!(named.remove().await.expect("that is no error"));

    nacos.set_delays(Delays {
        read: Duration::from_hours(1),
        ..Delays::default()
    });
    named.publish("a").await.expect("it is accepted");
    let unseen = named.get().await.expect_err("it is not seen yet");
    assert!(matches!(unseen, Error::ConfigNotFound(_)), "{unseen}");
    assert_eq!(nacos.configs(), [key("lag")]);
    nacos.stop().await;
    nacos.start_again().await;
    let client = config(&nacos).await;
    let named = Configured(&client, "lag");
    let config = named.get().await.expect("configs stay");
    assert_eq!(config.content(), "a");
    assert_eq!(config.content_type(), "text");
    assert_eq!(config.md5(), &format!("{:x}", md5::compute("a")));
}

#[tokio::test(flavor = "multi_thread")]
async fn listeners_are_told_of_changes_that_readers_see() {
    let nacos = quick_nacos().await;
    let client = config(&nacos).await;
    let (named, key) = (Configured(&client, "listen"), key("listen"));
    nacos.publish_config(&key, "a");
    nacos
        .until("the first content", || nacos.shown_config(&key).is_some())
        .await;
    let mut changes = named.listen().await;
    nacos
        .until("the listener", || nacos.listeners(&key).len() == 1)
        .await;
    nacos.publish_config(&key, "b");
    assert_eq!(changes.next().await, "b", "and not what was there before");
    nacos.publish_config(&key, "b");
    nacos.set_delays(Delays::default());
    nacos.publish_config(&key, "c");
    assert_eq!(changes.next().await, "c");
    // A deletion is pushed, although nacos-sdk makes no event of it.
    let pushes = || {
        let traffic = nacos.traffic();
        let pushes = traffic.iter();
        pushes
            .filter(|message| message.kind == "ConfigChangeNotifyRequest")
            .count()
    };
    let before = pushes();
    nacos.remove_config(&key);
    nacos
        .until("the push of the deletion", || pushes() > before)
        .await;
    nacos.publish_config(&key, "d");
    assert_eq!(changes.next().await, "d");
}

fn key(data_id: &str) -> ConfigKey {
    ConfigKey::new("", "dubbo", data_id)
}
