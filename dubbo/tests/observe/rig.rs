//! What the tests share: instances from texts, and a service over both protocols.

use dubbo::{
    Instance, InstanceBuilder, Request, Response, Status, Streaming,
    config::{Environment, LoadOptions},
};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterClient};

/// An instance of this configuration, in an empty environment.
pub(crate) fn load(yaml: &str) -> InstanceBuilder {
    let options = LoadOptions::text("dubbo.yaml", yaml).environment(Environment::default());
    Instance::load_with(&options).expect("it is YAML")
}

/// Why this is no configuration.
pub(crate) fn refusal(yaml: &str) -> String {
    let refused = load(yaml).build().expect_err("it is refused");
    refused.to_string()
}

/// A provider on a free port of Triple, with these sections beside its protocol.
pub(crate) async fn provide(sections: &str, service: impl Into<dubbo::Service>) -> Instance {
    let yaml = format!("dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, {sections}}}");
    let instance = load(&yaml).provide(service).build().expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// Where an instance with one service on one protocol is.
pub(crate) fn url_of(instance: &Instance) -> String {
    let exported = instance.exported();
    format!("{}://{}", exported[0].protocol(), exported[0].address())
}

/// A consumer of the provider at `url`, with these sections, and these options of its reference.
pub(crate) async fn consume(url: &str, sections: &str, options: &str) -> (Instance, GreeterClient) {
    let reference = format!("GreeterClient: {{url: '{url}', {options}}}");
    let yaml = format!("dubbo: {{consumer: {{references: {{{reference}}}}}, {sections}}}");
    let instance = load(&yaml).build().expect("valid");
    let client = instance.refer().await.expect("refers");
    (instance, client)
}

pub(crate) async fn greet(greeter: &GreeterClient, name: &str) -> Result<String, Status> {
    let name = name.to_owned();
    let response = greeter.greet(GreetRequest { name }).await?;
    Ok(response.into_message().greeting)
}

/// Answers `Greet` with what `F` says.
pub(crate) struct Answering<F>(pub(crate) F);

impl<F> Greeter for Answering<F>
where
    F: Fn(&Request<GreetRequest>) -> Result<String, Status> + Send + Sync + 'static,
{
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let greeting = (self.0)(&request)?;
        Ok(Response::new(GreetResponse { greeting }))
    }

    async fn greet_many(
        &self,
        _: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("no test calls it"))
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
