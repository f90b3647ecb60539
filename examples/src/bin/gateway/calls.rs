//! From a request to a call and from its answer to a response.

use std::collections::HashMap;

use dubbo::{
    Code, Instance, Status,
    config::ReferenceConfig,
    java::{GenericClient, thrown},
};
use hyper::{HeaderMap, StatusCode};
use tokio::sync::Mutex;

/// Clients of services, made when they are first called.
pub(crate) struct Services {
    /// What they are made by.
    pub(crate) instance: Instance,
    urls: Vec<String>,
    clients: Mutex<HashMap<String, GenericClient>>,
}

impl Services {
    /// Those of the providers at `urls`.
    pub(crate) fn new(instance: Instance, urls: Vec<String>) -> Self {
        Self {
            instance,
            urls,
            clients: Mutex::default(),
        }
    }

    /// Calls `method` of `interface` with the arguments in `body`, a JSON array. Headers say what belongs to the call: the
    /// colour of its traffic, the key that it is known by when it comes again, and the types of the arguments where the
    /// method has namesakes.
    pub(crate) async fn call(
        &self,
        interface: &str,
        method: &str,
        headers: &HeaderMap,
        body: &str,
    ) -> Result<String, Status> {
        let client = self.client(interface).await?;
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let types: Option<Vec<&str>> =
            header("x-dubbo-types").map(|types| types.split(',').collect());
        let mut call = client.invoke_json(method, types.as_deref(), body)?;
        for (name, attachment) in [
            ("x-env-tag", "dubbo.tag"),
            ("x-idempotency-key", "dubbo-idempotency-key"),
            ("traceparent", "traceparent"),
        ] {
            if let Some(value) = header(name) {
                call = call.attach(attachment, value.to_owned());
            }
        }
        Ok(call.await?.into_message())
    }

    async fn client(&self, interface: &str) -> Result<GenericClient, Status> {
        let mut clients = self.clients.lock().await;
        if let Some(client) = clients.get(interface) {
            return Ok(client.clone());
        }
        let options = ReferenceConfig::new()
            .url(self.urls.clone())
            .version("1.0.0");
        let client = self.instance.generic_with(interface, options).await;
        let client = client.map_err(|error| Status::unavailable(error.to_string()))?;
        clients.insert(interface.to_owned(), client.clone());
        Ok(client)
    }
}

/// How a failed call is told to who speaks HTTP: its status, after how many seconds to come again, and a text.
pub(crate) fn told(status: &Status) -> (StatusCode, Option<u64>, String) {
    let code = match status.code() {
        Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::NotFound | Code::Unimplemented => StatusCode::NOT_FOUND,
        Code::Aborted | Code::AlreadyExists => StatusCode::CONFLICT,
        Code::Business => StatusCode::UNPROCESSABLE_ENTITY,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let wait = status.pushback().map(|wait| wait.as_secs().max(1));
    let exception = thrown(status).map(|thrown| format!("{}: ", thrown.class()));
    let text = format!("{}{}\n", exception.unwrap_or_default(), status.message());
    (code, wait, text)
}
