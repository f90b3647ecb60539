//! `dubbo ls --admin` and `dubbo explain --admin`: what a running process says about itself.

use dubbo::config::ApplicationConfig;
use serde_json::Value;

use crate::rig::{Provider, dubbo, nobody};

/// A provider with an admin port; where that is.
async fn process() -> (Provider, String) {
    let port = free_port().await;
    let application = ApplicationConfig::from("shop")
        .qos_enable(true)
        .qos_check(true)
        .qos_port(port);
    let builder = Provider::builder("shop").application(application);
    (
        Provider::started(builder).await,
        format!("127.0.0.1:{port}"),
    )
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let address = listener.and_then(|listener| listener.local_addr());
    address.expect("a free port").port()
}

#[tokio::test]
async fn a_process_says_what_it_serves() {
    let (_provider, admin) = process().await;
    for address in [admin.clone(), format!("http://{admin}")] {
        let run = dubbo(&["ls", "--admin", &address]).await.exits(0);
        assert!(run.out.contains("greet.Greeter"), "{run:?}");
    }
    let run = dubbo(&["--json", "ls", "--admin", &admin]).await.exits(0);
    let services = run.json()["services"].clone();
    let is_greeter = |one: &Value| one["service"] == "greet.Greeter";
    assert!(
        services.as_array().expect("a list").iter().any(is_greeter),
        "{services}"
    );
    let run = dubbo(&["explain", "--admin", &admin, "greet.Greeter"])
        .await
        .exits(0);
    assert!(run.out.contains("greet.Greeter"), "{run:?}");
}

#[tokio::test]
async fn who_is_no_admin_port_is_told_so() {
    let (provider, _admin) = process().await;
    let nobody = nobody().await;
    let nobody = nobody.trim_start_matches("tri://");
    let run = dubbo(&["ls", "--admin", nobody]).await.exits(3);
    assert!(run.err.contains("qos-enable"), "{run:?}");
    // A port of Triple answers over HTTP, and has no such page.
    let triple = provider.triple.trim_start_matches("tri://");
    let run = dubbo(&["ls", "--admin", triple]).await.exits(4);
    assert!(run.err.contains("/ls answers 404"), "{run:?}");
    let run = dubbo(&["ls", "--admin", "127.0.0.1:1", "--app", "x"])
        .await
        .exits(2);
    assert!(run.err.contains("cannot be used with"), "{run:?}");
}
