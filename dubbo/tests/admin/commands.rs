use std::time::Duration;

use dubbo::{Instance, Request, config::ServiceConfig, java::JavaService, spi::registry::Registry};
use examples::greet::GreeterClient;

use super::{
    probe::Probe,
    rig::{answering, load, named},
    support::{HASTY, QOS, TRIPLE, ask, get, got, port, registered},
};

/// A program that serves one interface at two versions, and calls one of them.
async fn shop(probe: &Probe) -> (Instance, GreeterClient) {
    let sections = format!(
        "{QOS}, {HASTY}, consumer: {{references: {{greet.Greeter: {{version: 2, timeout: 1m}}}}}}"
    );
    let greeting = answering(|request| {
        let name = &request.message().name;
        match &**name {
            "nobody" => Err(dubbo::Status::not_found("there is nobody")),
            name => Ok(format!("Hello, {name}!")),
        }
    });
    let instance = registered(probe, &sections)
        .provide_with(named("old"), ServiceConfig::new().version("1"))
        .provide_with(greeting, ServiceConfig::new().version("2").token("hush"))
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    let greeter = instance.refer().await.expect("refers");
    (instance, greeter)
}

#[tokio::test]
async fn config_a20_ls_lists_what_is_provided_and_what_is_called() {
    let probe = Probe::new();
    let (instance, _greeter) = shop(&probe).await;
    let (status, listed) = got(port(&instance), "/ls").await;
    assert_eq!(status, 200);
    for line in [
        "As Provider side:",
        "|greet.Greeter:1      |r-I(Y)|",
        "|greet.Greeter:2      |r-I(Y)|",
        "As Consumer side:",
        "|greet.Greeter:2      |registry probe://here(1/1)|",
    ] {
        assert!(listed.contains(line), "{line} is not in:\n{listed}");
    }
    assert_eq!(
        got(port(&instance), "/ready").await,
        (200, "true".to_owned())
    );
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn services_of_this_program_are_called_with_json() {
    let probe = Probe::new();
    let (instance, _greeter) = shop(&probe).await;
    let at = port(&instance);
    for (path, status, want) in [
        (
            "/invoke/greet.Greeter:2.Greet(%7B%22name%22:%22Ann%22%7D)",
            200,
            "result: {\"greeting\":\"Hello, Ann!\"}\nelapsed: ",
        ),
        // The first letter of a method is as Java has it, too.
        (
            "/invoke?x=greet.Greeter:1.greet()",
            200,
            "result: {\"greeting\":\"old\"}\n",
        ),
        (
            "/invoke?x=greet.Greeter.Greet()",
            400,
            "`greet.Greeter` is served several times; say which: greet.Greeter:1, greet.Greeter:2",
        ),
        (
            "/invoke?x=greet.Greeter:2.Leave()",
            404,
            "greet.Greeter:2 has no method `Leave`; it has Greet, GreetMany, GreetAll, GreetEach",
        ),
        (
            "/invoke?x=a.B.c()",
            404,
            "no service `a.B` is served here; there is greet.Greeter:1, greet.Greeter:2",
        ),
        ("/invoke?x=nonsense", 400, "expected a call such as "),
        ("/invoke", 400, "it takes a call such as "),
        (
            "/invoke?x=greet.Greeter:2.Greet({)",
            500,
            "invalid_argument",
        ),
        (
            "/invoke?x=greet.Greeter:2.Greet({},{})",
            500,
            "invalid_argument",
        ),
        (
            "/invoke?x=greet.Greeter:2.GreetMany({})",
            500,
            "unimplemented",
        ),
        (
            "/invoke?x=greet.Greeter:2.Greet({%22name%22:%22nobody%22})",
            500,
            "not_found",
        ),
    ] {
        let (got_status, body) = got(at, path).await;
        assert_eq!(got_status, status, "{path}: {body}");
        assert!(body.contains(want), "{path}: {body}");
    }
    let form = "x=greet.Greeter%3A2.Greet(%7B%22name%22%3A%22Bob+B%22%7D)";
    let answer = ask(
        at,
        "POST /invoke",
        "content-type: application/x-www-form-urlencoded\r\n",
        form,
    )
    .await;
    assert!(answer.body.contains("Hello, Bob B!"), "{answer:?}");
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn arguments_of_java_methods_are_json_values_with_commas_between() {
    let service = JavaService::new("com.example.Sums")
        .method("add", async |call: Request<(i32, i32)>| {
            let (a, b) = call.into_message();
            Ok((a + b).into())
        })
        .method("all", async |call: Request<(Vec<i32>,)>| {
            Ok(call.into_message().0.iter().sum::<i32>().into())
        })
        .method("none", async |_: Request<()>| {
            Ok("nothing".to_owned().into())
        });
    let instance = load(&format!("dubbo: {{{TRIPLE}, {QOS}, {HASTY}}}"))
        .provide(service)
        .build()
        .expect("valid");
    instance.start().await.expect("starts");
    for (call, want) in [
        ("add(1,2)", "result: 3\n"),
        ("all([4,5,6])", "result: 15\n"),
        ("none()", "result: \"nothing\"\n"),
    ] {
        let (status, body) = got(
            port(&instance),
            &format!("/invoke?x=com.example.Sums.{call}"),
        )
        .await;
        assert!(status == 200 && body.starts_with(want), "{call}: {body}");
    }
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn calls_are_counted_by_method() {
    let probe = Probe::new();
    let (instance, greeter) = shop(&probe).await;
    for name in ["a", "b", "nobody"] {
        let answered = greeter
            .greet(super::rig::request(name))
            .attach("token", "hush")
            .await;
        assert_eq!(answered.is_ok(), name != "nobody");
    }
    let (status, table) = got(port(&instance), "/count/greet.Greeter:2").await;
    assert_eq!(status, 200, "{table}");
    let row = table
        .lines()
        .find(|line| line.starts_with("|Greet "))
        .expect("a row");
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[1..5], ["Greet", "3", "1", "0"], "{table}");
    for (path, status, want) in [
        ("/count?a=greet.Greeter:2&b=Greet&c=2", 200, "|Greet "),
        ("/count?a=greet.Greeter:2&b=99", 400, "1 to 20 times"),
        (
            "/count?a=greet.Greeter:2&b=None",
            404,
            "has no method `None`",
        ),
        ("/count", 400, "it takes a service"),
    ] {
        let (got_status, body) = got(port(&instance), path).await;
        assert!(
            got_status == status && body.contains(want),
            "{path}: {got_status} {body}"
        );
    }
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn what_is_set_is_shown_without_secrets_and_with_where_it_is_written() {
    let yaml = format!(
        "dubbo:\n  application: {{name: shop, qos-enable: true, qos-port: 0, qos-token: hush}}\n  {TRIPLE}\n  \
         registries: {{r: {{protocol: memory, address: 'memory://joe:hush@here', password: hush}}}}\n"
    );
    let instance = load(&yaml).provide(named("x")).build().expect("valid");
    instance.start().await.expect("starts");
    let at = port(&instance);
    let (status, text) = got(at, "/config").await;
    assert_eq!(status, 200);
    assert!(
        text.contains("dubbo.application.name = shop (dubbo.yaml:2:"),
        "{text}"
    );
    assert!(text.contains("dubbo.registries.r.password = ***"), "{text}");
    assert!(!text.contains("hush"), "{text}");
    let json = get(at, "/getConfig/ApplicationConfig").await;
    assert!(
        json.head.contains("content-type: application/json"),
        "{}",
        json.head
    );
    let value: serde_json::Value = serde_json::from_str(&json.body).expect("JSON");
    assert_eq!(value["dubbo.application.name"]["value"], "shop");
    assert_eq!(value["dubbo.application.qos-token"]["value"], "***");
    assert!(value.get("dubbo.registries.r.address").is_none());
    assert_eq!(
        got(at, "/getConfig?a=registries&b=s").await,
        (404, "nothing is set at `dubbo.registries.s`".to_owned())
    );
    instance.shutdown(Duration::ZERO).await;
}

#[allow(clippy::too_many_lines, reason = "it is one table")]
#[tokio::test]
async fn what_there_is_not_is_said_plainly() {
    let probe = Probe::new();
    let (instance, _greeter) = shop(&probe).await;
    let at = port(&instance);
    for (request, status, want) in [
        (
            "GET /lss",
            404,
            "there is no command `lss` (did you mean `ls`?)",
        ),
        (
            "GET /enableSimpleProfiler",
            404,
            "of Dubbo Java is not supported: a call has no thread of its own",
        ),
        (
            "GET /ls/a",
            400,
            "it takes at most 0 arguments, and `a` is one more",
        ),
        ("GET /offline/(", 400, "`(` is no pattern of services"),
        ("GET /offline/no.Such", 404, "service not found"),
        ("GET /help/ls", 200, "|PERMISSION|PROTECTED"),
        ("GET /version", 200, "dubbo version \"dubbo-rust-"),
        ("GET /ps?x=-l", 200, "tri://127.0.0.1:"),
        ("GET /ps/7", 404, "nothing is served at 7; the ports are "),
        ("GET /ps/x", 400, "it takes `-l` and a port, not `x`"),
        (
            "GET /ps?a=1&b=2",
            400,
            "it takes one port, and `2` is another",
        ),
        ("GET /loggerInfo", 404, "the program logs by itself"),
        (
            "GET /switchLogger/log4j",
            404,
            "there is one logger, `tracing`",
        ),
        (
            "GET /getAddress/greet.Greeter",
            200,
            "greet.Greeter:2 from registry probe://here: 1 providers\n  tri://",
        ),
        (
            "GET /getAddress/a.B",
            404,
            "this program has no client of `a.B`; it has those of greet.Greeter:2",
        ),
        (
            "GET /getRouterSnapshot/greet.Greeter:2",
            200,
            "greet.Greeter:2 from registry probe://here\n",
        ),
        (
            "GET /explain/greet.Greeter:2",
            200,
            "greet.Greeter:2 can be called",
        ),
        (
            "GET /explain?x=a.B",
            200,
            "a.B has no provider that can be called",
        ),
        ("GET /metrics", 404, "metrics.enable: true"),
        ("GET /metrics/other", 404, "this program is `shop`"),
        (
            "GET /publishMetadata",
            404,
            "nothing is registered with the application",
        ),
        (
            "GET /publishMetadata/x",
            400,
            "expected a whole number, found `x`",
        ),
        (
            "GET /publishMetadata/99999999",
            400,
            "at most 86400 seconds",
        ),
        (
            "GET /publishMetadata/3600",
            200,
            "will execute in 3600 seconds",
        ),
        ("GET /loglevel", 404, "the program logs by itself"),
        ("GET /loglevel/debug", 400, "with POST or PUT"),
        ("POST /loglevel", 400, "it takes a level"),
        ("GET /switchLogLevel/loud", 400, "expected a level"),
        ("GET /switchLogLevel/6", 400, "errors are always logged"),
        (
            "GET /shutdown/soon",
            400,
            "expected a whole number, found `soon`",
        ),
        ("GET /favicon.ico", 404, "there is no picture"),
        ("GET /%ff", 400, "the path is no text"),
    ] {
        let answer = ask(at, request, "", "").await;
        assert_eq!(answer.status, status, "{request}: {}", answer.body);
        assert!(answer.body.contains(want), "{request}: {}", answer.body);
    }
    instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn a_port_that_is_taken_is_a_warning_unless_it_is_checked() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("free");
    let port = taken.local_addr().expect("bound").port();
    for (check, starts) in [("false", true), ("true", false)] {
        let yaml = format!(
            "dubbo: {{{TRIPLE}, {HASTY}, application: {{qos-enable: true, qos-port: {port}, qos-check: {check}}}}}"
        );
        let instance = load(&yaml).provide(named("x")).build().expect("valid");
        let started = instance.start().await;
        assert_eq!(started.is_ok(), starts);
        if let Err(error) = started {
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("cannot listen to operators at 127.0.0.1:{port}: ")),
                "{text}"
            );
            assert!(instance.exported().is_empty());
        }
        instance.shutdown(Duration::ZERO).await;
    }
}

#[tokio::test]
async fn an_operator_ends_the_program() {
    let instance = load(&format!("dubbo: {{{TRIPLE}, {QOS}, {HASTY}}}"))
        .extension::<dyn Registry>("probe", Probe::new().plugin())
        .provide(named("x"))
        .build()
        .expect("valid");
    let serving = tokio::spawn({
        let instance = instance.clone();
        async move { instance.serve().await }
    });
    dubbo_test::soon("the start", async {
        while instance.exported().is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (status, text) = got(port(&instance), "/shutdown?t=-t&ms=5000").await;
    assert_eq!(
        (status, text.as_str()),
        (200, "OK: shutting down within 5s")
    );
    let served = dubbo_test::soon("the end", serving).await;
    served.expect("no panic").expect("a good end");
}
