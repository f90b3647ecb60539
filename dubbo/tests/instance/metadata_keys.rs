//! The keys of `dubbo.metadata`, each by what it changes.

use std::{sync::Arc, time::Duration};

use dubbo::{
    Instance,
    spi::discovery::{ServiceDiscovery, ServiceInstance},
};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::{net::TcpListener, time::timeout};

use super::{
    applications::{REGISTRY, Shared, TRIPLE, provider},
    rig::named,
};

#[tokio::test]
async fn the_revision_is_made_by_the_algorithm() {
    for (algorithm, length) in [("", 32), ("r1", 32), ("java", 32), ("go332", 128)] {
        let shared = Shared::new();
        let metadata = match algorithm {
            "" => String::new(),
            name => format!(", metadata: {{revision-algorithm: {name}}}"),
        };
        let _provider = provider(&shared, &format!("{TRIPLE}, {REGISTRY}{metadata}")).await;
        let instances = shared.instances("app").await;
        let revision = &instances[0].1["dubbo.metadata.revision"];
        assert_eq!(revision.len(), length, "{algorithm}: {revision}");
    }
}

#[tokio::test]
async fn ports_stand_in_the_metadata_when_they_are_to() {
    for (mode, has_port) in [("auto", false), ("explicit", true)] {
        let shared = Shared::new();
        let sections = format!("{TRIPLE}, {REGISTRY}, metadata: {{port-mode: {mode}}}");
        let provider = shared
            .load(&format!(
                "application: {{name: app, metadata-type: remote}}, {sections}"
            ))
            .provide(named("found"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let instances = shared.instances("app").await;
        let revision = &instances[0].1["dubbo.metadata.revision"];
        let stored = shared
            .0
            .report()
            .app("app", revision)
            .await
            .expect("readable");
        let stored = String::from_utf8(stored.expect("published").to_vec()).expect("JSON");
        let port = provider.exported()[0].port().expect("bound");
        assert_eq!(
            stored.contains(&format!("\"port\":{port}")),
            has_port,
            "{stored}"
        );
    }
}

#[tokio::test]
async fn a_required_mapping_that_cannot_be_written_fails_the_start() {
    let no_report = "registries: {r: {address: 'shared://here', use-as-meta-report: false}}";
    for (required, starts) in [("false", true), ("true", false)] {
        let shared = Shared::new();
        let yaml = format!("{TRIPLE}, {no_report}, metadata: {{mapping-required: {required}}}");
        let provider = shared
            .load(&yaml)
            .provide(named("found"))
            .build()
            .expect("valid");
        let started = provider.start().await;
        assert_eq!(started.is_ok(), starts, "{started:?}");
    }
}

#[tokio::test]
async fn a_report_that_takes_nothing_is_given_up_after_its_time() {
    let shared = Shared::new();
    let yaml = format!(
        "application: {{name: app, metadata-type: remote}}, {TRIPLE}, {REGISTRY}, \
         metadata: {{publish-timeout: 30ms, export-in-remote: false}}"
    );
    // A closed store takes nothing.
    let report = shared.0.report();
    report.close().await;
    let provider = shared
        .load(&yaml)
        .extension::<dyn dubbo::spi::metadata::MetadataReport>("shared", move |_| {
            Ok(Arc::clone(&report))
        })
        .provide(named("found"))
        .build()
        .expect("valid");
    let failed = timeout(Duration::from_secs(10), provider.start()).await;
    let error = failed
        .expect("it does not wait for ever")
        .expect_err("nothing is published");
    assert!(error.to_string().contains("publish"), "{error}");
}

/// Instances of `app`, each at another revision, whose metadata service is at `at`.
async fn told(discovery: &Arc<dyn ServiceDiscovery>, at: &TcpListener, count: u16) {
    let port = at.local_addr().expect("bound").port();
    for number in 1..=count {
        let mut instance = ServiceInstance::new("app", "127.0.0.1", number);
        let params = format!(r#"{{"version":"1.0.0","port":"{port}","protocol":"tri"}}"#);
        for (key, value) in [
            ("dubbo.metadata.revision", format!("{number:032}")),
            ("dubbo.metadata.storage-type", "local".to_owned()),
            ("dubbo.metadata-service.url-params", params),
        ] {
            instance.metadata.insert(key.to_owned(), value);
        }
        discovery.register(&instance).await.expect("registers");
    }
}

fn consumer(shared: &Shared, metadata: &str) -> Instance {
    let reference = "consumer: {check: false, references: {GreeterClient: {provided_by: app}}}";
    let yaml = format!("{REGISTRY}, {reference}, metadata: {{{metadata}}}");
    shared.load(&yaml).build().expect("valid")
}

#[tokio::test]
async fn one_answer_is_waited_for_no_longer_than_the_fetch_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("free");
    let shared = Shared::new();
    let discovery = shared.0.discovery();
    told(&discovery, &silent, 1).await;
    let consumer = consumer(&shared, "fetch-timeout: 40ms");
    let _greeter = consumer
        .refer::<GreeterClient>()
        .await
        .expect("not checked");
    explained(&consumer, |text| text.contains("deadline_exceeded")).await;
}

/// Waits until the explanation of the service is as `is_so` wants it.
async fn explained(consumer: &Instance, is_so: impl Fn(&str) -> bool) {
    let mut last = String::new();
    let explained = async {
        while !is_so(&last) {
            tokio::task::yield_now().await;
            let explained = consumer.explain("greet.Greeter").await;
            last = explained.expect("a service key").to_string();
        }
    };
    let in_time = timeout(Duration::from_secs(20), explained).await;
    assert!(in_time.is_ok(), "the last was {last}");
}

#[tokio::test]
async fn no_more_answers_are_waited_for_at_once_than_the_concurrency_says() {
    for (concurrency, at_once) in [(1, 1), (2, 2), (3, 3)] {
        let silent = TcpListener::bind("127.0.0.1:0").await.expect("free");
        let shared = Shared::new();
        let discovery = shared.0.discovery();
        told(&discovery, &silent, 3).await;
        let metadata = format!("fetch-timeout: 1m, fetch-concurrency: {concurrency}");
        let consumer = consumer(&shared, &metadata);
        let counts = async {
            let accepted = soon("a fetch begins", silent.accept()).await;
            let (mut socket, _) = accepted.expect("accepts");
            asked(&mut socket, at_once).await
        };
        let (_greeter, asked) = tokio::join!(consumer.refer::<GreeterClient>(), counts);
        assert_eq!(asked, at_once, "{concurrency}");
    }
}

/// How many requests arrive on a connection of HTTP/2 before nothing more does. Nothing is answered but the settings.
async fn asked(socket: &mut tokio::net::TcpStream, expected: usize) -> usize {
    let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
    let mut held = Vec::new();
    loop {
        let patience = if held.len() < expected {
            Duration::from_secs(10)
        } else {
            Duration::from_millis(100)
        };
        match timeout(patience, connection.accept()).await {
            Ok(Some(Ok(request))) => held.push(request),
            Ok(Some(Err(_)) | None) | Err(_) => return held.len(),
        }
    }
}

#[tokio::test]
async fn an_instance_that_moved_on_is_called_by_its_old_metadata_for_the_grace() {
    for (grace, stays) in [("1h", true), ("1ms", false)] {
        let shared = Shared::new();
        let sections = format!("{TRIPLE}, {REGISTRY}");
        let (_one, _other) =
            tokio::join!(provider(&shared, &sections), provider(&shared, &sections));
        let consumer = shared
            .load(&format!("{REGISTRY}, metadata: {{stale-grace: {grace}}}"))
            .build()
            .expect("valid");
        let _greeter = consumer.refer::<GreeterClient>().await.expect("found");
        explained(&consumer, |text| text.contains("usable: 2 listed -> 2")).await;

        // Another handle takes the place of one of them, with a revision that nobody can tell anything of.
        let discovery = shared.0.discovery();
        let found = discovery.snapshot("app").await.expect("readable");
        let mut moved = (*found[0]).clone();
        let unknown = "f".repeat(32);
        moved.metadata.insert("dubbo.metadata.revision", &*unknown);
        discovery.register(&moved).await.expect("registers");
        let usable = if stays {
            "usable: 2 listed -> 2"
        } else {
            "usable: 1 listed -> 1"
        };
        explained(&consumer, |text| {
            text.contains(&unknown) && text.contains(usable)
        })
        .await;
    }
}
