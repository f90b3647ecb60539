//! Where rules send calls, from the text of a configuration to the wire.

use std::{collections::BTreeSet, sync::Arc};

use dubbo::{
    Code, Instance, Invocation, Url,
    config::ConfiguredRule,
    route,
    spi::cluster::{Candidates, Router},
};
use examples::greet::GreeterClient;

use super::rig::{greet, load, named, provide, request, url_of};

/// Three providers of the application `users`: in hz, in sh, and in hz with the tag `gray`.
struct Users {
    _instances: Vec<Instance>,
    urls: String,
}

impl Users {
    async fn start() -> Self {
        let mut instances = Vec::new();
        let mut urls = Vec::new();
        for (name, params) in [
            ("hz", "region=hz"),
            ("sh", "region=sh"),
            ("gray", "region=hz&dubbo.tag=gray"),
        ] {
            let instance = provide("", named(name)).await;
            urls.push(format!("{}/?application=users&{params}", url_of(&instance)));
            instances.push(instance);
        }
        Self {
            _instances: instances,
            urls: urls.join(";"),
        }
    }

    /// A consumer of the application `shop`, with these sections and these options of its reference.
    fn consumer(&self, sections: &str, options: &str) -> String {
        let urls = &self.urls;
        format!(
            "dubbo: {{application: {{name: shop}}, {sections} consumer: {{references: {{GreeterClient: {{url: '{urls}', \
             loadbalance: roundrobin, {options}}}}}}}}}"
        )
    }
}

async fn refer(yaml: &str) -> (Instance, GreeterClient) {
    let instance = load(yaml).build().expect("valid");
    let greeter = instance.refer().await.expect("refers");
    (instance, greeter)
}

/// Who answers calls with these attachments.
async fn who(greeter: &GreeterClient, attachments: &[(&'static str, &'static str)]) -> String {
    let mut seen = BTreeSet::new();
    for _ in 0..6 {
        let call = attachments
            .iter()
            .fold(greeter.greet(request("")), |call, &(name, value)| {
                call.attach(name, value)
            });
        match call.await {
            Ok(response) => seen.insert(response.message().greeting.clone()),
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                seen.insert("nobody".to_owned())
            }
        };
    }
    seen.into_iter().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn an_attachment_or_the_reference_says_the_tag_of_a_call() {
    let users = Users::start().await;
    for (options, attachments, want) in [
        ("", &[][..], "hz sh"),
        ("", &[("dubbo.tag", "gray")], "gray"),
        ("", &[("dubbo.tag", "red")], "hz sh"),
        (
            "",
            &[("dubbo.tag", "red"), ("dubbo.force.tag", "true")],
            "nobody",
        ),
        ("tag: gray", &[], "gray"),
        ("tag: red, force.tag: true", &[], "nobody"),
        (
            "tag: red, force.tag: true",
            &[("dubbo.tag", "gray")],
            "gray",
        ),
        ("params: {dubbo.tag: gray}", &[], "gray"),
        (
            "params: {router: '-tag'}",
            &[("dubbo.tag", "gray")],
            "gray hz sh",
        ),
    ] {
        let (_instance, greeter) = refer(&users.consumer("", options)).await;
        assert_eq!(
            who(&greeter, attachments).await,
            want,
            "{options} {attachments:?}"
        );
    }
}

#[tokio::test]
async fn a_program_begins_with_its_own_rules_until_somebody_says_others() {
    let users = Users::start().await;
    let routers = "router: [
        {scope: service, key: greet.Greeter, conditions: ['region=$region & method=Greet => region=sh']},
        {scope: service, key: greet.Greeter, conditions: ['method=Greet => region=sh']},
        {scope: application, key: users, tags: [{name: gray, match: [{key: region, value: {exact: sh}}]}]}
    ],";
    let (instance, greeter) = refer(&users.consumer(routers, "")).await;
    assert_eq!(who(&greeter, &[("dubbo.tag", "gray")]).await, "sh");
    let key = "greet.Greeter::.condition-router";
    let tags = "users.tag-router";
    instance.rules().put(tags, Some("enabled: false"));
    assert_eq!(who(&greeter, &[]).await, "sh");
    instance
        .rules()
        .put(key, Some("conditions: ['=> region!=sh']"));
    assert_eq!(who(&greeter, &[]).await, "hz");
    instance.rules().put(key, Some("conditions: ['=>=']"));
    instance.rules().put(key, Some("conditions: ['a==b']"));
    assert_eq!(who(&greeter, &[]).await, "hz", "the last good one stays");
    instance.rules().put(key, None);
    assert_eq!(who(&greeter, &[]).await, "sh", "those of the program again");
}

