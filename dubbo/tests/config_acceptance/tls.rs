//! Who speaks to whom with certificates.

use dubbo::{Code, Instance, Status};
use dubbo_test::{
    certificates::{Authority, Issued},
    soon,
};
use examples::{
    greet::GreeterClient,
    users::{UserServiceClient, UserServiceServer, Users},
};

use super::rig::{greet, load, named, url_of};

fn ca(authority: &Authority) -> String {
    format!("ca-cert-file: {}, ", authority.file().display())
}

fn own(issued: &Issued) -> String {
    let (cert, key) = (issued.cert.display(), issued.key.display());
    format!("tls-cert-file: {cert}, tls-key-file: {key}, ")
}

async fn provider(tls: &str) -> Instance {
    let yaml =
        format!("dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, tls_config: {{{tls}}}}}");
    let instance = load(&yaml).provide(named("x")).build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

fn consumer(url: &str, tls: &str) -> Instance {
    let yaml = format!(
        "dubbo: {{consumer: {{check: false, references: {{GreeterClient: {{url: '{url}', retries: 0}}, \
         UserServiceClient: {{url: '{url}', retries: 0}}}}}}, tls_config: {{{tls}}}}}"
    );
    load(&yaml).build().expect("valid")
}

async fn call(url: &str, tls: &str) -> Result<String, Status> {
    let greeter: GreeterClient = consumer(url, tls).refer().await.expect("refers");
    soon("an answer", greet(&greeter)).await
}

#[tokio::test]
async fn config_a17_certificates_are_demanded_and_verified() {
    let authority = Authority::new();
    let issued = authority.issue(&["127.0.0.1"]);

    let secured = provider(&own(&issued)).await;
    let url = url_of(&secured);
    let plain = call(&url, "").await.expect_err("no plain text");
    assert_eq!(plain.code(), Code::Unavailable);
    assert_eq!(call(&url, &ca(&authority)).await.expect("verified"), "x");

    let mutual = provider(&(ca(&authority) + &own(&issued))).await;
    let url = url_of(&mutual);
    let without = call(&url, &ca(&authority))
        .await
        .expect_err("no certificate");
    assert!(
        without.message().contains("demands a certificate"),
        "{without}"
    );
    let both = ca(&authority) + &own(&authority.issue(&["client"]));
    assert_eq!(call(&url, &both).await.expect("both are known"), "x");

    let elsewhere = provider(&own(&authority.issue(&["orders.internal"]))).await;
    let url = url_of(&elsewhere);
    let unnamed = call(&url, &ca(&authority))
        .await
        .expect_err("it is for another name");
    assert_eq!(unnamed.code(), Code::Unavailable);
    let named = ca(&authority) + "tls-server-name: orders.internal";
    assert_eq!(call(&url, &named).await.expect("the name is verified"), "x");
}

#[tokio::test]
async fn config_a17_clients_of_the_protocol_dubbo_use_certificates_too() {
    let authority = Authority::new();
    let yaml = format!(
        "dubbo: {{protocols: {{dubbo: {{name: dubbo, ip: 127.0.0.1, port: 0}}}}, tls_config: {{{}{}}}}}",
        ca(&authority),
        own(&authority.issue(&["127.0.0.1"]))
    );
    let instance = load(&yaml)
        .provide(UserServiceServer::new(Users))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let url = url_of(&instance);
    let both = ca(&authority) + &own(&authority.issue(&["client"]));
    for (tls, is_served) in [(both.as_str(), true), (&ca(&authority), false), ("", false)] {
        let users: UserServiceClient = consumer(&url, tls).refer().await.expect("refers");
        let answer = soon("an answer", async {
            users.get_user("ada".to_owned()).await
        })
        .await;
        let code = answer.as_ref().err().map(Status::code);
        assert_eq!(
            code != Some(Code::Unavailable),
            is_served,
            "{tls}: {code:?}"
        );
    }
}
