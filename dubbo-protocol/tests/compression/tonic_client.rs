//! tonic calls our server.

use http::uri::PathAndQuery;
use tonic::{
    Code, Request,
    client::Grpc,
    codec::CompressionEncoding,
    transport::{Channel, Endpoint},
};

use crate::{
    support::{ECHO, Provider, REPEAT, Text, long, text},
    tonic_codec::{ENCODINGS, Protobuf},
};

async fn client(
    provider: &Provider,
    send: Option<CompressionEncoding>,
    accept: &[CompressionEncoding],
) -> Grpc<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", provider.address)).expect("a URI");
    let mut client = Grpc::new(endpoint.connect().await.expect("listening"));
    if let Some(send) = send {
        client = client.send_compressed(send);
    }
    for encoding in accept {
        client = client.accept_compressed(*encoding);
    }
    client
}

async fn echo(
    client: &mut Grpc<Channel>,
    given: &str,
) -> Result<tonic::Response<Text>, tonic::Status> {
    client.ready().await.expect("connected");
    let path = PathAndQuery::from_static(ECHO);
    client
        .unary(Request::new(text(given)), path, Protobuf)
        .await
}

#[tokio::test]
async fn what_tonic_compresses_is_read_and_what_is_compressed_tonic_reads() {
    for (name, encoding) in ENCODINGS {
        let provider = Provider::with(&format!(".compression.send={name}")).await;
        let mut client = client(&provider, Some(encoding), &[encoding]).await;
        for given in [long(), "short".to_owned(), String::new()] {
            let answer = echo(&mut client, &given).await.expect("it worked");
            let used = answer.metadata().get("grpc-encoding").expect("negotiated");
            assert_eq!(used, name);
            assert_eq!(answer.into_inner().text, given, "{name}");
        }
        let path = PathAndQuery::from_static(REPEAT);
        let request = Request::new(text(&long()));
        client.ready().await.expect("connected");
        let items = client.server_streaming(request, path, Protobuf).await;
        let mut items = items.expect("it began").into_inner();
        let mut texts = Vec::new();
        while let Some(item) = items.message().await.expect("the stream goes on") {
            texts.push(item.text);
        }
        assert_eq!(texts, ["short", &*long(), ""], "{name}");
    }
}

/// tonic fails a call whose answer has a compression that it did not offer.
#[tokio::test]
async fn tonic_never_gets_what_it_did_not_offer() {
    let [(_, gzip), (_, deflate), (_, zstd)] = ENCODINGS;
    for (send, accept, want) in [
        ("zstd", &[gzip, deflate][..], None),
        ("zstd,gzip", &[gzip, deflate], Some("gzip")),
        ("deflate,zstd", &[gzip, zstd], Some("zstd")),
        ("gzip", &[], None),
    ] {
        let provider = Provider::with(&format!(".compression.send={send}")).await;
        let mut client = client(&provider, None, accept).await;
        let answer = echo(&mut client, &long()).await.expect("it worked");
        let used = answer.metadata().get("grpc-encoding");
        assert_eq!(used.and_then(|used| used.to_str().ok()), want, "{send}");
        assert_eq!(answer.into_inner().text, long());
    }
}

#[tokio::test]
async fn tonic_is_told_of_errors_as_ever() {
    let provider = Provider::with(".compression.send=gzip&.compression.min-size=0").await;
    let gzip = CompressionEncoding::Gzip;
    let mut client = client(&provider, Some(gzip), &[gzip]).await;
    let status = echo(&mut client, "fail as asked")
        .await
        .expect_err("it fails");
    assert_eq!(
        (status.code(), status.message()),
        (Code::FailedPrecondition, "fail as asked")
    );
}
