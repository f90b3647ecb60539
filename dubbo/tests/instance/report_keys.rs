//! What a provider publishes and for how long: the parameters of services and of a metadata report, each by what it changes.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use dubbo::{
    InstanceBuilder, Url,
    spi::{
        discovery::{ServiceDiscovery, ServiceInstance},
        metadata::{MetadataParamsFilter, MetadataReport},
    },
};
use dubbo_metadata::{
    clock::Clock,
    instance::Storage,
    model::MetadataInfo,
    provider::{Provider, ProviderOptions},
};
use dubbo_registry::memory::MemoryRegistry;
use tokio::time::{sleep, timeout};

use super::{
    applications::{REGISTRY, Shared, TRIPLE, provider},
    rig::{load, named},
};

/// A report within the process that a test reads as well, as `seen://NAME`, with the parameters that are configured.
#[derive(Clone, Default)]
struct Seen(Arc<OnceLock<Arc<dyn MetadataReport>>>);

impl Seen {
    /// Builds a provider of `Greeter` that publishes there.
    fn load(&self, params: &str, sections: &str) -> InstanceBuilder {
        let report = Arc::clone(&self.0);
        let yaml = format!(
            "dubbo: {{application: {{name: app, metadata-type: remote}}, {TRIPLE}, \
             registries: {{r: {{address: 'seen://here', params: {{{params}}}}}}}, {sections}}}"
        );
        load(&yaml)
            .extension::<dyn ServiceDiscovery>("seen", |cx| {
                Ok(cx
                    .extensions
                    .create::<dyn ServiceDiscovery>("memory", cx.url)?)
            })
            .extension::<dyn MetadataReport>("seen", move |cx| {
                let made = cx
                    .extensions
                    .create::<dyn MetadataReport>("memory", cx.url)?;
                Ok(Arc::clone(report.get_or_init(|| made)))
            })
            .provide(named("found"))
    }

    fn report(&self) -> &Arc<dyn MetadataReport> {
        self.0.get().expect("an instance was built")
    }

    /// The only revision of `app`.
    async fn published(&self) -> MetadataInfo {
        let listed = self.report().list_app("app").await.expect("lists");
        let [(revision, _)] = &listed[..] else {
            panic!("{listed:?}");
        };
        let json = self.report().app("app", revision).await.expect("reads");
        MetadataInfo::from_json(&json.expect("listed")).expect("JSON")
    }

    /// Whether somebody looks for stale metadata soon.
    async fn is_looked_through(&self, is_expected: bool) -> bool {
        let looks = async {
            while self
                .report()
                .last_collection("app")
                .await
                .expect("reads")
                .0
                .is_none()
            {
                tokio::task::yield_now().await;
            }
        };
        let patience = Duration::from_millis(if is_expected { 10_000 } else { 100 });
        timeout(patience, looks).await.is_ok()
    }
}

#[tokio::test]
async fn the_report_says_whether_metadata_is_renewed_and_what_is_stale_looked_for() {
    for (params, dry_run, is_dated, is_looked_through) in [
        ("", "", true, true),
        ("metadata.gc.window: 30", "gc-dry-run: false", true, true),
        ("", "gc-dry-run: true", true, false),
        ("metadata.gc.enabled: false", "", true, false),
        ("metadata.renew-on-startup: false", "", false, false),
        ("cycle-report: false", "", false, false),
        ("cycle.report: false", "", false, false),
    ] {
        let seen = Seen::default();
        let provider = seen.load(params, &format!("metadata: {{{dry_run}}}"));
        let provider = provider.build().expect("valid");
        provider.start().await.expect("starts");
        let published = seen.published().await;
        let case = format!("{params} {dry_run}");
        assert_eq!(published.last_updated_ms.is_some(), is_dated, "{case}");
        let looked_through = seen.is_looked_through(is_looked_through).await;
        assert_eq!(looked_through, is_looked_through, "{case}");
        provider.shutdown(Duration::ZERO).await;
    }
    let error = Seen::default().load("cycle-report: often", "").build();
    let error = error.expect_err("neither on nor off").to_string();
    assert!(error.contains("cycle-report"), "{error}");
}

/// Tells the owner of a service, and nothing else that can be left out.
struct Owner;

impl MetadataParamsFilter for Owner {
    fn service_params_included(&self) -> Vec<String> {
        vec!["owner".to_owned()]
    }

    fn instance_params_included(&self) -> Vec<String> {
        vec!["desk".to_owned()]
    }
}

