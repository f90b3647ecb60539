//! What a program is told of.

use std::time::Duration;

use dubbo::Stream;
use dubbo_test::soon;
use std::{future::poll_fn, pin::Pin};

use super::rig::File;

async fn next<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
    poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}

#[tokio::test]
async fn a_program_is_told_of_what_has_changed_and_what_is_left_to_it() {
    let yaml = |step: &str, one: u8, password: &str| {
        format!(
            "dubbo: {{shutdown: {{step-timeout: {step}}}, custom: {{config-map: {{one: {one}, password: {password}}}}}, \
             application: {{owner: o{one}}}}}"
        )
    };
    let file = File::new(&yaml("1s", 1, "p1"));
    let instance = file
        .load()
        .allow_hot_reload_prefix("dubbo.custom.")
        .allow_hot_reload_exact("dubbo.custom")
        .build()
        .expect("valid");
    let mut changes = instance.config_changes();
    instance.start().await.expect("starts");
    file.write(&yaml("2s", 2, "p2"));
    let event = soon("a change", next(&mut changes)).await.expect("it runs");
    let told: Vec<_> = event.changes.iter().map(ToString::to_string).collect();
    assert!(
        told.iter()
            .any(|line| line.starts_with("dubbo.shutdown.step-timeout: 1s -> 2s (")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|line| line.starts_with("dubbo.custom")),
        "{told:?}"
    );
    assert!(
        told.iter()
            .all(|line| !line.contains("p2") && !line.contains("owner")),
        "neither a secret nor what is refused: {told:?}"
    );
    instance.shutdown(Duration::ZERO).await;
    assert!(soon("the end", next(&mut changes)).await.is_none());
}
