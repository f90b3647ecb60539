//! Nothing of a client is left when its server was lost. In a program of its own: all its sockets are counted.

#![cfg(all(feature = "nacos", target_os = "linux"))]

use std::{fs, time::Duration};

use dubbo_core::{
    config_center::ConfigCenter, extension::Extensions, registry::Registry, url::Url,
};
use dubbo_registry as _;
use dubbo_test::nacos::{Delays, ScriptedNacos, ServiceKey};
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread")]
async fn twenty_restarts_leave_no_socket() {
    let nacos = ScriptedNacos::start().await;
    nacos.set_delays(Delays::default().faster(10));
    let url = format!("nacos://{}?timeout=1s", nacos.address());
    let url: Url = url.parse().expect("a URL");
    let extensions = Extensions::linked().expect("no duplicates");
    let registry = extensions.create::<dyn Registry>("nacos", &url);
    let registry = registry.expect("is linked");
    let center = extensions.create::<dyn ConfigCenter>("nacos", &url);
    let center = center.expect("is linked");
    let provider: Url = "tri://10.0.0.1:1/a.B?interface=a.B".parse().expect("valid");
    registry.register(&provider).await.expect("registers");
    let _watch = center.watch("a", "dubbo").await.expect("watches");
    let name = ServiceKey::new("", "DEFAULT_GROUP", "providers:a.B::");
    let is_whole = || {
        // Services, texts that are read, and texts that are listened to.
        nacos.addresses(&name) == ["10.0.0.1:1"] && nacos.connections().len() == 3
    };
    nacos.until("the first connections", is_whole).await;
    let before = sockets();
    for restart in 1..=20 {
        nacos.stop().await;
        nacos.start_again().await;
        let begun = Instant::now();
        let what = format!("the connections after restart {restart}");
        nacos.until(&what, is_whole).await;
        // Clients for texts are made every 5 s at most; the first one of a connection waits for nothing.
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(4), "restart {restart}: {took:?}");
        // One that is lost at once makes the next one wait.
        sleep(Duration::from_millis(1100)).await;
    }
    let after = sockets();
    // Clients of before may just be knocking in vain.
    assert!(after <= before + 5, "{after} sockets, {before} before");
}

fn sockets() -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("is there");
    let names = open.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok());
    names
        .filter(|name| name.to_string_lossy().starts_with("socket:"))
        .count()
}
