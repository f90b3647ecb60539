//! A generated client calls a generated server, without a protocol in between.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    call::{Client, Stub},
    invocation::{Body, Invocation, PayloadStream, RpcResult},
    invoker::Invoker,
    payload::{Codec, Payload},
    provider::Service,
    request::{Request, Response},
    service::ServiceKey,
    status::{Code, Status},
    streaming::Streaming,
    url::Url,
};
use futures_util::{StreamExt, stream};

use crate::generated::{
    greet::{
        Elsewhere, ElsewhereClient, ElsewhereServer, GreetRequest, GreetResponse, Greeter,
        GreeterClient, GreeterServer, Nothing, NothingServer,
    },
    rich::v1::{Rich, rich::Part},
};

#[tokio::test]
async fn all_four_kinds_of_call_reach_the_handler_and_come_back() {
    for wire in WIRES {
        let client = greeter(wire);

        let reply = client.greet(request("a", 1)).await.expect("unary");
        assert_eq!(reply.into_message().greeting, "hello a", "{wire:?}");

        let reply = client.greet_server_stream(request("a", 3)).await;
        let got = greetings(reply.expect("server stream")).await;
        assert_eq!(got, ["hello a 0", "hello a 1", "hello a 2"], "{wire:?}");

        let names = stream::iter(["a", "b"].map(|name| request(name, 1)));
        let reply = client
            .greet_client_stream(names)
            .await
            .expect("client stream");
        assert_eq!(reply.into_message().greeting, "hello a,b", "{wire:?}");

        let names = stream::iter(["a", "b"].map(|name| request(name, 1)));
        let got = greetings(client.greet_bidi(names).await.expect("bidi")).await;
        assert_eq!(got, ["hello a", "hello b"], "{wire:?}");
    }
}

