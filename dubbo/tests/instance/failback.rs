//! Calls whose callers go on when they fail: made again when the provider is up, passed over, or kept as dead letters.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{
    Instance, Status,
    resend::dead_letter::{Filter, Page, Reason, Replayed},
};
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::{net::TcpListener, sync::mpsc};

use super::rig::{answering, greet, load, provide, request, url_of};

/// An address that nobody listens at.
async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("bound").to_string()
}

/// A provider at `address` that tells whom it greets.
async fn up(address: &str) -> (Instance, mpsc::UnboundedReceiver<String>) {
    let (told, greeted) = mpsc::unbounded_channel();
    let service = answering(move |request| {
        let name = request.message().name.clone();
        told.send(name.clone()).expect("the test listens");
        Ok(format!("Hello, {name}!"))
    });
    let (_, port) = address.rsplit_once(':').expect("has a port");
    let yaml = format!("dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: {port}}}}}}}");
    let provider = load(&yaml).provide(service).build().expect("valid");
    provider.start().await.expect("starts");
    (provider, greeted)
}

/// An instance with a client of the provider at `address`, with these options of its reference and this section `retry`.
async fn client(address: &str, options: &str, retry: &str) -> (Instance, GreeterClient) {
    let yaml = format!(
        "dubbo: {{retry: {{{retry}}}, consumer: {{check: false, references: {{GreeterClient: {{url: 'tri://{address}', \
         {options}}}}}}}}}"
    );
    let instance = load(&yaml).build().expect("valid");
    let greeter = instance.refer().await.expect("refers");
    (instance, greeter)
}

#[tokio::test]
async fn a_call_that_failed_is_made_again_when_its_provider_is_up() {
    let address = nobody().await;
    let (consumer, greeter) = client(&address, "cluster: failback", "").await;
    let response = greeter.greet(request("you")).await.expect("goes on");
    let ignored = response.attachment("dubbo-ignored").expect("says so");
    let start = "failback: the call failed and is made again later: ";
    assert!(ignored.starts_with(start), "{ignored}");
    assert_eq!(response.message().greeting, "", "there is no answer yet");
    let (_provider, mut calls) = up(&address).await;
    let name = soon("the call", calls.recv()).await;
    assert_eq!(name.as_deref(), Some("you"));
    let response = greeter.greet(request("me")).await.expect("is answered");
    assert_eq!(response.attachment("dubbo-ignored"), None);
    assert_eq!(response.message().greeting, "Hello, me!");
    let letters = consumer.dead_letters();
    let listing = letters.list(&Filter::default(), Page::default()).await;
    assert!(listing.expect("in memory").letters.is_empty());
}

#[tokio::test]
async fn a_client_that_is_gone_has_left_its_calls() {
    let address = nobody().await;
    let (_consumer, greeter) = client(&address, "cluster: failback, retries: -1", "").await;
    greet(&greeter, "you").await.expect("goes on");
    drop(greeter);
    let (_provider, mut calls) = up(&address).await;
    let name = soon("the call", calls.recv()).await;
    assert_eq!(name.as_deref(), Some("you"));
}

#[tokio::test]
async fn a_call_that_is_not_worth_failing_for_is_passed_over() {
    let address = nobody().await;
    let (_consumer, greeter) = client(&address, "cluster: failsafe", "").await;
    let response = greeter.greet(request("you")).await.expect("goes on");
    let ignored = response.attachment("dubbo-ignored").expect("says so");
    assert!(
        ignored.starts_with("failsafe: the call failed: "),
        "{ignored}"
    );
    assert_eq!(response.message().greeting, "");
    let many = greeter.greet_many(request("you")).await.expect("goes on");
    let mut none = many.into_message();
    assert!(none.message().await.expect("ends").is_none());
}

#[tokio::test]
async fn at_a_shutdown_calls_that_wait_are_made_or_kept_and_a_client_can_replay_them() {
    let address = nobody().await;
    let options = "cluster: failback, params: {failback.priority: '9'}";
    let (consumer, greeter) = client(&address, options, "").await;
    for name in ["one", "two"] {
        greet(&greeter, name).await.expect("goes on");
    }
    let letters = consumer.dead_letters().clone();
    consumer.shutdown(Duration::from_secs(5)).await;
    let listing = letters.list(&Filter::default(), Page::default()).await;
    let kept = listing.expect("in memory").letters;
    assert_eq!(kept.len(), 2);
    for letter in &kept {
        assert_eq!(letter.reason, Reason::Shutdown);
        assert_eq!(letter.attempts.len(), 2, "a last one");
        assert_eq!(letter.priority.number(), 9);
        assert!(letter.attempts[0].message.contains("refused"), "{letter:?}");
    }
    let replays = letters.replay(&Filter::default()).await;
    for replay in replays.expect("in memory") {
        assert!(!matches!(replay.result, Replayed::Done), "{replay:?}");
    }
}

