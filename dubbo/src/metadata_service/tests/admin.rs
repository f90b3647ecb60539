//! What operators are told, by a generated client over a real socket.

use std::sync::Arc;

use bytes::Bytes;
use dubbo_cluster::migration::{Controller, ControllerOptions};
use dubbo_core::{
    call::{Client as _, Stub},
    discovery::ServiceInstance,
    protocol::Exporter,
    service::ServiceKey,
    status::Code,
    streaming::Streaming,
    url::Url,
};
use dubbo_metadata::{
    mapping::{MappingView, RegistrationStatus},
    model::{MetadataInfo, ServiceInfo},
    openapi::OpenApi,
    published::{History, Published},
    revision::Algorithm,
};
use dubbo_test::soon;
use tokio::{sync::watch, time::Instant};

use super::{
    super::{Access, AdminContent, Content, admin},
    rig::{PROVIDER, Protocols, fixture, history, protocols},
};
use crate::{
    config::MetadataConfig,
    instance::ConsumerSeen,
    metadata::admin::{
        DiffRequest, ListMetadataRequest, METADATA_ADMIN_DESCRIPTOR, MappingsRequest,
        MetadataAdminClient, MetadataEvent, MigrationReadinessRequest, MigrationStatusRequest,
        SetMigrationRuleRequest, WatchInstanceMetadataRequest, WatchMetadataRequest,
    },
};

