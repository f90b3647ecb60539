//! What our servers answer, in the bytes of the wire.

use std::sync::Arc;

use bytes::Bytes;
use dubbo_core::{codegen::prost::Message as _, service::ServiceDescriptor};
use dubbo_hessian2::Value;
use dubbo_metadata::{
    model::MetadataInfo,
    openapi::{DEFAULT_GROUP, Documented, OpenApi, Settings},
};
use dubbo_test::peer::{
    dubbo::{Call, Connection, Said},
    h2::{Client, envelope},
};

use super::{
    super::proto::{MetadataInfoV2, MetadataRequest, OpenApiFormat, OpenApiInfo, OpenApiRequest},
    rig::{Application, PROVIDER, Servers, V1, V2, at_revision, fixture, history, serve},
};

/// Status, its text, and the message of a call of the second version.
type Answered = (String, String, Option<Bytes>);

#[tokio::test]
async fn metadata_a18_the_second_version_answers_by_revision_in_the_group_of_the_application() {
    let info = fixture();
    assert_eq!(info.revision, "222f165004459af76f0540482d98ac81");
    let servers = serve(Application::with(PROVIDER, [info.clone()])).await;
    // As `docs/spec/metadata.md` §3.2 has it.
    let known = [b"\x0a\x20", info.revision.as_bytes()].concat();
    for method in ["GetMetadataInfo", "getMetadataInfo"] {
        let (status, _, message) = second(&servers, method, PROVIDER, &known).await;
        assert_eq!(status, "0", "{method}");
        let message = MetadataInfoV2::decode(message.expect("a message")).expect("protobuf");
        assert_eq!(
            (&*message.app, &*message.version),
            (PROVIDER, &*info.revision)
        );
        let mut keys: Vec<_> = message.services.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "com.foo.Bar:dubbo",
                "g1/org.apache.dubbo.samples.GreetService:1.0.0:tri",
            ]
        );
        assert_eq!(MetadataInfo::from(message), info);
    }

    let unknown = request("e701c04c");
    let (status, text, _) = second(&servers, "GetMetadataInfo", PROVIDER, &unknown).await;
    assert_eq!(status, "5");
    assert_eq!(
        text,
        "`demo-provider` has no metadata of revision `e701c04c`; now it is \
         222f165004459af76f0540482d98ac81"
    );
    let (status, _, message) = second(&servers, "GetMetadataInfo", PROVIDER, b"").await;
    assert_eq!((&*status, message.as_deref()), ("0", Some(&b""[..])));
    let (status, text, _) = second(&servers, "GetMetadataInfo", "other", &known).await;
    assert_eq!(status, "12");
    assert!(text.contains("group \"other\""), "{text}");
}

