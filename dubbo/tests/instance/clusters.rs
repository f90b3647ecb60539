//! Who of several providers gets a call and what becomes of one that fails, as a configuration says.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use dubbo::{
    Code, Instance, InstanceBuilder, Invocation, Status,
    config::ServiceConfig,
    hessian2::Value,
    spi::{
        cluster::{Merger, MessageMerger, Mock},
        registry::Registry,
    },
};
use dubbo_test::soon;
use examples::{
    greet::{GreetResponse, GreeterClient},
    users::{Level, User, UserServiceClient, UserServiceServer, Users},
};
use tokio::time::Instant;

use super::{
    probe::Probe,
    rig::{answering, consume, desk, greet, load, named, provide, reference, request, url_of},
};

/// Providers that fail or answer with their names, and how often each was called.
async fn counting(
    answers: &[Result<&'static str, Status>],
) -> (Vec<Instance>, String, Arc<[AtomicUsize]>) {
    let counts: Arc<[AtomicUsize]> = answers.iter().map(|_| AtomicUsize::new(0)).collect();
    let mut instances = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let (counts, answer) = (Arc::clone(&counts), answer.clone());
        let service = answering(move |_| {
            counts[at].fetch_add(1, Ordering::Relaxed);
            answer.clone().map(str::to_owned)
        });
        instances.push(provide("", service).await);
    }
    let urls: Vec<_> = instances.iter().map(url_of).collect();
    let urls = urls.join(";");
    (instances, urls, counts)
}

fn taken(counts: &[AtomicUsize]) -> Vec<usize> {
    let counts = counts.iter();
    counts
        .map(|count| count.swap(0, Ordering::Relaxed))
        .collect()
}

fn down() -> Result<&'static str, Status> {
    Err(Status::unavailable("down"))
}

/// What the losers do ends with the winner's answer, on the wire too.
#[tokio::test]
async fn the_losers_of_a_fork_are_cancelled_within_50_ms() {
    for options in [
        "cluster: forking, params: {forks: 3, idempotent: true}",
        "cluster: Forking, params: {forks: 0, forking.allow-unsafe: true}",
        "methods: [{name: Greet, cluster: forking, params: {forks: 3, idempotent: true}}]",
    ] {
        let mut calls = Vec::new();
        let mut providers = Vec::new();
        for _ in 0..3 {
            let (service, of_one) = desk();
            providers.push(provide("", service).await);
            calls.push(of_one);
        }
        let urls: Vec<_> = providers.iter().map(url_of).collect();
        let greeter = consume(&urls.join(";"), &format!("timeout: 10s, {options}")).await;
        let call = tokio::spawn(async move { greet(&greeter, "").await });
        let mut waiting = Vec::new();
        for of_one in &mut calls {
            waiting.push(of_one.next().await);
        }
        waiting.remove(1).answer("won");
        let answered = Instant::now();
        for loser in &mut waiting {
            soon("the end of a loser", loser.given_up()).await;
        }
        let took = answered.elapsed();
        assert!(took < Duration::from_millis(50), "{options}: {took:?}");
        assert_eq!(call.await.expect("no panic").expect("an answer"), "won");
    }
}

#[tokio::test]
async fn each_cluster_calls_those_it_is_for() {
    let (_providers, urls, counts) = counting(&[Ok("a"), Ok("b"), Ok("c")]).await;
    for (options, calls) in [
        ("cluster: failover", 1),
        ("cluster: failfast", 1),
        ("cluster: available", 1),
        ("cluster: zone-aware", 1),
        ("cluster: ZoneAware", 1),
        ("cluster: mergeable", 1),
        ("cluster: adaptiveService, loadbalance: p2c", 1),
        ("cluster: adaptive, loadbalance: P2C", 1),
        ("cluster: broadcast", 3),
        ("cluster: Broadcast, params: {broadcast.parallelism: 3}", 3),
        (
            "cluster: available, methods: [{name: Greet, cluster: broadcast}]",
            3,
        ),
        (
            "cluster: broadcast, methods: [{name: Greet, cluster: available}]",
            1,
        ),
        // Nothing says that it may be called twice.
        ("cluster: forking, params: {forks: 3}", 1),
    ] {
        let greeter = consume(&urls, options).await;
        greet(&greeter, "").await.expect("answers");
        assert_eq!(taken(&counts).iter().sum::<usize>(), calls, "{options}");
    }
}

