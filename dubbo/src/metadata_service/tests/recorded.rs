//! Our client and our servers in the places of peers that were recorded.

use bytes::Bytes;
use dubbo_core::codegen::prost::{self, Message as _};
use dubbo_hessian2::{Value, from_slice};
use dubbo_metadata::{
    consumer::{Fetch as _, FetchError},
    model::MetadataInfo,
};
use dubbo_test::peer::{
    dubbo::{Answer, Connection, Frame, Said, Server},
    h2,
};

use super::{
    super::proto::{MetadataInfoV2, MetadataRequest},
    recordings::{self, DubboCall, TripleCall, borrowed},
    rig::{Application, V1, V2, client, instance, serve},
};

#[tokio::test]
async fn recorded_answers_by_the_classic_protocol_are_read() {
    let (mut known, mut unknown) = (0, 0);
    for call in metadata_infos() {
        let asked = Asked::of(&call);
        let peer = Server::bind().await;
        let mut instance = instance(peer.address(), "dubbo", "1.0.0");
        instance.application = (&*asked.application).into();
        let script = async {
            let mut connection = peer.accept().await;
            let request = connection.call().await;
            assert_eq!(Asked::of_frame(&request), asked, "{}", call.label);
            let Frame { status, body, .. } = call.response.clone();
            connection.send(Frame::answer(&request, status, body)).await;
        };
        let client = client();
        let (found, ()) = tokio::join!(client.fetch(&instance, &asked.revision), script);
        match found {
            Ok(info) => {
                known += 1;
                assert_is_whole(&info, &asked.application, &asked.revision, &call.label);
            }
            Err(FetchError::UnknownRevision) => unknown += 1,
            Err(error) => panic!("{}: {error:?}", call.label),
        }
    }
    assert_eq!((known, unknown), (4, 1));
}

#[tokio::test]
async fn recorded_answers_by_triple_are_read() {
    let (mut known, mut unknown) = (Vec::new(), 0);
    for call in recordings::triple(&TRIPLE) {
        let Some(asked) = rightly_asked(&call) else {
            continue;
        };
        match replayed(&call, &asked).await {
            Ok(info) => {
                assert_is_whole(&info, &asked.application, &asked.revision, &call.label);
                known.push(info);
            }
            Err(FetchError::UnknownRevision) => unknown += 1,
            Err(error) => panic!("{}: {error:?}", call.label),
        }
    }
    assert_eq!((known.len(), unknown), (5, 3));
    // Both versions of Java's service, asked for the same.
    assert_eq!(known[3], known[4]);
}

#[tokio::test]
async fn recorded_requests_by_the_classic_protocol_are_answered_alike() {
    let mut answered = 0;
    for call in recordings::dubbo(&DUBBO) {
        let asked = Asked::of(&call);
        let theirs = Answer::of(&without_null(&call.response)).said;
        let known = match &theirs {
            Said::Value(value @ Value::Object(_)) => vec![value.to().expect("metadata")],
            _ => Vec::new(),
        };
        let servers = serve(Application::with(&asked.application, known.clone())).await;
        let mut connection = Connection::connect(servers.dubbo).await;
        connection.send(call.request.clone()).await;
        let ours = Answer::of(&connection.frame().await).said;
        match (known.first(), ours) {
            (Some(info), Said::Value(ours)) => {
                assert_eq!(&ours.to::<MetadataInfo>().expect("metadata"), info);
            }
            (_, ours) => assert_eq!(ours, theirs, "{}", call.label),
        }
        answered += 1;
    }
    assert_eq!(answered, 7);
}

#[tokio::test]
async fn recorded_requests_by_triple_are_answered_alike() {
    let mut answered = 0;
    for call in recordings::triple(&TRIPLE) {
        let Some(asked) = rightly_asked(&call) else {
            continue;
        };
        let Ok(info) = replayed(&call, &asked).await else {
            continue;
        };
        let servers = serve(Application::with(&asked.application, [info.clone()])).await;
        let mut client = h2::Client::connect(servers.tri).await;
        let mut stream = client.post(&call.path, &borrowed(&call.headers)).await;
        stream.data(call.request.clone(), true);
        assert_eq!(stream.response().await.status, 200, "{}", call.label);
        let body = stream.body().await;
        let trailers = stream.trailers().await.expect("trailers");
        assert_eq!(trailers["grpc-status"], "0", "{}", call.label);
        assert_eq!(read(&call.path, &body[5..]), info, "{}", call.label);
        answered += 1;
    }
    assert_eq!(answered, 5);
}

const DUBBO: [&str; 3] = [
    "go/metadata-service-default-own.jsonl",
    "go/metadata-service-dubbo-own.jsonl",
    "java/metadata-dubbo.jsonl",
];

const TRIPLE: [&str; 3] = [
    "go/metadata-service-tri-own.jsonl",
    "go/metadata-service-v1-over-tri.jsonl",
    "java/metadata-tri.jsonl",
];

/// What a call asks for.
#[derive(Debug, PartialEq)]
struct Asked {
    application: String,
    revision: String,
}

