//! The metadata service of a whole application: what it answers once it has been started, and who notices.

mod admin;
mod openapi;
mod secured;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use dubbo::{
    Filter, Instance, InstanceBuilder, Invocation, Next, Request, Response, RpcResult, Service,
    Status, Streaming, Url,
    config::LoadOptions,
    hessian2::Value,
    java::JavaService,
    spi::{
        discovery::{ServiceDiscovery, ServiceInstance},
        metadata::MetadataReport,
        registry::Registry,
    },
};
use dubbo_metadata::{instance::Endpoints, model::MetadataInfo};
use dubbo_registry::memory::MemoryRegistry;
use dubbo_test::peer::{
    dubbo::{Call, Connection},
    h2::{Client, envelope},
};
use examples::greet::{GreetRequest, GreetResponse, Greeter, GreeterClient, GreeterServer};
use parking_lot::Mutex;

#[tokio::test]
async fn an_application_answers_for_what_it_has_registered() {
    let registry = registry();
    let provider = provider(&registry).await;
    let instance = only_instance(&registry).await;
    let revision = &instance.metadata["dubbo.metadata.revision"];
    let endpoints = Endpoints::parse(&instance.metadata["dubbo.endpoints"]).expect("valid");
    let at = |protocol| {
        let port = endpoints.port(protocol).expect("it is served");
        SocketAddr::from(([127, 0, 0, 1], port))
    };

    let info = ask(at("dubbo"), "getMetadataInfo", &[revision]).await;
    let info: MetadataInfo = info.to().expect("metadata");
    assert_eq!((&*info.app, &*info.revision), ("app", revision));
    let keys: Vec<_> = info.services.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "greet.Greeter:tri",
            "org.example.Users:1.0.0:dubbo",
            "org.example.Users:1.0.0:tri",
        ]
    );
    for service in info.services.values() {
        assert_eq!((service.port, &service.path), (0, &service.name));
        assert_eq!(service.params["application"], "app");
    }
    assert_eq!(info.services[keys[1]].params["methods"], "find");

    let message = second(at("tri"), revision).await;
    for key in keys {
        let is_there = message
            .windows(key.len())
            .any(|part| part == key.as_bytes());
        assert!(is_there, "{key}");
    }

    let host = &instance.host;
    let urls = ask(
        at("dubbo"),
        "getExportedURLs",
        &["org.example.Users", "", "1.0.0"],
    )
    .await;
    let urls: Vec<Url> = texts(&urls)
        .map(|url| url.parse().expect("a URL"))
        .collect();
    let addresses: Vec<_> = urls.iter().map(Url::address).collect();
    let wanted = ["dubbo", "tri"].map(|name| format!("{host}:{}", at(name).port()));
    assert_eq!(addresses, wanted);
    assert_eq!(
        texts(&ask(at("dubbo"), "getSubscribedURLs", &[]).await).count(),
        0
    );
    let greeter: GreeterClient = provider.refer().await.expect("found");
    let subscribed = ask(at("dubbo"), "getSubscribedURLs", &[]).await;
    let subscribed: Vec<_> = texts(&subscribed).collect();
    assert!(
        matches!(&subscribed[..], [url] if url.contains("interface=greet.Greeter")),
        "{subscribed:?}"
    );
    drop(greeter);
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn filters_see_no_call_of_the_metadata_service() {
    let registry = registry();
    let provider = provider(&registry).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let consumer = load(
        &registry,
        "application: {name: consumer}, consumer: {filter: notes}",
    )
    .extension::<dyn Filter>("notes", move |_| Ok(Arc::new(Notes(Arc::clone(&log)))))
    .build()
    .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("found");
    let answer = greeter.greet(GreetRequest::default()).await;
    assert_eq!(answer.expect("answered").message().greeting, "found");
    assert_eq!(*seen.lock(), ["greet.Greeter"]);
    provider.shutdown(Duration::ZERO).await;
}

