//! Application-level discovery: what is registered, who finds it, and what is said when nobody does.

use std::sync::Arc;

use dubbo::{
    Instance, InstanceBuilder, Url,
    spi::{
        discovery::ServiceDiscovery,
        metadata::MetadataReport,
        registry::{Registry, RegistryError, RegistrySnapshot},
        subscription::Subscription,
        text_map::TextMap,
    },
};
use dubbo_registry::memory::MemoryRegistry;
use dubbo_test::soon;
use examples::greet::GreeterClient;

use super::rig::{greet, load, load_in, named};

/// A registry that several instances share, as `shared://NAME`.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) MemoryRegistry);

impl Shared {
    pub(crate) fn new() -> Self {
        Self(MemoryRegistry::new(Url::new("shared", "here")))
    }

    /// Builds on `builder` with this registry as the plugin `shared`.
    pub(crate) fn on(&self, builder: InstanceBuilder) -> InstanceBuilder {
        let (one, two, three) = (self.0.clone(), self.0.clone(), self.0.clone());
        builder
            .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(one.clone())))
            .extension::<dyn ServiceDiscovery>("shared", move |_| Ok(two.discovery()))
            .extension::<dyn MetadataReport>("shared", move |_| Ok(three.report()))
    }

    pub(crate) fn load(&self, sections: &str) -> InstanceBuilder {
        self.load_in(sections, &[])
    }

    pub(crate) fn load_in(&self, sections: &str, variables: &[(&str, &str)]) -> InstanceBuilder {
        let yaml = format!("dubbo: {{{sections}}}");
        self.on(load_in(&yaml, variables))
    }

    pub(crate) async fn instances(&self, application: &str) -> Vec<(String, TextMap)> {
        let found = self.0.discovery().snapshot(application).await;
        let found = found.expect("it is there");
        found
            .iter()
            .map(|instance| (instance.id(), instance.metadata.clone()))
            .collect()
    }

    pub(crate) async fn urls(&self) -> Vec<String> {
        let everyone = "consumer://h/*?group=*&version=*".parse().expect("a URL");
        let found = self.0.lookup(&everyone).await.expect("it is there");
        found
            .providers
            .iter()
            .map(|url| url.protocol().to_owned())
            .collect()
    }

    pub(crate) async fn mapping(&self, interface: &str) -> String {
        let (mapping, _) = self
            .0
            .report()
            .mapping(interface)
            .await
            .expect("it is there");
        mapping.to_string()
    }
}

pub(crate) const TRIPLE: &str = "protocols: {tri: {ip: 127.0.0.1, port: 0}}";

