//! Our client calls tonic.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    net::SocketAddr,
};

use dubbo_core::status::Code;
use dubbo_protocol::TripleProtocol;
use futures_util::stream;
use http::{Request, Response};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tonic::{
    Status,
    body::Body,
    codec::CompressionEncoding,
    server::{ClientStreamingService, Grpc, ServerStreamingService, UnaryService},
};

use crate::{
    support::{ECHO, JOIN, Text, all, echo, join, long, repeat, stub, text},
    tonic_codec::{ENCODINGS, Protobuf},
};

/// What tonic serves.
struct Texts;

impl UnaryService<Text> for Texts {
    type Response = Text;
    type Future = Ready<Result<tonic::Response<Text>, Status>>;

    fn call(&mut self, request: tonic::Request<Text>) -> Self::Future {
        ready(Ok(tonic::Response::new(request.into_inner())))
    }
}

impl ServerStreamingService<Text> for Texts {
    type Response = Text;
    type ResponseStream = stream::Iter<std::vec::IntoIter<Result<Text, Status>>>;
    type Future = Ready<Result<tonic::Response<Self::ResponseStream>, Status>>;

    fn call(&mut self, request: tonic::Request<Text>) -> Self::Future {
        let items = vec![Ok(text("short")), Ok(request.into_inner()), Ok(text(""))];
        ready(Ok(tonic::Response::new(stream::iter(items))))
    }
}

impl ClientStreamingService<Text> for Texts {
    type Response = Text;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<tonic::Response<Text>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<tonic::Streaming<Text>>) -> Self::Future {
        Box::pin(async move {
            let mut requests = request.into_inner();
            let mut joined = String::new();
            while let Some(request) = requests.message().await? {
                joined += &request.text;
            }
            Ok(tonic::Response::new(text(&joined)))
        })
    }
}

/// tonic, which takes `accept` and answers with `send`.
async fn serve(
    accept: Option<CompressionEncoding>,
    send: Option<CompressionEncoding>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let answer = move |request: Request<Incoming>| async move {
        let mut grpc = Grpc::new(Protobuf);
        if let Some(accept) = accept {
            grpc = grpc.accept_compressed(accept);
        }
        if let Some(send) = send {
            grpc = grpc.send_compressed(send);
        }
        let response: Response<Body> = match request.uri().path() {
            ECHO => grpc.unary(Texts, request).await,
            JOIN => grpc.client_streaming(Texts, request).await,
            _ => grpc.server_streaming(Texts, request).await,
        };
        Ok::<_, Infallible>(response)
    };
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let io = TokioIo::new(socket);
            let http2 = http2::Builder::new(TokioExecutor::new());
            tokio::spawn(http2.serve_connection(io, service_fn(answer)));
        }
    });
    address
}

#[tokio::test]
async fn what_we_compress_tonic_reads_and_what_tonic_compresses_is_read() {
    let protocol = TripleProtocol::default();
    for (name, encoding) in ENCODINGS {
        for (send, accept) in [(true, true), (true, false), (false, true)] {
            let address = serve(send.then_some(encoding), accept.then_some(encoding)).await;
            let query = if send {
                format!("compression.send={name}")
            } else {
                String::new()
            };
            let stub = stub(&protocol, address, &query).await.expect("known");
            for given in [long(), "short".to_owned(), String::new()] {
                let answer = echo(&stub, &given).await.expect("it worked");
                assert_eq!(answer.message().text, given, "{name}");
            }
            let items = repeat(&stub, &long()).await.expect("it began");
            assert_eq!(all(items.into_message()).await, ["short", &*long(), ""]);
            let requests = stream::iter([text("a"), text(&long())]);
            let joined = join(&stub, requests).await.expect("it worked");
            assert_eq!(joined.message().text, format!("a{}", long()));
        }
    }
}

#[tokio::test]
async fn tonic_says_what_it_does_not_take() {
    let address = serve(Some(CompressionEncoding::Gzip), None).await;
    let protocol = TripleProtocol::default();
    let stub = stub(&protocol, address, "compression.send=zstd").await;
    let stub = stub.expect("known");
    let status = echo(&stub, &long()).await.expect_err("not taken");
    assert_eq!(status.code(), Code::Unimplemented, "{status}");
    assert!(status.message().contains("zstd"), "{status}");
}
