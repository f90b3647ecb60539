//! The acceptance tests of `docs/spec/metadata.md` §9 about the provider chain, on a paused clock.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    discovery::{ServiceDiscovery, ServiceInstance},
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::{RegistryError, RegistryErrorKind},
    subscription::Subscription,
    url::Url,
};
use dubbo_metadata::{
    error::MetadataError,
    instance::{MetaVersion, MetadataServiceParams, Storage},
    model::MetadataInfo,
    provider::{Provider, ProviderOptions},
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn metadata_a01_one_instance_says_all_that_consumers_need() {
    let world = World::new();
    let provider = world.provider(|_| {});
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");

    assert_eq!(
        world.calls(),
        ["0 ms register 10.0.0.1:50051 222f local"],
        "nothing else"
    );
    let instance = world.instance("10.0.0.1:50051");
    let metadata: Vec<_> = instance
        .metadata
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(
        metadata,
        [
            (
                "dubbo.endpoints",
                r#"[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#
            ),
            (
                "dubbo.metadata-service.url-params",
                r#"{"version":"1.0.0","release":"dubbo-rust-4.0.0","port":"50051","protocol":"tri"}"#
            ),
            (
                "dubbo.metadata.revision",
                "222f165004459af76f0540482d98ac81"
            ),
            ("dubbo.metadata.storage-type", "local"),
            ("meta-v", "2.0.0"),
            ("timestamp", "1700000000000"),
        ]
    );
    let length: usize = metadata.iter().map(|(k, v)| k.len() + v.len()).sum();
    assert!(length <= 1024, "{length}");
    assert_eq!(
        (instance.application.as_str(), instance.weight),
        ("demo-provider", 100)
    );

    sleep(Duration::from_hours(24)).await;
    assert_eq!(world.calls().len(), 1, "nothing changed");
}

#[tokio::test(start_paused = true)]
async fn metadata_a02_what_is_registered_can_be_read() {
    let world = World::new();
    let provider = world.remote();
    world.report.takes(Duration::from_millis(200));
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    provider.register().await.expect("registered");
    assert_eq!(
        world.calls(),
        [
            "200 ms published 222f",
            "200 ms register 10.0.0.1:50051 222f remote"
        ]
    );
    let json = world.report.published.lock()[0].clone();
    let info = MetadataInfo::from_json(&json).expect("JSON");
    assert_eq!(
        Some(&info),
        provider
            .history()
            .get(&info.revision)
            .map(|published| MetadataInfo::clone(&published.info))
            .as_ref()
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_a02_publishing_that_fails_is_tried_again_and_registering_waits_for_it() {
    let world = World::new();
    let provider = world.remote();
    world.report.fails(3);
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");
    let calls = world.calls();
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert!(
        calls[..3]
            .iter()
            .all(|call| call.ends_with("not published 222f"))
    );
    assert!(calls[3].ends_with("published 222f"));
    assert!(calls[4].ends_with("register 10.0.0.1:50051 222f remote"));
    // 100, 200 and 400 ms, each with half of it left to chance.
    let total = world.start.elapsed();
    let range = Duration::from_millis(350)..=Duration::from_millis(700);
    assert!(range.contains(&total), "{total:?}");
}

#[tokio::test(start_paused = true)]
async fn metadata_a02_the_metadata_service_takes_the_place_of_a_report_that_fails_for_long() {
    let world = World::new();
    let provider = world.remote();
    world.report.fails(usize::MAX);
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");
    let calls = world.registry_calls();
    assert_eq!(calls, ["30000 ms register 10.0.0.1:50051 222f local"]);

    // It is upgraded in place once the report takes it.
    sleep(Duration::from_mins(5)).await;
    assert_eq!(world.registry_calls().len(), 1);
    world.report.fails(0);
    sleep(Duration::from_secs(31)).await;
    let calls = world.registry_calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[1].ends_with("update 10.0.0.1:50051 222f remote"));
    sleep(Duration::from_hours(1)).await;
    assert_eq!(
        world.registry_calls().len(),
        2,
        "then nothing is left to do"
    );
}

#[tokio::test(start_paused = true)]
async fn a_report_that_refuses_is_not_asked_again_before_something_changes() {
    let world = World::new();
    let provider = world.remote();
    world.report.refuses.store(true, Ordering::Relaxed);
    serve_metadata(&provider);
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    assert_eq!(
        world.calls(),
        [
            "0 ms not published 7b1a",
            "0 ms register 10.0.0.1:50051 7b1a local"
        ]
    );
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), 2);
    world.report.refuses.store(false, Ordering::Relaxed);
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls()[2..],
        [
            "3601000 ms published 222f",
            "3601000 ms update 10.0.0.1:50051 222f remote"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_is_published_once_however_many_services_there_are() {
    let world = World::new();
    let provider = world.remote();
    for index in 0..50 {
        let url = format!("tri://10.0.0.1:50051/x.Y{index}?interface=x.Y{index}&methods=m");
        provider
            .export(&url.parse().expect("valid"))
            .expect("valid");
    }
    provider.register().await.expect("registered");
    let calls = world.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(calls[0].starts_with("0 ms published") && calls[1].contains("register"));
}

#[tokio::test(start_paused = true)]
async fn a_failure_to_publish_leaves_nothing_registered() {
    let world = World::new();
    let provider = world.remote();
    world.report.fails(usize::MAX);
    provider.export(&greet("")).expect("valid");
    let error = provider.register().await.expect_err("not published");
    assert_eq!(world.start.elapsed(), Duration::from_secs(30));
    assert_eq!(
        error.to_string(),
        "publish metadata at fake://report: out of order"
    );
    assert_eq!(error.kind, RegistryErrorKind::Unavailable);
    assert_eq!(world.registry_calls(), [""; 0]);

    // It goes on until it is taken back.
    provider.unregister().await.expect("nothing to do");
    let tried = world.calls().len();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), tried);
    world.report.fails(0);
    provider.register().await.expect("registered");
    assert!(world.registry_calls()[0].contains("register 10.0.0.1:50051 7b1a remote"));
}

