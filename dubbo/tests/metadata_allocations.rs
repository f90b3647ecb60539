//! What an answer of the metadata service costs on the heap: it is encoded once for each revision, however much it is and
//! however often it is asked for.
//!
//! One test alone, because the counter sees every thread of the process.

use std::net::SocketAddr;

use dubbo::{
    Instance, Request,
    config::{LoadOptions, ReferenceConfig},
    java::JavaService,
    metadata::admin::{ListMetadataRequest, MetadataAdminClient},
};
use dubbo_test::{
    alloc::{COUNTING, Cost, Counting, per_call},
    peer::h2::{Client, envelope},
};

#[global_allocator]
static ALLOCATOR: &Counting = COUNTING;

#[tokio::test]
async fn an_answer_with_many_services_is_not_made_anew() {
    let few = cost(1).await;
    let many = cost(SERVICES).await;
    println!("1 service {few:?}, {SERVICES} services {many:?}");
    // A service has some twenty texts. What is left are the frames of a longer answer.
    assert!(
        many.allocations <= few.allocations + 100,
        "{few:?} {many:?}"
    );
}

/// The cost of an answer of the second version by an application with so many services, and of reading its bytes.
async fn cost(services: usize) -> Cost {
    let yaml = "dubbo: {application: {name: app}, registries: {r: {address: 'memory://here', registry-type: service}}, \
                protocols: {tri: {ip: 127.0.0.1, port: 0}}, metadata: {admin: true, rate-limit: 0}}";
    let mut builder = Instance::load_with(&LoadOptions::text("dubbo.yaml", yaml)).expect("YAML");
    for number in 0..services {
        let service = JavaService::new(format!("com.example.Service{number}").leak());
        builder = builder.provide(service.method("ping", async |_: Request<()>| Ok(1.into())));
    }
    let provider = builder.build().expect("valid");
    provider.start().await.expect("starts");
    let address: SocketAddr = provider.exported()[0]
        .address()
        .parse()
        .expect("an address");
    let at = ReferenceConfig::new().url([format!("tri://{address}")]);
    let admin: MetadataAdminClient = provider.refer_with(at).await.expect("refers");
    let listed = admin.list_metadata(ListMetadataRequest::default()).await;
    let listed = listed.expect("listed").into_message();
    let revision = &listed.registries[0].revisions[0];
    assert_eq!(revision.services.len(), services);

    let path = "/org.apache.dubbo.metadata.MetadataServiceV2/GetMetadataInfo";
    let headers = [
        ("content-type", "application/grpc+proto"),
        ("te", "trailers"),
        ("tri-service-group", "app"),
        ("tri-service-version", "2.0.0"),
    ];
    let len = u8::try_from(revision.revision.len()).expect("it is short");
    let request = [&[0x0a, len], revision.revision.as_bytes()].concat();
    let mut client = Client::connect(address).await;
    per_call(WARM_UP, CALLS, async || {
        let mut call = client.post(path, &headers).await;
        call.data(envelope(&request), true);
        assert_eq!(call.response().await.status, 200);
        let body = call.body().await;
        assert!(body.len() > services * 100, "{}", body.len());
        assert_eq!(call.trailers().await.expect("trailers")["grpc-status"], "0");
    })
    .await
}

const SERVICES: usize = 200;
const WARM_UP: usize = 20;
const CALLS: usize = 50;