#[tokio::test]
async fn attachments_and_errors_pass_with_the_messages() {
    for wire in WIRES {
        let client = greeter(wire);
        let asked = Request::new(request("a", 1)).attach("tenant", "t1");
        let reply = client.lower_case(asked).await.expect("unary");
        assert_eq!(reply.message().greeting, "lower a", "{wire:?}");
        assert_eq!(reply.trailers().get("tenant"), Some("t1"), "{wire:?}");

        #[expect(
            deprecated,
            reason = "the proto file says so, and the client passes it on"
        )]
        let call = client.old_greet(request("a", 1));
        let status = call.await.expect_err("the handler refuses");
        assert_eq!(status.code(), Code::NotFound, "{wire:?}");
        assert_eq!(
            status.detail::<GreetRequest>(),
            Some(request("a", 1)),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn messages_of_other_packages_and_well_known_ones_pass() {
    for wire in WIRES {
        let client: ElsewhereClient = client(ElsewhereServer::new(Here), wire);
        let part = Part {
            name: "p".to_owned(),
            child: Some(Box::default()),
            ..Part::default()
        };
        let rich = Rich {
            f_part: Some(part.clone().into()),
            ..Rich::default()
        };
        let reply = client.echo(rich.clone()).await.expect("echo");
        assert_eq!(*reply.message(), rich, "{wire:?}");
        let reply = client.nested(part.clone()).await.expect("nested");
        assert_eq!(*reply.message(), part, "{wire:?}");
        let reply = client.wrap(pbjson_types::Empty {}).await.expect("wrap");
        assert_eq!(reply.message().value, "wrapped", "{wire:?}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_message_are_refused_before_the_handler() {
    let service = Service::from(GreeterServer::new(Hello));
    let method = service.descriptor().find("Greet").expect("it is there");
    for codec in [Codec::Protobuf, Codec::Json] {
        let body = Body::Unary(Payload::encoded(codec, b"\xff\xff"[..].into()));
        let key = Arc::new(ServiceKey::new("greet.Greeter"));
        let invocation = Invocation::new(key, method.clone(), body);
        let invoker = service.clone().into_invoker(url());
        let status = invoker.invoke(invocation).await.expect_err("not a message");
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        let start = "the request of greet.Greeter/Greet is not usable: ";
        assert!(status.message().starts_with(start), "{status:?}");
    }
}

#[tokio::test]
async fn a_server_shares_its_handler_and_names_it() {
    let server = GreeterServer::from_arc(Arc::new(Hello));
    assert!(
        format!("{:?}", server.clone()).contains("Hello"),
        "{server:?}"
    );
    assert_eq!(Service::from(server).implementation(), "Hello");
    assert_eq!(
        Service::from(NothingServer::new(NoMethods))
            .descriptor()
            .methods()
            .len(),
        0
    );
}

/// How messages travel: as they are, or encoded.
const WIRES: [Option<Codec>; 3] = [None, Some(Codec::Protobuf), Some(Codec::Json)];

fn greeter(wire: Option<Codec>) -> GreeterClient {
    client(GreeterServer::new(Hello), wire)
}

fn client<C: Client>(server: impl Into<Service>, wire: Option<Codec>) -> C {
    let descriptor = Arc::clone(C::descriptor());
    let key = ServiceKey::new(descriptor.interface());
    let handler = server.into().into_invoker(url());
    let invoker: Arc<dyn Invoker> = match wire {
        None => handler,
        Some(codec) => Arc::new(Encoded { handler, codec }),
    };
    C::from_stub(Stub::new(invoker, key, descriptor))
}

fn url() -> Url {
    Url::new("test", "localhost")
}

fn request(name: &str, count: i32) -> GreetRequest {
    GreetRequest {
        name: name.to_owned(),
        count,
    }
}

fn response(greeting: impl Into<String>) -> GreetResponse {
    GreetResponse {
        greeting: greeting.into(),
    }
}

async fn greetings(reply: Response<Streaming<GreetResponse>>) -> Vec<String> {
    let replies = reply.into_message();
    replies
        .map(|reply| reply.expect("a message").greeting)
        .collect()
        .await
}

struct Hello;

impl Greeter for Hello {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        Ok(response(format!("hello {}", request.message().name)).into())
    }

    async fn greet_server_stream(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let GreetRequest { name, count } = request.into_message();
        let replies = (0..count).map(move |seq| Ok(response(format!("hello {name} {seq}"))));
        Ok(Response::stream(stream::iter(replies)))
    }

    async fn greet_client_stream(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        let mut requests = request.into_message();
        let mut names = Vec::new();
        while let Some(request) = requests.message().await? {
            names.push(request.name);
        }
        Ok(response(format!("hello {}", names.join(","))).into())
    }

    async fn greet_bidi(
        &self,
        request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let requests = request.into_message();
        Ok(Response::stream(requests.map(|request| {
            request.map(|request| response(format!("hello {}", request.name)))
        })))
    }

    async fn lower_case(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let tenant = request
            .attachments()
            .get("tenant")
            .unwrap_or("none")
            .to_owned();
        let reply = response(format!("lower {}", request.message().name));
        Ok(Response::new(reply).trailer("tenant", tenant))
    }

    async fn old_greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::not_found("nobody").with_detail(request.message()))
    }
}

struct NoMethods;

impl Nothing for NoMethods {}

struct Here;

impl Elsewhere for Here {
    async fn echo(&self, request: Request<Rich>) -> Result<Response<Rich>, Status> {
        Ok(request.into_message().into())
    }

    async fn wrap(
        &self,
        _: Request<pbjson_types::Empty>,
    ) -> Result<Response<pbjson_types::StringValue>, Status> {
        Ok(pbjson_types::StringValue::from("wrapped".to_owned()).into())
    }

    async fn nested(&self, request: Request<Part>) -> Result<Response<Part>, Status> {
        Ok(request.into_message().into())
    }
}

/// Encodes every message on its way to the handler and back, as a protocol does.
struct Encoded {
    handler: Arc<dyn Invoker>,
    codec: Codec,
}

#[async_trait]
impl Invoker for Encoded {
    fn url(&self) -> &Url {
        self.handler.url()
    }

    async fn invoke(&self, mut invocation: Invocation) -> RpcResult {
        invocation.body = encoded(invocation.body, self.codec)?;
        let mut reply = self.handler.invoke(invocation).await?;
        reply.body = encoded(reply.body, self.codec)?;
        Ok(reply)
    }
}

fn encoded(body: Body, codec: Codec) -> Result<Body, Status> {
    let encode = move |mut payload: Payload| {
        payload
            .freeze(codec)
            .map_err(|error| Status::internal(error.to_string()))?;
        Ok::<_, Status>(payload)
    };
    Ok(match body {
        Body::Unary(payload) => Body::Unary(encode(payload)?),
        Body::Stream(payloads) => Body::Stream(PayloadStream::new(
            payloads.map(move |payload| payload.and_then(encode)),
        )),
    })
}
