//! With certificates on both sides, the metadata service is behind them as every service of the port.

use std::time::Duration;

use dubbo_test::{
    certificates::{Authority, Issued},
    soon,
};
use examples::greet::{GreetRequest, GreeterClient, GreeterServer};

use super::{Found, load, registry};

#[tokio::test]
async fn who_has_no_certificate_gets_no_metadata() {
    let authority = Authority::new();
    let tls = |own: Option<&Issued>| {
        let own = own.map(|own| {
            let (cert, key) = (own.cert.display(), own.key.display());
            format!(", tls-cert-file: {cert}, tls-key-file: {key}")
        });
        let ca = authority.file();
        format!(
            "tls_config: {{ca-cert-file: {}{}}}",
            ca.display(),
            own.unwrap_or_default()
        )
    };
    let registry = registry();
    let sections = format!(
        "application: {{name: app}}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, {}",
        tls(Some(&authority.issue(&["127.0.0.1"])))
    );
    let provider = load(&registry, &sections);
    let provider = provider
        .provide(GreeterServer::new(Found))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");

    let consumer = |tls: String| {
        let sections =
            format!("application: {{name: consumer}}, consumer: {{check: false}}, {tls}");
        load(&registry, &sections).build().expect("valid")
    };
    let known = consumer(tls(Some(&authority.issue(&["client"]))));
    let greeter: GreeterClient = known.refer().await.expect("refers");
    let answer = greeter.greet(GreetRequest::default()).await;
    assert_eq!(answer.expect("let in").message().greeting, "found");

    let unknown = consumer(tls(None));
    let _greeter: GreeterClient = unknown.refer().await.expect("refers");
    let explained = async {
        loop {
            let explained = unknown.explain("greet.Greeter").await.expect("a service");
            let text = explained.to_string();
            if text.contains("certificate") {
                break (explained.is_available(), text);
            }
            tokio::task::yield_now().await;
        }
    };
    let (is_available, text) = soon("the refusal", explained).await;
    assert!(!is_available, "{text}");
    // It is the metadata that it lacks: the mapping and the instance were there for everybody.
    let step = text.lines().find(|line| line.ends_with("<- here"));
    assert!(
        step.is_some_and(|line| line.trim_start().starts_with("metadata")),
        "{text}"
    );
    provider.shutdown(Duration::ZERO).await;
}
