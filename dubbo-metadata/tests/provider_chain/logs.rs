//! What a provider writes into the log.

use std::time::Duration;

use dubbo_test::logs::Logs;
use tokio::time::sleep;

use crate::fakes::{World, bar, greet, other};

#[tokio::test(start_paused = true)]
async fn an_update_says_what_has_changed() {
    let (logs, _guard) = Logs::record();
    let world = World::new();
    let provider = world.started().await;
    assert!(!logs.with("registered")[0].contains("changes"));
    provider.export(&other("x.Third")).expect("valid");
    let changed = bar("&timeout=7").to_string();
    provider
        .export(&changed.parse().expect("valid"))
        .expect("valid");
    sleep(Duration::from_secs(2)).await;
    let lines = logs.with("INFO updated");
    let [line] = &lines[..] else {
        panic!("one update: {lines:?}");
    };
    let revision = provider.history().current()[0].revision().to_owned();
    let told = format!(
        "changes=222f165004459af76f0540482d98ac81 -> {revision}: +x.Third:tri ~com.foo.Bar:dubbo(+timeout)"
    );
    assert!(line.ends_with(&told), "{line}");
}

#[tokio::test(start_paused = true)]
async fn services_that_disagree_about_their_instance_are_named_once() {
    let (logs, _guard) = Logs::record();
    let world = World::new();
    let provider = world.provider(|_| {});
    // The one whose name comes last is exported first.
    provider.export(&greet("&ipv6=fe80::1")).expect("valid");
    provider.export(&bar("&ipv6=fe80::2")).expect("valid");
    provider.register().await.expect("registered");
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    let lines = logs.with("disagree");
    let [line] = &lines[..] else {
        panic!("one line: {lines:?}");
    };
    for part in [
        "WARN",
        "`ipv6` is `fe80::1` in g1/org.apache.dubbo.samples.GreetService:1.0.0:tri, which counts",
        "`fe80::2` in com.foo.Bar:dubbo",
    ] {
        assert!(line.contains(part), "{line}");
    }
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(&metadata["ipv6"], "fe80::1", "and it is registered");
}
