//! A provider whose handler is one closure.

use std::{error::Error, time::Duration};

use dubbo::{
    Instance, Request, Response, Status, Streaming,
    config::{ProtocolConfig, ShutdownConfig},
};

use crate::greet::{GreetRequest, GreetResponse, Greeter, GreeterServer};

/// Greets as the closure says. It gets the name that came with the call, and may take its time.
#[derive(Debug)]
pub struct Answering<F>(pub F);

impl<F, Fut> Greeter for Answering<F>
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, Status>> + Send,
{
    async fn greet(
        &self,
        request: Request<GreetRequest>,
    ) -> Result<Response<GreetResponse>, Status> {
        let greeting = (self.0)(request.into_message().name).await?;
        Ok(Response::new(GreetResponse { greeting }))
    }

    async fn greet_many(
        &self,
        _request: Request<GreetRequest>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("see the example `streaming`"))
    }

    async fn greet_all(
        &self,
        _request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<GreetResponse>, Status> {
        Err(Status::unimplemented("see the example `streaming`"))
    }

    async fn greet_each(
        &self,
        _request: Request<Streaming<GreetRequest>>,
    ) -> Result<Response<Streaming<GreetResponse>>, Status> {
        Err(Status::unimplemented("see the example `streaming`"))
    }
}

/// Serves `handler` on `port` of this machine, 0 for any, as the application `name`; the provider, and the URL that it would
/// have in a registry.
///
/// # Errors
///
/// It cannot be served.
pub async fn serve(
    name: &str,
    port: u16,
    handler: impl Greeter,
) -> Result<(Instance, String), Box<dyn Error>> {
    let instance = Instance::builder()
        .application(name)
        .protocol("tri", ProtocolConfig::tri().ip("127.0.0.1").port(port))
        .shutdown(ShutdownConfig::new().consumer_update_wait_time(Duration::ZERO))
        .provide(GreeterServer::new(handler))
        .build()?;
    instance.start().await?;
    let url = format!(
        "tri://{}?application={name}",
        instance.exported()[0].address()
    );
    Ok((instance, url))
}

/// A request from `name`.
pub fn from(name: &str) -> GreetRequest {
    GreetRequest {
        name: name.to_owned(),
    }
}
