//! What operators see of a whole application, and from where.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use dubbo::{
    Code, Instance, Status, Streaming,
    config::ReferenceConfig,
    metadata::admin::{
        DiffRequest, ListMetadataRequest, ListMetadataResponse, MappingsRequest,
        MetadataAdminClient, MigrationReadinessRequest, MigrationStatusRequest,
        WatchInstanceMetadataRequest, WatchMetadataRequest,
    },
    spi::{
        discovery::ServiceDiscovery, metadata::MetadataReport, registry::Registry,
        text_map::TextMap,
    },
};
use dubbo_registry::memory::MemoryRegistry;
use dubbo_test::soon;
use examples::greet::{GreetRequest, GreeterClient, GreeterServer};

use super::{Found, load, load_with, registry, users};

#[tokio::test]
async fn operators_see_what_registries_and_reports_have() {
    let registry = registry();
    let provider = provider(&registry, "metadata: {admin: true}").await;
    let greeter: GreeterClient = provider.refer().await.expect("found");
    let admin = admin_of(&provider).await;

    let listed = list(&admin, "").await.expect("listed");
    assert_eq!(listed.application, "app");
    let [one] = &listed.registries[..] else {
        panic!("{listed:?}");
    };
    let [revision] = &one.revisions[..] else {
        panic!("{one:?}");
    };
    assert_eq!((&*one.registry, revision.current), ("r", true));
    let keys: Vec<_> = revision.services.keys().collect();
    assert_eq!(keys, ["greet.Greeter:tri"]);

    let instances = registry.discovery().snapshot("app").await.expect("there");
    let mut watch = watch_instances(&admin).await;
    let event = next(&mut watch).await.expect("the state");
    let [instance] = &event.instances[..] else {
        panic!("{event:?}");
    };
    assert_eq!(*instance.host, *instances[0].host);
    let metadata: TextMap = instance.metadata.clone().into_iter().collect();
    assert_eq!(metadata, instances[0].metadata);
    assert_eq!(metadata["dubbo.metadata.revision"], *revision.revision);

    let mapped = async {
        loop {
            let answer = admin.mappings(MappingsRequest {}).await.expect("answered");
            let answer = answer.into_message();
            if answer.registrations.iter().all(|one| one.written) {
                break answer;
            }
            tokio::task::yield_now().await;
        }
    };
    let answer = soon("the mapping", mapped).await;
    let [registration] = &answer.registrations[..] else {
        panic!("{answer:?}");
    };
    let said = (
        &*registration.interface,
        &*registration.report,
        &*registration.error,
    );
    assert_eq!(said, ("greet.Greeter", "r", ""));
    let [mapping] = &answer.mappings[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (&*mapping.registry, &*mapping.interface),
        ("r", "greet.Greeter")
    );
    assert_eq!(mapping.applications, ["app"]);
    assert_ne!(mapping.evidence, "");
    drop(greeter);
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn registries_that_are_told_different_things_are_compared() {
    let (one, two) = (registry(), registry());
    let sections = "application: {name: app}, protocols: {tri: {ip: 127.0.0.1, port: 0}}, metadata: {admin: true}, \
                    provider: {services: {greet.Greeter: {registry-ids: [r]}, org.example.Users: {registry-ids: [r, other]}}}";
    let provider = load_with(&one, "other: {address: 'other://here'}", sections);
    let (first, second, third) = (two.clone(), two.clone(), two.clone());
    let provider = provider
        .extension::<dyn Registry>("other", move |_| Ok(Arc::new(first.clone())))
        .extension::<dyn ServiceDiscovery>("other", move |_| Ok(second.discovery()))
        .extension::<dyn MetadataReport>("other", move |_| Ok(third.report()))
        .provide(GreeterServer::new(Found))
        .provide(users())
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let admin = admin_of(&provider).await;
    let listed = list(&admin, "").await.expect("listed");
    let of = |registry: &str| {
        let mut registries = listed.registries.iter();
        let found = registries.find(|one| one.registry == registry);
        found.expect("it is told").revisions[0].revision.clone()
    };
    let (older, newer) = (of("other"), of("r"));
    let request = DiffRequest { older, newer };
    let diff = admin.diff(request).await.expect("compared");
    let diff = diff.into_message().diff.expect("the difference");
    assert_eq!(diff.added, ["greet.Greeter:tri"]);
    assert_eq!((diff.removed.len(), diff.changed.len()), (0, 0));
    assert!(diff.text.ends_with(": +greet.Greeter:tri"), "{}", diff.text);
    let west = list(&admin, "other").await.expect("listed");
    assert_eq!(west.registries.len(), 1);
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_is_watched_ends_with_the_application_and_holds_up_nothing() {
    let registry = registry();
    let provider = provider(
        &registry,
        "metadata: {admin: true}, shutdown: {consumer-update-wait-time: 0s, step-timeout: 0s}",
    )
    .await;
    let admin = admin_of(&provider).await;
    let mut instances = watch_instances(&admin).await;
    let mut metadata = admin
        .watch_metadata(WatchMetadataRequest::default())
        .await
        .expect("begins")
        .into_message();
    let event = next(&mut instances).await.expect("the state");
    assert_eq!(event.instances.len(), 1);
    assert!(next(&mut metadata).await.is_some(), "the state");

    let patience = Duration::from_mins(5);
    let ended = tokio::spawn(async move { provider.shutdown(patience).await });
    let event = next(&mut instances).await.expect("the last news");
    assert_eq!(event.instances, [], "it has left the registry");
    assert!(next(&mut instances).await.is_none(), "a good end");
    while next(&mut metadata).await.is_some() {}
    soon("the end", ended).await.expect("no panic");
}

#[tokio::test]
async fn without_its_key_there_is_no_such_service() {
    let registry = registry();
    for metadata in ["", "metadata: {admin: false}"] {
        let provider = provider(&registry, metadata).await;
        let status = list(&admin_of(&provider).await, "").await;
        let status = status.expect_err("it is off");
        assert_eq!(status.code(), Code::Unimplemented, "{status}");
        provider.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn the_token_is_asked_of_operators_and_told_to_consumers() {
    let registry = registry();
    let provider = provider(&registry, "metadata: {admin: true, token: s3cret}").await;
    let admin = admin_of(&provider).await;
    let status = list(&admin, "").await.expect_err("without the token");
    assert_eq!(status.code(), Code::Unauthenticated, "{status}");
    let with = ListMetadataRequest::default();
    let answer = admin.list_metadata(with).attach("token", "s3cret").await;
    assert_eq!(answer.expect("with it").message().application, "app");

    let instances = registry.discovery().snapshot("app").await.expect("there");
    let params = &instances[0].metadata["dubbo.metadata-service.url-params"];
    assert!(params.contains(r#""token":"s3cret""#), "{params}");
    let consumer = load(&registry, "application: {name: consumer}")
        .build()
        .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("found");
    let answer = greeter.greet(GreetRequest::default()).await;
    assert_eq!(answer.expect("answered").message().greeting, "found");
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn operators_are_answered_at_the_rate_of_all_metadata_services() {
    let registry = registry();
    let provider = provider(&registry, "metadata: {admin: true, rate-limit: 1}").await;
    let admin = admin_of(&provider).await;
    list(&admin, "").await.expect("the first one");
    let status = list(&admin, "").await.expect_err("the second one");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    let wait = status.pushback().expect("how long to wait");
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn operators_of_a_provider_see_who_calls_by_which_way() {
    let registry = registry();
    let both = "migration: {enabled: true, readiness: true}";
    let provider = provider(&registry, &format!("metadata: {{admin: true}}, {both}")).await;
    let sections = format!("application: {{name: consumer, register-mode: all}}, {both}");
    let consumer = load(&registry, &sections).build().expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("found");
    let call = greeter.greet(GreetRequest::default());
    call.await.expect("answered");

    let admin = admin_of(&provider).await;
    let answer = admin.migration_readiness(MigrationReadinessRequest {});
    let answer = answer.await.expect("answered").into_message();
    let [seen] = &answer.consumers[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(
        (&*seen.service, &*seen.application),
        ("greet.Greeter", "consumer")
    );
    let calls = [&seen.by_application, &seen.by_interface, &seen.unsaid];
    let calls = calls.map(|calls| calls.as_ref().map_or(0, |calls| calls.calls));
    assert_eq!(calls, [1, 0, 0], "{seen:?}");
    assert!(
        seen.by_application
            .is_some_and(|calls| calls.last_ms_ago.is_some())
    );
    provider.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn who_only_calls_can_be_asked_too_where_it_has_a_triple_server() {
    let registry = registry();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let sections = format!(
        "application: {{name: consumer}}, protocols: {{t: {{name: triple, ip: 127.0.0.1, port: {port}}}}}, \
         metadata: {{admin: true}}"
    );
    let consumer = load(&registry, &sections).build().expect("valid");
    consumer.start().await.expect("starts");
    let admin = admin_at(&consumer, SocketAddr::from(([127, 0, 0, 1], port))).await;
    let listed = list(&admin, "").await.expect("listed");
    assert_eq!(listed.application, "consumer");
    assert_eq!(listed.registries[0].revisions, []);
    let status = admin.migration_status(MigrationStatusRequest {}).await;
    let status = status.expect("answered").into_message();
    assert_eq!(status.application, "consumer");
    consumer.shutdown(Duration::ZERO).await;
}

/// A started application that greets, with these sections.
async fn provider(registry: &MemoryRegistry, sections: &str) -> Instance {
    let sections = format!(
        "application: {{name: app}}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, {sections}"
    );
    let instance = load(registry, &sections)
        .provide(GreeterServer::new(Found))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

async fn admin_of(provider: &Instance) -> MetadataAdminClient {
    let exported = provider.exported();
    let address = exported[0].address().parse().expect("an address");
    admin_at(provider, address).await
}

async fn admin_at(instance: &Instance, address: SocketAddr) -> MetadataAdminClient {
    let options = ReferenceConfig::new()
        .url([format!("tri://{address}")])
        .retries(0);
    instance.refer_with(options).await.expect("refers")
}

async fn list(admin: &MetadataAdminClient, registry: &str) -> Result<ListMetadataResponse, Status> {
    let registry = registry.to_owned();
    let listed = admin
        .list_metadata(ListMetadataRequest { registry })
        .await?;
    Ok(listed.into_message())
}

async fn watch_instances(
    admin: &MetadataAdminClient,
) -> Streaming<dubbo::metadata::admin::InstancesEvent> {
    let request = WatchInstanceMetadataRequest::default();
    let call = admin.watch_instance_metadata(request);
    call.await.expect("begins").into_message()
}

async fn next<T>(stream: &mut Streaming<T>) -> Option<T> {
    soon("an event", stream.message()).await.expect("no error")
}
