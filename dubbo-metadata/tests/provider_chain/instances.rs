//! What an instance says, and what of it can be seen from inside.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use dubbo_core::{
    discovery::{Described, InstanceCustomizer, InstanceDraft},
    extension::BoxError,
    registry::RegistryError,
};
use dubbo_metadata::{error::MetadataError, instance::Customizers, provider::Provider};
use tokio::time::{Duration, sleep};

use crate::fakes::{World, bar, greet, other, serve_metadata};

#[tokio::test(start_paused = true)]
async fn what_the_registry_was_told_is_shown() {
    let world = World::new();
    let provider = world.provider(|_| {});
    let mut instances = provider.instances();
    let shown = |provider: &Provider| {
        let instances = provider.instances();
        let instances = instances.borrow();
        let revision = |instance: &dubbo_core::discovery::ServiceInstance| {
            instance.metadata["dubbo.metadata.revision"][..4].to_owned()
        };
        instances.iter().map(revision).collect::<Vec<_>>()
    };
    assert!(shown(&provider).is_empty());
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    assert!(instances.has_changed().expect("the provider is there"));
    assert_eq!(shown(&provider), ["7b1a"]);
    assert_eq!(
        instances.borrow_and_update()[0],
        world.instance("10.0.0.1:50051")
    );

    let failure = RegistryError::new("update", "fake://registry", "busy");
    world.discovery.answers.lock().push_back(Err(failure));
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_millis(1050)).await;
    assert_eq!(shown(&provider), ["7b1a"], "not told yet");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(shown(&provider), ["222f"]);

    provider.unregister().await.expect("gone");
    assert!(shown(&provider).is_empty());
}

/// `cases.md` 72.
#[tokio::test(start_paused = true)]
async fn one_instance_stands_for_all_protocols_under_the_address_of_one() {
    for (preferred, want) in [
        (None, "10.0.0.1:50051"),
        (Some("dubbo"), "10.0.0.1:20000"),
        (Some("rest"), "10.0.0.1:50051"),
    ] {
        let world = World::new();
        let provider = world.provider(|options| options.protocol = preferred.map(str::to_owned));
        provider.export(&bar("")).expect("valid");
        provider.export(&greet("")).expect("valid");
        serve_metadata(&provider);
        provider.register().await.expect("registered");
        assert_eq!(world.calls(), [format!("0 ms register {want} 222f local")]);
        let metadata = world.instance(want).metadata;
        assert_eq!(
            &metadata["dubbo.endpoints"],
            r#"[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#
        );
        let params = &metadata["dubbo.metadata-service.url-params"];
        assert!(
            params.ends_with(r#""port":"50051","protocol":"tri"}"#),
            "{params}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn labels_weight_and_what_is_too_long() {
    let world = World::new();
    let provider = world.provider(|options| {
        let long = "x".repeat(900);
        for (label, value) in [("zone", "east"), ("note", &*long), ("dubbo.tag", "gray")] {
            options.labels.insert(label, value).expect("a label");
        }
        options.weight = Some(50);
    });
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    let instance = world.instance("10.0.0.1:50051");
    assert_eq!(instance.weight, 50);
    let said = |key: &str| instance.metadata.get(key);
    assert_eq!(said("weight"), Some("50"));
    assert_eq!(said("zone"), Some("east"));
    assert_eq!(said("dubbo.tag"), Some("gray"));
    assert_eq!(said("note"), None, "the longest label goes first");
    assert!(said("timestamp").is_some());
}

/// Counts how often it was asked.
struct Counting(Arc<AtomicU32>);

impl InstanceCustomizer for Counting {
    fn customize(
        &self,
        draft: &mut InstanceDraft,
        described: &Described<'_>,
    ) -> Result<(), BoxError> {
        assert_eq!(described.application, "demo-provider");
        draft.set("serves", described.services.len().to_string());
        draft.set("at", self.0.load(Ordering::Relaxed).to_string());
        Ok(())
    }
}

fn counting(count: &Arc<AtomicU32>) -> Vec<(String, Arc<dyn InstanceCustomizer>)> {
    vec![("counting".to_owned(), Arc::new(Counting(Arc::clone(count))))]
}

#[tokio::test(start_paused = true)]
async fn what_customizers_write_is_kept_in_step_in_place() {
    let world = World::new();
    let count = Arc::<AtomicU32>::default();
    let provider = world.provider(|options| {
        options.customizers = Customizers::new(counting(&count)).expect("an order of its own");
    });
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    let said = |key: &str| world.instance("10.0.0.1:50051").metadata[key].to_owned();
    assert_eq!(
        (said("serves"), said("at")),
        ("1".to_owned(), "0".to_owned())
    );

    count.store(7, Ordering::Relaxed);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(
        world.calls().len(),
        1,
        "nobody says that anything has changed"
    );
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    let calls = world.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].contains(" update 10.0.0.1:50051 "), "{calls:?}");
    assert_eq!(
        (said("serves"), said("at")),
        ("2".to_owned(), "7".to_owned())
    );
}

#[test]
fn a_label_of_the_framework_is_refused() {
    let world = World::new();
    let mut options = world.options("demo-provider");
    let refused = options.labels.insert("dubbo.metadata.revision", "mine");
    assert!(
        matches!(refused, Err(MetadataError::Label { .. })),
        "{refused:?}"
    );
}
