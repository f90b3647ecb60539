//! tonic, a client that owes nothing to this code, calls a service of ours.

use bytes::Bytes;
use dubbo_core::{request::Response, status::Status};
use http::uri::PathAndQuery;
use prost::Message;
use tonic::{
    Code, Request,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    metadata::{MetadataMap, MetadataValue},
    transport::{Channel, Endpoint},
};

use crate::{
    greeter::{GREET, GreetRequest, GreetResponse, Provider, Req, Resp, builder, greeter, hello},
    wire,
};

/// Protobuf for tonic.
struct Protobuf;

impl Codec for Protobuf {
    type Encode = GreetRequest;
    type Decode = GreetResponse;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Protobuf {
    type Item = GreetRequest;
    type Error = tonic::Status;

    fn encode(&mut self, item: GreetRequest, dst: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        item.encode(dst)
            .map_err(|error| tonic::Status::internal(error.to_string()))
    }
}

impl Decoder for Protobuf {
    type Item = GreetResponse;
    type Error = tonic::Status;

    fn decode(&mut self, src: &mut DecodeBuf<'_>) -> Result<Option<GreetResponse>, tonic::Status> {
        GreetResponse::decode(src)
            .map(Some)
            .map_err(|error| tonic::Status::internal(error.to_string()))
    }
}

async fn client(provider: &Provider) -> Grpc<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", provider.address)).expect("a URI");
    Grpc::new(endpoint.connect().await.expect("listening"))
}

async fn ready(client: &mut Grpc<Channel>) -> &mut Grpc<Channel> {
    client.ready().await.expect("connected");
    client
}

fn named(name: &str) -> GreetRequest {
    GreetRequest {
        name: name.to_owned(),
    }
}

fn path(path: &'static str) -> PathAndQuery {
    PathAndQuery::from_static(path)
}

fn greetings(responses: Vec<GreetResponse>) -> Vec<String> {
    responses
        .into_iter()
        .map(|response| response.greeting)
        .collect()
}

#[tokio::test]
async fn all_four_kinds_of_calls_work() {
    let provider = Provider::of(greeter()).await;
    let mut client = client(&provider).await;
    let one = ready(&mut client)
        .await
        .unary(Request::new(named("tonic")), path(wire::GREET), Protobuf)
        .await
        .expect("greeted");
    assert_eq!(one.into_inner().greeting, "hello tonic");

    let mut stream = ready(&mut client)
        .await
        .server_streaming(Request::new(named("x")), path(wire::GREET_STREAM), Protobuf)
        .await
        .expect("started")
        .into_inner();
    let mut all = Vec::new();
    while let Some(item) = stream.message().await.expect("a message") {
        all.push(item);
    }
    assert_eq!(greetings(all), ["m0", "m1", "m2"]);

    let names = futures_util::stream::iter(["a", "b"].map(named));
    let many = ready(&mut client)
        .await
        .client_streaming(Request::new(names), path(wire::GREET_MANY), Protobuf)
        .await
        .expect("greeted");
    assert_eq!(many.into_inner().greeting, "hello a+b");

    // Each request is sent after the answer to the one before it.
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let requests = futures_util::stream::poll_fn(move |cx| receive.poll_recv(cx));
    let mut responses = ready(&mut client)
        .await
        .streaming(Request::new(requests), path(wire::GREET_BIDI), Protobuf)
        .await
        .expect("started")
        .into_inner();
    for name in ["a", "b"] {
        send.send(named(name)).await.expect("open");
        let response = responses.message().await.expect("open").expect("one");
        assert_eq!(response, hello(name));
    }
    drop(send);
    assert_eq!(responses.message().await.expect("open"), None);
}

#[tokio::test]
async fn errors_details_and_metadata_arrive() {
    let service = builder()
        .unary::<Req, Resp, _, _>(GREET, |request| async move {
            let token = request.attachments().get("token").map(str::to_owned);
            let blob = request.attachments().get_bin("blob");
            if request.message().name == "fail" {
                let mut status = Status::failed_precondition("not \u{e9} 100%")
                    .with_detail(&"a detail".to_owned());
                status.attachments_mut().insert("why", "x");
                return Err(status);
            }
            Ok(Response::new(hello(&token.unwrap_or_default()))
                .header("head", "1")
                .trailer("blob", blob.unwrap_or_default()))
        })
        .build();
    let provider = Provider::of(service).await;
    let mut client = client(&provider).await;

    let mut request = Request::new(named("x"));
    request
        .metadata_mut()
        .insert("token", "secret".parse().expect("ASCII"));
    let blob = MetadataValue::from_bytes(&[0, 0xff]);
    request.metadata_mut().insert_bin("blob-bin", blob.clone());
    let response = ready(&mut client)
        .await
        .unary(request, path(wire::GREET), Protobuf)
        .await
        .expect("greeted");
    // tonic puts headers and trailers together.
    let metadata: &MetadataMap = response.metadata();
    assert_eq!(metadata.get("head").expect("a header"), "1");
    assert_eq!(metadata.get_bin("blob-bin").expect("a trailer"), blob);
    assert_eq!(response.into_inner().greeting, "hello secret");

    let status = ready(&mut client)
        .await
        .unary(Request::new(named("fail")), path(wire::GREET), Protobuf)
        .await
        .expect_err("fails");
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert_eq!(status.message(), "not \u{e9} 100%");
    assert_eq!(status.metadata().get("why").expect("kept"), "x");
    let details = Bytes::copy_from_slice(status.details());
    assert!(
        details.windows(8).any(|window| window == b"a detail"),
        "{details:?}"
    );
}

#[tokio::test]
async fn an_unknown_method_is_unimplemented() {
    let provider = Provider::of(greeter()).await;
    let mut client = client(&provider).await;
    let status = ready(&mut client)
        .await
        .unary(
            Request::new(named("x")),
            path("/greet.Nobody/Greet"),
            Protobuf,
        )
        .await
        .expect_err("unknown");
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("greet.GreetService"), "{status}");
}
