//! Rules from the text of a configuration to the wire: where they come from, and that they apply while calls run.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{
    Code, Instance, Request, Status, Url,
    spi::{config_center::ConfigCenter, registry::Registry as _},
};
use dubbo_test::{center::Center, soon};
use examples::greet::{GreetRequest, GreeterClient};
use tokio::time::{Instant, interval, sleep, timeout};

use super::{
    applications::Shared,
    rig::{answering, consume, greet, load, named, provide, url_of},
};

const LONGEST: Duration = Duration::from_secs(2);

/// An override for those that call.
fn consumers(parameters: &str) -> String {
    format!("configVersion: v3.0\nconfigs: [{{side: consumer, parameters: {{{parameters}}}}}]")
}

/// An override for those that are called.
fn providers(parameters: &str) -> String {
    format!("configVersion: v3.0\nconfigs: [{{side: provider, parameters: {{{parameters}}}}}]")
}

/// Answers with the seconds that the caller will wait, rounded up.
fn remaining(request: &Request<GreetRequest>) -> String {
    let deadline = request.context().deadline();
    let left = deadline.map(|at| at.duration_since(Instant::now()).as_secs_f64());
    left.map_or_else(|| "for ever".to_owned(), |left| left.ceil().to_string())
}

/// Waits until a call is answered with `want`, which has to be soon enough to be called live.
async fn says(greeter: &GreeterClient, want: &str) {
    let mut seen = String::new();
    let waited = timeout(LONGEST, async {
        while seen != want {
            seen = greet(greeter, "")
                .await
                .unwrap_or_else(|status| status.to_string());
            sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "{want} in time: {seen}");
}

/// Waits until `is_so`, which has to be soon enough to be called live.
async fn becomes<F: Future<Output = bool>>(what: &str, mut is_so: impl FnMut() -> F) {
    let waited = timeout(LONGEST, async {
        while !is_so().await {
            sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}");
}

/// A consumer of the application `boss` with this config center.
fn with_center(center: &Center, yaml: &str) -> Instance {
    let center = center.clone();
    let builder =
        load(yaml).extension::<dyn ConfigCenter>("rules", move |_| Ok(Arc::new(center.clone())));
    builder.build().expect("valid")
}

fn boss(url: &str, options: &str) -> String {
    format!(
        "dubbo: {{application: {{name: boss}}, config-center: {{address: 'rules://here:1'}}, \
         consumer: {{references: {{GreeterClient: {{url: '{url}', {options}}}}}}}}}"
    )
}

#[tokio::test]
async fn a_rule_from_code_applies_to_a_reference_with_direct_urls_and_ends() {
    let provider = provide("", answering(|request| Ok(remaining(request)))).await;
    let url = url_of(&provider);
    let yaml = format!(
        "dubbo: {{application: {{name: boss}}, consumer: {{request-timeout: 60s, references: {{GreeterClient: {{url: '{url}'}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    instance
        .rules()
        .put("boss.configurators", Some(&consumers("timeout: 40s")));
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(
        greet(&greeter, "").await.expect("answers"),
        "40",
        "from the first call on"
    );
    let service = "greet.Greeter::.configurators";
    instance
        .rules()
        .put(service, Some(&consumers("timeout: 20s")));
    says(&greeter, "20").await;
    instance
        .rules()
        .put(service, Some(&consumers("Greet.timeout: 10s")));
    says(&greeter, "10").await;
    instance
        .rules()
        .put(service, Some("configs: [{side: consumer}]"));
    says(&greeter, "10").await;
    instance.rules().put(service, None);
    says(&greeter, "40").await;
    instance.rules().put("boss.configurators", None);
    says(&greeter, "60").await;
}

#[tokio::test]
async fn what_a_center_says_counts_before_the_configuration_zero_too() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let service = answering(move |request| {
        if counted.fetch_add(1, Ordering::Relaxed) == usize::MAX {
            return Ok(remaining(request));
        }
        Err(Status::unavailable(remaining(request)))
    });
    let provider = provide("", service).await;
    let center = Center::new("here");
    center.put("boss.configurators", &consumers("retries: 0, timeout: 20s"));
    let yaml = boss(&url_of(&provider), "retries: 2, timeout: 50s");
    let instance = with_center(&center, &yaml);
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let error = greet(&greeter, "").await.expect_err("never up");
    assert_eq!(
        (error.code(), attempts.load(Ordering::Relaxed)),
        (Code::Unavailable, 1)
    );
    assert!(error.message().contains("20"), "{error}");
    center.delete("boss.configurators");
    becomes("three attempts", || async {
        attempts.store(0, Ordering::Relaxed);
        greet(&greeter, "").await.expect_err("never up");
        attempts.load(Ordering::Relaxed) == 3
    })
    .await;
}

#[tokio::test]
async fn a_rule_of_an_application_is_kept_under_its_name_and_applies_to_all_its_services() {
    let provider = provide("", named("found")).await;
    let center = Center::new("here");
    let instance = with_center(&center, &boss(&url_of(&provider), "retries: 0"));
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let followed = center.followed();
    for key in [
        "boss.configurators",
        "greet.Greeter::.configurators",
        "greet.Greeter.configurators",
        "boss.condition-router",
        "greet.Greeter::.condition-router",
    ] {
        assert!(followed.contains(&key.to_owned()), "{key} in {followed:?}");
    }
    let deny = "scope: application\nkey: boss\nforce: true\nconditions: ['=> host != 127.0.0.1']";
    center.put("boss.condition-router", deny);
    becomes("nobody may be called", || async {
        let error = greet(&greeter, "").await.err();
        error.is_some_and(|error| {
            let message = error.message();
            assert!(message.contains("condition-app"), "{message}");
            error.code() == Code::Unavailable
        })
    })
    .await;
    center.delete("boss.condition-router");
    says(&greeter, "found").await;
}

#[tokio::test]
async fn timeouts_balance_and_tags_change_within_two_seconds_and_no_call_fails() {
    let shared = Shared::new();
    let registries = "registries: {r: {address: 'shared://here', registry-type: interface}}";
    let mut running = Vec::new();
    for tag in ["", "gray"] {
        let options = dubbo::config::ServiceConfig::new().tag(tag);
        let service = answering(move |request| Ok(format!("{tag}/{}", remaining(request))));
        let provider = shared
            .load(&format!(
                "application: {{name: app}}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, {registries}"
            ))
            .provide_with(service, options)
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        running.push(provider);
    }
    let center = Center::new("here");
    let center_of = center.clone();
    let consumer = shared
        .load(&format!(
            "application: {{name: boss}}, {registries}, config-center: {{address: 'rules://here:1'}}, \
             consumer: {{request-timeout: 60s}}"
        ))
        .extension::<dyn ConfigCenter>("rules", move |_| Ok(Arc::new(center_of.clone())))
        .build()
        .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("found");

    let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let calls = tokio::spawn({
        let (greeter, seen) = (greeter.clone(), Arc::clone(&seen));
        async move {
            let mut ticks = interval(Duration::from_millis(10));
            loop {
                ticks.tick().await;
                let answer = greet(&greeter, "").await;
                seen.lock()
                    .push(answer.map_err(|status| status.to_string()));
            }
        }
    });
    let all = |want: &'static [&'static str]| {
        let seen = Arc::clone(&seen);
        async move {
            seen.lock().clear();
            sleep(Duration::from_millis(200)).await;
            let seen = seen.lock();
            assert!(seen.iter().all(Result::is_ok), "no call fails: {seen:?}");
            let answers: BTreeSet<_> = seen.iter().flatten().map(String::as_str).collect();
            answers == want.iter().copied().collect()
        }
    };
    let service = "greet.Greeter::.configurators";
    becomes("calls without a tag go to whom has none", || all(&["/60"])).await;
    center.put(service, &consumers("timeout: 30s"));
    becomes("the timeout", || all(&["/30"])).await;
    center.put(
        service,
        &consumers("timeout: 30s, loadbalance: roundrobin, cluster: failfast"),
    );
    becomes("the load balance", || all(&["/30"])).await;
    center.put(
        service,
        "configVersion: v3.0\nconfigs: [{side: consumer, parameters: {}}]",
    );
    becomes("no rule keeps the last one", || all(&["/30"])).await;
    center.put(service, &consumers("timeout: 30s, loadbalance: nobody"));
    becomes("nor does one that cannot be used", || all(&["/30"])).await;
    let gray = running[1].exported()[0].address();
    let tags = format!("tags: [{{name: blue, addresses: ['{gray}']}}]");
    center.put("app.tag-router", &tags);
    center.put(service, &consumers("timeout: 20s, dubbo.tag: blue"));
    becomes("the tag and who has it", || all(&["gray/20"])).await;
    center.delete("app.tag-router");
    becomes(
        "without a rule of tags the override is one of all providers",
        || all(&["/20", "gray/20"]),
    )
    .await;
    center.delete(service);
    becomes("as it was", || all(&["/60"])).await;
    calls.abort();
}

#[tokio::test]
async fn a_provider_is_reweighted_and_disabled_for_those_who_call() {
    let mut urls = Vec::new();
    let mut running = Vec::new();
    for name in ["one", "two"] {
        let provider = provide("", named(name)).await;
        urls.push(url_of(&provider));
        running.push(provider);
    }
    let yaml = format!(
        "dubbo: {{application: {{name: boss}}, consumer: {{references: {{GreeterClient: {{url: '{}'}}}}}}}}",
        urls.join(";")
    );
    let instance = load(&yaml).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    let address = urls[0].trim_start_matches("tri://");
    let rule = |parameters: &str| {
        format!(
            "configs: [{{side: consumer, providerAddresses: ['{address}'], parameters: {{{parameters}}}}}]"
        )
    };
    let answers = |calls: usize| {
        let greeter = greeter.clone();
        async move {
            let mut one = 0;
            for _ in 0..calls {
                one += usize::from(greet(&greeter, "").await.expect("answers") == "one");
            }
            one
        }
    };
    instance
        .rules()
        .put("boss.configurators", Some(&rule("disabled: true")));
    becomes("the one is not called", || async { answers(20).await == 0 }).await;
    instance
        .rules()
        .put("boss.configurators", Some(&rule("weight: 1000000")));
    becomes("the one is called", || async { answers(20).await == 20 }).await;
    instance.rules().put("boss.configurators", None);
    becomes("both are called", || async {
        (1..20).contains(&answers(20).await)
    })
    .await;
}

#[tokio::test]
async fn rules_of_a_provider_change_its_filters_and_its_registration_in_place() {
    let shared = Shared::new();
    let attempts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&attempts);
    let service = answering(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok("served".to_owned())
    });
    let provider = shared
        .load(
            "application: {name: app}, protocols: {tri: {ip: 127.0.0.1, port: 0}}, \
             registries: {r: {address: 'shared://here', registry-type: all}}",
        )
        .provide(service)
        .build()
        .expect("valid");
    provider
        .rules()
        .put("app.configurators", Some(&providers("weight: 7")));
    provider.start().await.expect("starts");
    let registered = || async {
        let everyone = "consumer://h/*?group=*&version=*".parse().expect("a URL");
        let found = shared.0.lookup(&everyone).await.expect("it is there");
        found.providers.iter().cloned().collect::<Vec<Url>>()
    };
    let revision = || async {
        let instances = shared.instances("app").await;
        let [(_, metadata)] = instances.as_slice() else {
            panic!("one instance: {instances:?}");
        };
        metadata.get("dubbo.metadata.revision").map(str::to_owned)
    };
    let first = registered().await;
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].param("weight"), Some("7"), "from the beginning");
    let before = revision().await;

    let address = provider.exported()[0].address();
    let greeter = consume(&format!("tri://{address}"), "retries: 0").await;
    assert_eq!(greet(&greeter, "").await.expect("answers"), "served");
    let rule = providers("weight: 9, dubbo.tag: gray, execute.limit: 0");
    provider
        .rules()
        .put("greet.Greeter::.configurators", Some(&rule));
    becomes("registered anew", || async {
        let now = registered().await;
        assert!(!now.is_empty(), "there is no gap");
        now.len() == 1
            && now[0].param("weight") == Some("9")
            && now[0].param("dubbo.tag") == Some("gray")
            && now[0].param("timestamp") == first[0].param("timestamp")
    })
    .await;
    soon("another revision", async {
        while revision().await == before {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    becomes(
        "the limit holds on the same port and connection",
        || async {
            let refused = greet(&greeter, "").await;
            refused.is_err_and(|status| status.code() == Code::ResourceExhausted)
        },
    )
    .await;
    assert_eq!(provider.exported()[0].address(), address);

    provider.rules().put("greet.Greeter::.configurators", None);
    says(&greeter, "served").await;
    becomes("as it was", || async {
        let now = registered().await;
        now.len() == 1 && now[0] == first[0]
    })
    .await;
    provider.shutdown(Duration::ZERO).await;
    assert!(registered().await.is_empty());
}

#[tokio::test]
async fn what_a_registry_overrides_applies_to_both_sides() {
    let shared = Shared::new();
    let registries = "registries: {r: {address: 'shared://here', registry-type: interface}}";
    let provider = shared
        .load(&format!(
            "application: {{name: app}}, protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, {registries}"
        ))
        .provide(answering(|request| Ok(remaining(request))))
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let consumer = shared
        .load(&format!(
            "application: {{name: boss}}, {registries}, consumer: {{request-timeout: 60s}}"
        ))
        .build()
        .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("found");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "60");
    let weight = || async {
        let everyone = "consumer://h/*?group=*&version=*".parse().expect("a URL");
        let found = shared.0.lookup(&everyone).await.expect("it is there");
        let provider = found.providers.iter().next().expect("one");
        provider.param("weight").map(str::to_owned)
    };
    let rule: Url = "override://0.0.0.0/greet.Greeter?category=configurators&dynamic=false&timeout=30s&weight=5"
        .parse()
        .expect("a URL");
    shared.0.register(&rule).await.expect("registers");
    says(&greeter, "30").await;
    becomes("the weight is published", || async {
        weight().await.as_deref() == Some("5")
    })
    .await;
    consumer
        .rules()
        .put("boss.configurators", Some(&consumers("timeout: 20s")));
    says(&greeter, "20").await;
    shared.0.unregister(&rule).await.expect("unregisters");
    becomes("the weight is as it was", || async {
        weight().await.is_none()
    })
    .await;
    consumer.rules().put("boss.configurators", None);
    says(&greeter, "60").await;
}

#[tokio::test]
async fn rules_come_from_a_folder_too() {
    let folder = std::env::temp_dir().join(format!("dubbo-rules-of-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("made");
    let file = folder.join("boss.configurators.yaml");
    fs::write(&file, consumers("timeout: 30s")).expect("written");
    let provider = provide("", answering(|request| Ok(remaining(request)))).await;
    let yaml = format!(
        "dubbo: {{application: {{name: boss}}, rules: {{path: '{}'}}, \
         consumer: {{request-timeout: 60s, references: {{GreeterClient: {{url: '{}'}}}}}}}}",
        folder.display(),
        url_of(&provider)
    );
    let instance = load(&yaml).build().expect("valid");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(greet(&greeter, "").await.expect("answers"), "30");
    fs::write(&file, consumers("timeout: 20s")).expect("written");
    says(&greeter, "20").await;
    fs::write(&file, "configs: [").expect("written");
    sleep(Duration::from_millis(1200)).await;
    says(&greeter, "20").await;
    fs::remove_file(&file).expect("removed");
    says(&greeter, "60").await;
    fs::remove_dir_all(&folder).expect("removed");
}

#[tokio::test]
async fn registries_are_config_centers_unless_there_is_another_or_they_shall_not_be() {
    let provider = provide("", answering(|request| Ok(remaining(request)))).await;
    for (sections, from_registry) in [
        ("registries: {r: {address: 'rules://r:1'}}", true),
        (
            "registries: {r: {address: 'rules://r:1', use-as-config-center: false}}",
            false,
        ),
        (
            "registries: {r: {address: 'rules://r:1'}}, config-center: {address: 'others://c:1'}",
            false,
        ),
    ] {
        let (shared, center, other) = (Shared::new(), Center::new("r"), Center::new("c"));
        let (of_registry, own) = (center.clone(), other.clone());
        let registry = shared.0.clone();
        let yaml = format!(
            "dubbo: {{application: {{name: boss}}, {sections}, consumer: {{references: {{GreeterClient: {{url: '{}'}}}}}}}}",
            url_of(&provider)
        );
        let instance = load(&yaml)
            .extension::<dyn ConfigCenter>("rules", move |_| Ok(Arc::new(of_registry.clone())))
            .extension::<dyn ConfigCenter>("others", move |_| Ok(Arc::new(own.clone())))
            .extension::<dyn dubbo::spi::discovery::ServiceDiscovery>("rules", move |_| {
                Ok(registry.discovery())
            })
            .build()
            .expect("valid");
        let _greeter: GreeterClient = instance.refer().await.expect("refers");
        let asked = |center: &Center| center.followed().contains(&"boss.configurators".to_owned());
        assert_eq!(asked(&center), from_registry, "{sections}");
        assert_eq!(asked(&other), sections.contains("others"), "{sections}");
        instance.shutdown(Duration::ZERO).await;
        assert!(
            center.followed().is_empty() && other.followed().is_empty(),
            "{sections}"
        );
    }
}

#[test]
fn what_is_not_read_of_a_config_center_is_refused() {
    for (section, want) in [
        (
            "{address: 'rules://h:1', data-id: x}",
            "dubbo.config-center.data-id: rules://h:1/dubbo/x: there is no such document; set `params.optional: \"true\"` to \
             start without it",
        ),
        (
            "{address: 'rules://h:1', app-id: x}",
            "dubbo.config-center.app-id: is for Apollo, which is not supported; leave it out",
        ),
        (
            "{address: 'rules://h:1', file-extension: xml}",
            "dubbo.config-center.file-extension: expected `yaml` or `yml` or `json` or `toml` or `properties`, found `xml`",
        ),
        (
            "{address: 'h:1'}",
            "dubbo.config-center: needs a `protocol`",
        ),
        (
            "{address: 'apollo://h:1'}",
            "the config center `apollo` is not supported yet",
        ),
        ("{adress: 'h:1'}", "(did you mean `address`?)"),
    ] {
        let yaml = format!("dubbo: {{config-center: {section}}}");
        let builder =
            load(&yaml).extension::<dyn ConfigCenter>("rules", |_| Ok(Arc::new(Center::new("h"))));
        let error = builder.build().expect_err(section).to_string();
        assert!(error.contains(want), "{want} in {error}");
    }
}
