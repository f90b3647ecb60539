//! What scripts do to a list, and what they cannot do.

use std::sync::Arc;

use dubbo_core::{
    cluster::{Candidates, Cluster, Directory, NodeList},
    explain::Step,
    extension::Extensions,
    invocation::Invocation,
    status::Status,
    url::Url,
};
use tokio::sync::watch;

use super::super::{
    RouterChain,
    tests::{Rig, call, call_with, providers},
};
use crate::testing::{Answer, Fixed, Scripted, asking, join, ports};

const KEY: &str = "users.script-router";

const NODES: [&str; 3] = ["region=hz", "region=sh", "region=hz"];

fn rule(script: &str) -> String {
    let script = script.replace('\n', "\n  ");
    format!("key: users\ntype: javascript\nscript: |\n  {script}\n")
}

fn route(script: &str, call: &Invocation) -> Vec<u16> {
    let rig = Rig::of("").say(KEY, &rule(script));
    assert!(super::Rule::parse("k", &rule(script)).is_ok(), "{script}");
    rig.route("script", &NODES, call)
}

#[test]
fn scripts_for_dubbo_go_and_for_java_choose_among_invokers() {
    for (script, want) in [
        (
            "invokers.filter(invoker => invoker.url.param('region') === 'hz')",
            &[1, 3][..],
        ),
        // As one writes for dubbo-go.
        (
            "(function route(invokers, invocation, context) {
  var kept = [];
  for (var i = 0; i < invokers.length; i++) {
    var url = invokers[i].GetURL();
    if (url.Ip === '10.0.0.1' && url.Port !== '2') {
      url.Ip = '127.0.0.1';
      kept.push(invokers[i]);
    }
  }
  return kept;
}(invokers, invocation, context));",
            &[1, 3],
        ),
        // As one writes for Dubbo Java.
        (
            "function route(invokers, invocation, context) {
  var kept = new java.util.ArrayList(invokers.size());
  for (i = 0; i < invokers.size(); i++) {
    if (invokers.get(i).getUrl().getPort() == 2) kept.add(invokers.get(i));
  }
  return kept;
}
route(invokers, invocation, context);",
            &[2],
        ),
        ("[]", &[]),
        ("[invokers[2], invokers[0], invokers[2]]", &[1, 3]),
        (
            "invocation.getMethodName() === 'First' ? [invokers[0]] : invokers",
            &[1],
        ),
        ("context['user'] === 'u1' ? [invokers[1]] : invokers", &[2]),
        (
            "invocation.getAttachment('user') === 'u1' ? [invokers[1]] : invokers",
            &[2],
        ),
        (
            "invokers.filter(i => i.url.address === '10.0.0.1:3' && i.url.protocol === 'tri')",
            &[3],
        ),
    ] {
        assert_eq!(route(script, &call(&[("user", "u1")])), want, "{script}");
    }
    let by_argument = "invocation.arguments[0] === 'x' ? [invokers[0]] : invokers";
    assert_eq!(route(by_argument, &call_with(&["x"])), [1]);
}

#[test]
fn cluster_t33_a_script_that_fails_changes_nothing() {
    for (script, why) in [
        (
            "(function () { while (true) {} })()",
            "it was stopped after 1000000 steps or 5 ms",
        ),
        ("(function f() { return f() + f(); })()", "stack"),
        (
            "(function () { let a = []; while (true) a.push('x'.repeat(1e6) + a.length); })()",
            "",
        ),
        ("new Array(1e8).fill('x').join('y')", ""),
        ("[{}]", "none of the invokers"),
        ("[null]", "none of the invokers"),
        ("[1]", "none of the invokers"),
        (
            "(function () { let a = []; a.length = 4e9; return a; })()",
            "none of the invokers",
        ),
        ("invokers[0]", "has to return an array"),
        ("42", "has to return an array"),
        ("undefinedName", "undefinedName"),
        ("require('fs')", "require"),
        ("std.exit(1)", "std"),
        (
            "(function () { throw new Error('by itself'); })()",
            "by itself",
        ),
        (
            "globalThis.last = globalThis.last ?? invokers, globalThis.last.concat([0])",
            "none of",
        ),
    ] {
        let started = tokio::time::Instant::now();
        assert_eq!(route(script, &call(&[])), [1, 2, 3], "{script}");
        let rig = Rig::of("").say(KEY, &rule(script));
        let told = rig.explain("script", &NODES, &call(&[])).expect("says why");
        assert!(
            told.contains("failed, which changes nothing"),
            "{script}: {told}"
        );
        assert!(told.contains(why), "{script}: {told}");
        assert!(started.elapsed().as_secs() < 5, "{script}");
    }
}

#[test]
fn an_invoker_that_was_kept_from_a_call_before_is_foreign() {
    let script = "(globalThis.first ??= invokers)";
    let rig = Rig::of("").say(KEY, &rule(script));
    let router = rig.router("script");
    let list = providers(&NODES);
    router.listed(list.list());
    let one = |candidates: &Candidates| {
        let mut left = candidates.narrowed(|node| node.said.port() != Some(2));
        router.route(&mut left, &rig.consumer, &call(&[]));
        ports(&left)
    };
    assert_eq!(one(&list), [1, 3], "its own");
    let told = router
        .explain(&list, &rig.consumer, &call(&[]))
        .expect("says why");
    assert!(told.contains("none of the invokers"), "{told}");
    assert_eq!(one(&list), [1, 3], "the engine was made anew");
}

