use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dubbo::{Instance, spi::registry::Registry};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::sync::watch;

use super::{
    probe::{Behaviour, Probe},
    rig::{desk, greet, load, named, provide, url_of},
    support::{HASTY, QOS, TRIPLE, ask, get, got, port, registered},
};

const PROBES: &str = "metrics: {probe: {enabled: true, port: 0}}";

/// Waits until `path` is answered so.
async fn until(instance: &Instance, path: &str, want: u16) -> String {
    soon(path, async {
        loop {
            let (status, body) = got(port(instance), path).await;
            if status == want {
                return body;
            }
        }
    })
    .await
}

#[tokio::test]
async fn config_a15_probes_say_how_far_a_program_is_from_its_start_to_its_end() {
    let probe = Probe::new();
    probe.behave(|asked, _| match asked {
        "register" => Behaviour::Hang,
        _ => Behaviour::Work,
    });
    let (service, mut calls) = desk();
    let shutdown = "shutdown: {consumer-update-wait-time: 0, step-timeout: 20s, offline-request-window-timeout: 0}";
    let registry =
        "registries: {r: {protocol: probe, address: here, check: false, timeout: 300ms}}";
    let yaml = format!("dubbo: {{{TRIPLE}, {registry}, {PROBES}, {shutdown}}}");
    let instance = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(service)
        .build()
        .expect("valid");
    let starting = tokio::spawn({
        let instance = instance.clone();
        async move { instance.serve().await }
    });
    probe.asked_to("register").await;
    let not_started = (503, "probe internal: it has not started".to_owned());
    assert_eq!(got(port(&instance), "/startup").await, not_started);
    assert_eq!(got(port(&instance), "/ready").await, not_started);
    assert_eq!(got(port(&instance), "/live").await, (200, "ok".to_owned()));

    assert_eq!(until(&instance, "/startup", 200).await, "ok");
    assert_eq!(got(port(&instance), "/ready").await, (200, "ok".to_owned()));
    let post = ask(port(&instance), "POST /ready", "", "").await;
    assert_eq!(post.status, 405);
    assert!(post.head.contains("allow: get, head"), "{}", post.head);
    assert_eq!(got(port(&instance), "/ls").await.0, 404, "only probes");

    // The end has begun, and one call goes on.
    probe.behave(|_, _| Behaviour::Work);
    let url = url_of(&instance);
    let consumer = super::rig::consume(&url, "retries: 0, timeout: 1m").await;
    let call = tokio::spawn(async move { greet(&consumer, "last").await });
    let waiting = calls.next().await;
    let ending = tokio::spawn({
        let instance = instance.clone();
        async move { instance.shutdown(Duration::from_secs(30)).await }
    });
    let why = until(&instance, "/ready", 503).await;
    assert_eq!(why, "probe internal: it is shutting down");
    assert_eq!(got(port(&instance), "/live").await, (200, "ok".to_owned()));
    assert_eq!(got(port(&instance), "/startup").await.0, 200);
    waiting.answer("done");
    call.await.expect("no panic").expect("is answered");
    soon("the end", ending).await.expect("no panic");
    soon("the end", starting)
        .await
        .expect("no panic")
        .expect("a good end");
    assert!(instance.admin_addresses().is_empty());
}

#[tokio::test]
async fn the_checks_of_a_program_count_and_are_named_with_what_they_say() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let instance = load(&format!("dubbo: {{{TRIPLE}, {PROBES}, {HASTY}}}"))
        .provide(named("x"))
        .liveness("heart", async || Ok::<_, String>(()))
        .readiness("database", move || {
            let well = well.load(Ordering::Relaxed);
            async move { if well { Ok(()) } else { Err("no connection") } }
        })
        .startup("cache", async || {
            assert!(std::env::args().count() > 1_000_000, "a bug");
            Ok::<_, String>(())
        })
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let at = port(&instance);
    assert_eq!(got(at, "/live").await, (200, "ok".to_owned()));
    assert_eq!(
        got(at, "/ready").await,
        (503, "probe database: no connection".to_owned())
    );
    assert_eq!(
        got(at, "/startup").await,
        (503, "probe cache: it panicked".to_owned())
    );
    is_well.store(true, Ordering::Relaxed);
    assert_eq!(got(at, "/ready").await, (200, "ok".to_owned()));
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_program_that_only_calls_is_ready_while_what_it_needs_is_there() {
    let provider = provide(&format!(", {HASTY}"), named("x")).await;
    let yaml = format!(
        "dubbo: {{{PROBES}, consumer: {{references: {{GreeterClient: {{url: '{}'}}}}}}}}",
        url_of(&provider)
    );
    let instance = load(&yaml).build().expect("valid");
    assert!(instance.admin_addresses().is_empty(), "nothing has begun");
    let greeter: GreeterClient = instance.refer().await.expect("refers");
    assert_eq!(
        got(port(&instance), "/startup").await.0,
        200,
        "there is nothing to start"
    );
    assert_eq!(got(port(&instance), "/ready").await.0, 200);
    assert_eq!(greet(&greeter, "").await.expect("answers"), "x");

    provider.shutdown(Duration::ZERO).await;
    let _ = greet(&greeter, "").await;
    let why = until(&instance, "/ready", 503).await;
    assert!(
        why.starts_with("probe internal: greet.Greeter has no provider: "),
        "{why}"
    );
    // Nobody needs it any more.
    drop(greeter);
    assert_eq!(until(&instance, "/ready", 200).await, "ok");
}

#[tokio::test]
async fn what_the_instance_knows_of_itself_does_not_count_when_it_is_not_to() {
    let yaml = format!(
        "dubbo: {{{TRIPLE}, metrics: {{probe: {{enabled: true, port: 0, use-internal-state: false, readiness-path: /up/r}}}}}}"
    );
    let (release, released) = watch::channel(false);
    let instance = load(&yaml)
        .provide(named("x"))
        .on_ready(move |_| {
            let mut released = released.clone();
            async move { drop(released.wait_for(|it| *it).await) }
        })
        .build()
        .expect("valid");
    let _ = released_after(&instance, release).await;
}

/// Ready before the start is done, since nothing but checks counts.
async fn released_after(instance: &Instance, release: watch::Sender<bool>) -> u16 {
    let starting = tokio::spawn({
        let instance = instance.clone();
        async move { instance.start().await }
    });
    soon("the port", async {
        while instance.admin_addresses().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (status, body) = got(port(instance), "/up/r").await;
    assert_eq!((status, body.as_str()), (200, "ok"));
    assert_eq!(
        got(port(instance), "/ready").await.0,
        404,
        "it has another path"
    );
    release.send_replace(true);
    soon("the start", starting)
        .await
        .expect("no panic")
        .expect("starts");
    status
}

#[tokio::test]
async fn probes_and_commands_share_a_port_or_have_their_own() {
    for (sections, ports, body) in [
        (QOS.to_owned(), 1, "true"),
        (format!("{QOS}, {PROBES}"), 1, "ok"),
    ] {
        let probe = Probe::new();
        let instance = registered(&probe, &format!("{sections}, {HASTY}"))
            .provide(named("x"))
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        assert_eq!(instance.admin_addresses().len(), ports);
        assert_eq!(got(port(&instance), "/ready").await, (200, body.to_owned()));
        assert_eq!(get(port(&instance), "/ls").await.status, 200);
        instance
            .offline(&dubbo::Selection::all())
            .await
            .expect("moves");
        let (status, why) = got(port(&instance), "/ready").await;
        assert_eq!(status, 503);
        assert!(why.ends_with("it is offline"), "{why}");
        instance.shutdown(Duration::ZERO).await;
    }
}