#[tokio::test]
async fn a_call_that_rules_leave_nobody_for_says_which_rule() {
    let users = Users::start().await;
    let (instance, greeter) = refer(&users.consumer("", "")).await;
    let rule = "force: true\nconditions: ['method=Greet => region=bj']";
    instance.rules().put("shop.condition-router", Some(rule));
    let status = greet(&greeter, "").await.expect_err("nobody");
    let want = "router `condition-app` left none of 2 for this call: shop.condition-router (code): `method=Greet => \
                region=bj` -> 0";
    assert!(status.to_string().contains(want), "{status}");
}

#[tokio::test]
async fn an_explanation_says_what_each_router_leaves_for_a_call() {
    let users = Users::start().await;
    let (instance, _greeter) = refer(&users.consumer("", "")).await;
    let rule = "force: true\nconditions: ['method=Greet => region=bj', 'attachments[user]=vip => region=sh']";
    instance.rules().put("shop.condition-router", Some(rule));
    // Of no call in particular, and of two.
    let explained = instance.explain("greet.Greeter").await.expect("a key");
    let text = explained.to_string();
    assert!(explained.is_available(), "{text}");
    assert!(text.contains("router: `tag` leaves 2 of 3"), "{text}");
    assert!(
        text.contains("available: all of 2 can be reached -> 2"),
        "{text}"
    );

    let greet = route::Request::new("greet.Greeter", "Greet");
    let explained = instance.explain_call(&greet).await.expect("asked");
    let text = explained.to_string();
    assert!(!explained.is_available(), "{text}");
    let want = "router: `condition-app` leaves 0 of 2: shop.condition-router (code): `method=Greet => region=bj` -> 0";
    let marked = text.lines().find(|line| line.ends_with("<- here"));
    assert!(marked.is_some_and(|line| line.contains(want)), "{text}");

    let vip = route::Request::new("greet.Greeter", "Wave").attachment("user", "vip");
    let text = instance
        .explain_call(&vip)
        .await
        .expect("asked")
        .to_string();
    assert!(text.contains("`condition-app` leaves 1 of 2"), "{text}");
}

#[tokio::test]
async fn rules_of_the_configuration_that_are_none_are_refused_where_they_stand() {
    let errors = |yaml: &str| {
        let error = load(yaml).build().expect_err("refused");
        error.to_string()
    };
    let yaml =
        "dubbo:\n  router:\n    - {scope: service, key: a.B, conditions: ['=> a=1', 'a==b']}\n";
    let error = errors(yaml);
    let want = ":3:57: dubbo.router[0].conditions[1]: `==b` cannot stand where it does in `a==b`";
    assert!(error.contains(want), "{error}");
    let script = "dubbo: {router: [{scope: application, key: a, type: javascript, script: '[]'}]}";
    if cfg!(feature = "script") {
        assert!(load(script).build().is_ok());
    } else {
        let error = errors(script);
        assert!(error.contains("add the feature `script`"), "{error}");
    }
    let rule = ConfiguredRule::new("a.tag-router", "tags: [{}]");
    let built = Instance::builder().router([rule]).build();
    let error = built.expect_err("refused").to_string();
    assert!(
        error.contains("dubbo.router: a.tag-router:1:8: tags[0].name: a tag needs a name"),
        "{error}"
    );
}

/// Sends calls to the last one.
struct Last;

impl Router for Last {
    fn priority(&self) -> i32 {
        1_000
    }

    fn route(&self, candidates: &mut Candidates, _consumer: &Url, _invocation: &Invocation) {
        let last = candidates.iter().last().map(|node| node.id);
        candidates.retain(|node| Some(node.id) == last);
    }
}

#[tokio::test]
async fn a_router_of_the_program_stands_in_the_chains_that_name_it() {
    let users = Users::start().await;
    for (options, want) in [
        ("", "hz sh"),
        ("params: {router: last}", "sh"),
        ("params: {router: '-tag, last'}", "gray"),
    ] {
        let builder = load(&users.consumer("", options));
        let instance = builder
            .extension::<dyn Router>("last", |_| Ok(Arc::new(Last)))
            .build()
            .expect("valid");
        let greeter: GreeterClient = instance.refer().await.expect("refers");
        assert_eq!(who(&greeter, &[]).await, want, "{options}");
    }
    let instance = load(&users.consumer("", "params: {router: lost}"))
        .build()
        .expect("valid");
    let error = instance
        .refer::<GreeterClient>()
        .await
        .expect_err("is not linked");
    assert!(
        error.to_string().contains("no router is called `lost`"),
        "{error}"
    );
}