#[tokio::test]
async fn the_first_of_the_list_is_called_until_it_is_gone() {
    let (providers, urls, counts) = counting(&[Ok("a"), Ok("b"), Ok("c")]).await;
    let greeter = consume(&urls, "cluster: available").await;
    for _ in 0..5 {
        greet(&greeter, "").await.expect("answers");
    }
    let first = taken(&counts);
    let at = first
        .iter()
        .position(|count| *count == 5)
        .expect("one has all");
    providers[at].shutdown(Duration::ZERO).await;
    // A call may meet the end of the connection, and there is no other attempt.
    soon("an answer of another", async {
        while greet(&greeter, "").await.is_err() {}
    })
    .await;
    for _ in 0..4 {
        greet(&greeter, "").await.expect("answers");
    }
    let second = taken(&counts);
    assert!(
        second[at] == 0 && second.contains(&5),
        "{first:?}, then {second:?}"
    );
}

#[tokio::test]
async fn a_broadcast_names_those_that_failed_and_stops_where_it_is_told_to() {
    let (_providers, urls, counts) = counting(&[down(), Ok("b"), down(), down()]).await;
    for (options, calls, named) in [
        ("", 4, 3),
        ("params: {broadcast.fail.percent: 50}", 3, 2),
        ("params: {broadcast.fail.percent: 0}", 1, 1),
        (
            "methods: [{name: Greet, params: {broadcast.fail.percent: 0}}]",
            1,
            1,
        ),
    ] {
        let greeter = consume(&urls, &format!("cluster: broadcast, {options}")).await;
        let status = greet(&greeter, "").await.expect_err("some fail");
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(
            taken(&counts).iter().sum::<usize>(),
            calls,
            "{options}: {status}"
        );
        let text = status.message();
        assert_eq!(text.matches("tri://").count(), named, "{text}");
    }
    let greeter = consume(&urls, "cluster: broadcast").await;
    let status = greeter.greet_many(request("")).await.expect_err("a stream");
    assert_eq!(status.code(), Code::Unimplemented);
}

#[tokio::test]
async fn options_that_a_cluster_cannot_use_are_errors_of_the_reference() {
    for (options, why) in [
        (
            "cluster: forking, params: {forks: many}",
            "parameter `forks` is \"many\": expected an integer",
        ),
        (
            "cluster: adaptiveService",
            "the cluster `adaptiveService` needs the load balance `p2c`",
        ),
        (
            "params: {mock: true}",
            "no mock is called `greet.GreeterMock`; linked: []",
        ),
        (
            "params: {mock: 'return 7'}",
            "it can return a JSON object, `null` or `empty`",
        ),
        (
            "cluster: mergeable, params: {merger: nobody}",
            "no merger is called `nobody`; linked: [\"array\", \"java\", \"list\", \"map\", \"protobuf\", \"set\"]",
        ),
        (
            "cluster: mergeable, params: {merger: list}",
            "the merger `list` cannot merge the results of `Greet`: it merges values of Java",
        ),
    ] {
        let options = &format!("check: false, {options}");
        let instance = load(&reference("tri://127.0.0.1:1", options))
            .build()
            .expect("valid");
        let error = instance.refer::<GreeterClient>().await.expect_err(options);
        assert!(error.to_string().contains(why), "{options}: {error}");
    }
}

#[tokio::test]
async fn a_mock_answers_in_place_of_providers() {
    let (_providers, urls, counts) = counting(&[down()]).await;
    for (options, want, calls) in [
        (
            "params: {mock: 'force:return {\"greeting\": \"nobody home\"}'}",
            Ok("nobody home"),
            0,
        ),
        (
            "params: {mock: 'return {\"greeting\": \"nobody home\"}'}",
            Ok("nobody home"),
            3,
        ),
        ("retries: 0, params: {mock: 'fail:return empty'}", Ok(""), 1),
        (
            "params: {mock: 'force: throw com.x.Closed'}",
            Err(Code::Business),
            0,
        ),
        ("params: {mock: 'force'}", Ok("mocked"), 0),
        ("params: {mock: greeting}", Ok("down, so mocked"), 3),
        (
            "methods: [{name: Greet, params: {mock: force}}]",
            Ok("mocked"),
            0,
        ),
        (
            "methods: [{name: GreetMany, params: {mock: force}}]",
            Err(Code::Unavailable),
            3,
        ),
        (
            "params: {mock: force}, methods: [{name: Greet, params: {mock: false}}]",
            Err(Code::Unavailable),
            3,
        ),
    ] {
        let instance = with_mocks(load(&reference(&urls, options)))
            .build()
            .expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        let got = greet(&greeter, "").await.map_err(|status| status.code());
        assert_eq!(got.as_deref().map_err(|code| *code), want, "{options}");
        assert_eq!(taken(&counts), [calls], "{options}");
    }
}

