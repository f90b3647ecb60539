//! The page in a browser: what a person sees of a program that has something of everything.

use std::{env, path::PathBuf, process::Stdio, time::Duration};

use dubbo::{Instance, Status, spi::registry::Registry};
use examples::greet::GreeterClient;
use tokio::process::Command;

use super::{
    probe::Probe,
    rig::{answering, greet, load, named, provide, url_of},
    support::{HASTY, QOS, TRIPLE, port},
};

/// A program that provides by its interface in one registry and with its application in another, calls what works and what
/// does not, and has stopped one method.
async fn shop(probe: &Probe) -> (Instance, [GreeterClient; 2], [Instance; 2]) {
    let works = provide(&format!(", {HASTY}"), named("works")).await;
    let failing = answering(|_| Err(Status::unavailable("<b>down & out</b>")));
    let fails = provide(&format!(", provider: {{group: bad}}, {HASTY}"), failing).await;
    let retry = "retry: {policies: {all: {breaker: quick}}, breakers: {quick: {count: 2, min-calls: 2, open-wait: 1m}}}";
    let references = format!(
        "consumer: {{references: {{good: {{interface: greet.Greeter, url: '{}'}}, \
         bad: {{interface: greet.Greeter, group: bad, url: '{}', retries: 1, params: {{idempotent: 'true'}}}}}}}}",
        url_of(&works),
        url_of(&fails)
    );
    let registries = "registries: {r: {protocol: probe, address: here}, \
                      m: {address: 'memory://browser', registry-type: service}}";
    let yaml = format!("dubbo: {{{TRIPLE}, {registries}, {QOS}, {HASTY}, {retry}, {references}}}");
    let instance = load(&yaml)
        .extension::<dyn Registry>("probe", probe.plugin())
        .provide(named("own"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let good = instance.refer_as("good").await.expect("refers");
    let bad = instance.refer_as("bad").await.expect("refers");
    (instance, [good, bad], [works, fails])
}

/// `cargo xtask browser` runs it, and says which browser there is and where the picture goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a browser: cargo xtask browser"]
async fn a_person_sees_providers_consumers_registries_breakers_and_retries() {
    let variable = |name| env::var_os(name).unwrap_or_else(|| panic!("{name} is set by xtask"));
    let (browser, picture) = (variable("DUBBO_BROWSER"), variable("DUBBO_SCREENSHOT"));
    let probe = Probe::new();
    let (instance, [good, bad], others) = shop(&probe).await;
    greet(&good, "").await.expect("works");
    for _ in 0..3 {
        greet(&bad, "").await.expect_err("is down");
    }
    let url = format!("http://{}/", port(&instance));
    let told = instance.status().await.instances;
    let [told] = &told[..] else {
        panic!("one registry was told of the application: {told:?}");
    };
    assert!(!told.revision.is_empty() && told.services == 1, "{told:?}");
    let seen = see(&browser, &url).await;
    for (what, want) in [
        ("that it is ready", ">ready</span>".to_owned()),
        ("where its service is", ">r by interface</span>".to_owned()),
        (
            "the same of the application",
            ">m by application</span>".to_owned(),
        ),
        (
            "how many instances there are",
            "Instances <span>1</span>".to_owned(),
        ),
        (
            "the instance and its revision",
            format!(
                "<td>m</td><td><code>{}</code></td><td><code>{}</code></td><td class=\"number\">1</td>",
                told.address, told.revision
            ),
        ),
    ] {
        assert!(
            seen.contains(&want),
            "{what} is not to be seen: {want} is not in\n{seen}"
        );
    }

    let shot = format!("--screenshot={}", PathBuf::from(&picture).display());
    run(&browser, &[&shot, "--window-size=1280,1100", &url]).await;
    let picture = PathBuf::from(picture);
    let bytes = std::fs::read(&picture).expect("a picture");
    assert!(
        bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000,
        "{} bytes",
        bytes.len()
    );

    instance
        .offline(&dubbo::Selection::all())
        .await
        .expect("moves");
    let seen = see(&browser, &url).await;
    let own = format!("tri://{}", instance.exported()[0].address());
    for (what, want) in [
        ("the application", ">shop</h1>"),
        ("the phase", ">started</span>"),
        ("that it is not ready", ">not ready</span>"),
        ("why", "it is offline</span>"),
        ("its own service", "<code>greet.Greeter</code>"),
        ("where that is", &own),
        ("that it is offline", ">r by interface (offline)</span>"),
        (
            "that the application is, too",
            ">m by application (offline)</span>",
        ),
        ("the provider that works", &url_of(&others[0])),
        ("the provider that fails", &url_of(&others[1])),
        (
            "that it has no instance any more",
            "Instances <span>0</span>",
        ),
        (
            "that nothing is to be found in registries",
            "No registry was told of the application.",
        ),
        ("a registry", "<code>probe://here</code>"),
        ("the other one", "<code>memory://browser</code>"),
        ("the breaker", "the breaker is open for another"),
        ("whose it is", "<code>bad/greet.Greeter.Greet</code>"),
        ("an attempt", "2 of 2"),
        (
            "a text, and not as a part of the page",
            "&lt;b&gt;down &amp; out&lt;/b&gt;",
        ),
    ] {
        assert!(
            seen.contains(want),
            "{what} is not to be seen: {want} is not in\n{seen}"
        );
    }

    // A page whose program is gone says so, and does not show what was.
    instance.shutdown(Duration::ZERO).await;
    let gone = run(&browser, &["--dump-dom", &url]).await;
    assert!(!String::from_utf8_lossy(&gone).contains("started</span>"));
}

/// The page as it is when it has looked at the program.
async fn see(browser: &std::ffi::OsStr, url: &str) -> String {
    let seen = run(browser, &["--dump-dom", url]).await;
    let seen = String::from_utf8(seen).expect("text");
    assert!(
        !seen.contains("loading</span>"),
        "the page has looked:\n{seen}"
    );
    let is_untroubled = seen.contains("<div id=\"trouble\" role=\"alert\" hidden");
    assert!(is_untroubled, "the page tells of trouble:\n{seen}");
    seen
}

/// What the browser writes, after two seconds of the page's own time.
async fn run(browser: &std::ffi::OsStr, arguments: &[&str]) -> Vec<u8> {
    let profile = env::temp_dir().join(format!("dubbo-browser-{}", std::process::id()));
    let running = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--virtual-time-budget=2000",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_mins(1), running).await;
    let output = output.expect("a browser that ends").expect("a browser");
    // It is of this run alone.
    let _ = std::fs::remove_dir_all(&profile);
    assert!(output.status.success(), "{}", output.status);
    output.stdout
}