/// A started provider of the application `app`.
pub(crate) async fn provider(shared: &Shared, sections: &str) -> Instance {
    let instance = shared
        .load(&format!("application: {{name: app}}, {sections}"))
        .provide(named("found"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

#[tokio::test]
async fn what_is_registered_is_the_application_unless_the_type_says_otherwise() {
    for (kind, applications, interfaces) in [
        ("", 1, 0),
        (", registry-type: service", 1, 0),
        (", registry-type: instance", 1, 0),
        (", registry-type: interface", 0, 1),
        (", registry-type: all", 1, 1),
    ] {
        let shared = Shared::new();
        let registries = format!("registries: {{r: {{address: 'shared://here'{kind}}}}}");
        let provider = provider(&shared, &format!("{TRIPLE}, {registries}")).await;
        assert_eq!(shared.instances("app").await.len(), applications, "{kind}");
        assert_eq!(shared.urls().await.len(), interfaces, "{kind}");

        let consumer = shared.load(&registries).build().expect("valid");
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        assert_eq!(
            greet(&greeter, "").await.expect("answers"),
            "found",
            "{kind}"
        );

        provider.shutdown(std::time::Duration::ZERO).await;
        assert!(shared.instances("app").await.is_empty(), "{kind}");
        assert!(shared.urls().await.is_empty(), "{kind}");
    }
}

#[tokio::test]
async fn a_consumer_of_both_ways_finds_providers_of_either() {
    for kind in ["service", "interface"] {
        let shared = Shared::new();
        let registries = |kind| {
            format!("registries: {{r: {{address: 'shared://here', registry-type: {kind}}}}}")
        };
        let _provider = provider(&shared, &format!("{TRIPLE}, {}", registries(kind))).await;
        let consumer = shared.load(&registries("all")).build().expect("valid");
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        assert_eq!(
            greet(&greeter, "").await.expect("answers"),
            "found",
            "{kind}"
        );
    }
}

pub(crate) const REGISTRY: &str = "registries: {r: {address: 'shared://here'}}";

#[tokio::test]
async fn the_instance_says_where_and_what_it_is() {
    let shared = Shared::new();
    let application = "application: {name: app, tag: gray, environment: prod}";
    let variables = [
        ("DUBBO_IP_TO_REGISTRY", "192.0.2.7"),
        ("DUBBO_PORT_TO_REGISTRY", "30001"),
    ];
    let provider = shared
        .load_in(&format!("{application}, {TRIPLE}, {REGISTRY}"), &variables)
        .provide(named("found"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");

    let instances = shared.instances("app").await;
    let [(id, metadata)] = instances.as_slice() else {
        panic!("one instance: {instances:?}");
    };
    assert_eq!(id, "192.0.2.7:30001");
    let release = concat!("dubbo-rust-", env!("CARGO_PKG_VERSION"));
    let params =
        format!(r#"{{"version":"1.0.0","release":"{release}","port":"30001","protocol":"tri"}}"#);
    for (key, want) in [
        ("dubbo.endpoints", r#"[{"port":30001,"protocol":"tri"}]"#),
        ("dubbo.metadata-service.url-params", &*params),
        ("dubbo.metadata.storage-type", "local"),
        ("dubbo.tag", "gray"),
        ("environment", "prod"),
        ("meta-v", "2.0.0"),
    ] {
        assert_eq!(metadata.get(key), Some(want), "{key}");
    }
    assert_eq!(metadata["dubbo.metadata.revision"].len(), 32);
    assert!(!metadata.contains_key("registry.id"));
    soon("the mapping is written", async {
        while shared.mapping("greet.Greeter").await != "app" {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn metadata_may_be_in_the_report_instead_of_the_application() {
    for (metadata, served) in [("", true), (", metadata: {export-in-remote: false}", false)] {
        let shared = Shared::new();
        let sections = format!("{TRIPLE}, {REGISTRY}{metadata}");
        let provider = shared
            .load(&format!(
                "application: {{name: app, metadata-type: remote}}, {sections}"
            ))
            .provide(named("found"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");

        let instances = shared.instances("app").await;
        let (_, said) = &instances[0];
        assert_eq!(&said["dubbo.metadata.storage-type"], "remote");
        assert_eq!(
            said.contains_key("dubbo.metadata-service.url-params"),
            served
        );
        let revision = &said["dubbo.metadata.revision"];
        let stored = shared
            .0
            .report()
            .app("app", revision)
            .await
            .expect("it is there");
        assert!(
            stored.is_some(),
            "it is published under the revision that is registered"
        );

        let consumer = shared.load(REGISTRY).build().expect("valid");
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        assert_eq!(greet(&greeter, "").await.expect("answers"), "found");
    }
}

#[tokio::test]
async fn a_store_of_its_own_takes_metadata_and_mappings() {
    let (registry, store) = (Shared::new(), Shared::new());
    let sections = "registries: {r: {address: 'shared://here', use-as-meta-report: 'false'}}, \
                    metadata-report: {address: 'store://there', group: g}";
    let with_store = |builder: InstanceBuilder| {
        let reports = store.0.clone();
        registry
            .on(builder)
            .extension::<dyn MetadataReport>("store", move |cx| {
                assert_eq!(cx.url.to_string(), "store://there?group=g");
                Ok(reports.report())
            })
    };
    let yaml = format!(
        "dubbo: {{application: {{name: app, metadata-type: remote}}, {TRIPLE}, {sections}}}"
    );
    let provider = with_store(load(&yaml))
        .provide(named("found"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = with_store(load(&format!("dubbo: {{{sections}}}")))
        .build()
        .expect("valid");
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "found");
    assert_eq!(registry.mapping("greet.Greeter").await, "");
    assert_eq!(store.mapping("greet.Greeter").await, "app");
}

#[tokio::test]
async fn a_reference_may_name_the_applications_itself() {
    let shared = Shared::new();
    // Nothing is mapped: there is no report.
    let registry = "registries: {r: {address: 'shared://here', use-as-meta-report: false}}";
    let _provider = provider(&shared, &format!("{TRIPLE}, {registry}")).await;
    for (reference, is_found) in [
        ("provided_by: app", true),
        ("provided-by: [other, app]", true),
        ("provided_by: other", false),
    ] {
        let sections = format!(
            "{registry}, consumer: {{max-wait-time-for-service-discovery: 3s, references: {{GreeterClient: {{{reference}}}}}}}"
        );
        let consumer = shared.load(&sections).build().expect("valid");
        let referred = consumer.refer::<GreeterClient>().await;
        assert_eq!(referred.is_ok(), is_found, "{reference}");
    }
}

#[tokio::test]
async fn several_registries_are_one_reference() {
    let (a, b) = (Shared::new(), Shared::new());
    let with_both = |builder: InstanceBuilder| {
        let (interfaces, instances, reports) = (b.0.clone(), b.0.clone(), b.0.clone());
        a.on(builder)
            .extension::<dyn Registry>("other", move |_| Ok(Arc::new(interfaces.clone())))
            .extension::<dyn ServiceDiscovery>("other", move |_| Ok(instances.discovery()))
            .extension::<dyn MetadataReport>("other", move |_| Ok(reports.report()))
    };
    let start = async |name: &'static str, registry: &str| {
        let yaml = format!(
            "dubbo: {{application: {{name: {name}}}, {TRIPLE}, registries: {{r: {{address: '{registry}'}}}}}}"
        );
        let instance = with_both(load(&yaml))
            .provide(named(name))
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        instance
    };
    let _one = start("one", "shared://here").await;
    let other = start("other", "other://there").await;

    for (options, want) in [("preferred: true", "other"), ("zone: hz", "other")] {
        let sections = format!(
            "registries: {{a: {{address: 'shared://here'}}, b: {{address: 'other://there', {options}}}}}"
        );
        let consumer = with_both(load(&format!("dubbo: {{{sections}}}")))
            .build()
            .expect("valid");
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        for _ in 0..8 {
            let call = greeter
                .greet(super::rig::request(""))
                .attach("registry_zone", "hz");
            let response = call.await.expect("answers");
            assert_eq!(response.message().greeting, want, "{options}");
        }
    }

    // The weight of 0 is none that is set.
    let sections = "registries: {a: {address: 'shared://here', weight: 0}, b: {address: 'other://there', weight: 900}}";
    let consumer = with_both(load(&format!("dubbo: {{{sections}}}")))
        .build()
        .expect("valid");
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");
    let mut from_other = 0;
    for _ in 0..200 {
        from_other += i32::from(greet(&greeter, "").await.expect("answers") == "other");
    }
    assert!(
        (150..200).contains(&from_other),
        "{from_other} of 200, about 180"
    );

    other.shutdown(std::time::Duration::ZERO).await;
    soon("the other registry's provider takes the calls", async {
        while greet(&greeter, "").await.ok().as_deref() != Some("one") {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn it_is_explained_where_providers_were_lost() {
    let shared = Shared::new();
    let consumer = shared
        .load(&format!("{REGISTRY}, consumer: {{check: false}}"))
        .build()
        .expect("valid");
    let explain = async || {
        consumer
            .explain("greet.Greeter")
            .await
            .expect("a service key")
    };
    let explained = explain().await;
    assert!(!explained.is_available());
    let text = explained.to_string();
    assert!(
        text.starts_with(
            "greet.Greeter has no provider that can be called\n  registry shared://here"
        ),
        "{text}"
    );
    assert!(text.contains("<- here"), "{text}");

    let greeter = consumer
        .refer::<GreeterClient>()
        .await
        .expect("not checked");
    let error = greet(&greeter, "").await.expect_err("nobody is there");
    assert!(error.message().contains("mapping"), "{error}");

    let _provider = provider(&shared, &format!("{TRIPLE}, {REGISTRY}")).await;
    soon("the provider is found", async {
        while !explain().await.is_available() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let text = explain().await.to_string();
    for part in [
        "greet.Greeter can be called",
        "app",
        "available: all of 1 can be reached -> 1",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("<- here"), "{text}");

    let nobody = consumer
        .explain("greet.Greeter:9")
        .await
        .expect("a service key");
    let text = nobody.to_string();
    assert!(
        text.starts_with("greet.Greeter:9 has no provider"),
        "{text}"
    );
    assert!(consumer.explain("").await.is_err());
}

#[tokio::test]
async fn a_start_that_fails_leaves_no_name_in_a_mapping() {
    let (shared, closed) = (Shared::new(), Shared::new());
    let discovery = closed.0.discovery();
    discovery.close().await;
    let sections = "application: {name: app}, registries: {a: {address: 'shared://here'}, b: {address: 'closed://there', \
                    use-as-meta-report: false}}";
    let provider = shared
        .load(&format!("{TRIPLE}, {sections}"))
        .extension::<dyn Registry>("closed", move |_| Ok(Arc::new(closed.0.clone())))
        .extension::<dyn ServiceDiscovery>("closed", move |_| Ok(Arc::clone(&discovery)))
        .provide(named("found"))
        .build()
        .expect("valid");
    let error = provider.start().await.expect_err("one registry is closed");
    assert!(error.to_string().contains("closed"), "{error}");
    assert_eq!(shared.mapping("greet.Greeter").await, "");
    assert!(shared.instances("app").await.is_empty());
}

#[tokio::test]
async fn a_registry_that_is_not_checked_may_come_later_and_may_not_refuse() {
    let cut = || RegistryError::new("connect", "slow://there", "its wire is cut");
    let stranger = || RegistryError::new("log in", "slow://there", "who is this").refused();
    let silent = |trouble: RegistryError| Answer::Silence(Arc::new(trouble));
    for (answer, check, failure) in [
        (
            silent(cut()),
            true,
            Some("no answer within 30 ms: its wire is cut"),
        ),
        (silent(cut()), false, None),
        (
            silent(stranger()),
            true,
            Some("no answer within 30 ms: who is this"),
        ),
        (
            silent(stranger()),
            false,
            Some("no answer within 30 ms: who is this"),
        ),
        (Answer::Refusal, true, Some("greet.Greeter is no name")),
        (Answer::Refusal, false, Some("greet.Greeter is no name")),
    ] {
        let shared = Shared::new();
        let registry = format!(
            "registries: {{r: {{address: 'slow://there', timeout: 30ms, check: {check}, registry-type: interface}}}}"
        );
        let stubborn = Stubborn(shared.0.clone(), answer.clone());
        let provider = shared
            .load(&format!("{TRIPLE}, {registry}"))
            .extension::<dyn Registry>("slow", move |_| Ok(Arc::new(stubborn.clone())))
            .provide(named("found"))
            .build()
            .expect("valid");
        let started = provider.start().await;
        let text = started.err().map(|error| error.to_string());
        match (&text, failure) {
            (None, None) => {}
            (Some(text), Some(failure)) if text.contains(failure) => {}
            _ => panic!("{answer:?}, check: {check}: {text:?} is not {failure:?}"),
        }
    }
}

/// A registry that takes nothing.
#[derive(Clone)]
struct Stubborn(MemoryRegistry, Answer);

/// What it says to who registers.
#[derive(Debug, Clone)]
enum Answer {
    /// Nothing, but it knows why.
    Silence(Arc<RegistryError>),
    Refusal,
}

#[async_trait::async_trait]
impl Registry for Stubborn {
    fn url(&self) -> &Url {
        self.0.url()
    }

    fn trouble(&self) -> Option<Arc<RegistryError>> {
        match &self.1 {
            Answer::Silence(why) => Some(Arc::clone(why)),
            Answer::Refusal => None,
        }
    }

    async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        match self.1 {
            Answer::Silence(_) => std::future::pending().await,
            Answer::Refusal => {
                let reason = format!("{} is no name", url.service_key());
                Err(RegistryError::new("register", "slow://there", reason).refused())
            }
        }
    }

    async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        self.0.unregister(url).await
    }

    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        self.0.lookup(consumer).await
    }

    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        self.0.subscribe(consumer).await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