#[tokio::test(start_paused = true)]
async fn a_report_that_does_not_answer_is_not_waited_for_for_ever() {
    let world = World::new();
    let provider = world.remote();
    world.report.takes(Duration::from_hours(1));
    provider.export(&greet("")).expect("valid");
    let error = provider.register().await.expect_err("no answer");
    assert_eq!(world.start.elapsed(), Duration::from_secs(30));
    assert!(error.to_string().contains("no answer in time"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn metadata_a03_changes_that_come_together_are_one_update_and_old_revisions_still_answer() {
    let world = World::new();
    let provider = world.started().await;
    sleep(Duration::from_mins(1)).await;
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_millis(300)).await;
    provider.export(&other("x.Fourth")).expect("valid");
    sleep(Duration::from_secs(10)).await;
    let calls = world.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(
        calls[1].starts_with("61300 ms update 10.0.0.1:50051 "),
        "{calls:?}"
    );

    let revision = "222f165004459af76f0540482d98ac81";
    sleep(Duration::from_mins(10)).await;
    let old = provider.history().get(revision).expect("still known");
    assert_eq!(old.info.services.len(), 2);
    let current = provider.history().current();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0].info.services.len(), 4);
    assert_eq!(
        world.instance("10.0.0.1:50051").metadata["dubbo.metadata.revision"],
        current[0].revision()
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_a03_changes_that_never_end_are_told_within_five_seconds() {
    let world = World::new();
    let provider = world.started().await;
    for index in 0..20 {
        provider
            .export(&other(&format!("x.Y{index}")))
            .expect("valid");
        sleep(Duration::from_millis(500)).await;
    }
    sleep(Duration::from_secs(10)).await;
    let times: Vec<_> = world.calls()[1..]
        .iter()
        .map(|call| call.split(' ').next().expect("a time").to_owned())
        .collect();
    // The first at 0, the last at 9500, told when it was quiet.
    assert_eq!(times, ["5000", "10500"]);
}

#[tokio::test(start_paused = true)]
async fn metadata_a04_a_service_that_goes_is_an_update_and_the_last_one_takes_the_instance_with_it()
{
    let world = World::new();
    let provider = world.started().await;
    provider.unexport(&bar(""));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls()[1..],
        ["1000 ms update 10.0.0.1:50051 7b1a local"]
    );
    provider.unexport(&greet(""));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.calls()[2..], ["3000 ms unregister 10.0.0.1:50051"]);
    assert!(provider.history().current().is_empty(), "revision 0");
    assert!(
        provider
            .history()
            .get("7b1a5d4ca1a4d824525139f7ff32657a")
            .is_some(),
        "whoever heard of it may still ask"
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_a05_a_restart_elsewhere_has_the_same_revision() {
    let world = World::new();
    world.started().await;
    let again = world.provider(|options| options.started_ms += 1000);
    for url in [greet("&pid=2&timestamp=1700000001000"), bar("&pid=2")] {
        let port = url.port().map_or(1, |port| port + 1);
        again
            .export(&url.with_host("10.0.0.2").with_port(port))
            .expect("valid");
    }
    again.register().await.expect("registered");
    assert_eq!(
        world.calls()[1..],
        ["0 ms register 10.0.0.2:50052 222f local"]
    );
    let instance = world.instance("10.0.0.2:50052");
    assert_eq!(instance.metadata["timestamp"], "1700000001000");
    let published = &again.history().current()[0];
    assert!(published.info.services.values().all(|s| s.port == 0));
}

#[tokio::test(start_paused = true)]
async fn tag_and_environment_are_told_by_the_instance_and_leave_the_revision_alone() {
    let world = World::new();
    let provider = world.provider(|options| {
        options.tag = Some("gray".into());
        options.environment = Some("prod".into());
    });
    let more = "&application.tag=gray&environment=prod";
    provider.export(&greet(more)).expect("valid");
    provider.export(&bar(more)).expect("valid");
    provider.register().await.expect("registered");
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(metadata["dubbo.tag"], "gray");
    assert_eq!(metadata["environment"], "prod");
    assert_eq!(
        metadata["dubbo.metadata.revision"],
        "222f165004459af76f0540482d98ac81"
    );
}

#[tokio::test(start_paused = true)]
async fn a_protocol_on_two_ports_makes_two_instances_with_revisions_of_their_own() {
    let world = World::new();
    let provider = world.started().await;
    provider
        .export(&other("x.Third").with_port(50052))
        .expect("valid");
    sleep(Duration::from_secs(2)).await;
    let calls = world.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[1].starts_with("1000 ms update 10.0.0.1:50051 "));
    assert!(calls[2].starts_with("1000 ms register 10.0.0.1:50052 "));
    let current = provider.history().current();
    assert_eq!(current.len(), 2);
    let ports: Vec<_> = current
        .iter()
        .flat_map(|published| published.info.services.values().map(|s| s.port))
        .collect();
    assert_eq!(ports, [20000, 50051, 50052]);
    assert_eq!(
        world.instance("10.0.0.1:50052").metadata["dubbo.endpoints"],
        r#"[{"port":50052,"protocol":"tri"}]"#
    );

    // And one again.
    provider.unexport(&other("x.Third").with_port(50052));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls()[3..],
        [
            "3000 ms update 10.0.0.1:50051 222f local",
            "3000 ms unregister 10.0.0.1:50052"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_metadata_service_is_told_when_it_comes_and_when_it_goes() {
    let world = World::new();
    let provider = world.started().await;
    serve_metadata(&provider);
    sleep(Duration::from_secs(2)).await;
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(metadata["meta-v"], "2.0.0");
    serve_metadata(&provider);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.calls().len(), 2, "nothing new");
    provider.set_metadata_service(None, MetaVersion::V1);
    sleep(Duration::from_secs(2)).await;
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert!(!metadata.contains_key("meta-v"));
}

#[tokio::test(start_paused = true)]
async fn a_registry_out_of_reach_is_waited_for_and_hears_of_the_newest_state_only() {
    let world = World::new();
    let provider = world.provider(|_| {});
    world.discovery.hangs.store(true, Ordering::Relaxed);
    provider.export(&greet("")).expect("valid");
    let registering = tokio::spawn({
        let provider = Arc::clone(&provider);
        async move { provider.register().await }
    });
    sleep(Duration::from_hours(1)).await;
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_mins(1)).await;
    assert!(!registering.is_finished());
    world.discovery.hangs.store(false, Ordering::Relaxed);
    provider.export(&other("x.Third")).expect("valid");
    registering.await.expect("no panic").expect("registered");
    let calls = world.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[0].contains("register 10.0.0.1:50051 7b1a"));
    assert!(calls[1].contains("update 10.0.0.1:50051 222f"));
    assert!(calls[2].contains("update 10.0.0.1:50051 "));
    let visible = world.instance("10.0.0.1:50051");
    let current = provider.history().current();
    assert_eq!(
        visible.metadata["dubbo.metadata.revision"],
        current[0].revision()
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_and_the_next_change_is_tried() {
    let world = World::new();
    let provider = world.provider(|_| {});
    world
        .discovery
        .answers
        .lock()
        .extend([Err(RegistryError::new(
            "register",
            "fake://registry",
            "too long",
        )
        .refused())]);
    provider.export(&greet("")).expect("valid");
    let error = provider.register().await.expect_err("refused");
    assert_eq!(error.to_string(), "register at fake://registry: too long");
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(world.calls().len(), 1, "asking again does not help");
    provider.export(&bar("")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    let calls = world.calls();
    assert!(calls[1].ends_with("222f local"), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn an_error_that_may_pass_is_waited_out() {
    let world = World::new();
    let provider = world.provider(|_| {});
    let failure = || Err(RegistryError::new("register", "fake://registry", "busy"));
    world
        .discovery
        .answers
        .lock()
        .extend([failure(), failure(), failure()]);
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered in the end");
    assert_eq!(world.calls().len(), 4);
    assert!(world.start.elapsed() >= Duration::from_millis(350));
}

#[tokio::test(start_paused = true)]
async fn unregistering_takes_the_instance_back_at_once_and_registering_brings_it_again() {
    let world = World::new();
    let provider = world.started().await;
    provider.unregister().await.expect("gone");
    assert_eq!(world.calls()[1..], ["0 ms unregister 10.0.0.1:50051"]);
    assert_eq!(
        provider.history().current().len(),
        1,
        "it is still answered for"
    );
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.calls().len(), 2, "nothing is told meanwhile");
    provider.register().await.expect("registered");
    assert!(world.calls()[2].starts_with("10000 ms register 10.0.0.1:50051 "));
    drop(provider);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.calls().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn without_services_nothing_is_registered() {
    let world = World::new();
    let provider = world.provider(|_| {});
    provider.unregister().await.expect("nothing to do");
    provider.register().await.expect("nothing to do");
    assert_eq!(world.calls(), [""; 0]);
    provider.export(&greet("")).expect("valid");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls(),
        ["1000 ms register 10.0.0.1:50051 7b1a local"]
    );
}

#[test]
fn what_cannot_be_told_to_others_is_refused() {
    let world = World::new();
    for name in ["", "a,b", " a"] {
        let error = Provider::new(world.options(name)).expect_err(name);
        assert!(
            matches!(error, MetadataError::Application { .. }),
            "{error}"
        );
    }
    let provider = world.provider(|_| {});
    for (url, want) in [
        ("tri://10.0.0.1/x.Y", "has no port"),
        ("tri://10.0.0.1:0/x.Y", "has no port"),
    ] {
        let error = provider
            .export(&url.parse().expect(url))
            .expect_err(url)
            .to_string();
        assert!(error.contains(want) && error.contains(url), "{error}");
    }
}

#[test]
fn a_report_is_found_by_the_registry_or_named_default() {
    let world = World::new();
    for (ids, want) in [
        ("zk", true),
        ("other", true),
        ("other default", true),
        ("other zk", true),
        ("other another", false),
        ("", false),
    ] {
        let mut options = world.options("demo");
        options.storage = Storage::Remote;
        options.reports = ids
            .split_whitespace()
            .map(|id| (id.to_owned(), Arc::clone(&world.report) as _))
            .collect();
        let result = Provider::new(options);
        assert_eq!(result.is_ok(), want, "{ids}");
        if let Err(error) = result {
            let error = error.to_string();
            assert!(error.contains("`zk`"), "{error}");
            assert!(
                ids.split_whitespace().all(|id| error.contains(id)),
                "{error}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn consumers_are_told_which_of_several_reports_it_is() {
    let world = World::new();
    let mut options = world.options("demo-provider");
    options.storage = Storage::Remote;
    options.reports = ["other", "zk"]
        .map(|id| (id.to_owned(), Arc::clone(&world.report) as _))
        .into();
    let provider = Provider::new(options).expect("valid");
    provider.export(&greet("")).expect("valid");
    provider.register().await.expect("registered");
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(metadata["dubbo.metadata.cluster"], "zk");
}

/// A registry and a report that note what they are told and when.
struct World {
    start: Instant,
    log: Arc<Mutex<Vec<String>>>,
    discovery: Arc<FakeDiscovery>,
    report: Arc<FakeReport>,
}

impl World {
    fn new() -> Self {
        let start = Instant::now();
        let log = Arc::<Mutex<Vec<String>>>::default();
        let noted = Log {
            start,
            lines: Arc::clone(&log),
        };
        Self {
            start,
            log,
            discovery: Arc::new(FakeDiscovery {
                url: Url::new("fake", "registry"),
                log: noted.clone(),
                told: Mutex::default(),
                answers: Mutex::default(),
                hangs: AtomicBool::new(false),
            }),
            report: Arc::new(FakeReport {
                url: Url::new("fake", "report"),
                log: noted,
                published: Mutex::default(),
                delay: Mutex::default(),
                failures: Mutex::default(),
                refuses: AtomicBool::new(false),
            }),
        }
    }

    fn options(&self, application: &str) -> ProviderOptions {
        let discovery = Arc::clone(&self.discovery) as _;
        ProviderOptions::new(application, "zk", discovery, 1_700_000_000_000, 1)
    }

    fn provider(&self, change: impl FnOnce(&mut ProviderOptions)) -> Arc<Provider> {
        let mut options = self.options("demo-provider");
        change(&mut options);
        Provider::new(options).expect("valid")
    }

    fn remote(&self) -> Arc<Provider> {
        self.provider(|options| {
            options.storage = Storage::Remote;
            options.reports = vec![("zk".into(), Arc::clone(&self.report) as _)];
        })
    }

    /// A provider of both services of the fixture, registered.
    async fn started(&self) -> Arc<Provider> {
        let provider = self.provider(|_| {});
        provider.export(&greet("")).expect("valid");
        provider.export(&bar("")).expect("valid");
        provider.register().await.expect("registered");
        provider
    }

    fn calls(&self) -> Vec<String> {
        self.log.lock().clone()
    }

    fn registry_calls(&self) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls.filter(|call| !call.contains("published")).collect()
    }

    fn instance(&self, id: &str) -> ServiceInstance {
        let told = self.discovery.told.lock();
        told.iter()
            .find(|instance| instance.id() == id)
            .expect(id)
            .clone()
    }
}

fn serve_metadata(provider: &Provider) {
    let params = MetadataServiceParams::new("tri", 50051).with_param("release", "dubbo-rust-4.0.0");
    provider.set_metadata_service(Some(params), MetaVersion::V2);
}

#[derive(Clone)]
struct Log {
    start: Instant,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Log {
    fn note(&self, what: &str) {
        let at = self.start.elapsed().as_millis();
        self.lines.lock().push(format!("{at} ms {what}"));
    }
}

/// Notes `what id revision storage`; does what `answers` say, then everything.
struct FakeDiscovery {
    url: Url,
    log: Log,
    told: Mutex<Vec<ServiceInstance>>,
    answers: Mutex<VecDeque<Result<(), RegistryError>>>,
    hangs: AtomicBool,
}

impl FakeDiscovery {
    async fn tell(&self, what: &str, instance: &ServiceInstance) -> Result<(), RegistryError> {
        let revision = &instance.metadata["dubbo.metadata.revision"];
        let storage = &instance.metadata["dubbo.metadata.storage-type"];
        self.log.note(&format!(
            "{what} {} {} {storage}",
            instance.id(),
            &revision[..4]
        ));
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        if let Some(answer) = self.answers.lock().pop_front() {
            answer?;
        }
        let mut told = self.told.lock();
        told.retain(|other| other.id() != instance.id());
        told.push(instance.clone());
        let ids: BTreeSet<_> = told.iter().map(ServiceInstance::id).collect();
        assert_eq!(ids.len(), told.len());
        Ok(())
    }
}

#[async_trait]
impl ServiceDiscovery for FakeDiscovery {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn register(&self, instance: &ServiceInstance) -> Result<(), RegistryError> {
        self.tell("register", instance).await
    }

    async fn update(
        &self,
        old: &ServiceInstance,
        new: &ServiceInstance,
    ) -> Result<(), RegistryError> {
        assert_eq!(old.id(), new.id());
        assert_ne!(old, new);
        self.tell("update", new).await
    }

    async fn unregister(&self, instance: &ServiceInstance) -> Result<(), RegistryError> {
        self.log.note(&format!("unregister {}", instance.id()));
        self.told.lock().retain(|other| other != instance);
        Ok(())
    }

    async fn snapshot(&self, _: &str) -> Result<Arc<[ServiceInstance]>, RegistryError> {
        unreachable!("a provider looks for nobody")
    }

    async fn watch(&self, _: &str) -> Result<Subscription<Arc<[ServiceInstance]>>, RegistryError> {
        unreachable!("a provider looks for nobody")
    }

    async fn close(&self) {}
}

/// Takes metadata after a while, unless it fails.
struct FakeReport {
    url: Url,
    log: Log,
    published: Mutex<Vec<Bytes>>,
    delay: Mutex<Duration>,
    failures: Mutex<usize>,
    refuses: AtomicBool,
}

impl FakeReport {
    fn takes(&self, delay: Duration) {
        *self.delay.lock() = delay;
    }

    fn fails(&self, times: usize) {
        *self.failures.lock() = times;
    }
}

#[async_trait]
impl MetadataReport for FakeReport {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn publish_app(
        &self,
        application: &str,
        revision: &str,
        metadata: Bytes,
    ) -> Result<(), RegistryError> {
        assert_eq!(application, "demo-provider");
        let delay = *self.delay.lock();
        sleep(delay).await;
        let error = RegistryError::new("publish metadata", "fake://report", "out of order");
        let revision = &revision[..4];
        let fails = {
            let mut failures = self.failures.lock();
            let fails = *failures > 0;
            *failures = failures.saturating_sub(1);
            fails
        };
        if fails || self.refuses.load(Ordering::Relaxed) {
            self.log.note(&format!("not published {revision}"));
            return Err(if fails { error } else { error.refused() });
        }
        self.log.note(&format!("published {revision}"));
        self.published.lock().push(metadata);
        Ok(())
    }

    async fn app(&self, _: &str, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("a provider reads nothing")
    }

    async fn remove_app(&self, _: &str, _: &str) -> Result<(), RegistryError> {
        unreachable!("others may still read it")
    }

    async fn list_app(&self, _: &str) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        unreachable!("a provider reads nothing")
    }

    async fn mapping(&self, _: &str) -> Result<(Mapping, Ticket), RegistryError> {
        unreachable!("mappings are not the chain's")
    }

    async fn cas_mapping(
        &self,
        _: &str,
        _: &Mapping,
        _: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        unreachable!("mappings are not the chain's")
    }

    async fn watch_mapping(&self, _: &str) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        unreachable!("mappings are not the chain's")
    }

    async fn store_definition(&self, _: &str, _: Bytes) -> Result<(), RegistryError> {
        unreachable!("definitions are not the chain's")
    }

    async fn definition(&self, _: &str) -> Result<Option<Bytes>, RegistryError> {
        unreachable!("definitions are not the chain's")
    }

    async fn close(&self) {}
}

/// The first service of the fixture of `docs/spec/metadata.md` §2.2.
fn greet(more: &str) -> Url {
    format!(
        "tri://10.0.0.1:50051/org.apache.dubbo.samples.GreetService?interface=org.apache.dubbo.samples.GreetService&group=g1\
         &version=1.0.0&methods=SayHello,Greet&methods.Greet.timeout=1000&{COMMON}{more}"
    )
    .parse()
    .expect("valid")
}

/// The second one.
fn bar(more: &str) -> Url {
    format!(
        "dubbo://10.0.0.1:20000/com.foo.Bar?interface=com.foo.Bar&methods=GetPetByID,GetPetTypes&{COMMON}{more}"
    )
    .parse()
    .expect("valid")
}

fn other(interface: &str) -> Url {
    format!("tri://10.0.0.1:50051/{interface}?interface={interface}&methods=m&{COMMON}")
        .parse()
        .expect("valid")
}

const COMMON: &str = "side=provider&release=dubbo-rust-4.0.0";
