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
}

#[tokio::test]
async fn a_process_explains_what_it_can_call_and_the_exit_code_says_so_too() {
    let (provider, registry) = Provider::registered().await;
    let port = free_port().await;
    let yaml = format!(
        "dubbo: {{application: {{name: caller, qos-enable: true, qos-check: true, qos-port: {port}}}, \
         registries: {{local: {{address: '{registry}', registry-type: interface}}}}}}"
    );
    let options = dubbo::config::LoadOptions::text("dubbo.yaml", &yaml);
    let caller = dubbo::Instance::load_with(&options).expect("is YAML");
    let caller = caller.build().expect("valid");
    caller.start().await.expect("starts");
    let admin = format!("127.0.0.1:{port}");
    for (service, code, verdict) in [
        ("greet.Greeter", 0, "can be called"),
        ("a.B", 1, "has no provider that can be called"),
        ("g/greet.Greeter:9", 1, "has no provider that can be called"),
    ] {
        let said = format!("{service} {verdict}");
        let run = dubbo(&["explain", "--admin", &admin, service]).await;
        let run = run.exits(code);
        assert!(run.out.starts_with(&format!("{said}\n")), "{run:?}");
        assert_eq!(run.err.contains(&said), code == 1, "{run:?}");
        let run = dubbo(&["--json", "explain", "--admin", &admin, service]).await;
        let json = run.exits(code).json();
        assert_eq!(json["available"], code == 0, "{json}");
        assert!(
            json["text"]
                .as_str()
                .is_some_and(|text| text.starts_with(&said))
        );
    }
    // Nothing that could be called is asked for.
    let run = dubbo(&["explain", "--admin", &admin, "/"]).await.exits(4);
    assert!(run.err.contains("names no interface"), "{run:?}");
    caller.shutdown(std::time::Duration::ZERO).await;
    drop(provider);
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
