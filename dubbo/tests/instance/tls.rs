//! `tls_config`: who speaks to whom, and what is said when they do not (`docs/spec/config.md` §7).

use std::{collections::BTreeSet, path::Path, time::Duration};

use dubbo::{
    Code, Instance, Retry, Status,
    config::{ReferenceConfig, TlsConfig},
};
use dubbo_test::{
    certificates::{Authority, Issued},
    soon,
};
use examples::{
    greet::GreeterClient,
    users::{UserServiceClient, UserServiceServer, Users},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    applications::{Shared, TRIPLE},
    rig::{consume_with, greet, load, named, url_of},
};

/// A provider with these keys of `tls_config`.
async fn provide(tls: &str) -> Instance {
    let yaml =
        format!("dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, tls_config: {{{tls}}}}}");
    let instance = load(&yaml).provide(named("p")).build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// A client of the provider at `url` with these keys of `tls_config`.
async fn consume(url: &str, tls: &str) -> GreeterClient {
    consume_with(&format!(
        "dubbo: {{consumer: {{check: false, references: {{GreeterClient: {{url: '{url}', retries: 0}}}}}}, \
         tls_config: {{{tls}}}}}"
    ))
    .await
}

fn ca(authority: &Authority) -> String {
    format!("ca-cert-file: {}, ", authority.file().display())
}

fn own(issued: &Issued) -> String {
    let (cert, key) = (issued.cert.display(), issued.key.display());
    format!("tls-cert-file: {cert}, tls-key-file: {key}, ")
}

async fn outcome(client: &GreeterClient) -> Result<String, Status> {
    soon("an answer", greet(client, "x")).await
}

/// The message of a call that must fail for want of a connection.
async fn refusal(client: &GreeterClient) -> String {
    let status = outcome(client).await.expect_err("it is refused");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    status.message().to_owned()
}

#[tokio::test]
async fn with_a_certificate_a_server_speaks_tls_and_nothing_else() {
    let authority = Authority::new();
    let provider = provide(&own(&authority.issue(&["127.0.0.1"]))).await;
    let url = url_of(&provider);

    let secured = consume(&url, &ca(&authority)).await;
    assert_eq!(outcome(&secured).await.expect("it works"), "p");

    let plain = consume(&url, "").await;
    let message = refusal(&plain).await;
    assert!(
        message.contains("if it demands TLS, set `dubbo.tls_config.ca-cert-file`"),
        "{message}"
    );

    let mut socket = TcpStream::connect(url.trim_start_matches("tri://"))
        .await
        .expect("it listens");
    socket
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .expect("it was open");
    let mut heard = Vec::new();
    // The end, or a reset: the rest of what was sent is not read.
    let _ = soon("the end", socket.read_to_end(&mut heard)).await;
    assert_eq!(heard, b"", "not a byte for who does not speak TLS");
    assert_eq!(outcome(&secured).await.expect("it still works"), "p");
}

#[tokio::test]
async fn with_an_authority_too_it_demands_a_certificate() {
    let (authority, other) = (Authority::new(), Authority::new());
    let own_of_provider = own(&authority.issue(&["127.0.0.1"]));
    let provider = provide(&(ca(&authority) + &own_of_provider)).await;
    let url = url_of(&provider);

    let known = ca(&authority) + &own(&authority.issue(&["client"]));
    let known = consume(&url, &known).await;
    assert_eq!(outcome(&known).await.expect("it works"), "p");

    let without = consume(&url, &ca(&authority)).await;
    let message = refusal(&without).await;
    assert!(
        message.contains("demands a certificate") && message.contains("tls-cert-file"),
        "{message}"
    );

    let strange = ca(&authority) + &own(&other.issue(&["client"]));
    let message = refusal(&consume(&url, &strange).await).await;
    assert!(message.contains("does not know the authority"), "{message}");

    let expired = ca(&authority) + &own(&authority.issue_expired(&["client"]));
    let message = refusal(&consume(&url, &expired).await).await;
    assert!(message.contains("CertificateExpired"), "{message}");
}

#[tokio::test]
async fn a_client_trusts_only_who_its_authority_vouches_for_by_name() {
    let (authority, other) = (Authority::new(), Authority::new());
    for (issued, tls, want) in [
        (
            other.issue(&["127.0.0.1"]),
            ca(&authority),
            Err("it is from no authority in `dubbo.tls_config.ca-cert-file`"),
        ),
        (
            authority.own(),
            ca(&authority),
            Err("it is that of an authority"),
        ),
        (
            authority.issue_expired(&["127.0.0.1"]),
            ca(&authority),
            Err("days ago"),
        ),
        (
            authority.issue(&["provider.internal", "10.0.0.1"]),
            ca(&authority),
            Err("it is not for `127.0.0.1` but for `provider.internal`, `10.0.0.1`;"),
        ),
        (
            authority.issue(&["provider.internal", "10.0.0.1"]),
            ca(&authority) + "tls-server-name: provider.internal",
            Ok("p"),
        ),
        (
            authority.issue(&["provider.internal"]),
            ca(&authority) + "tls-server-name: other.internal",
            Err("`dubbo.tls_config.tls-server-name`"),
        ),
    ] {
        let provider = provide(&own(&issued)).await;
        let client = consume(&url_of(&provider), &tls).await;
        match want {
            Ok(want) => assert_eq!(outcome(&client).await.expect("it works"), want),
            Err(want) => {
                let message = refusal(&client).await;
                assert!(message.contains(want), "{want} in {message}");
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_expects_tls_does_not_make_do_without() {
    let authority = Authority::new();
    let provider = provide("").await;
    let client = consume(&url_of(&provider), &ca(&authority)).await;
    let message = refusal(&client).await;
    assert!(message.contains("it may serve no TLS"), "{message}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named_with_their_keys() {
    let authority = Authority::new();
    let (one, two) = (authority.issue(&["a"]), authority.issue(&["b"]));
    let file = |path: &Path| path.display().to_string();
    let mixed = Issued {
        cert: one.cert.clone(),
        key: two.key.clone(),
    };
    let twice = Issued {
        cert: one.cert.clone(),
        key: one.cert.clone(),
    };
    let missing = Issued {
        cert: "/no/such/file.pem".into(),
        key: one.key.clone(),
    };
    for (tls, key, path, about) in [
        (
            own(&mixed),
            "tls-key-file",
            file(&two.key),
            "it is not the key of the certificate",
        ),
        (
            own(&twice),
            "tls-key-file",
            file(&one.cert),
            "there is no private key in it",
        ),
        (
            own(&missing),
            "tls-cert-file",
            file(&missing.cert),
            "No such file",
        ),
        (
            own(&one) + &format!("ca-cert-file: {}", one.key.display()),
            "ca-cert-file",
            file(&one.key),
            "there is no certificate in it",
        ),
    ] {
        let yaml = format!(
            "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, tls_config: {{{tls}}}}}"
        );
        let instance = load(&yaml).provide(named("p")).build().expect("valid");
        let error = instance.start().await.expect_err("it cannot be used");
        let mut text = error.to_string();
        let source = std::error::Error::source(&error);
        text.extend(source.map(|source| format!(": {source}")));
        for part in [&format!("dubbo.tls_config.{key}"), &path, about] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    let instance = load(&format!(
        "dubbo: {{consumer: {{references: {{GreeterClient: {{url: 'tri://127.0.0.1:1'}}}}}}, \
         tls_config: {{ca-cert-file: {}}}}}",
        one.key.display()
    ));
    let instance = instance.build().expect("valid");
    let error = instance.refer::<GreeterClient>().await.err();
    let text = error.expect("it cannot be used").to_string();
    for part in [
        "dubbo.tls_config.ca-cert-file",
        "there is no certificate in it",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[tokio::test]
async fn what_is_set_in_code_is_as_good_and_consumers_are_told() {
    let authority = Authority::new();
    let issued = authority.issue(&["localhost", "127.0.0.1"]);
    let text = |path: &Path| path.display().to_string();
    let tls = TlsConfig::new()
        .ca_cert_file(text(&authority.file()))
        .tls_cert_file(text(&issued.cert))
        .tls_key_file(text(&issued.key));
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}, local: {name: injvm}}, shutdown: {step-timeout: 0}}";
    let both = load(yaml)
        .tls(tls)
        .provide(named("p"))
        .build()
        .expect("valid");
    both.start().await.expect("starts");
    for url in both.exported() {
        let secure = (url.protocol() == "tri").then_some("true");
        assert_eq!(url.param("ssl-enabled"), secure, "{url:?}");
    }

    // One section serves both roles: it calls itself, with a certificate on both sides.
    let exported = both.exported();
    let over_tcp = exported.iter().find(|url| url.protocol() == "tri");
    let url = format!("tri://{}", over_tcp.expect("is exported").address());
    let client: GreeterClient = both
        .refer_with(ReferenceConfig::new().url([url]))
        .await
        .expect("refers");
    assert_eq!(outcome(&client).await.expect("it works"), "p");
    soon("the end", both.shutdown(Duration::from_secs(5))).await;
}

#[tokio::test]
async fn providers_found_in_a_registry_are_called_by_the_same_rules() {
    let authority = Authority::new();
    let tls = |keys: String| format!("tls_config: {{{keys}}}");
    let mutual = || tls(ca(&authority) + &own(&authority.issue(&["127.0.0.1"])));
    for kind in ["application", "interface"] {
        let shared = Shared::new();
        let registries = format!(
            "registries: {{r: {{address: 'shared://here', registry-type: {}}}}}",
            if kind == "application" {
                "service"
            } else {
                kind
            }
        );
        let mut providers = Vec::new();
        for name in ["one", "two"] {
            let sections = format!(
                "application: {{name: app}}, {TRIPLE}, {registries}, {}",
                mutual()
            );
            let provider = shared.load(&sections).provide(named(name)).build();
            let provider = provider.expect("valid");
            provider.start().await.expect("starts");
            providers.push(provider);
        }
        let consume = async |tls: String| {
            let sections = format!(
                "{registries}, {tls}, consumer: {{check: false, references: {{GreeterClient: {{retries: 0}}}}}}"
            );
            let consumer = shared.load(&sections).build().expect("valid");
            consumer.refer::<GreeterClient>().await.expect("refers")
        };
        let known = consume(mutual()).await;
        let mut answered = BTreeSet::new();
        soon("answers of both", async {
            while answered.len() < 2 {
                match greet(&known, "x").await {
                    Ok(name) => drop(answered.insert(name)),
                    // Who was found has yet to be connected to.
                    Err(status) => assert_eq!(status.retry(), Retry::Safe, "{status}"),
                }
            }
        })
        .await;

        for (tls, want) in [
            (tls(ca(&authority)), "demands a certificate"),
            (
                tls(String::new()),
                "if it demands TLS, set `dubbo.tls_config.ca-cert-file`",
            ),
        ] {
            let stranger = consume(tls).await;
            soon(want, async {
                loop {
                    let message = refusal(&stranger).await;
                    if message.contains(want) {
                        break;
                    }
                }
            })
            .await;
        }
    }
}

#[tokio::test]
async fn the_same_keys_secure_the_classic_protocol() {
    let authority = Authority::new();
    let tls = ca(&authority) + &own(&authority.issue(&["127.0.0.1"]));
    let yaml = format!(
        "dubbo: {{protocols: {{d: {{name: dubbo, ip: 127.0.0.1, port: 0}}}}, tls_config: {{{tls}}}}}"
    );
    let provider = load(&yaml).provide(UserServiceServer::new(Users));
    let provider = provider.build().expect("valid");
    provider.start().await.expect("starts");
    let url = url_of(&provider);
    let mut wrong_name = ca(&authority) + &own(&authority.issue(&["client"]));
    wrong_name.push_str("tls-server-name: other.internal");
    for (tls, want) in [
        (ca(&authority) + &own(&authority.issue(&["client"])), "Ada"),
        (ca(&authority), "the peer demands a certificate"),
        (wrong_name, "it is not for `other.internal`"),
        (
            String::new(),
            "if it demands TLS, set `dubbo.tls_config.ca-cert-file`",
        ),
    ] {
        let consumer = load(&format!(
            "dubbo: {{consumer: {{check: false}}, tls_config: {{{tls}}}}}"
        ));
        let consumer = consumer.build().expect("valid");
        let options = ReferenceConfig::new().url([url.clone()]).retries(0);
        let users: UserServiceClient = consumer.refer_with(options).await.expect("refers");
        let answer = soon("an answer", users.get_user("ada".to_owned())).await;
        let text = match answer {
            Ok(user) => user.into_message().name,
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                status.to_string()
            }
        };
        assert!(text.contains(want), "{want} in {text}");
    }
}