/// A mock that is an implementation of the service, and one that is a closure.
fn with_mocks(builder: InstanceBuilder) -> InstanceBuilder {
    let builder = builder.extension::<dyn Mock>("greet.GreeterMock", |_| {
        let service: dubbo::Service = answering(|_| Ok("mocked".to_owned())).into();
        Ok(Arc::new(service))
    });
    builder.extension::<dyn Mock>("greeting", |_| {
        let service: dubbo::Service = answering(|_| Ok("down, so mocked".to_owned())).into();
        Ok(Arc::new(
            move |call: Invocation, failure: Option<Status>| {
                assert_eq!(
                    failure.map(|failure| failure.code()),
                    Some(Code::Unavailable)
                );
                let service = service.clone();
                async move { service.invoke(call).await }
            },
        ))
    })
}

#[tokio::test]
async fn what_a_mock_returns_becomes_the_java_type_that_is_declared() {
    let client = async |mock: &str| -> UserServiceClient {
        let yaml = format!(
            "dubbo: {{consumer: {{check: false, references: {{UserServiceClient: {{url: 'tri://127.0.0.1:1', \
             retries: 0, params: {{mock: '{mock}'}}}}}}}}}}"
        );
        load(&yaml)
            .build()
            .expect("valid")
            .refer()
            .await
            .expect("refers")
    };
    let users =
        client(r#"force: return {"id": "ada", "name": "Ada", "age": 36, "level": "ADMIN"}"#).await;
    let ada = users
        .get_user("ada".to_owned())
        .await
        .expect("mocked")
        .into_message();
    let want = User {
        id: "ada".to_owned(),
        name: "Ada".to_owned(),
        age: 36,
        level: Level::Admin,
        friend: None,
    };
    assert_eq!(ada, want);
    let users = client("return empty").await;
    let none = users.get_users(Vec::new()).await.expect("mocked");
    assert!(none.message().is_empty());
    let renamed = users.rename(want, "x".to_owned()).await.expect("mocked");
    assert_eq!(renamed.message(), "");
}

#[tokio::test]
async fn what_a_mock_returns_to_a_generic_call_is_what_it_says() {
    let yaml = "dubbo: {consumer: {references: {any: {interface: com.x.Any, url: 'tri://127.0.0.1:1', check: false, \
                params: {mock: 'force: return [1, \"a\"]'}}}}}";
    let instance = load(yaml).build().expect("valid");
    let any = instance.generic_as("any").await.expect("refers");
    let value = any.invoke("get", None, Vec::new()).await.expect("mocked");
    assert_eq!(*value.message(), Value::list([1.into(), "a".into()]));
    let json = any.invoke_json("get", None, "[]").expect("a list").await;
    assert_eq!(json.expect("mocked").message(), r#"[1,"a"]"#);
}

#[tokio::test]
async fn arguments_of_java_are_forked_over_every_protocol() {
    let both = "dubbo: {protocols: {t: {name: tri, ip: 127.0.0.1, port: 0}, d: {name: dubbo, ip: 127.0.0.1, port: 0}}}";
    let mut urls = Vec::new();
    let mut providers = Vec::new();
    for _ in 0..2 {
        let instance = load(both).provide(UserServiceServer::new(Users));
        let instance = instance.build().expect("valid");
        instance.start().await.expect("starts");
        let exported = instance.exported();
        urls.extend(
            exported
                .iter()
                .map(|url| format!("{}://{}", url.protocol(), url.address())),
        );
        providers.push(instance);
    }
    for protocol in ["tri", "dubbo", ""] {
        let chosen = urls.iter().filter(|url| url.starts_with(protocol));
        let chosen: Vec<_> = chosen.cloned().collect();
        let yaml = format!(
            "dubbo: {{consumer: {{references: {{UserServiceClient: {{url: '{}', cluster: forking, \
             params: {{forks: 0, idempotent: true}}}}}}}}}}",
            chosen.join(";")
        );
        let instance = load(&yaml).build().expect("valid");
        let users: UserServiceClient = instance.refer().await.expect("refers");
        let ada = users.get_user("ada".to_owned()).await.expect(protocol);
        let renamed = users
            .rename(ada.into_message(), "Countess".to_owned())
            .await;
        assert_eq!(renamed.expect(protocol).message(), "Ada is now Countess");
    }
}

/// A registry with a provider of the service in each of these groups.
async fn in_groups<S: Into<dubbo::Service>>(
    groups: &[&str],
    service: impl Fn(&str) -> S,
) -> (Probe, Vec<Instance>) {
    let probe = Probe::new();
    let mut providers = Vec::new();
    for group in groups {
        let yaml = "dubbo: {registries: {r: {protocol: probe, address: h}}, \
                    protocols: {tri: {ip: 127.0.0.1, port: 0}}}";
        let options = ServiceConfig::new().group(*group);
        let instance = load(yaml)
            .extension::<dyn Registry>("probe", probe.plugin())
            .provide_with(service(group), options)
            .build()
            .expect("valid");
        instance.start().await.expect("starts");
        providers.push(instance);
    }
    (probe, providers)
}

fn of_registry(probe: &Probe, client: &str, options: &str) -> InstanceBuilder {
    let yaml = format!(
        "dubbo: {{registries: {{r: {{protocol: probe, address: h, zone: hz}}}}, \
         consumer: {{references: {{{client}: {{{options}}}}}}}}}"
    );
    load(&yaml).extension::<dyn Registry>("probe", probe.plugin())
}

#[tokio::test]
async fn the_results_of_several_groups_are_merged() {
    let groups = |group: &str| {
        let group = group.to_owned();
        answering(move |_| Ok(group.clone()))
    };
    let (probe, _providers) = in_groups(&["b", "a", "c"], groups).await;
    for (options, want) in [
        ("group: '*', cluster: mergeable", "a"),
        ("group: 'c,a', cluster: mergeable", "c"),
        (
            "group: '*', cluster: mergeable, params: {merger: default}",
            "c",
        ),
        (
            "group: 'c,a', cluster: mergeable, params: {merger: true}",
            "a",
        ),
        (
            "group: 'b,a', cluster: mergeable, params: {merger: all}",
            "b+a",
        ),
        (
            "group: '*', methods: [{name: Greet, cluster: mergeable, params: {merger: all}}]",
            "a+b+c",
        ),
    ] {
        let instance = of_registry(&probe, "greet.Greeter", options)
            .extension::<dyn Merger>("all", |_| {
                Ok(Arc::new(MessageMerger::new(|all: Vec<GreetResponse>| {
                    let greetings: Vec<_> = all.into_iter().map(|answer| answer.greeting).collect();
                    let greeting = greetings.join("+");
                    GreetResponse { greeting }
                })))
            })
            .build()
            .expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        assert_eq!(
            greet(&greeter, "").await.expect("merged"),
            want,
            "{options}"
        );
    }
}

#[tokio::test]
async fn lists_of_java_values_are_joined() {
    let (probe, _providers) = in_groups(&["a", "b"], |_| UserServiceServer::new(Users)).await;
    let options = "group: '*', cluster: mergeable, \
                   methods: [{name: getUsers, params: {merger: default}}]";
    let instance = of_registry(&probe, "UserServiceClient", options)
        .build()
        .expect("valid");
    let users: UserServiceClient = instance.refer().await.expect("refers");
    let found = users
        .get_users(vec!["ada".to_owned()])
        .await
        .expect("merged");
    let names: Vec<_> = found
        .message()
        .iter()
        .map(|user| user.name.clone())
        .collect();
    assert_eq!(names, ["Ada", "Ada"]);
    let error = {
        let options = "group: '*', cluster: mergeable, params: {merger: default}";
        let instance = of_registry(&probe, "UserServiceClient", options)
            .build()
            .expect("valid");
        instance
            .refer::<UserServiceClient>()
            .await
            .expect_err("users are no collection")
    };
    assert!(error.to_string().contains("is no collection"), "{error}");
}

#[tokio::test]
async fn a_lone_registry_knows_its_zone_where_the_cluster_is_named() {
    let (probe, _providers) = in_groups(&[""], |_| named("here").into()).await;
    for (options, insists, works) in [
        ("cluster: zone-aware", "hz", true),
        ("cluster: zone-aware", "bj", false),
        ("cluster: zoneAware", "bj", false),
        ("", "bj", true),
    ] {
        let instance = of_registry(&probe, "greet.Greeter", options)
            .build()
            .expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        for (zone, force) in [
            ("registry_zone", "registry_zone_force"),
            ("registry.zone", "registry.zone.force"),
        ] {
            let call = greeter
                .greet(request(""))
                .attach(zone, insists)
                .attach(force, "true");
            let result = call.await;
            assert_eq!(result.is_ok(), works, "{options} {insists}: {result:?}");
        }
    }
}
