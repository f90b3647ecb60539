//! What consoles such as dubbo-admin read of services and of those who call them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dubbo::{
    Instance, Url,
    spi::{
        registry::{Registry, RegistryError, RegistrySnapshot},
        subscription::Subscription,
    },
};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    applications::{Shared, TRIPLE},
    rig::{greet, load, named},
};

const SERVICE: &str =
    "provider: {services: {greet.Greeter: {group: g, version: 1.0.0, params: {token: secret}}}}";

/// The definition under `id`, as soon as it is stored.
async fn definition(shared: &Shared, id: &str) -> Value {
    let report = shared.0.report();
    let json = soon(id, async {
        loop {
            if let Some(json) = report.definition(id).await.expect("it answers") {
                break json;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    serde_json::from_slice(&json).expect("JSON")
}

async fn provider(shared: &Shared, sections: &str) -> Instance {
    let application = "application: {name: app}";
    let instance = shared
        .load(&format!("{application}, {TRIPLE}, {SERVICE}, {sections}"))
        .provide(named("found"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    instance
}

#[tokio::test]
async fn case_97_a_console_sees_methods_and_types_and_no_consumer_among_providers() {
    for kind in ["interface", "service", "all"] {
        let shared = Shared::new();
        let registries =
            format!("registries: {{r: {{address: 'shared://here', registry-type: {kind}}}}}");
        let _provider = provider(&shared, &registries).await;
        let defined = definition(&shared, "greet.Greeter:1.0.0:g:provider:app").await;
        assert_eq!(defined["canonicalName"], "greet.Greeter");
        let methods = defined["methods"].as_array().expect("a list");
        let greet_method = methods.iter().find(|method| method["name"] == "Greet");
        assert_eq!(
            *greet_method.expect("there"),
            json!({
                "annotations": [], "name": "Greet", "parameterTypes": ["greet.GreetRequest"],
                "parameters": [], "returnType": "greet.GreetResponse",
            })
        );
        let types = defined["types"].as_array().expect("a list");
        let request = types.iter().find(|ty| ty["type"] == "greet.GreetRequest");
        assert_eq!(
            request.expect("there")["properties"],
            json!({"name": "java.lang.String"})
        );
        let parameters = &defined["parameters"];
        for (key, want) in [
            ("application", "app"),
            ("group", "g"),
            ("interface", "greet.Greeter"),
            ("side", "provider"),
            ("version", "1.0.0"),
        ] {
            assert_eq!(parameters[key], want, "{key}");
        }
        assert!(!defined.to_string().contains("secret"), "{defined}");

        let seen = Seen(shared.clone(), Arc::default());
        let (registry, noted) = (seen.clone(), seen.1);
        let consumer = shared
            .load(&format!(
                "application: {{name: caller}}, {registries}, consumer: {{references: {{GreeterClient: {{group: g, \
                 version: 1.0.0}}}}}}"
            ))
            .extension::<dyn Registry>("shared", move |_| Ok(Arc::new(registry.clone())))
            .build()
            .expect("valid");
        let greeter = consumer.refer::<GreeterClient>().await.expect("found");
        assert_eq!(greet(&greeter, "").await.expect("answers"), "found");
        let told = definition(&shared, "greet.Greeter:1.0.0:g:consumer:caller").await;
        for (key, want) in [
            ("application", "caller"),
            ("group", "g"),
            ("interface", "greet.Greeter"),
            ("side", "consumer"),
            ("version", "1.0.0"),
        ] {
            assert_eq!(told[key], want, "{key}");
        }
        let methods = told["methods"].as_str().expect("a list");
        assert!(methods.contains("Greet"), "{methods}");

        let among_providers = shared.urls().await;
        let of_interfaces = usize::from(kind != "service");
        assert_eq!(among_providers, vec!["tri"; of_interfaces], "{kind}");
        if kind != "service" {
            let consumers = noted.lock();
            let [shown] = &consumers[..] else {
                panic!("{consumers:?}");
            };
            assert_eq!(shown.param("side"), Some("consumer"));
            assert_eq!(shown.param("category"), Some("consumers"));
        }
    }
}

#[tokio::test]
async fn a_definition_stays_when_its_provider_goes() {
    let shared = Shared::new();
    let registries = "registries: {r: {address: 'shared://here'}}";
    let first = provider(&shared, registries).await;
    let id = "greet.Greeter:1.0.0:g:provider:app";
    definition(&shared, id).await;
    first.shutdown(Duration::ZERO).await;
    let report = shared.0.report();
    let left = report.definition(id).await.expect("it answers");
    assert!(left.is_some(), "others may be of the same application");
}

#[tokio::test]
async fn what_a_report_takes_has_to_be_true_or_false() {
    let yaml =
        "dubbo: {registries: {r: {address: 'memory://here', params: {report-definition: 'yes'}}}}";
    let error = load(yaml).build().map(drop).expect_err("no switch");
    let error = error.to_string();
    for part in ["metadata report r", "report-definition", "yes"] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn the_metadata_service_answers_with_what_is_published() {
    let shared = Shared::new();
    let registries = "registries: {r: {address: 'shared://here'}}";
    let provider = provider(&shared, registries).await;
    let published = definition(&shared, "greet.Greeter:1.0.0:g:provider:app").await;
    let address = provider.exported()[0].address();
    let consumer = load(&format!(
        "dubbo: {{consumer: {{references: {{m: {{interface: org.apache.dubbo.metadata.MetadataService, group: app, \
         version: 1.0.0, url: 'tri://{address}'}}}}}}}}"
    ))
    .build()
    .expect("valid");
    let metadata = consumer.generic_as("m").await.expect("refers");
    for arguments in [
        &["g/greet.Greeter:1.0.0"][..],
        &["greet.Greeter", "1.0.0", "g"],
    ] {
        let types = vec!["java.lang.String"; arguments.len()];
        let arguments = arguments.iter().map(|text| (*text).into()).collect();
        let answer = metadata
            .invoke("getServiceDefinition", Some(&types), arguments)
            .await;
        let answer = answer.expect("answers").into_message();
        let json: Value = serde_json::from_str(answer.as_str().expect("a text")).expect("JSON");
        assert_eq!(json, published);
    }
}

/// A registry that notes what is registered.
#[derive(Clone)]
struct Seen(Shared, Arc<Mutex<Vec<Url>>>);

#[async_trait]
impl Registry for Seen {
    fn url(&self) -> &Url {
        self.0.0.url()
    }

    async fn register(&self, url: &Url) -> Result<(), RegistryError> {
        self.1.lock().push(url.clone());
        self.0.0.register(url).await
    }

    async fn unregister(&self, url: &Url) -> Result<(), RegistryError> {
        self.0.0.unregister(url).await
    }

    async fn lookup(&self, consumer: &Url) -> Result<RegistrySnapshot, RegistryError> {
        self.0.0.lookup(consumer).await
    }

    async fn subscribe(
        &self,
        consumer: &Url,
    ) -> Result<Subscription<RegistrySnapshot>, RegistryError> {
        self.0.0.subscribe(consumer).await
    }

    async fn close(&self) {
        self.0.0.close().await;
    }
}
