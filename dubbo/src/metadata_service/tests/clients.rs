//! What our client asks, and what it makes of answers.

use std::{net::SocketAddr, time::Duration};

use dubbo_core::{codegen::prost::Message as _, discovery::ServiceInstance, status::Status};
use dubbo_hessian2::{CheckMode, ClassPolicy, DecodeOptions, Value, java::Throwable, to_vec};
use dubbo_metadata::{
    consumer::{Fetch as _, FetchError},
    model::{MetadataInfo, ServiceInfo},
};
use dubbo_test::{
    peer::{
        dubbo::{Frame, Server},
        h2::{self, code},
    },
    soon,
};

use super::{
    super::{FetchOptions, RpcFetch, proto::MetadataInfoV2},
    recordings,
    rig::{
        Application, PROVIDER, URL_PARAMS, V1, V2, at_revision, client, client_within, fixture,
        instance, instance_with, protocols_that_read, serve,
    },
};

#[tokio::test]
async fn our_servers_are_asked_by_every_protocol_and_version() {
    let info = fixture();
    let servers = serve(Application::with(PROVIDER, [info.clone()])).await;
    let client = client();
    for instance in [
        instance(servers.tri, "tri", "2.0.0"),
        instance(servers.tri, "tri", "1.0.0"),
        instance(servers.dubbo, "dubbo", "2.0.0"),
        instance_with(servers.dubbo, &[]),
    ] {
        let found = client.fetch(&instance, &info.revision).await;
        assert_eq!(found.expect("known"), info, "{instance:?}");
        let found = client.fetch(&instance, "other").await;
        assert!(
            matches!(found, Err(FetchError::UnknownRevision)),
            "{instance:?}: {found:?}"
        );
    }
}

#[tokio::test]
async fn classes_that_a_program_allows_need_not_include_metadata() {
    let info = fixture();
    let servers = serve(Application::with(PROVIDER, [info.clone()])).await;
    let strict = protocols_that_read(DecodeOptions {
        classes: Some(ClassPolicy::new(CheckMode::Strict).into()),
        ..DecodeOptions::DEFAULT
    });
    let client = RpcFetch::new(strict, FetchOptions::default());
    for instance in [
        instance(servers.tri, "tri", "1.0.0"),
        instance(servers.dubbo, "dubbo", "1.0.0"),
    ] {
        let found = client.fetch(&instance, &info.revision).await;
        assert_eq!(found.expect("known"), info);
    }
}

#[tokio::test]
async fn metadata_a19_what_serves_the_first_version_only_is_asked_the_second_once() {
    let peer = h2::Server::bind().await;
    let params = format!(
        r#"{{"protocol":"tri","port":"{}","version":"2.0.0"}}"#,
        peer.address().port()
    );
    let instance = instance_with(
        peer.address(),
        &[("meta-v", "2.0.0"), (URL_PARAMS, &params)],
    );
    let script = async {
        let mut asked = Vec::new();
        while asked.len() < 3 {
            let mut connection = peer.accept().await;
            // Both versions are asked for over one connection.
            let calls = if asked.is_empty() { 2 } else { 1 };
            for _ in 0..calls {
                let mut request = connection.request().await;
                let header = |name| request.header(name).unwrap_or_default().to_owned();
                asked.push((
                    request.path().to_owned(),
                    header("tri-service-version"),
                    header("tri-service-group"),
                ));
                let message = request.message().await.expect("a message");
                if request.path().contains(V2) {
                    refuse(&mut request, "12");
                } else {
                    assert!(message.starts_with(b"\x0a\x08hessian4\x12"), "{message:?}");
                    request.reply(&wrapped(&to_vec(&at_revision("r")).expect("metadata")));
                }
            }
            connection.closed().await;
        }
        asked
    };
    let client = client();
    let fetches = async {
        for _ in 0..2 {
            let found = client.fetch(&instance, "r").await;
            assert_eq!(found.expect("known"), at_revision("r"));
        }
    };
    let ((), asked) = tokio::join!(fetches, script);
    let of = |interface: &str, method: &str, version: &str| {
        let path = format!("/{interface}/{method}");
        (path, version.to_owned(), PROVIDER.to_owned())
    };
    assert_eq!(
        asked,
        [
            of(V2, "GetMetadataInfo", "2.0.0"),
            of(V1, "getMetadataInfo", "1.0.0"),
            of(V1, "getMetadataInfo", "1.0.0"),
        ]
    );
}

#[tokio::test]
async fn what_serves_the_first_version_no_more_is_asked_the_second_again() {
    let peer = h2::Server::bind().await;
    let instance = instance(peer.address(), "tri", "2.0.0");
    let client = client();
    let place = (PROVIDER.to_owned(), peer.address().to_string());
    client.first_only.lock().insert(place);
    let script = async {
        for wanted in [V1, V2] {
            let mut connection = peer.accept().await;
            let mut request = connection.request().await;
            request.message().await.expect("a message");
            assert!(request.path().contains(wanted), "{}", request.path());
            if wanted == V1 {
                refuse(&mut request, "12");
            } else {
                request.reply(&MetadataInfoV2::from(&at_revision("r")).encode_to_vec());
            }
            connection.closed().await;
        }
    };
    let (found, ()) = tokio::join!(client.fetch(&instance, "r"), script);
    assert_eq!(found.expect("known"), at_revision("r"));
    assert!(client.first_only.lock().is_empty());
}