#[tokio::test]
async fn consumers_are_told_the_parameters_that_filters_let_through_and_never_a_secret() {
    for (filter, secrets, want) in [
        ("", "[]", "desk key owner side"),
        ("", "[key]", "desk owner side"),
        ("owner", "[]", "owner"),
        ("owner", "owner", ""),
        ("'-default'", "key", "desk owner params-filter pid side"),
    ] {
        let seen = Seen::default();
        let params = format!("{{params-filter: {filter}, owner: me, key: k, pid: 7, desk: d}}");
        let sections = format!(
            "provider: {{services: {{greet.Greeter: {{params: {params}}}}}}}, metadata: {{secret-params: {secrets}}}"
        );
        let provider = seen
            .load("", &sections)
            .extension::<dyn MetadataParamsFilter>("owner", |_| Ok(Arc::new(Owner)))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let published = seen.published().await;
        let [service] = &published.services.values().collect::<Vec<_>>()[..] else {
            panic!("{published:?}");
        };
        let told: Vec<_> = ["desk", "key", "owner", "params-filter", "pid", "side"]
            .into_iter()
            .filter(|key| service.params.contains_key(*key))
            .collect();
        assert_eq!(told.join(" "), want, "{filter} {secrets}");
        for needed in ["application", "methods"] {
            assert!(service.params.contains_key(needed), "{filter} {needed}");
        }
        provider.shutdown(Duration::ZERO).await;
    }
}

#[test]
fn a_filter_of_parameters_that_is_not_there_is_refused_with_its_place() {
    let seen = Seen::default();
    let sections = "provider: {services: {greet.Greeter: {params: {params-filter: nobody}}}}";
    let built = seen.load("", sections).build();
    let error = built.expect_err("there is no such filter").to_string();
    for want in ["params-filter", "greet.Greeter", "`nobody`", "default"] {
        assert!(error.contains(want), "{error}");
    }
}

#[tokio::test]
async fn case_87_a_provider_that_starts_again_elsewhere_has_the_same_revision() {
    let shared = Shared::new();
    let sections = format!("{TRIPLE}, {REGISTRY}");
    let mut revisions = Vec::new();
    for _ in 0..3 {
        let provider = provider(&shared, &sections).await;
        let instances = shared.instances("app").await;
        let [(_, metadata)] = &instances[..] else {
            panic!("one instance: {instances:?}");
        };
        revisions.push(metadata["dubbo.metadata.revision"].to_owned());
        provider.shutdown(Duration::ZERO).await;
    }
    revisions.dedup();
    assert_eq!(revisions.len(), 1, "{revisions:?}");
}

/// What a registry and a report that are real do together with a provider: no fake says what they answer.
#[tokio::test(start_paused = true)]
async fn stale_metadata_goes_and_stays_when_the_registry_is_lost_meanwhile() {
    for is_lost in [false, true] {
        let registry = MemoryRegistry::new(Url::new("memory", "here"));
        let (discovery, report) = (registry.discovery(), registry.report());
        let dated = |revision: &str, days: u64| {
            let written = Clock::default().now_ms() - days * 24 * 3_600_000;
            let json = format!(r#"{{"revision":"{revision}","lastUpdatedTime":{written}}}"#);
            (revision.to_owned(), Bytes::from(json))
        };
        for (revision, json) in [dated("stale", 6), dated("young", 4), dated("other", 6)] {
            let published = report.publish_app("app", &revision, json).await;
            published.expect("publishes");
        }
        let mut other = ServiceInstance::new("app", "10.0.0.2", 50051);
        let key = "dubbo.metadata.revision".to_owned();
        other.metadata.insert(key, "other".to_owned());
        let elsewhere = registry.discovery();
        elsewhere.register(&other).await.expect("registers");

        let mut options = ProviderOptions::new("app", "r", Arc::clone(&discovery), 0, 1);
        options.storage = Storage::Remote;
        options.reports = vec![("r".to_owned(), Arc::clone(&report))];
        let provider = Provider::new(options).expect("valid");
        let url = "tri://10.0.0.1:50051/a.B?interface=a.B&methods=m";
        let url = url.parse().expect("a URL");
        provider.export(&url).expect("valid");
        provider.register().await.expect("registered");
        sleep(Duration::from_secs(30)).await;
        if is_lost {
            discovery.close().await;
        }
        sleep(Duration::from_mins(1)).await;
        let own = provider.history().current()[0].revision().to_owned();
        let listed = report.list_app("app").await.expect("lists");
        let listed: BTreeSet<_> = listed.into_iter().map(|(revision, _)| revision).collect();
        let mut want = BTreeSet::from(["young".to_owned(), "other".to_owned(), own]);
        if is_lost {
            want.insert("stale".to_owned());
        }
        assert_eq!(listed, want);
    }
}