impl Asked {
    fn of(call: &DubboCall) -> Self {
        Self::of_frame(&call.request)
    }

    fn of_frame(frame: &Frame) -> Self {
        let decoder = &mut dubbo_hessian2::Decoder::new(&frame.body);
        let mut text = || decoder.string().expect("a text");
        let head = std::array::from_fn::<_, 5, _>(|_| text());
        assert_eq!(head[..3], ["2.0.2", V1, "1.0.0"]);
        let revision = if head[4].is_empty() {
            String::new()
        } else {
            text()
        };
        let attachments = decoder.value().expect("a map");
        let attachments = attachments.as_map().expect("a map").iter();
        let group = attachments
            .clone()
            .find(|(name, _)| *name == "group".into());
        let application = group.expect("a group").1.as_str().expect("a text");
        Self {
            application: application.to_owned(),
            revision,
        }
    }
}

/// dubbo-go has one null too many at the end of its answers.
fn without_null(response: &Frame) -> Frame {
    let mut response = response.clone();
    if let Some(body) = response.body.strip_suffix(b"ZN") {
        response.body = [body, b"Z"].concat();
    }
    response
}

/// The calls of `getMetadataInfo`.
fn metadata_infos() -> Vec<DubboCall> {
    let mut calls = recordings::dubbo(&DUBBO);
    calls.retain(|call| !Asked::of(call).revision.is_empty());
    calls
}

/// What a call of `getMetadataInfo` asks for, unless it is one by hand with headers or a spelling that no client has.
fn rightly_asked(call: &TripleCall) -> Option<Asked> {
    let (v1, v2) = (
        format!("/{V1}/getMetadataInfo"),
        format!("/{V2}/GetMetadataInfo"),
    );
    let version = match &call.path {
        path if *path == v1 => "1.0.0",
        path if *path == v2 => "2.0.0",
        _ => return None,
    };
    let header = |name: &str| {
        let header = call.headers.iter().find(|(other, _)| other == name);
        header.map(|(_, value)| value.as_str())
    };
    let application = header("tri-service-group").filter(|group| *group != "other")?;
    (header("tri-service-version") == Some(version)).then(|| Asked {
        application: application.to_owned(),
        revision: revision(&call.path, &call.request[5..]),
    })
}

/// Triple's message around hessian values, of requests and of answers.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(prost_path = "::dubbo_core::codegen::prost")]
struct Wrapper {
    #[prost(string, tag = "1")]
    serialize_type: String,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    values: Vec<Bytes>,
    #[prost(string, repeated, tag = "3")]
    types: Vec<String>,
}

fn is_second(path: &str) -> bool {
    path.starts_with(&format!("/{V2}/"))
}

/// The revision that a message asks for.
fn revision(path: &str, message: &[u8]) -> String {
    if is_second(path) {
        let request = MetadataRequest::decode(message).expect("protobuf");
        return request.revision;
    }
    let wrapper = Wrapper::decode(message).expect("protobuf");
    assert!(wrapper.serialize_type.starts_with("hessian"));
    assert_eq!(wrapper.types, ["java.lang.String"]);
    from_slice(&wrapper.values[0]).expect("a text")
}

/// The metadata in a message.
fn read(path: &str, message: &[u8]) -> MetadataInfo {
    if is_second(path) {
        return MetadataInfoV2::decode(message).expect("protobuf").into();
    }
    let wrapper = Wrapper::decode(message).expect("protobuf");
    from_slice(&wrapper.values[0]).expect("metadata")
}

/// What our client makes of a recorded answer.
async fn replayed(call: &TripleCall, asked: &Asked) -> Result<MetadataInfo, FetchError> {
    let peer = h2::Server::bind().await;
    let meta_v = if is_second(&call.path) {
        "2.0.0"
    } else {
        "1.0.0"
    };
    let mut instance = instance(peer.address(), "tri", meta_v);
    instance.application = (&*asked.application).into();
    let script = async {
        let mut connection = peer.accept().await;
        let mut request = connection.request().await;
        assert_eq!(request.path(), call.path);
        let message = request.message().await.expect("a message");
        assert_eq!(revision(&call.path, &message), asked.revision);
        request.send_headers(200, &borrowed(&call.response_headers));
        request.send_data(call.response.clone(), false);
        request.send_trailers(&borrowed(&call.trailers));
        connection.closed().await;
    };
    let client = client();
    tokio::join!(client.fetch(&instance, &asked.revision), script).0
}

fn assert_is_whole(info: &MetadataInfo, application: &str, revision: &str, label: &str) {
    assert_eq!(
        (&*info.app, &*info.revision),
        (application, revision),
        "{label}"
    );
    assert!(!info.services.is_empty(), "{label}");
    for (key, service) in &info.services {
        assert_eq!(*key, service.match_key(), "{label}");
        assert_eq!(service.path, service.name, "{label}");
        assert_eq!(service.params["application"], application, "{label}");
        assert!(service.methods().next().is_some(), "{label}");
    }
}
