//! `enableRouterSnapshot` and its relatives: the ways of calls through the routers, as operators see them.

use std::time::Duration;

use dubbo::Instance;
use dubbo_test::soon;
use examples::greet::GreeterClient;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    rig::{greet, load, named, provide, request, url_of},
    support::{HASTY, QOS, got, port},
};

/// A program that calls three providers, in hz, in sh, and in hz with the tag `gray`, of which a rule wants those in hz.
struct Shop {
    instance: Instance,
    greeter: GreeterClient,
    /// Where the providers are.
    at: Vec<String>,
    _providers: Vec<Instance>,
}

impl Shop {
    async fn start() -> Self {
        let mut providers = Vec::new();
        for name in ["hz", "sh", "gray"] {
            providers.push(provide(&format!(", {HASTY}"), named(name)).await);
        }
        let at: Vec<_> = providers.iter().map(url_of).collect();
        let urls = format!(
            "{}/?region=hz;{}/?region=sh;{}/?region=hz&dubbo.tag=gray",
            at[0], at[1], at[2]
        );
        let rule = "router: [{scope: service, key: greet.Greeter, conditions: ['method=Greet => region=hz']}]";
        let yaml = format!(
            "dubbo: {{{QOS}, {HASTY}, {rule}, consumer: {{references: {{GreeterClient: {{url: '{urls}'}}}}}}}}"
        );
        let instance = load(&yaml).build().expect("valid");
        let greeter = instance.refer().await.expect("refers");
        Self {
            instance,
            greeter,
            at,
            _providers: providers,
        }
    }

    /// What is to be told of a call with the tag `gray`, or without one.
    fn way(&self, is_gray: bool) -> String {
        let [hz, sh, gray] = &self.at[..] else {
            unreachable!("there are three");
        };
        let (by_tag, chosen) = if is_gray {
            (
                format!(
                    "router `tag` leaves 1 of 3: {gray}\n  router `condition-service` leaves 1 of 1"
                ),
                gray,
            )
        } else {
            (
                format!(
                    "router `tag` leaves 2 of 3: {hz}, {sh}\n  router `condition-service` leaves 1 of 2"
                ),
                hz,
            )
        };
        format!(
            "greet.Greeter Greet\n  listed 3: {hz}, {sh}, {gray}\n  {by_tag}: {chosen}\n  chosen: {chosen}"
        )
    }

    async fn call(&self) {
        assert_eq!(greet(&self.greeter, "").await.expect("answers"), "hz");
    }

    async fn call_gray(&self) {
        let called = self.greeter.greet(request("")).attach("dubbo.tag", "gray");
        let answer = called.await.expect("answers").into_message();
        assert_eq!(answer.greeting, "gray");
    }
}

/// What is told of calls, each without its time.
fn ways(text: &str) -> Vec<&str> {
    let calls = text.split("\n\n");
    let calls = calls.map(|call| {
        let (time, way) = call.split_at("2026-03-01 23:59:07.123: ".len());
        assert!(time.starts_with("20") && time.ends_with(": "), "{call}");
        way
    });
    calls.collect()
}