#[tokio::test]
async fn metadata_a20_answers_of_every_kind_are_the_same_metadata() {
    let java = recordings::dubbo(&["java/metadata-dubbo.jsonl"]);
    let java = java.first().expect("a call of getMetadataInfo");
    let recorded = answered(java.response.body.clone()).await.expect("known");
    assert_eq!(recorded.app, "java-provider");
    let service = &recorded.services["org.apache.dubbo.interop.UserService:dubbo"];
    assert_eq!(service.params["side"], "provider");

    let json = String::from_utf8(recorded.to_json().to_vec()).expect("UTF-8");
    let go = answered(value(&as_go_writes(&recorded)))
        .await
        .expect("known");
    let text = answered(value(&Value::from(&*json))).await.expect("known");
    assert_eq!(go.tag.as_deref(), Some("gray"));
    assert_eq!(MetadataInfo { tag: None, ..go }, recorded);
    assert_eq!(text, recorded);

    let null = answered(b"\x92".to_vec()).await;
    assert!(matches!(null, Err(FetchError::UnknownRevision)), "{null:?}");
}

/// `cases.md` 90: dubbo-go panicked at some of these.
#[tokio::test]
async fn case_90_an_answer_that_is_no_metadata_is_an_error_of_that_instance() {
    let thrown = Throwable::new("java.lang.IllegalStateException", "no metadata");
    let mut exception = vec![0x90];
    exception.extend(to_vec(&thrown).expect("written"));
    for (body, want) in [
        (exception, "no metadata"),
        (value(&Value::from("oops")), "metadata cannot be read"),
        (value(&Value::from(7)), "cannot be used"),
        (b"\x91".to_vec(), "cannot be"),
        (Vec::new(), "cannot be read"),
    ] {
        let error = answered(body).await.expect_err(want);
        let text = text_of(error);
        assert!(text.contains(want), "{text}");
    }

    let peer = Server::bind().await;
    let script = async {
        let mut connection = peer.accept().await;
        connection.call().await;
    };
    let client = client();
    let instance = instance(peer.address(), "dubbo", "1.0.0");
    let (found, ()) = tokio::join!(client.fetch(&instance, "r"), script);
    let text = text_of(found.expect_err("the connection was closed"));
    assert!(text.contains("closed"), "{text}");
}

#[tokio::test]
async fn the_second_version_says_in_many_ways_that_it_does_not_have_a_revision() {
    type Answer = fn(&mut h2::Request);
    let ways: [(&str, Answer); 6] = [
        ("an empty message", |request| request.reply(b"")),
        ("NOT_FOUND", |request| refuse(request, "5")),
        ("INTERNAL", |request| refuse(request, "13")),
        ("UNKNOWN", |request| refuse(request, "2")),
        ("a reset", |request| {
            request.send_reset(code::INTERNAL_ERROR);
        }),
        ("another reset", |request| request.send_reset(code::CANCEL)),
    ];
    for (name, answer) in ways {
        let found = answered_by_triple(answer).await;
        assert!(
            matches!(found, Err(FetchError::UnknownRevision)),
            "{name}: {found:?}"
        );
    }
    let denied = answered_by_triple(|request| refuse(request, "7")).await;
    let text = text_of(denied.expect_err("refused"));
    assert!(text.contains("permission_denied"), "{text}");
    let broken = answered_by_triple(|request| request.reply(b"\xff")).await;
    let text = text_of(broken.expect_err("no protobuf"));
    assert!(text.contains("cannot be used"), "{text}");
}

#[tokio::test]
async fn an_instance_that_is_silent_or_away_is_given_up_in_time() {
    let silent = Server::bind().await;
    let params = format!(
        r#"{{"protocol":"dubbo","port":"{}","timeout":"3600000","retries":"9"}}"#,
        silent.address().port()
    );
    let instance = instance_with(silent.address(), &[(URL_PARAMS, &params)]);
    let client = client_within(Duration::from_millis(100));
    let script = async {
        let mut connection = silent.accept().await;
        connection.call().await;
        connection.closed().await;
    };
    let (found, ()) = tokio::join!(soon("the end", client.fetch(&instance, "r")), script);
    let text = text_of(found.expect_err("there is no answer"));
    assert!(text.contains("deadline_exceeded"), "{text}");

    let away = Server::bind().await;
    let address = away.address();
    drop(away);
    let away = super::rig::instance(address, "tri", "2.0.0");
    let text = text_of(
        super::rig::client()
            .fetch(&away, "r")
            .await
            .expect_err("away"),
    );
    assert!(
        text.contains("unavailable") && text.contains(&address.to_string()),
        "{text}"
    );
}

