//! Each load balance by its name in the configuration: it decides who is called.

use dubbo::{Instance, Status};
use examples::greet::GreeterClient;
use tokio::task::JoinSet;

use super::rig::{
    Calls, Waiting, answering, consume, desk, greet, load, named, provide, reference, request,
    url_of,
};

/// The options of a reference that has `loadbalance`, for all methods or for the one that is called.
fn named_in_both_ways(loadbalance: &str, more: &str) -> [String; 2] {
    let other = if loadbalance == "roundrobin" {
        "random"
    } else {
        "roundrobin"
    };
    [
        format!("{more}loadbalance: {loadbalance}"),
        format!(
            "{more}loadbalance: {other}, methods: [{{name: Greet, loadbalance: {loadbalance}}}]"
        ),
    ]
}

/// Providers that answer with their names, and their URLs with these parameters as one text.
async fn named_with(providers: &[(&'static str, &str)]) -> (Vec<Instance>, String) {
    let (mut instances, mut urls) = (Vec::new(), Vec::new());
    for (name, params) in providers {
        let instance = provide("", named(name)).await;
        urls.push(format!("{}?{params}", url_of(&instance)));
        instances.push(instance);
    }
    (instances, urls.join(";"))
}

/// Who answers so many calls, one after the other.
async fn answers(greeter: &GreeterClient, calls: usize) -> String {
    let mut names = String::new();
    for _ in 0..calls {
        names += &greet(greeter, "").await.expect("answers");
    }
    names
}

fn count(names: &str, name: char) -> usize {
    names.chars().filter(|&other| other == name).count()
}

#[tokio::test]
async fn rotations_give_turns_by_weight_each_in_its_own_order() {
    let (_providers, urls) =
        named_with(&[("a", "weight=3"), ("b", "weight=2"), ("c", "weight=1")]).await;
    for (name, want) in [
        ("RoundRobin", "abacba"),
        ("interleavedWeightedRoundRobin", "abcaba"),
    ] {
        for options in named_in_both_ways(name, "") {
            let greeter = consume(&urls, &options).await;
            assert_eq!(answers(&greeter, 6).await, want, "{options}");
        }
    }
}

#[tokio::test]
async fn chance_follows_the_weights() {
    let (_providers, urls) = named_with(&[("a", "weight=1"), ("b", "weight=3")]).await;
    for name in ["random", "aliasMethod"] {
        for options in named_in_both_ways(name, "") {
            let greeter = consume(&urls, &options).await;
            let names = answers(&greeter, 400).await;
            // One in four, with room for the unluckiest of a billion runs.
            let a = count(&names, 'a');
            assert!((50..155).contains(&a), "{options}: {a} of 400");
        }
    }
}

#[tokio::test]
async fn calls_with_one_argument_meet_in_one_provider_in_every_consumer() {
    let (_providers, urls) = named_with(&[("a", ""), ("b", ""), ("c", "")]).await;
    let nodes = "params: {hash.nodes: '320'}, ";
    for name in ["consistentHashing", "consistenthash"] {
        let [service, method] = named_in_both_ways(name, nodes);
        let (first, second) = (
            consume(&urls, &service).await,
            consume(&urls, &method).await,
        );
        let mut all = String::new();
        for key in (0..60).map(|key| format!("key-{key}")) {
            let owner = greet(&first, &key).await.expect("answers");
            for greeter in [&first, &second, &first] {
                let answer = greet(greeter, &key).await.expect("answers");
                assert_eq!(answer, owner, "{key}");
            }
            all += &owner;
        }
        assert!("abc".chars().all(|name| count(&all, name) > 0), "{all}");
    }
    let attached = "params: {hash.key: 'attachment:user'}, loadbalance: consistenthash";
    let names = answers(&consume(&urls, attached).await, 200).await;
    assert!(
        "abc".chars().all(|name| count(&names, name) > 0),
        "nothing to hash: {names}"
    );
}

#[tokio::test]
async fn one_that_holds_calls_gets_no_more_while_others_are_free() {
    for name in ["leastActive", "p2c"] {
        for options in named_in_both_ways(name, "") {
            let (held, mut calls) = desk();
            let holding = provide("", held).await;
            let (_others, others) = named_with(&[("b", "")]).await;
            let urls = format!("{};{others}", url_of(&holding));
            let greeter = consume(&urls, &options).await;
            let mut waiting = JoinSet::new();
            let held = hold_one(&greeter, &mut waiting, &mut calls).await;
            assert_eq!(answers(&greeter, 20).await, "b".repeat(20), "{options}");
            held.answer("a");
            while let Some(answer) = waiting.join_next().await {
                answer.expect("no panic").expect("answers");
            }
        }
    }
}

/// Calls until one of them is held.
async fn hold_one(
    greeter: &GreeterClient,
    waiting: &mut JoinSet<Result<String, Status>>,
    calls: &mut Calls,
) -> Waiting {
    loop {
        let greeter = greeter.clone();
        waiting.spawn(async move { greet(&greeter, "").await });
        tokio::select! {
            held = calls.next() => return held,
            Some(answer) = waiting.join_next() => {
                answer.expect("no panic").expect("answers");
            }
        }
    }
}

#[tokio::test]
async fn one_that_fails_gets_few_calls_while_others_work() {
    for name in ["shortestResponse", "adaptive"] {
        for options in named_in_both_ways(name, "retries: 0, ") {
            let failing = provide("", answering(|_| Err(Status::unavailable("not today")))).await;
            let (_others, others) = named_with(&[("b", "")]).await;
            let greeter = consume(&format!("{};{others}", url_of(&failing)), &options).await;
            let mut failed = 0;
            for _ in 0..100 {
                failed += usize::from(greet(&greeter, "").await.is_err());
            }
            assert!((1..25).contains(&failed), "{options}: {failed} of 100");
        }
    }
}

#[tokio::test]
async fn adaptive_asks_providers_how_busy_they_are_and_others_do_not() {
    for (name, want) in [("adaptive", "mem,load"), ("random", "")] {
        let asked = answering(|request| {
            let question = request.attachments().get("lb_adaptive");
            Ok(question.unwrap_or_default().to_owned())
        });
        let provider = provide("", asked).await;
        let greeter = consume(&url_of(&provider), &format!("loadbalance: {name}")).await;
        let response = greeter.greet(request("")).await.expect("answers");
        assert_eq!(response.message().greeting, want, "{name}");
        let answer = response.trailers().get("lb_adaptive").unwrap_or_default();
        assert_eq!(
            answer.starts_with("curTime:"),
            !want.is_empty(),
            "{name}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn an_option_that_cannot_be_used_is_an_error_of_the_reference() {
    for (options, want) in [
        (
            "loadbalance: consistenthash, params: {hash.nodes: '3'}",
            "hash.nodes",
        ),
        (
            "loadbalance: consistenthash, params: {methods.Greet.hash.arguments: 'x'}",
            "hash.arguments",
        ),
        (
            "loadbalance: shortestresponse, params: {shortestResponseSlidePeriod: '0'}",
            "shortestResponseSlidePeriod",
        ),
        (
            "methods: [{name: Greet, loadbalance: adaptive}], params: {compat.java-adaptive-score: 'x'}",
            "compat.java-adaptive-score",
        ),
    ] {
        let instance = load(&reference("tri://127.0.0.1:1", options))
            .build()
            .expect("valid");
        let error = instance
            .refer::<GreeterClient>()
            .await
            .expect_err(want)
            .to_string();
        assert!(error.contains(want), "{error}");
    }
}