/// An application with a service of a proto file and one of a Java interface, by both protocols where they can be.
async fn provider(registry: &MemoryRegistry) -> Instance {
    let sections = "application: {name: app}, \
                    protocols: {tri: {ip: 127.0.0.1, port: 0}, dubbo: {name: dubbo, ip: 127.0.0.1, port: 0}}, \
                    provider: {services: {greet.Greeter: {protocol-ids: [tri]}}}";
    let instance = load(registry, sections)
        .provide(GreeterServer::new(Found))
        .provide(users())
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

/// A service of a Java interface.
fn users() -> Service {
    let users = JavaService::new("org.example.Users").version("1.0.0");
    let users = users.method("find", async |call: Request<(String,)>| {
        Ok(call.into_message().0.into())
    });
    users.into()
}

/// A registry that several instances share.
fn registry() -> MemoryRegistry {
    MemoryRegistry::new(Url::new("shared", "here"))
}

/// An instance with this registry.
fn load(registry: &MemoryRegistry, sections: &str) -> InstanceBuilder {
    load_with(registry, "", sections)
}

/// An instance with this registry and others.
fn load_with(registry: &MemoryRegistry, others: &str, sections: &str) -> InstanceBuilder {
    let yaml =
        format!("dubbo: {{registries: {{r: {{address: 'shared://here'}}, {others}}}, {sections}}}");
    let builder = Instance::load_with(&LoadOptions::text("dubbo.yaml", yaml)).expect("YAML");
    let (one, two, three) = (registry.clone(), registry.clone(), registry.clone());
    builder
        .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(one.clone())))
        .extension::<dyn ServiceDiscovery>("shared", move |_| Ok(two.discovery()))
        .extension::<dyn MetadataReport>("shared", move |_| Ok(three.report()))
}

async fn only_instance(registry: &MemoryRegistry) -> Arc<ServiceInstance> {
    let instances = registry.discovery().snapshot("app").await;
    let instances = instances.expect("it is there");
    assert_eq!(instances.len(), 1, "{instances:?}");
    Arc::clone(&instances[0])
}

/// What the first version of the service answers by the classic protocol.
async fn ask(address: SocketAddr, method: &'static str, arguments: &[&str]) -> Value {
    const SERVICE: &str = "org.apache.dubbo.metadata.MetadataService";
    let types = "Ljava/lang/String;".repeat(arguments.len()).leak();
    let arguments: Vec<_> = arguments.iter().map(|text| Value::from(*text)).collect();
    let call = Call {
        path: SERVICE,
        version: Some("1.0.0"),
        attachments: Some(vec![("path", SERVICE.into()), ("group", "app".into())]),
        ..Call::of(method, types, &arguments)
    };
    Connection::connect(address).await.ask(&call).await.value()
}

/// The message that the second version answers.
async fn second(address: SocketAddr, revision: &str) -> Vec<u8> {
    let headers = [
        ("content-type", "application/grpc+proto"),
        ("te", "trailers"),
        ("tri-service-group", "app"),
        ("tri-service-version", "2.0.0"),
    ];
    let path = "/org.apache.dubbo.metadata.MetadataServiceV2/GetMetadataInfo";
    let mut client = Client::connect(address).await;
    let mut call = client.post(path, &headers).await;
    let len = u8::try_from(revision.len()).expect("it is short");
    let request = [&[0x0a, len], revision.as_bytes()].concat();
    call.data(envelope(&request), true);
    assert_eq!(call.response().await.status, 200);
    let body = call.body().await;
    assert_eq!(call.trailers().await.expect("trailers")["grpc-status"], "0");
    body
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    let items = list.as_list().expect("a list").iter();
    items.map(|item| item.as_str().expect("a text"))
}

/// Writes down which services are called.
struct Notes(Arc<Mutex<Vec<String>>>);

#[dubbo::async_trait]
impl Filter for Notes {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let interface = invocation.service.interface().to_owned();
        self.0.lock().push(interface);
        next.run(invocation).await
    }
}

struct Found;

impl Greeter for Found {
    async fn greet(&self, _: Request<GreetRequest>) -> Result<Response<GreetResponse>, Status> {
        let greeting = "found".to_owned();
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
