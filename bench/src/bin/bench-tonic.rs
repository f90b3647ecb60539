//! gRPC in Rust as it is usually done: what is measured of the interop service, on tonic.

use futures_util::stream::{self, BoxStream};
use tonic::{Request, Response, Status, transport::Server};

#[allow(clippy::pedantic, missing_docs, unreachable_pub)]
mod pb {
    include!(concat!(env!("OUT_DIR"), "/tonic/dubbo.interop.v1.rs"));
}

#[tokio::main]
async fn main() -> Result<(), tonic::transport::Error> {
    Server::builder()
        .tcp_nodelay(true)
        .max_concurrent_streams(bench::MAX_CONCURRENT_STREAMS)
        .initial_stream_window_size(bench::STREAM_WINDOW)
        .initial_connection_window_size(bench::CONNECTION_WINDOW)
        .max_frame_size(bench::MAX_FRAME)
        .add_service(pb::greeter_server::GreeterServer::new(Echo))
        .serve(bench::address())
        .await
}

struct Echo;

#[tonic::async_trait]
impl pb::greeter_server::Greeter for Echo {
    async fn ping(
        &self,
        request: Request<pb::PingMessage>,
    ) -> Result<Response<pb::PingMessage>, Status> {
        Ok(Response::new(request.into_inner()))
    }

    type GreetServerStreamStream = BoxStream<'static, Result<pb::GreetResponse, Status>>;

    async fn greet_server_stream(
        &self,
        request: Request<pb::GreetRequest>,
    ) -> Result<Response<Self::GreetServerStreamStream>, Status> {
        let request = request.into_inner();
        let name = request.name;
        let greetings = (0..request.count).map(move |seq| {
            Ok(pb::GreetResponse {
                greeting: format!("hello {name} #{seq}"),
                seq,
            })
        });
        Ok(Response::new(Box::pin(stream::iter(greetings))))
    }
}
