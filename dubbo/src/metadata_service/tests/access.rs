//! Who is answered: those who send the token, and not too often.

use std::{net::SocketAddr, time::Duration};

use dubbo_core::status::{Code, Status};
use dubbo_hessian2::Value;
use dubbo_metadata::{
    consumer::{Fetch as _, FetchError},
    model::MetadataInfo,
};
use dubbo_test::peer::{
    dubbo::{Answer, Call, Connection, Said},
    h2::{Client, envelope},
};

use super::rig::{
    Application, PROVIDER, Servers, URL_PARAMS, V1, V2, client, fixture, instance_with, serve_with,
};
use crate::config::MetadataConfig;

async fn guarded(config: MetadataConfig) -> (Servers, MetadataInfo) {
    let info = fixture();
    let application = Application::with(PROVIDER, [info.clone()]);
    (serve_with(application, &config).await, info)
}

#[tokio::test]
async fn our_client_sends_the_token_that_the_instance_names() {
    let (servers, info) = guarded(MetadataConfig::new().token("s3cret")).await;
    let client = client();
    for (address, protocol, meta_v) in [
        (servers.tri, "tri", "2.0.0"),
        (servers.tri, "tri", "1.0.0"),
        (servers.dubbo, "dubbo", "1.0.0"),
    ] {
        let of = |token: &str| {
            let port = address.port();
            let params =
                format!(r#"{{"protocol":"{protocol}","port":"{port}","token":"{token}"}}"#);
            instance_with(address, &[("meta-v", meta_v), (URL_PARAMS, &params)])
        };
        let found = client.fetch(&of("s3cret"), &info.revision).await;
        assert_eq!(found.expect("let in"), info, "{protocol} {meta_v}");
        for wrong in ["other", ""] {
            let status = refused(client.fetch(&of(wrong), &info.revision).await);
            assert_eq!(status.code(), Code::Unauthenticated, "{protocol}: {status}");
        }
    }
}

#[tokio::test]
async fn each_protocol_refuses_in_its_own_form() {
    let (servers, info) = guarded(MetadataConfig::new().token("s3cret")).await;
    for (token, status) in [(Some("s3cret"), "0"), (Some("S3CRET"), "16"), (None, "16")] {
        let end = second(servers.tri, &info.revision, token).await;
        assert_eq!(end.status, status, "{}", end.text);
        let answer = first(servers.dubbo, &info.revision, token).await;
        match answer.said {
            Said::Value(value) => {
                assert_eq!(status, "0");
                assert_eq!(value.to::<MetadataInfo>().expect("metadata"), info);
            }
            Said::Exception { class, message } => {
                assert_eq!(status, "16");
                // The class that Dubbo's own filter of tokens throws.
                assert_eq!(class, "org.apache.dubbo.rpc.RpcException");
                assert!(message.contains("the attachment `token`"), "{message}");
            }
            Said::Refused(..) => panic!("{answer:?}"),
        }
    }
}

#[tokio::test]
async fn who_asks_too_often_is_told_to_wait_in_the_form_of_the_protocol() {
    for protocol in ["tri", "dubbo"] {
        let (servers, info) = guarded(MetadataConfig::new().rate_limit(1)).await;
        // Both versions and both protocols have one limit.
        let end = second(servers.tri, &info.revision, None).await;
        assert_eq!(end.status, "0", "{}", end.text);
        let millis = if protocol == "tri" {
            let end = second(servers.tri, &info.revision, None).await;
            assert_eq!(end.status, "8", "{}", end.text);
            end.pushback
        } else {
            let answer = first(servers.dubbo, &info.revision, None).await;
            let Said::Exception { class, .. } = &answer.said else {
                panic!("{answer:?}");
            };
            assert_eq!(class, "org.apache.dubbo.rpc.RpcException");
            let beside = answer.attachments.expect("with attachments");
            let wait = beside
                .iter()
                .find(|(name, _)| name == "dubbo-retry-pushback-ms");
            let (_, wait) = wait.expect("how long to wait");
            wait.as_str().expect("a text").to_owned()
        };
        let millis: u64 = millis.parse().expect("a number");
        assert!((1..=1_000).contains(&millis), "{protocol}: {millis}");
    }
}

#[tokio::test]
async fn our_client_hears_how_long_to_wait() {
    let (servers, info) = guarded(MetadataConfig::new().rate_limit(1)).await;
    let client = client();
    let mut outcomes = Vec::new();
    for (address, protocol) in [
        (servers.tri, "tri"),
        (servers.tri, "tri"),
        (servers.dubbo, "dubbo"),
    ] {
        let params = format!(r#"{{"protocol":"{protocol}","port":"{}"}}"#, address.port());
        let instance = instance_with(address, &[("meta-v", "2.0.0"), (URL_PARAMS, &params)]);
        outcomes.push(client.fetch(&instance, &info.revision).await);
    }
    assert_eq!(outcomes.remove(0).expect("the first one"), info);
    for outcome in outcomes {
        let status = refused(outcome);
        assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
        let wait = status.pushback().expect("how long to wait");
        assert!(
            !wait.is_zero() && wait <= Duration::from_secs(1),
            "{wait:?}"
        );
    }
}

fn refused(found: Result<MetadataInfo, FetchError>) -> Status {
    match found {
        Err(FetchError::Unavailable(error)) => {
            let status = error.downcast_ref::<Status>();
            status.expect("the answer").clone()
        }
        other => panic!("{other:?}"),
    }
}

/// What the trailers of an answer say.
struct End {
    status: String,
    text: String,
    pushback: String,
}

/// How a call of the second version ends.
async fn second(address: SocketAddr, revision: &str, token: Option<&str>) -> End {
    let mut headers = vec![
        ("content-type", "application/grpc+proto"),
        ("te", "trailers"),
        ("tri-service-version", "2.0.0"),
        ("tri-service-group", PROVIDER),
    ];
    headers.extend(token.map(|token| ("token", token)));
    let mut client = Client::connect(address).await;
    let mut call = client
        .post(&format!("/{V2}/GetMetadataInfo"), &headers)
        .await;
    let len = u8::try_from(revision.len()).expect("it is short");
    let request = [&[0x0a, len], revision.as_bytes()].concat();
    call.data(envelope(&request), true);
    let head = call.response().await;
    call.body().await;
    let end = if head.ended {
        head.headers
    } else {
        call.trailers().await.expect("trailers")
    };
    let text = |name| {
        let value = end.get(name).map(|value| value.to_str().expect("a text"));
        value.unwrap_or_default().to_owned()
    };
    End {
        status: text("grpc-status"),
        text: text("grpc-message"),
        pushback: text("grpc-retry-pushback-ms"),
    }
}

/// The answer of the first version by the classic protocol.
async fn first(address: SocketAddr, revision: &str, token: Option<&str>) -> Answer {
    let mut attachments: Vec<(&str, Value)> = vec![("path", V1.into()), ("group", PROVIDER.into())];
    attachments.extend(token.map(|token| ("token", token.into())));
    let call = Call {
        path: V1,
        version: Some("1.0.0"),
        attachments: Some(attachments),
        ..Call::of(
            "getMetadataInfo",
            "Ljava/lang/String;",
            &[Value::from(revision)],
        )
    };
    Connection::connect(address).await.ask(&call).await
}