#[test]
fn case_112_a_text_that_is_no_script_leaves_the_last_good_one() {
    let rig = Rig::of("").say(KEY, &rule("[invokers[0]]"));
    let (list, router) = (providers(&NODES), rig.router("script"));
    router.listed(list.list());
    let left = || {
        let mut candidates = list.clone();
        router.route(&mut candidates, &rig.consumer, &call(&[]));
        ports(&candidates)
    };
    for bad in [
        "type: groovy\nscript: '[invokers[1]]'".to_owned(),
        "script: [1]".to_owned(),
        "type: javascript".to_owned(),
        rule("function ("),
        rule("return invokers"),
        rule("}; while (true) {} {"),
    ] {
        rig.book.put(KEY, Some(&bad));
        assert_eq!(left(), [1], "{bad}");
        assert!(super::Rule::parse("k", &bad).is_err(), "{bad}");
    }
    rig.book.put(KEY, Some(&rule("[invokers[1]]")));
    assert_eq!(left(), [2]);
    rig.book
        .put(KEY, Some("enabled: false\nscript: '[invokers[1]]'"));
    assert_eq!(left(), [1, 2, 3]);
    rig.book.put(KEY, None);
    assert!(router.is_idle(), "a rule that is gone does nothing");
}

#[test]
fn what_is_wrong_with_a_rule_is_told_with_its_place() {
    for (rule, want) in [
        ("script: ''", "k:1:1: script: a script rule needs a script"),
        (
            "type: lua\nscript: x",
            "k:1:1: type: `lua` cannot be run; scripts are `javascript`",
        ),
        (
            "enabled: true\nscript: '('",
            "k:2:1: script: it cannot be read: ",
        ),
    ] {
        let error = super::Rule::parse("k", rule).expect_err(rule).to_string();
        assert!(error.contains(want), "{error}");
    }
    assert!(super::Rule::parse("k", "enabled: false").is_ok());
}

#[test]
fn many_threads_run_one_script_at_a_time_each() {
    let rig = Rig::of("").say(
        KEY,
        &rule("invokers.filter(i => i.url.param('region') === 'hz')"),
    );
    let (list, router) = (providers(&NODES), rig.router("script"));
    router.listed(list.list());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let mut candidates = list.clone();
                    router.route(&mut candidates, &rig.consumer, &call(&[]));
                    assert_eq!(ports(&candidates), [1, 3]);
                }
            });
        }
    });
}

/// A directory that lists through routers.
struct Routed {
    inner: Arc<Fixed>,
    routers: RouterChain,
}

#[async_trait::async_trait]
impl Directory for Routed {
    fn list(&self, invocation: &Invocation) -> Result<Candidates, Status> {
        let mut candidates = self.inner.list(invocation)?;
        let routed = self
            .routers
            .route(&mut candidates, self.consumer_url(), invocation);
        routed.map_err(|emptied| Status::unavailable(emptied.to_string()))?;
        Ok(candidates)
    }

    fn nodes(&self) -> Arc<NodeList> {
        self.inner.nodes()
    }

    fn why_unavailable(&self) -> Option<String> {
        None
    }

    fn explain(&self, _: &Invocation) -> Vec<Step> {
        Vec::new()
    }

    fn consumer_url(&self) -> &Url {
        self.inner.consumer_url()
    }

    fn origin(&self) -> String {
        "a test".to_owned()
    }

    fn availability(&self) -> watch::Receiver<bool> {
        self.inner.availability()
    }

    async fn close(&self) {}
}

#[tokio::test(start_paused = true)]
async fn cluster_t13_attempts_behind_a_script_go_to_distinct_nodes() {
    let failing = || Answer::Fail(Status::unavailable("down").not_processed());
    let nodes: Vec<_> = (1..=3)
        .map(|port| {
            let url = crate::testing::url(port).with_param("application", "users");
            Scripted::of(url, [failing()])
        })
        .collect();
    let rig = Rig::of("").say(KEY, &rule("invokers.map(invoker => invoker)"));
    let routers = rig.chain();
    let inner = Fixed::of(&nodes);
    routers.listed(&inner.nodes());
    let directory = Arc::new(Routed { inner, routers });
    let extensions = Extensions::linked().expect("no duplicates");
    let cluster = extensions.create::<dyn Cluster>("failover", &rig.consumer);
    let invoker = join(
        &*cluster.expect("linked"),
        directory,
        asking(&[("retries", "2")]),
    );
    let failed = invoker.invoke(call(&[])).await;
    assert!(failed.is_err());
    let calls: Vec<_> = nodes.iter().map(|node| node.calls().len()).collect();
    assert_eq!(calls, [1, 1, 1]);
}
