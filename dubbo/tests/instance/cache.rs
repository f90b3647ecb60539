//! What a consumer has kept of its last start.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo::{
    Instance, Url,
    spi::{
        discovery::ServiceInstance,
        metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
        registry::RegistryError,
        subscription::Subscription,
    },
};
use examples::greet::GreeterClient;

use super::{
    applications::{REGISTRY, Shared, TRIPLE, provider},
    rig::greet,
};

#[tokio::test]
async fn a_consumer_that_starts_while_nobody_says_what_is_served_has_what_it_knew() {
    let folder = Folder::new();
    let shared = Shared::new();
    let provider = provider(&shared, &format!("{TRIPLE}, {REGISTRY}")).await;
    let kept = format!("path: '{}'", folder.0.display());
    let first = shared.load(&consumer(&kept)).build().expect("valid");
    calls(&first).await.expect("found");
    first.shutdown(Duration::ZERO).await;
    for file in ["metadata.v1", "mapping.v1"] {
        assert!(folder.0.join("buyer").join(file).is_file(), "{file}");
    }

    // The same provider, in a registry that is there, while the report and the metadata service are not.
    let registered = shared.0.discovery().snapshot("app").await;
    let registered = registered.expect("it is there");
    assert_eq!(registered.len(), 1, "{registered:?}");
    let after = Shared::new();
    let registrar = after.0.discovery();
    let registered = registrar.register(&deaf(&registered[0])).await;
    registered.expect("it can be registered");
    for (cache, finds) in [
        (kept.clone(), true),
        (format!("{kept}, enabled: false"), false),
    ] {
        let second = after
            .load(&consumer(&cache))
            .extension::<dyn MetadataReport>("shared", |_| Ok(Arc::new(Down::new())))
            .build()
            .expect("valid");
        let called = calls(&second).await;
        assert_eq!(called.is_ok(), finds, "{cache}: {called:?}");
        second.shutdown(Duration::ZERO).await;
    }
    provider.shutdown(Duration::ZERO).await;
}

fn consumer(cache: &str) -> String {
    format!("application: {{name: buyer}}, {REGISTRY}, metadata: {{cache: {{{cache}}}}}")
}

async fn calls(consumer: &Instance) -> Result<String, String> {
    let greeter = consumer.refer::<GreeterClient>().await;
    let greeter = greeter.map_err(|error| error.to_string())?;
    greet(&greeter, "").await.map_err(|error| error.to_string())
}

/// `instance`, with nobody where its metadata service should be.
fn deaf(instance: &ServiceInstance) -> ServiceInstance {
    const PARAMS: &str = "dubbo.metadata-service.url-params";
    let mut deaf = instance.clone();
    let params = instance.metadata.get(PARAMS).expect("it has one");
    let port = format!("\"port\":\"{}\"", instance.port);
    assert!(params.contains(&port), "{params}");
    deaf.metadata
        .insert(PARAMS, params.replace(&port, "\"port\":\"1\""));
    deaf
}

/// A report that never answers well.
struct Down(Url);

impl Down {
    fn new() -> Self {
        Self(Url::new("shared", "down"))
    }

    fn error<T>(&self) -> Result<T, RegistryError> {
        let address = format!("{}://{}", self.0.protocol(), self.0.address());
        Err(RegistryError::new("read", address, "connection refused"))
    }
}

#[async_trait]
impl MetadataReport for Down {
    fn url(&self) -> &Url {
        &self.0
    }

    async fn app(&self, _: &str, _: &str) -> Result<Option<Bytes>, RegistryError> {
        self.error()
    }

    async fn publish_app(&self, _: &str, _: &str, _: Bytes) -> Result<(), RegistryError> {
        self.error()
    }

    async fn remove_app(&self, _: &str, _: &str) -> Result<(), RegistryError> {
        self.error()
    }

    async fn list_app(&self, _: &str) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        self.error()
    }

    async fn mapping(&self, _: &str) -> Result<(Mapping, Ticket), RegistryError> {
        self.error()
    }

    async fn cas_mapping(
        &self,
        _: &str,
        _: &Mapping,
        _: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        self.error()
    }

    async fn watch_mapping(&self, _: &str) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        self.error()
    }

    async fn store_definition(&self, _: &str, _: Bytes) -> Result<(), RegistryError> {
        self.error()
    }

    async fn definition(&self, _: &str) -> Result<Option<Bytes>, RegistryError> {
        self.error()
    }

    async fn close(&self) {}
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("dubbo-cache-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A test that failed has said so already.
        let _ = fs::remove_dir_all(&self.0);
    }
}