/// An application at two registries.
struct Application {
    histories: [(&'static str, History); 2],
    instances: watch::Sender<Arc<[ServiceInstance]>>,
    migration: Arc<Controller>,
    can_migrate: bool,
    over: watch::Sender<bool>,
}

impl Content for Application {
    fn application(&self) -> &str {
        PROVIDER
    }

    fn histories(&self) -> Vec<(&str, &History)> {
        self.histories
            .iter()
            .map(|(id, history)| (*id, history))
            .collect()
    }

    fn exported(&self) -> Vec<Url> {
        Vec::new()
    }

    fn subscribed(&self) -> Vec<Url> {
        Vec::new()
    }

    fn definition(&self, _: &ServiceKey) -> Option<Bytes> {
        None
    }

    fn instance(&self) -> Option<ServiceInstance> {
        None
    }

    fn openapi(&self) -> Option<&OpenApi> {
        None
    }
}

impl AdminContent for Application {
    fn instances(&self) -> Vec<(&str, watch::Receiver<Arc<[ServiceInstance]>>)> {
        let one = self.instances.subscribe();
        vec![
            ("east", one),
            ("west", watch::Sender::default().subscribe()),
        ]
    }

    fn registrations(&self) -> Vec<RegistrationStatus> {
        Vec::new()
    }

    fn mappings(&self) -> Vec<(&str, MappingView)> {
        Vec::new()
    }

    fn migration(&self) -> Option<&Controller> {
        self.can_migrate.then_some(&*self.migration)
    }

    fn readiness(&self) -> Option<Vec<ConsumerSeen>> {
        None
    }

    fn over(&self) -> watch::Receiver<bool> {
        self.over.subscribe()
    }
}

struct Rig {
    content: Arc<Application>,
    client: MetadataAdminClient,
    _running: (Protocols, Box<dyn Exporter>),
}

impl Rig {
    /// The application of the specification, at two registries, the second of which knows nothing of it yet.
    async fn new() -> Self {
        Self::with(true).await
    }

    async fn with(can_migrate: bool) -> Self {
        let content = Arc::new(Application {
            histories: [("east", history([fixture()])), ("west", history([]))],
            instances: watch::Sender::default(),
            migration: Controller::new(ControllerOptions::new(PROVIDER, 1)),
            can_migrate,
            over: watch::Sender::default(),
        });
        let access = Access::of(PROVIDER, &MetadataConfig::new());
        let service = admin(Arc::clone(&content) as _, &access);
        let protocols = protocols();
        let url = service.url(&Url::new("tri", "127.0.0.1").with_port(0));
        let descriptor = Arc::clone(service.descriptor());
        let exporter = protocols["tri"].export(&url, descriptor, service.invoker(url.clone()));
        let exporter = exporter.await.expect("a free port");
        let descriptor = Arc::clone(&METADATA_ADMIN_DESCRIPTOR);
        let key = ServiceKey::new(descriptor.interface());
        let invoker = protocols["tri"].refer(exporter.url(), Arc::clone(&descriptor));
        let stub = Stub::new(invoker.await.expect("refers"), key, descriptor);
        Self {
            content,
            client: MetadataAdminClient::from_stub(stub),
            _running: (protocols, exporter),
        }
    }

    /// Publishes `info` at registry number `registry`.
    fn publish(&self, registry: usize, info: &[MetadataInfo]) {
        let published: Vec<_> = info
            .iter()
            .cloned()
            .map(Published::new)
            .map(Arc::new)
            .collect();
        self.content.histories[registry]
            .1
            .replace(&published, Instant::now());
    }

    async fn watch(&self, registry: &str) -> Streaming<MetadataEvent> {
        let registry = registry.to_owned();
        let call = self
            .client
            .watch_metadata(WatchMetadataRequest { registry });
        soon("a watch", call).await.expect("begins").into_message()
    }
}

async fn next<T>(stream: &mut Streaming<T>) -> T {
    let message = soon("an event", stream.message()).await;
    message.expect("it goes on").expect("an event")
}

/// [`fixture`] with another timeout and one service more.
fn changed() -> MetadataInfo {
    let before = fixture();
    let services = before.services.values().map(|service| {
        let mut service = ServiceInfo::clone(service);
        if let Some(timeout) = service.params.get_mut("Greet.timeout") {
            "2000".clone_into(timeout);
        }
        Arc::new(service)
    });
    let more = ServiceInfo {
        name: "com.foo.New".to_owned(),
        protocol: "tri".to_owned(),
        path: "com.foo.New".to_owned(),
        ..ServiceInfo::default()
    };
    MetadataInfo::new(PROVIDER, services.chain([Arc::new(more)]), Algorithm::R1)
}

#[tokio::test]
async fn what_is_and_what_was_is_listed_by_registry() {
    let rig = Rig::new().await;
    rig.publish(0, &[changed()]);
    let listed = rig
        .client
        .list_metadata(ListMetadataRequest::default())
        .await;
    let listed = listed.expect("listed").into_message();
    assert_eq!(listed.application, PROVIDER);
    let [east, west] = &listed.registries[..] else {
        panic!("{listed:?}");
    };
    assert_eq!((&*east.registry, &*west.registry), ("east", "west"));
    assert_eq!(west.revisions, []);
    let [before, now] = &east.revisions[..] else {
        panic!("{east:?}");
    };
    assert_eq!((before.current, now.current), (false, true));
    assert!(before.superseded_for_ms.is_some() && now.superseded_for_ms.is_none());
    assert_eq!(before.revision, "222f165004459af76f0540482d98ac81");
    let bar = &before.services["com.foo.Bar:dubbo"];
    assert_eq!(
        (&*bar.name, &*bar.protocol, bar.port),
        ("com.foo.Bar", "dubbo", 0)
    );
    assert_eq!(bar.params["methods"], "GetPetByID,GetPetTypes");

    let one = ListMetadataRequest {
        registry: "west".to_owned(),
    };
    let listed = rig.client.list_metadata(one).await.expect("listed");
    assert_eq!(listed.message().registries.len(), 1);
    let none = ListMetadataRequest {
        registry: "north".to_owned(),
    };
    let status = rig
        .client
        .list_metadata(none)
        .await
        .expect_err("no such registry");
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "`demo-provider` is told to no registry with the id `north`; there are: east, west"
    );
}

#[tokio::test]
async fn a_watch_begins_with_what_is_there_and_tells_each_change_with_what_it_changes() {
    let rig = Rig::new().await;
    let mut events = rig.watch("east").await;
    let first = next(&mut events).await;
    let now = first.now.expect("the state");
    assert_eq!(
        (&*first.registry, &*now.revision),
        ("east", &*fixture().revision)
    );
    assert_eq!(
        (&*first.previous, first.diff, now.services.len()),
        ("", None, 2)
    );

    rig.publish(0, &[changed()]);
    let event = next(&mut events).await;
    assert_eq!(event.previous, fixture().revision);
    let now = event.now.expect("the state");
    assert_eq!(
        (&*now.revision, now.services.len()),
        (&*changed().revision, 3)
    );
    let diff = event.diff.expect("what has changed");
    assert_eq!(
        (&*diff.older, &*diff.newer),
        (&*event.previous, &*now.revision)
    );
    assert_eq!(diff.added, ["com.foo.New:tri"]);
    assert_eq!(diff.removed, [""; 0]);
    let key = "g1/org.apache.dubbo.samples.GreetService:1.0.0:tri";
    assert_eq!(diff.changed[key].params_changed, ["Greet.timeout"]);
    assert_eq!(
        diff.text,
        format!(
            "{} -> {}: +com.foo.New:tri ~{key}(~Greet.timeout)",
            diff.older, diff.newer
        )
    );

    // The same again is no change, and nothing at all is one.
    rig.publish(0, &[changed()]);
    rig.publish(0, &[]);
    let event = next(&mut events).await;
    assert_eq!(event.now.expect("the state").revision, "0");
    assert_eq!(event.diff.expect("what has changed").removed.len(), 3);
}

#[tokio::test]
async fn a_watch_of_all_registries_tells_them_apart_and_so_it_does_instances() {
    let rig = Rig::new().await;
    let mut events = rig.watch("").await;
    let mut first = [next(&mut events).await, next(&mut events).await];
    first.sort_by(|a, b| a.registry.cmp(&b.registry));
    let first = first.map(|event| (event.registry, event.now.expect("the state").revision));
    let of = |registry: &str, revision: &str| (registry.to_owned(), revision.to_owned());
    assert_eq!(first, [of("east", &fixture().revision), of("west", "0")]);

    // One port more, and so one instance more.
    rig.publish(1, &[fixture(), changed()]);
    for (instance, info) in [(0, fixture()), (1, changed())] {
        let event = next(&mut events).await;
        assert_eq!((&*event.registry, event.instance), ("west", instance));
        assert_eq!(event.previous, "0");
        assert_eq!(event.now.expect("the state").revision, info.revision);
    }
}

#[tokio::test]
async fn instances_are_told_as_registries_are_until_the_application_ends() {
    let rig = Rig::new().await;
    let request = WatchInstanceMetadataRequest {
        registry: "east".to_owned(),
    };
    let watch = rig.client.watch_instance_metadata(request);
    let mut events = watch.await.expect("begins").into_message();
    assert_eq!(next(&mut events).await.instances, []);

    let mut instance = ServiceInstance::new(PROVIDER, "10.0.0.1", 50051);
    instance.metadata.insert("k".to_owned(), "v".to_owned());
    rig.content.instances.send_replace([instance].into());
    let event = next(&mut events).await;
    let [instance] = &event.instances[..] else {
        panic!("{event:?}");
    };
    assert_eq!((&*instance.host, instance.port), ("10.0.0.1", 50051));
    assert_eq!(instance.weight, 100);
    assert!(instance.enabled && instance.healthy);
    assert_eq!(instance.metadata["k"], "v");

    // The last change is still told.
    rig.content.instances.send_replace([].into());
    rig.content.over.send_replace(true);
    assert_eq!(next(&mut events).await.instances, []);
    let end = soon("the end", events.message()).await;
    assert_eq!(end.expect("a good end"), None);
}

#[tokio::test]
async fn two_revisions_are_compared_and_nothing_is_one_too() {
    let rig = Rig::new().await;
    rig.publish(1, &[changed()]);
    let (before, now) = (fixture().revision, changed().revision);
    for (older, newer, added, removed, differ) in [
        (&*before, &*now, 1, 0, 1),
        (&now, &before, 0, 1, 1),
        (&now, &now, 0, 0, 0),
        ("0", &now, 3, 0, 0),
        (&before, "0", 0, 2, 0),
    ] {
        let request = DiffRequest {
            older: older.to_owned(),
            newer: newer.to_owned(),
        };
        let answer = rig.client.diff(request).await.expect("compared");
        let diff = answer.into_message().diff.expect("the difference");
        let found = (diff.added.len(), diff.removed.len(), diff.changed.len());
        assert_eq!(found, (added, removed, differ), "{}", diff.text);
    }
    let request = DiffRequest {
        older: "gone".to_owned(),
        newer: now,
    };
    let status = rig.client.diff(request).await.expect_err("not there");
    assert_eq!(status.code(), Code::NotFound);
    assert!(status.message().contains("no revision `gone`"), "{status}");
}

#[tokio::test]
async fn no_more_than_so_many_watch_at_once_and_who_leaves_makes_room() {
    let rig = Rig::new().await;
    let mut watches = Vec::new();
    for _ in 0..64 {
        watches.push(rig.watch("east").await);
    }
    let one_more = rig.client.watch_metadata(WatchMetadataRequest::default());
    let status = one_more.await.expect_err("no place");
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("64 calls watch"), "{status}");
    drop(watches);
    let again = async {
        loop {
            let call = rig.client.watch_metadata(WatchMetadataRequest::default());
            if call.await.is_ok() {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    soon("a free place", again).await;
}

#[tokio::test]
async fn without_mappings_there_are_none() {
    let rig = Rig::new().await;
    let answer = rig
        .client
        .mappings(MappingsRequest {})
        .await
        .expect("answered");
    let answer = answer.into_message();
    assert_eq!((answer.registrations, answer.mappings), (vec![], vec![]));
}

#[tokio::test]
async fn a_rule_of_the_migration_is_taken_in_or_refused_with_what_is_wrong_with_it() {
    let rig = Rig::new().await;
    let set = async |rule: &str| {
        let rule = rule.to_owned();
        let set = rig
            .client
            .set_migration_rule(SetMigrationRuleRequest { rule });
        set.await
    };
    let status = async || {
        let status = rig.client.migration_status(MigrationStatusRequest {});
        status.await.expect("answered").into_message()
    };
    let before = status().await;
    assert_eq!((&*before.application, &*before.rule_from), (PROVIDER, ""));
    set("key: demo-provider\nstep: FORCE_APPLICATION\n")
        .await
        .expect("a rule");
    let after = status().await;
    assert_ne!(after.rule_from, "");
    assert_eq!(after.references, []);

    let error = set("step: SIDEWAYS").await.expect_err("no rule");
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("SIDEWAYS"), "{error}");
    let refused = status().await;
    assert_eq!(refused.rule_from, after.rule_from, "the one before stays");
    assert!(refused.refused.contains("SIDEWAYS"), "{refused:?}");
    set("").await.expect("taken back");
    assert_eq!(status().await.rule_from, "");
}

#[tokio::test]
async fn where_nothing_migrates_no_rule_is_taken() {
    let rig = Rig::with(false).await;
    let status = rig.client.migration_status(MigrationStatusRequest {});
    let status = status.await.expect("answered").into_message();
    assert_eq!(
        (&*status.application, status.references.len()),
        (PROVIDER, 0)
    );
    let rule = "step: FORCE_APPLICATION".to_owned();
    let set = rig
        .client
        .set_migration_rule(SetMigrationRuleRequest { rule });
    let error = set.await.expect_err("it would do nothing");
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("`registry-type: all`"), "{error}");
    let readiness = rig.client.migration_readiness(MigrationReadinessRequest {});
    let error = readiness.await.expect_err("nobody counts");
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(
        error
            .message()
            .contains("`dubbo.migration.readiness: true`"),
        "{error}"
    );
}
