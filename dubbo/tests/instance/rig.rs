//! What the tests share: instances from texts, handlers, and a registry that remembers.

use dubbo::{
    Instance, InstanceBuilder, Request, Response, Service, Status, Streaming,
    config::{Environment, LoadOptions},
};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer};
use tokio::{
    net::{TcpListener, ToSocketAddrs},
    sync::{mpsc, oneshot},
};

/// An instance of this configuration, in an empty environment.
pub(crate) fn load(yaml: &str) -> InstanceBuilder {
    load_in(yaml, &[])
}

/// An instance of this configuration, in an environment of these variables alone.
pub(crate) fn load_in(yaml: &str, variables: &[(&str, &str)]) -> InstanceBuilder {
    let environment: Environment = variables.iter().copied().collect();
    let options = LoadOptions::text("dubbo.yaml", yaml).environment(environment);
    Instance::load_with(&options).expect("it is YAML")
}

/// Starts a provider of `service` on a free port, with `sections` beside its protocol.
pub(crate) async fn provide(sections: &str, service: impl Into<Service>) -> Instance {
    let yaml = format!("dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}{sections}}}");
    let instance = load(&yaml).provide(service).build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// Where an instance with one service is.
pub(crate) fn url_of(instance: &Instance) -> String {
    let exported = instance.exported();
    let [url] = exported.as_slice() else {
        panic!("one service is exported: {exported:?}");
    };
    format!("{}://{}", url.protocol(), url.address())
}

/// A client of the provider at `url`, with these options of its reference.
pub(crate) async fn consume(url: &str, options: &str) -> GreeterClient {
    consume_with(&reference(url, options)).await
}

/// A client of this configuration. It outlives its instance.
pub(crate) async fn consume_with(yaml: &str) -> GreeterClient {
    let instance = load(yaml).build().expect("valid");
    instance.refer().await.expect("refers")
}

/// The configuration of a consumer of the provider at `url`.
pub(crate) fn reference(url: &str, options: &str) -> String {
    format!("dubbo: {{consumer: {{references: {{GreeterClient: {{url: '{url}', {options}}}}}}}}}")
}

/// Greets by name: the answer's text.
pub(crate) async fn greet(greeter: &GreeterClient, name: &str) -> Result<String, Status> {
    let response = greeter.greet(request(name)).await?;
    Ok(response.into_message().greeting)
}

pub(crate) fn request(name: &str) -> GreetRequest {
    GreetRequest {
        name: name.to_owned(),
    }
}

fn answer(greeting: impl Into<String>) -> Response<GreetResponse> {
    Response::new(GreetResponse {
        greeting: greeting.into(),
    })
}

/// A service that answers `Greet` and the request of `GreetMany` with what `answer` says.
pub(crate) fn answering<F>(answer: F) -> GreeterServer<Answering<F>>
where
    F: Fn(&Request<GreetRequest>) -> Result<String, Status> + Send + Sync + 'static,
{
    GreeterServer::new(Answering(answer))
}

/// A service that answers with its name.
pub(crate) fn named(name: &'static str) -> impl Into<Service> {
    answering(move |_| Ok(name.to_owned()))
}

pub(crate) struct Answering<F>(F);

impl<F> Greeter for Answering<F>
where
    F: Fn(&Request<GreetRequest>) -> Result<String, Status> + Send + Sync + 'static,
{
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        (self.0)(&request).map(answer)
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let greeting = answer((self.0)(&request)?).into_message();
        Ok(Response::stream(dubbo::stream::iter([Ok(greeting)])))
    }

    async fn greet_all(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn greet_each(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }
}

/// A service whose calls the test answers, one by one.
pub(crate) fn desk() -> (GreeterServer<Desk>, Calls) {
    let (sender, calls) = mpsc::unbounded_channel();
    (GreeterServer::new(Desk(sender)), Calls(calls))
}

pub(crate) struct Desk(mpsc::UnboundedSender<Waiting>);

pub(crate) struct Calls(mpsc::UnboundedReceiver<Waiting>);

impl Calls {
    /// The next call that has reached the handler.
    pub(crate) async fn next(&mut self) -> Waiting {
        let call = dubbo_test::soon("a call", self.0.recv()).await;
        call.expect("the service is there")
    }
}

/// A call that waits for its answer.
pub(crate) struct Waiting {
    pub(crate) name: String,
    answer: oneshot::Sender<String>,
}

impl Waiting {
    pub(crate) fn answer(self, greeting: &str) {
        // It fails when the caller has gone, which is for the caller to check.
        let _ = self.answer.send(greeting.to_owned());
    }

    /// Waits until nobody waits for the answer any more: the handler was dropped.
    pub(crate) async fn given_up(&mut self) {
        self.answer.closed().await;
    }
}

impl Greeter for Desk {
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let name = request.into_message().name;
        let (sender, receiver) = oneshot::channel();
        let waiting = Waiting {
            name,
            answer: sender,
        };
        let gone = |()| Status::aborted("the test has gone");
        self.0.send(waiting).map_err(|_| gone(()))?;
        receiver.await.map(answer).map_err(|_| gone(()))
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let (sender, greetings) = Streaming::channel(1);
        let first = self.greet(request).await?.into_message();
        sender.send(first).await.expect("the stream is held here");
        Ok(Response::new(greetings))
    }

    async fn greet_all(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }

    async fn greet_each(
        &self,
        _: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
    }
}

/// Waits until nobody listens at `address`. Another test may have got the port meanwhile, but not for long.
pub(crate) async fn free_again(address: impl ToSocketAddrs + Copy) {
    dubbo_test::soon("a free port", async {
        while TcpListener::bind(address).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
