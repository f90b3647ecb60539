//! What the instances of an application say about themselves, and what becomes of it where they are looked for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use dubbo::{
    InstanceBuilder, Invocation, Url,
    extension::BoxError,
    spi::{
        cluster::{Candidates, LoadBalance},
        discovery::{
            Described, InstanceCustomizer, InstanceDraft, InstanceListFilter, ServiceDiscovery,
            ServiceInstance,
        },
        metadata::MetadataReport,
        registry::Registry,
        text_map::TextMap,
    },
};
use dubbo_registry::memory::MemoryRegistry;
use dubbo_test::soon;
use examples::{
    greet::GreeterClient,
    users::{UserServiceServer, Users},
};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::{
    applications::{REGISTRY, Shared, TRIPLE, provider},
    rig::{greet, load, named},
};

/// What the only instance of `app` says.
async fn said(shared: &Shared) -> (Arc<ServiceInstance>, TextMap) {
    let found = shared.0.discovery().snapshot("app").await;
    let found = found.expect("it is there");
    assert_eq!(found.len(), 1, "{found:?}");
    (Arc::clone(&found[0]), found[0].metadata.clone())
}

#[tokio::test]
async fn labels_and_variables_stand_in_the_instance() {
    for (sections, variables, want) in [
        (
            "labels: {zone: east, note: 'a;b=c'}",
            &[][..],
            &[("zone", "east"), ("note", "a;b=c")][..],
        ),
        (
            "labels: 'zone=east;expr=a=b'",
            &[],
            &[("zone", "east"), ("expr", "a=b")],
        ),
        (
            "labels: {zone: east}, env: {keys: POD_NAME}",
            &[("POD_NAME", "order-7"), ("DUBBO_LABELS", "zone=west")],
            &[
                ("zone", "west"),
                ("POD_NAME", "order-7"),
                ("pod_name", "order-7"),
            ],
        ),
    ] {
        let shared = Shared::new();
        let sections = format!("application: {{name: app}}, {sections}, {TRIPLE}, {REGISTRY}");
        let provider = shared
            .load_in(&sections, variables)
            .provide(named("found"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let (_, metadata) = said(&shared).await;
        for (key, value) in want {
            assert_eq!(metadata.get(key), Some(*value), "{key}");
        }
    }
}

/// Takes the first, and notes the URLs of all.
struct Spy(Arc<Mutex<Vec<String>>>);

impl LoadBalance for Spy {
    fn select(&self, candidates: &Candidates, _: &Invocation) -> Option<usize> {
        let urls = candidates.iter().map(|node| node.invoker.url().to_string());
        *self.0.lock() = urls.collect();
        (!candidates.is_empty()).then_some(0)
    }
}

/// `cases.md` 95.
#[tokio::test]
async fn tag_environment_and_weight_are_the_instances_and_reach_the_consumers_url() {
    let shared = Shared::new();
    let application = "application: {name: app, tag: gray, environment: prod, weight: 40}, \
                       provider: {weight: 7}";
    let provider = shared
        .load(&format!("{application}, {TRIPLE}, {REGISTRY}"))
        .provide(named("found"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let (instance, metadata) = said(&shared).await;
    assert_eq!(instance.weight, 40, "where the registry has weights");
    for (key, want) in [
        ("dubbo.tag", "gray"),
        ("environment", "prod"),
        ("weight", "40"),
    ] {
        assert_eq!(metadata.get(key), Some(want), "{key}");
    }

    let seen = Arc::<Mutex<Vec<String>>>::default();
    let spied = Arc::clone(&seen);
    let consumer = shared
        .load(&format!(
            "{REGISTRY}, consumer: {{references: {{GreeterClient: {{loadbalance: spy, params: {{dubbo.tag: gray}}}}}}}}"
        ))
        .extension::<dyn LoadBalance>("spy", move |_| Ok(Arc::new(Spy(Arc::clone(&spied)))))
        .build()
        .expect("valid");
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "found");
    let urls = seen.lock().clone();
    let [url] = urls.as_slice() else {
        panic!("one provider: {urls:?}");
    };
    for part in ["dubbo.tag=gray", "environment=prod", "weight=40"] {
        assert!(url.contains(part), "{part} in {url}");
    }
}

#[tokio::test]
async fn the_port_of_the_preferred_protocol_stands_for_the_instance() {
    for (preferred, index) in [("", 1), (", protocol: dubbo", 0), (", protocol: TRI", 1)] {
        let shared = Shared::new();
        let protocols = "protocols: {a: {name: dubbo, ip: 127.0.0.1, port: 0}, b: {name: tri, ip: 127.0.0.1, port: 0}}";
        let provider = shared
            .load(&format!(
                "application: {{name: app{preferred}}}, {protocols}, {REGISTRY}"
            ))
            .provide(UserServiceServer::new(Users))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let exported = provider.exported();
        let port = |name| exported.iter().find(|url| url.protocol() == name);
        let ports = ["dubbo", "tri"].map(|name| port(name).and_then(Url::port));
        let (instance, metadata) = said(&shared).await;
        assert_eq!(Some(instance.port), ports[index], "{preferred}");
        let endpoints = format!(
            r#"[{{"port":{},"protocol":"dubbo"}},{{"port":{},"protocol":"tri"}}]"#,
            ports[0].expect("bound"),
            ports[1].expect("bound")
        );
        assert_eq!(&metadata["dubbo.endpoints"], endpoints, "`cases.md` 72");
        let params = &metadata["dubbo.metadata-service.url-params"];
        let of_tri = format!(r#""port":"{}","protocol":"tri""#, ports[1].expect("bound"));
        assert!(params.contains(&of_tri), "{params}");
    }
}

struct Zone(u16);

impl InstanceCustomizer for Zone {
    fn order(&self) -> u16 {
        self.0
    }

    fn customize(
        &self,
        draft: &mut InstanceDraft,
        described: &Described<'_>,
    ) -> Result<(), BoxError> {
        let services: Vec<_> = described.services.keys().copied().collect();
        draft.set("serves", services.join(","));
        draft.set("zone", "east");
        draft.set("dubbo.metadata.revision", "mine");
        Ok(())
    }
}

struct Broken;

impl InstanceCustomizer for Broken {
    fn customize(&self, draft: &mut InstanceDraft, _: &Described<'_>) -> Result<(), BoxError> {
        draft.set("half", "1");
        panic!("on purpose");
    }
}

fn with_customizers(builder: InstanceBuilder, order: u16) -> InstanceBuilder {
    builder
        .extension::<dyn InstanceCustomizer>("zone", move |cx| {
            assert_eq!(cx.url.protocol(), "shared", "it is made for a registry");
            Ok(Arc::new(Zone(order)))
        })
        .extension::<dyn InstanceCustomizer>("broken", |_| Ok(Arc::new(Broken)))
}

#[tokio::test]
async fn customizers_that_are_named_add_to_what_the_instance_says() {
    let sections = format!(
        "application: {{name: app}}, metadata: {{instance-customizer: 'broken, Zone'}}, {TRIPLE}, {REGISTRY}"
    );
    let shared = Shared::new();
    let provider = with_customizers(shared.load(&sections), 100)
        .provide(named("found"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let (_, metadata) = said(&shared).await;
    assert_eq!(&metadata["zone"], "east");
    assert_eq!(&metadata["serves"], "greet.Greeter:tri");
    assert!(!metadata.contains_key("half"), "a panic takes it all");
    assert_ne!(&metadata["dubbo.metadata.revision"], "mine");
    let consumer = shared.load(REGISTRY).build().expect("valid");
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "found");

    let error = with_customizers(Shared::new().load(&sections), 50)
        .provide(named("found"))
        .build()
        .expect_err("an order of the framework");
    assert!(
        error
            .to_string()
            .contains("the instance customizer `zone` has the order 50"),
        "{error}"
    );
}

/// Leaves the instances whose tag is not `gray`; fails when it is told to.
struct NoGray(Arc<AtomicBool>);

impl InstanceListFilter for NoGray {
    fn filter(
        &self,
        application: &str,
        instances: &mut Vec<Arc<ServiceInstance>>,
    ) -> Result<(), BoxError> {
        assert_eq!(application, "app");
        instances.retain(|instance| {
            let tag = instance.metadata.get("dubbo.tag");
            tag.is_none_or(|tag| tag != "gray")
        });
        if self.0.load(Ordering::Relaxed) {
            return Err("out of order".into());
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_filter_sees_lists_first_and_what_it_took_out_is_explained() {
    for (fails, found) in [(false, false), (true, true)] {
        let shared = Shared::new();
        let gray = shared
            .load(&format!(
                "application: {{name: app, tag: gray}}, {TRIPLE}, {REGISTRY}"
            ))
            .provide(named("gray"))
            .build()
            .expect("valid");
        gray.start().await.expect("starts");
        let fails = Arc::new(AtomicBool::new(fails));
        let registry = "registries: {r: {address: 'shared://here', instance-filter: no-gray}}";
        let consumer = shared
            .load(&format!("{registry}, consumer: {{check: false}}"))
            .extension::<dyn InstanceListFilter>("no-gray", move |_| {
                Ok(Arc::new(NoGray(Arc::clone(&fails))))
            })
            .build()
            .expect("valid");
        let explained = consumer.explain("greet.Greeter").await.expect("a key");
        assert_eq!(explained.is_available(), found, "{explained}");
        let text = explained.to_string();
        let reason = "app has none; the filter `no-gray` took out 1";
        assert_eq!(text.contains(reason), !found, "{text}");

        let _plain = provider(&shared, &format!("{TRIPLE}, {REGISTRY}")).await;
        let greeter = consumer.refer::<GreeterClient>().await.expect("unchecked");
        soon("the other one is found", async {
            while greet(&greeter, "").await.ok().as_deref() != Some("found") {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// Several places, each a registry and a report, as `m://NAME`.
#[derive(Clone)]
struct Places(Arc<BTreeMap<&'static str, MemoryRegistry>>);

impl Places {
    fn new(names: [&'static str; 2]) -> Self {
        let places = names.map(|name| (name, MemoryRegistry::new(Url::new("m", name))));
        Self(Arc::new(places.into()))
    }

    fn load(&self, sections: &str) -> InstanceBuilder {
        let (one, two, three) = (self.clone(), self.clone(), self.clone());
        load(&format!("dubbo: {{{sections}}}"))
            .extension::<dyn Registry>("m", move |cx| Ok(Arc::new(one.0[cx.url.host()].clone())))
            .extension::<dyn ServiceDiscovery>("m", move |cx| Ok(two.0[cx.url.host()].discovery()))
            .extension::<dyn MetadataReport>("m", move |cx| Ok(three.0[cx.url.host()].report()))
    }

    /// What the report at `place` has of the metadata of the only instance of `app` at `home`, and the cluster that it
    /// names.
    async fn published(&self, home: &str, place: &str) -> (bool, Option<String>) {
        let found = self.0[home].discovery().snapshot("app").await;
        let found = found.expect("it is there");
        let metadata = &found[0].metadata;
        let revision = &metadata["dubbo.metadata.revision"];
        let stored = self.0[place].report().app("app", revision).await;
        let cluster = metadata.get("dubbo.metadata.cluster");
        (
            stored.expect("it is there").is_some(),
            cluster.map(str::to_owned),
        )
    }
}

#[tokio::test]
async fn metadata_are_read_from_the_report_that_the_instance_names() {
    for (id, home, other) in [("A", "one", "two"), ("B", "two", "one")] {
        let places = Places::new(["one", "two"]);
        // Nobody can ask the application itself.
        let remote = "metadata-type: remote}, metadata: {export-in-remote: false}";
        let kind = |place| {
            if place == home {
                "service"
            } else {
                "interface"
            }
        };
        let registries = format!(
            "registries: {{A: {{address: 'm://one', registry-type: {}}}, B: {{address: 'm://two', registry-type: {}}}}}",
            kind("one"),
            kind("two")
        );
        let provider = places
            .load(&format!(
                "application: {{name: app, {remote}, {TRIPLE}, {registries}"
            ))
            .provide(named("found"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let cluster = Some(id.to_owned());
        assert_eq!(places.published(home, home).await, (true, cluster.clone()));
        assert_eq!(places.published(home, other).await, (false, cluster));

        for (asked, registries) in [
            // The registry has no report of its own; two others are there, in any order.
            (
                "Z",
                format!(
                    "Z: {{address: 'm://{home}', use-as-meta-report: false}}, \
                     A: {{address: 'm://one', group: a, registry-type: interface}}, \
                     B: {{address: 'm://two', group: b, registry-type: interface}}"
                ),
            ),
            // The report of the instance has another name here: the registry's own is read.
            (
                "mine",
                format!(
                    "mine: {{address: 'm://{home}'}}, other: {{address: 'm://{other}', registry-type: interface}}"
                ),
            ),
        ] {
            let sections =
                format!("registries: {{{registries}}}, consumer: {{registry-ids: [{asked}]}}");
            let consumer = places.load(&sections).build().expect("valid");
            let greeter = consumer.refer::<GreeterClient>().await.expect("found");
            let answer = greet(&greeter, "").await.expect("answers");
            assert_eq!(answer, "found", "{registries}");
        }
    }
}

/// `cases.md` 96.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn instances_that_come_and_go_from_all_sides_disturb_no_call() {
    let shared = Shared::new();
    let provider = shared
        .load_in(
            &format!(
                "application: {{name: app}}, protocols: {{tri: {{ip: 0.0.0.0, port: 0}}}}, {REGISTRY}"
            ),
            &[("DUBBO_IP_TO_REGISTRY", "127.0.0.1")],
        )
        .provide(named("found"))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let (instance, _) = said(&shared).await;
    let consumer = shared.load(REGISTRY).build().expect("valid");
    let greeter = consumer.refer::<GreeterClient>().await.expect("found");

    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let discovery = shared.0.discovery();
        // Another address of the same server.
        let mut own = ServiceInstance::new("app", format!("127.0.1.{}", writer + 1), instance.port);
        own.metadata = instance.metadata.clone();
        writers.spawn(async move {
            for weight in 1..=25 {
                discovery.register(&own).await.expect("registered");
                let mut heavier = own.clone();
                heavier.weight = 100 + weight;
                discovery.update(&own, &heavier).await.expect("updated");
                discovery.unregister(&heavier).await.expect("gone");
                tokio::task::yield_now().await;
            }
            discovery.register(&own).await.expect("registered");
            // What it registered stays as long as it does.
            discovery
        });
    }
    let mut callers = JoinSet::new();
    for _ in 0..64 {
        let greeter = greeter.clone();
        callers.spawn(async move {
            for _ in 0..20 {
                assert_eq!(greet(&greeter, "").await.expect("answers"), "found");
            }
        });
    }
    let _discoveries = writers.join_all().await;
    callers.join_all().await;
    soon("all addresses are known in the end", async {
        loop {
            let explained = consumer.explain("greet.Greeter").await.expect("a key");
            if explained.to_string().contains("all of 9 can be reached") {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_consumer_adds_to_instances_reaches_its_own_urls() {
    let shared = Shared::new();
    let _provider = provider(&shared, &format!("{TRIPLE}, {REGISTRY}")).await;
    for (added, rack) in [("", None), (", extend-params: {rack: r7}", Some("r7"))] {
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let spied = Arc::clone(&seen);
        let consumer = shared
            .load(&format!(
                "registries: {{r: {{address: 'shared://here'{added}}}}}, \
                 consumer: {{references: {{GreeterClient: {{loadbalance: spy}}}}}}"
            ))
            .extension::<dyn LoadBalance>("spy", move |_| Ok(Arc::new(Spy(Arc::clone(&spied)))))
            .build()
            .expect("valid");
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        assert_eq!(greet(&greeter, "").await.expect("answers"), "found");
        let urls = seen.lock().clone();
        let urls: Vec<Url> = urls.iter().map(|url| url.parse().expect(url)).collect();
        let racks: Vec<_> = urls.iter().map(|url| url.param("rack")).collect();
        assert_eq!(racks, [rack], "{added}");
    }
}