#[tokio::test]
async fn fetches_at_a_time_share_a_connection_that_ends_with_them() {
    let peer = Server::bind().await;
    let instance = instance(peer.address(), "dubbo", "1.0.0");
    let script = async {
        let mut connection = peer.accept().await;
        let calls = [connection.call().await, connection.call().await];
        for call in calls {
            let answer = value(&Value::of(&at_revision("r")).expect("written"));
            connection.send(Frame::answer(&call, 20, answer)).await;
        }
        connection.closed().await;
    };
    let client = client();
    let fetches = async {
        let both = tokio::join!(client.fetch(&instance, "r"), client.fetch(&instance, "r"));
        assert!(matches!(both, (Ok(_), Ok(_))), "{both:?}");
    };
    tokio::join!(fetches, script);
}

#[tokio::test]
async fn metadata_larger_than_other_answers_may_be_is_read() {
    let mut info = at_revision("large");
    let service = ServiceInfo {
        name: "x.Y".to_owned(),
        protocol: "tri".to_owned(),
        path: "x.Y".to_owned(),
        params: [("note".to_owned(), "n".repeat(9 << 20))].into(),
        ..ServiceInfo::default()
    };
    info.services = [service.into()].into_iter().collect();
    let servers = serve(Application::with(PROVIDER, [info.clone()])).await;
    for meta_v in ["1.0.0", "2.0.0"] {
        let instance = instance(servers.tri, "tri", meta_v);
        let found = client().fetch(&instance, "large").await.expect("read");
        assert!(found == info, "{meta_v}");
    }
    let large = answered(value(&Value::of(&info).expect("written"))).await;
    assert!(large.expect("read") == info);
}

#[tokio::test]
async fn what_cannot_be_called_is_not() {
    let address = SocketAddr::from(([127, 0, 0, 1], 9));
    let found = client()
        .fetch(&instance(address, "rest", "1.0.0"), "r")
        .await;
    let Err(FetchError::Unsupported(why)) = found else {
        panic!("{found:?}");
    };
    assert!(why.contains("`rest`"), "{why}");
}

/// What the client makes of `body`, the body of an answer by the classic protocol.
async fn answered(body: Vec<u8>) -> Result<MetadataInfo, FetchError> {
    let peer = Server::bind().await;
    let instance = instance(peer.address(), "dubbo", "1.0.0");
    let script = async {
        let mut connection = peer.accept().await;
        let call = connection.call().await;
        connection.send(Frame::answer(&call, 20, body)).await;
        connection.closed().await;
    };
    let client = client();
    tokio::join!(client.fetch(&instance, "r"), script).0
}

/// What the client makes of an answer of the second version.
async fn answered_by_triple(answer: fn(&mut h2::Request)) -> Result<MetadataInfo, FetchError> {
    let peer = h2::Server::bind().await;
    let instance: ServiceInstance = instance(peer.address(), "tri", "2.0.0");
    let script = async {
        let mut connection = peer.accept().await;
        let mut request = connection.request().await;
        request.message().await.expect("a message");
        answer(&mut request);
        connection.closed().await;
    };
    let client = client();
    tokio::join!(client.fetch(&instance, "r"), script).0
}

fn refuse(request: &mut h2::Request, status: &str) {
    request.send_only_headers(
        200,
        &[
            ("content-type", "application/grpc+proto"),
            ("grpc-status", status),
        ],
    );
}

/// A result, as the body of an answer.
fn value(value: &Value) -> Vec<u8> {
    let mut body = vec![0x91];
    body.extend(to_vec(value).expect("written"));
    body
}

/// `docs/spec/metadata.md` §1.4: four fields, untyped maps, the port a `long`.
fn as_go_writes(info: &MetadataInfo) -> Value {
    let text = |text: &str| Value::from(text);
    let services = info.services.iter().map(|(key, service)| {
        let params = service.params.iter();
        let params = params.map(|(key, value)| (text(key), text(value)));
        let service = Value::object(
            "org.apache.dubbo.metadata.MetadataInfo$ServiceInfo",
            [
                ("name", text(&service.name)),
                ("group", text(&service.group)),
                ("version", text(&service.version)),
                ("protocol", text(&service.protocol)),
                ("port", Value::Long(service.port.into())),
                ("path", text(&service.path)),
                ("params", Value::map(params)),
            ],
        );
        (text(key), service)
    });
    Value::object(
        "org.apache.dubbo.metadata.MetadataInfo",
        [
            ("app", text(&info.app)),
            ("revision", text(&info.revision)),
            ("tag", "gray".into()),
            ("services", Value::map(services)),
        ],
    )
}

/// `value`, as an answer in Triple's wrapper.
fn wrapped(value: &[u8]) -> Vec<u8> {
    let len = u8::try_from(value.len()).expect("a short value");
    let mut message = b"\x0a\x08hessian4\x12".to_vec();
    assert!(len < 0x80, "its length is one byte");
    message.push(len);
    message.extend_from_slice(value);
    message
}

/// What is behind the error, which must be that of a call.
fn text_of(error: FetchError) -> String {
    let FetchError::Unavailable(source) = error else {
        panic!("{error:?}");
    };
    source.downcast::<Status>().expect("a status").to_string()
}
