//! What the tests share: instances from texts, a service that answers as a test says, and files.

use std::{fs, path::PathBuf};

use dubbo::{
    Instance, InstanceBuilder, Request, Response, Service, Status, Streaming,
    config::{Environment, LoadOptions},
};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer};
use tokio::time::Instant;

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

/// What is wrong with a configuration.
pub(crate) fn refusal(yaml: &str) -> String {
    load(yaml).build().expect_err(yaml).to_string()
}

/// Starts a provider of `service` on a free port, with these sections beside its protocol.
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

/// A client of the providers at `urls`, with these options of its reference.
pub(crate) async fn consume(urls: &str, options: &str) -> GreeterClient {
    let yaml = format!(
        "dubbo: {{consumer: {{references: {{GreeterClient: {{url: '{urls}', {options}}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    instance.refer().await.expect("refers")
}

/// Greets: the answer's text.
pub(crate) async fn greet(greeter: &GreeterClient) -> Result<String, Status> {
    let response = greeter.greet(request()).await?;
    Ok(response.into_message().greeting)
}

pub(crate) fn request() -> GreetRequest {
    GreetRequest {
        name: "x".to_owned(),
    }
}

/// The seconds that the caller of a request will wait, rounded up.
pub(crate) fn patience(request: &Request<GreetRequest>) -> String {
    let deadline = request.context().deadline();
    let left = deadline.map(|at| at.duration_since(Instant::now()).as_secs_f64().ceil());
    left.map_or_else(|| "for ever".to_owned(), |left| left.to_string())
}

/// A service that answers with what `answer` says.
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
        let greeting = (self.0)(&request)?;
        Ok(Response::new(GreetResponse { greeting }))
    }

    async fn greet_many(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        let greeting = (self.0)(&request)?;
        Ok(Response::stream(dubbo::stream::iter([Ok(GreetResponse {
            greeting,
        })])))
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

/// Files in a folder of their own, gone at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = format!("dubbo-acceptance-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        for (file, text) in files {
            let path = folder.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, text).expect("writable");
        }
        Self(folder)
    }

    pub(crate) fn options(&self, file: &str) -> LoadOptions {
        LoadOptions::path(file).directory(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is the system's to clear.
        let _ = fs::remove_dir_all(&self.0);
    }
}