#[tokio::test]
async fn an_operator_sees_what_each_router_left_to_calls_and_who_got_them() {
    let shop = Shop::start().await;
    let at = port(&shop.instance);
    let get = async |path: &str| got(at, path).await;
    let recent = async || get("/getRecentRouterSnapshot").await.1;

    shop.call().await;
    let nothing = "nothing is recorded: `enableRouterSnapshot` begins it";
    assert_eq!(recent().await, nothing);
    assert_eq!(get("/getEnabledRouterSnapshot").await, (200, String::new()));
    let (status, text) = get("/enableRouterSnapshot/greet.Greeter").await;
    assert_eq!(status, 200, "{text}");
    assert!(text.starts_with("OK. Found service count: 1. "), "{text}");
    assert_eq!(recent().await, "no call has been recorded yet");
    assert_eq!(
        get("/getEnabledRouterSnapshot").await,
        (200, "greet.Greeter".to_owned())
    );
    shop.call().await;
    shop.call_gray().await;
    let text = recent().await;
    assert_eq!(ways(&text), [shop.way(true), shop.way(false)], "{text}");
    let (_, text) = get("/getRecentRouterSnapshot/1").await;
    assert_eq!(ways(&text), [shop.way(true)], "{text}");

    for _ in 0..40 {
        shop.call().await;
    }
    let (_, text) = get("/getRecentRouterSnapshot/1000").await;
    assert_eq!(ways(&text), vec![shop.way(false); 32]);

    let disable = "/disableRouterSnapshot/greet.Greeter";
    let (status, text) = get(disable).await;
    assert_eq!((status, &*text), (200, "OK. Found service count: 1"));
    assert_eq!(recent().await, nothing);
    assert_eq!(get(disable).await.0, 404);
    shop.call().await;
    assert_eq!(recent().await, nothing);
    shop.instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn all_services_are_recorded_until_none_is() {
    let shop = Shop::start().await;
    let at = port(&shop.instance);
    for (path, status, want) in [
        ("/enableRouterSnapshot", 400, "it takes a service, or `*`"),
        (
            "/enableRouterSnapshot/a.B",
            404,
            "this program has no client of `a.B`; it has those of greet.Greeter",
        ),
        ("/enableRouterSnapshot/*", 200, "OK. Found service count: 1"),
        (
            "/getEnabledRouterSnapshot",
            200,
            "* (the first 32 services that are called)",
        ),
        (
            "/disableRouterSnapshot/greet.Greeter",
            404,
            "`greet.Greeter` is recorded as all services are",
        ),
        ("/disableRouterSnapshot", 400, "it takes a service, or `*`"),
        (
            "/getRecentRouterSnapshot/0",
            400,
            "expected a number of calls, 1 or more, found `0`",
        ),
        ("/getRecentRouterSnapshot/x", 400, "found `x`"),
        ("/getEnabledRouterSnapshot/x", 400, "at most 0 arguments"),
    ] {
        let (got_status, text) = got(at, path).await;
        assert_eq!(got_status, status, "{path}: {text}");
        assert!(text.contains(want), "{path}: {text}");
    }
    shop.call().await;
    let (_, text) = got(at, "/getRecentRouterSnapshot").await;
    assert_eq!(ways(&text), [shop.way(false)]);
    let (status, _) = got(at, "/disableRouterSnapshot/*").await;
    assert_eq!(status, 200);
    let (_, text) = got(at, "/getRecentRouterSnapshot").await;
    assert!(text.starts_with("nothing is recorded"), "{text}");
    let (_, text) = got(at, "/disableRouterSnapshot/greet.Greeter").await;
    assert!(
        text.starts_with("`greet.Greeter` is not recorded"),
        "{text}"
    );
    shop.instance.shutdown(Duration::ZERO).await;
}

#[tokio::test]
async fn the_same_is_told_in_lines() {
    let shop = Shop::start().await;
    let mut terminal = TcpStream::connect(port(&shop.instance))
        .await
        .expect("open");
    answer(&mut terminal).await;
    let mut say = async |line: &str| {
        let line = format!("{line}\r\n");
        terminal.write_all(line.as_bytes()).await.expect("room");
        answer(&mut terminal).await
    };
    let text = say("enableRouterSnapshot greet.Greeter").await;
    assert!(text.contains("OK. Found service count: 1"), "{text}");
    shop.call_gray().await;
    assert!(
        say("getEnabledRouterSnapshot")
            .await
            .contains("greet.Greeter\n")
    );
    let text = say("getRecentRouterSnapshot 5").await;
    assert!(text.contains(&shop.way(true)), "{text}");
    let text = say("disableRouterSnapshot *").await;
    assert!(text.contains("OK. Found service count: 1"), "{text}");
    let text = say("getRecentRouterSnapshot").await;
    assert!(text.contains("nothing is recorded"), "{text}");
    shop.instance.shutdown(Duration::ZERO).await;
}

/// What comes until something is asked for.
async fn answer(terminal: &mut TcpStream) -> String {
    let mut seen = Vec::new();
    let reading = async {
        while !seen.ends_with(b"dubbo>") {
            let length = terminal.read_buf(&mut seen).await.expect("it is open");
            assert!(length > 0, "it hangs up: {seen:?}");
        }
    };
    soon("an answer", reading).await;
    String::from_utf8(seen).expect("text").replace("\r\n", "\n")
}
