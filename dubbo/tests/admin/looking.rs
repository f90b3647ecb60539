//! What operators see of a program: who is connected, what code says, which classes are refused.

use std::time::Duration;

use dubbo::config::{ApplicationConfig, ReferenceConfig, RegistryConfig, ServiceConfig};
use dubbo_test::soon;
use examples::{
    greet::GreeterClient,
    users::{Level, User, UserServiceClient, UserServiceServer, Users},
};

use super::{
    rig::{consume, greet, load, named, url_of},
    support::{HASTY, QOS, TRIPLE, got, port},
};

#[tokio::test]
async fn who_is_connected_to_a_port_is_listed_as_long_as_they_are() {
    let provider = load(&format!("dubbo: {{{TRIPLE}, {QOS}, {HASTY}}}"))
        .provide(named("x"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let (at, url) = (port(&provider), url_of(&provider));
    let served = url.rsplit_once(':').expect("a port").1;
    let ps = async |arguments: &str| got(at, &format!("/ps{arguments}")).await;
    assert_eq!(ps("").await, (200, served.to_owned()));
    let nobody = (200, "nobody is connected".to_owned());
    assert_eq!(ps(&format!("/{served}")).await, nobody);

    let greeter = consume(&url, "").await;
    greet(&greeter, "").await.expect("greets");
    let (status, listed) = ps(&format!("?a=-l&b={served}")).await;
    assert_eq!(status, 200);
    for line in listed.lines() {
        let end = format!(" -> 127.0.0.1:{served} HTTP/2");
        assert!(
            line.starts_with("127.0.0.1:") && line.ends_with(&end),
            "{listed}"
        );
    }
    let (_, remotes) = ps(&format!("/{served}")).await;
    let ends: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(remotes.lines().collect::<Vec<_>>(), ends);
    drop(greeter);
    let gone = async {
        while ps(&format!("/{served}")).await != nobody {
            tokio::task::yield_now().await;
        }
    };
    soon("the end of the connections", gone).await;
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_code_says_is_shown_and_counts_more() {
    let yaml =
        format!("dubbo:\n  application: {{name: written, owner: file}}\n  {TRIPLE}\n  {HASTY}\n");
    let application = ApplicationConfig::from("coded")
        .qos_enable(true)
        .qos_port(0)
        .qos_token("hush");
    let registry = RegistryConfig::at("memory://joe:hush@code");
    let instance = load(&yaml)
        .application(application)
        .registry("m", registry)
        .provide_with(named("x"), ServiceConfig::new().group("g").token("hush"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let options = ReferenceConfig::new()
        .url(["tri://127.0.0.1:1"])
        .check(false)
        .param("password", "hush");
    let _client: GreeterClient = instance.refer_with(options).await.expect("refers");
    let at = port(&instance);
    let (status, text) = got(at, "/config").await;
    assert_eq!(status, 200, "{text}");
    for line in [
        "dubbo.application.name = coded (code, over dubbo.yaml:2:23)",
        "dubbo.application.owner = file (dubbo.yaml:2:",
        "dubbo.application.qos-enable = true (code)",
        "dubbo.application.qos-token = *** (code)",
        "dubbo.registries.m.address = memory://***@code (code)",
        ".group = g (code)",
        ".token = *** (code)",
        "dubbo.consumer.references.GreeterClient.url = tri://127.0.0.1:1 (code)",
        "dubbo.consumer.references.GreeterClient.params.password = *** (code)",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    assert!(!text.contains("hush"), "{text}");
    let (_, json) = got(at, "/getConfig?a=RegistryConfig&b=m").await;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let want = serde_json::json!({"value": "memory://***@code", "at": "code"});
    assert_eq!(json["dubbo.registries.m.address"], want, "{json}");
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn classes_that_were_refused_are_told_with_the_rules_that_refuse_them() {
    let section = "hessian2: {allow-classes: [shop.], deny-classes: [shop.internal.]}";
    let provider = load(&format!("dubbo: {{{TRIPLE}, {QOS}, {HASTY}, {section}}}"))
        .provide(UserServiceServer::new(Users))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let at = port(&provider);
    let json = async |path: &str| -> serde_json::Value {
        let (status, text) = got(at, path).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).expect("JSON")
    };
    let want = serde_json::json!({
        "checkStatus": "STRICT",
        "allowedPrefix": ["shop."],
        "disAllowedPrefix": ["shop.internal."],
    });
    assert_eq!(json("/serializeCheckStatus").await, want);
    let none = serde_json::json!({"warnedClasses": [], "refusedClasses": []});
    assert_eq!(json("/serializeWarnedClasses").await, none);

    let yaml = format!(
        "dubbo: {{consumer: {{references: {{UserServiceClient: {{url: '{}'}}}}}}}}",
        url_of(&provider)
    );
    let consumer = load(&yaml).build().expect("valid");
    let users: UserServiceClient = consumer.refer().await.expect("refers");
    let ada = User {
        id: "ada".to_owned(),
        name: "Ada".to_owned(),
        age: 36,
        level: Level::Admin,
        friend: None,
    };
    let status = users.rename(ada, "Countess".to_owned()).await;
    let status = status.expect_err("its class is refused");
    assert!(status.message().contains("com.example.User"), "{status}");
    let told = json("/serializeWarnedClasses").await;
    let refused = told["refusedClasses"].as_array().expect("a list");
    assert!(
        refused.iter().any(|class| class == "com.example.User"),
        "{told}"
    );
    assert_eq!(told["warnedClasses"], serde_json::json!([]));
    provider.shutdown(Duration::ZERO).await;
}