#[tokio::test]
async fn the_second_version_gives_openapi_documents_where_they_are_switched_on() {
    let servers = serve(Application::with(PROVIDER, [fixture()])).await;
    let (status, text, _) = second(&servers, "GetOpenAPIInfo", PROVIDER, b"").await;
    // As Dubbo Java says it.
    assert_eq!((&*status, &*text), ("12", "OpenAPI is not available"));

    let service = Documented {
        key: "a.B".parse().expect("a key"),
        group: DEFAULT_GROUP.to_owned(),
        descriptor: Arc::new(ServiceDescriptor::new("a.B", Vec::new())),
    };
    let servers = serve(Application {
        openapi: Some(OpenApi::new(Settings::default(), vec![service])),
        ..Application::with(PROVIDER, [fixture()])
    })
    .await;
    let ask = |request: OpenApiRequest| {
        let request = request.encode_to_vec();
        let servers = &servers;
        async move { second(servers, "GetOpenAPIInfo", PROVIDER, &request).await }
    };
    let yaml = OpenApiRequest {
        format: Some(OpenApiFormat::Yaml.into()),
        openapi: "3.1.0".to_owned(),
        ..OpenApiRequest::default()
    };
    for (request, begins) in [
        (OpenApiRequest::default(), r#"{"openapi":"3.0.1","info":"#),
        (yaml, "openapi: \"3.1.0\"\ninfo:\n"),
    ] {
        let (status, _, message) = ask(request).await;
        assert_eq!(status, "0");
        let message = OpenApiInfo::decode(message.expect("a message")).expect("protobuf");
        assert!(message.definition.starts_with(begins), "{message:?}");
    }
    let nobody = OpenApiRequest {
        service: vec!["x.Y".to_owned()],
        ..OpenApiRequest::default()
    };
    let (status, _, message) = ask(nobody).await;
    assert_eq!((&*status, message.as_deref()), ("0", Some(&b""[..])));
    let old = OpenApiRequest {
        openapi: "2.0".to_owned(),
        ..OpenApiRequest::default()
    };
    let (status, text, _) = ask(old).await;
    assert_eq!(status, "3");
    assert!(text.contains("2.0"), "{text}");
}

#[tokio::test]
async fn metadata_a03_a_superseded_revision_and_that_of_any_registry_is_answered() {
    let mut application = Application::with(PROVIDER, ["1", "2"].map(at_revision));
    application.histories.push(history([at_revision("3")]));
    let servers = serve(application).await;
    for revision in ["1", "2", "3"] {
        let (status, _, message) =
            second(&servers, "GetMetadataInfo", PROVIDER, &request(revision)).await;
        assert_eq!(status, "0");
        let message = MetadataInfoV2::decode(message.expect("a message")).expect("protobuf");
        assert_eq!(message.version, revision);
        let info: MetadataInfo = first(&servers, "getMetadataInfo", &[revision])
            .await
            .to()
            .expect("metadata");
        assert_eq!(info, at_revision(revision));
    }
    let all: Vec<MetadataInfo> = first(&servers, "getMetadataInfos", &[])
        .await
        .to()
        .expect("a list");
    assert_eq!(all, ["2", "3"].map(at_revision));
}

#[tokio::test]
async fn the_first_version_answers_null_where_there_is_no_such_revision() {
    let servers = serve(Application::with(PROVIDER, [fixture()])).await;
    for argument in [Value::from("1"), Value::from(""), Value::Null] {
        let said = ask(&servers, "getMetadataInfo", TEXT, &[argument]).await;
        assert_eq!(said, Said::Value(Value::Null));
    }
}

#[tokio::test]
async fn the_first_version_says_what_it_is() {
    let servers = serve(Application::with(PROVIDER, [fixture()])).await;
    for (method, want) in [("serviceName", PROVIDER), ("version", "1.0.0")] {
        assert_eq!(first(&servers, method, &[]).await, Value::from(want));
    }
}

#[tokio::test]
async fn urls_are_told_by_interface_group_version_and_protocol() {
    let urls = [
        "dubbo://10.0.0.1:20000/a.B?group=g&interface=a.B&version=1.0.0",
        "tri://10.0.0.1:50051/a.B?interface=a.B&version=0.0.0",
        "tri://10.0.0.1:50051/a.C?interface=a.C",
    ];
    let parsed = |text: &&str| text.parse().expect("a URL");
    let servers = serve(Application {
        exported: urls.iter().rev().map(parsed).collect(),
        subscribed: [urls[2]].iter().map(parsed).collect(),
        ..Application::with(PROVIDER, [])
    })
    .await;
    for (arguments, want) in [
        (&[][..], &urls[..]),
        (&["*"], &urls),
        (&["a.B"], &urls[1..2]),
        (&["a.C"], &urls[2..]),
        (&["a.D"], &[]),
        (&["a.B", "g"], &[]),
        (&["a.B", "g", "1.0.0"], &urls[..1]),
        (&["a.B", "", "0.0.0"], &urls[1..2]),
        (&["a.B", "g", "1.0.0", "dubbo"], &urls[..1]),
        (&["a.B", "g", "1.0.0", "tri"], &[]),
    ] {
        let answer = first(&servers, "getExportedURLs", arguments).await;
        assert_eq!(answer, sorted_set(want), "{arguments:?}");
    }
    let answer = first(&servers, "getSubscribedURLs", &[]).await;
    assert_eq!(answer, sorted_set(&urls[2..]));
}

#[tokio::test]
async fn what_is_not_served_is_refused_by_name() {
    let servers = serve(Application::with(PROVIDER, [fixture()])).await;
    for method in [
        "getMetadataURL",
        "getExportedServiceURLs",
        "exportInstanceMetadata",
    ] {
        let Said::Refused(_, text) = ask(&servers, method, "", &[]).await else {
            panic!("{method} was answered");
        };
        assert!(text.contains(method), "{text}");
        let (status, text, _) = triple(&servers, V1, method, ["1.0.0", PROVIDER], b"").await;
        assert_eq!(status, "12");
        assert!(
            text.contains(&format!("has no method `{method}`")),
            "{text}"
        );
    }
}

fn request(revision: &str) -> Vec<u8> {
    let revision = revision.to_owned();
    MetadataRequest { revision }.encode_to_vec()
}

async fn second(servers: &Servers, method: &str, group: &str, message: &[u8]) -> Answered {
    triple(servers, V2, method, ["2.0.0", group], message).await
}

async fn triple(
    servers: &Servers,
    interface: &str,
    method: &str,
    [version, group]: [&str; 2],
    message: &[u8],
) -> Answered {
    let mut client = Client::connect(servers.tri).await;
    let headers = [
        ("content-type", "application/grpc+proto"),
        ("te", "trailers"),
        ("tri-service-version", version),
        ("tri-service-group", group),
    ];
    let path = format!("/{interface}/{method}");
    let mut call = client.post(&path, &headers).await;
    call.data(envelope(message), true);
    let head = call.response().await;
    let body = call.body().await;
    let end = if head.ended {
        head.headers
    } else {
        call.trailers().await.expect("trailers")
    };
    let text = |name| {
        let value = end.get(name).map(|value| value.to_str().expect("a text"));
        value.unwrap_or_default().to_owned()
    };
    let message = body.get(5..).map(Bytes::copy_from_slice);
    (text("grpc-status"), text("grpc-message"), message)
}

/// The value that a method of the first version answers, asked by the classic protocol.
async fn first(servers: &Servers, method: &'static str, arguments: &[&str]) -> Value {
    let types = [TEXT].repeat(arguments.len()).concat().leak();
    let arguments: Vec<_> = arguments.iter().map(|text| Value::from(*text)).collect();
    match ask(servers, method, types, &arguments).await {
        Said::Value(value) => value,
        other => panic!("{method}: {other:?}"),
    }
}

async fn ask(
    servers: &Servers,
    method: &'static str,
    types: &'static str,
    arguments: &[Value],
) -> Said {
    let call = Call {
        path: V1,
        version: Some("1.0.0"),
        attachments: Some(vec![("path", V1.into()), ("group", PROVIDER.into())]),
        ..Call::of(method, types, arguments)
    };
    Connection::connect(servers.dubbo)
        .await
        .ask(&call)
        .await
        .said
}

fn sorted_set(urls: &[&str]) -> Value {
    Value::typed_list(
        "java.util.TreeSet",
        urls.iter().map(|url| Value::from(*url)),
    )
}

const TEXT: &str = "Ljava/lang/String;";