#[tokio::test]
async fn at_a_shutdown_the_last_attempt_arrives_if_somebody_is_there() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let service = answering(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Err(Status::unavailable("not now")),
        _ => Ok(String::new()),
    });
    let provider = provide("", service).await;
    let url = url_of(&provider);
    let address = url.trim_start_matches("tri://");
    let (consumer, greeter) = client(address, "cluster: failback", "").await;
    greet(&greeter, "you").await.expect("goes on");
    let kept = consumer.dead_letters().clone();
    consumer.shutdown(Duration::from_secs(5)).await;
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let listing = kept.list(&Filter::default(), Page::default()).await;
    assert!(listing.expect("in memory").letters.is_empty());
}

#[tokio::test]
async fn a_policy_says_what_becomes_of_calls_that_are_given_up() {
    let address = nobody().await;
    let retry = "policies: {p: {max-attempts: 1, dead-letter: {on: [exhausted]}, outcome: hold}}";
    let (consumer, greeter) = client(&address, "retries: 0", retry).await;
    greet(&greeter, "you")
        .await
        .expect_err("its caller hears of it, too");
    let letters = consumer.dead_letters();
    letters.settled().await;
    let listing = letters.list(&Filter::default(), Page::default()).await;
    let kept = listing.expect("in memory").letters;
    assert_eq!(kept.len(), 1);
    assert!(kept[0].held);
    assert_eq!(&*kept[0].policy, "p");
    let (_provider, mut calls) = up(&address).await;
    let id = Filter::id(kept[0].id);
    let replays = letters.replay(&id).await.expect("in memory");
    assert!(matches!(replays[0].result, Replayed::Held));
    assert_eq!(letters.release(&id).await.expect("in memory"), 1);
    let replayed = async {
        // The connection comes back in its own time.
        while !matches!(
            letters.replay(&id).await.expect("in memory")[0].result,
            Replayed::Done
        ) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("the replay", replayed).await;
    let name = soon("the replay", calls.recv()).await;
    assert_eq!(name.as_deref(), Some("you"));
    let listing = letters.list(&Filter::default(), Page::default()).await;
    assert!(listing.expect("in memory").letters.is_empty());
}

#[cfg(feature = "durable")]
#[tokio::test]
async fn letters_on_disk_are_there_for_the_next_program() {
    let folder = std::env::temp_dir().join(format!("dubbo-letters-{}", std::process::id()));
    let file = folder.join("letters.redb");
    let retry = format!(
        "dead-letter: {{store: disk, path: '{}', capacity: 10}}",
        file.display()
    );
    let address = nobody().await;
    let (consumer, greeter) = client(&address, "cluster: failback", &retry).await;
    greet(&greeter, "you").await.expect("goes on");
    consumer.shutdown(Duration::from_secs(5)).await;
    drop((consumer, greeter));

    let (_provider, mut calls) = up(&address).await;
    let (consumer, greeter) = client(&address, "cluster: failback", &retry).await;
    let letters = consumer.dead_letters();
    let all = Filter::default();
    let kept = letters.list(&all, Page::default()).await.expect("reads");
    assert_eq!(kept.letters.len(), 1);
    greet(&greeter, "connected").await.expect("is answered");
    let name = soon("a call", calls.recv()).await;
    assert_eq!(name.as_deref(), Some("connected"));
    let replays = letters.replay(&all).await.expect("reads");
    assert!(matches!(replays[..], [ref one] if matches!(one.result, Replayed::Done)));
    let name = soon("the replay", calls.recv()).await;
    assert_eq!(name.as_deref(), Some("you"));
    let other = load(&format!("dubbo: {{retry: {{{retry}}}}}")).build();
    let error = other.expect_err("the file is in use").to_string();
    assert!(error.contains("cannot share one file"), "{error}");
    consumer.shutdown(Duration::from_secs(5)).await;
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn bad_options_are_refused_where_they_stand() {
    for (section, want) in [
        (
            "retry: {dead-letter: {store: disk}}",
            "the store `disk` needs the `path` of its file",
        ),
        (
            "retry: {policies: {p: {dead-letter: {on: [never]}}}}",
            "`never` is no reason for a dead letter",
        ),
        ("retry: {dead-letter: {capacity: none}}", "a whole number"),
    ] {
        let built = load(&format!("dubbo: {{{section}}}")).build();
        let error = built.expect_err(section).to_string();
        assert!(error.contains(want), "{section}: {error}");
        assert!(error.contains("dubbo.yaml:1"), "{error}");
    }
}
