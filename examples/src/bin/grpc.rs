//! Triple is gRPC: a client and a server of tonic, which know nothing of Dubbo, call and are called.
//!
//! `cargo run -p examples --features grpc --bin grpc`. What tonic's generator would write is written out here: a method is a
//! path and a codec.

#![allow(clippy::print_stdout, reason = "an example speaks to its user")]

use std::{
    error::Error,
    future::{Ready, ready},
    net::SocketAddr,
    time::Duration,
};

use axum::{Router, extract::Request, http::uri::PathAndQuery, routing::post};
use dubbo::{Instance, Status, config::ReferenceConfig};
use examples::{
    answering::{Answering, from, serve},
    greet::{GreetRequest, GreetResponse, GreeterClient},
    hello,
};
use tokio::net::TcpListener;
use tonic::{
    client,
    server::{self, UnaryService},
    service::Routes,
    transport::{Endpoint, Server, server::TcpIncoming},
};
use tonic_prost::ProstCodec;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Our server, called by tonic.
    let strict = Answering(|name: String| {
        ready(match name.as_str() {
            "" => Err(Status::invalid_argument("a name is needed")),
            name => Ok(hello(name).greeting),
        })
    });
    let (provider, url) = serve("grpc", 0, strict).await?;
    let address = url.split(['/', '?']).nth(2).unwrap_or_default();
    let channel = Endpoint::from_shared(format!("http://{address}"))?
        .connect()
        .await?;
    for name in ["tonic", ""] {
        let mut client = client::Grpc::new(channel.clone());
        client.ready().await?;
        let request = tonic::Request::new(from(name));
        let codec = ProstCodec::<GreetRequest, GreetResponse>::default();
        match client
            .unary(request, PathAndQuery::from_static(GREET), codec)
            .await
        {
            Ok(response) => println!("{}", response.into_inner().greeting),
            Err(status) => println!("tonic got {:?}: {}", status.code(), status.message()),
        }
    }
    provider.shutdown(Duration::from_secs(1)).await;

    // tonic's server, called by us.
    let consumer = Instance::builder().application("grpc").build()?;
    let options = ReferenceConfig::new().url([format!("tri://{}", serve_by_tonic().await?)]);
    let greeter: GreeterClient = consumer.refer_with(options).await?;
    for name in ["Dubbo", ""] {
        match greeter.greet(from(name)).attach("tenant", "acme").await {
            Ok(response) => println!("{}", response.message().greeting),
            Err(status) => println!("we got {status}"),
        }
    }
    Ok(())
}

/// Starts a server of tonic, and says where it is.
async fn serve_by_tonic() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let greet = post(|request: Request| async {
        let mut grpc = server::Grpc::new(ProstCodec::<GreetResponse, GreetRequest>::default());
        grpc.unary(Plain, request).await
    });
    let routes = Routes::from(Router::new().route(GREET, greet));
    let server = Server::builder().add_routes(routes);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    Ok(address)
}

/// The handler at tonic's server.
struct Plain;

impl UnaryService<GreetRequest> for Plain {
    type Response = GreetResponse;
    type Future = Ready<Result<tonic::Response<GreetResponse>, tonic::Status>>;

    fn call(&mut self, request: tonic::Request<GreetRequest>) -> Self::Future {
        let tenant = request.metadata().get("tenant").cloned();
        let tenant = tenant
            .as_ref()
            .and_then(|it| it.to_str().ok())
            .unwrap_or("nobody");
        ready(match request.get_ref().name.as_str() {
            "" => Err(tonic::Status::invalid_argument("tonic needs a name")),
            name => Ok(tonic::Response::new(hello(&format!("{name} of {tenant}")))),
        })
    }
}

const GREET: &str = "/greet.Greeter/Greet";
