//! Rules that an operator sets in the config center while calls are under way: `docs/spec/cluster.md` §4.1.

use std::time::Duration;

use serde_json::json;

use crate::{
    failure::Failure,
    interop::{
        peer::Heard,
        route::{Party, Protocol},
    },
    process::Stopwatch,
};

use super::{
    caller::{Caller, Wish},
    findings::Findings,
    scene::{APPLICATION, Peers, Role, Scene},
};

pub(super) const ROWS: [&str; 2] = ["rule-condition", "rule-tag"];

/// A provider in Go and one in Java, of one application. Rules steer all calls to the one of `party`.
pub(super) fn play(peers: &Peers, party: Party, findings: &mut Findings) -> Result<(), Failure> {
    let scene = Scene::start(peers, "rules", party)?;
    let tag_router = format!("{APPLICATION}.tag-router");
    scene.make_room(&[CONDITION_ROUTER, &tag_router])?;
    let roles = [Role::new(Party::Go, "go"), Role::new(Party::Java, "java")];
    let [go, java] = scene.providers(roles)?;
    let (target, target_tri, name) = if party == Party::Java {
        (java.dubbo, java.tri, "java")
    } else {
        (go.dubbo, go.tri, "go")
    };
    let mut caller = scene.caller("caller", &json!({}), &json!({}))?;
    caller.until_answered_by(&Wish::hello(), &["go", "java"])?;
    let condition = format!(
        "configVersion: v3.0\nscope: service\nforce: true\nenabled: true\nruntime: true\npriority: 1\n\
         key: {SERVICE}\nconditions:\n  - => port={target}\n"
    );
    let tag = format!(
        "configVersion: v3.0\nforce: true\nenabled: true\nruntime: true\npriority: 1\nkey: {APPLICATION}\n\
         tags:\n  - name: steered\n    addresses:\n      - 0.0.0.0:{target_tri}\n"
    );
    let hello = Wish::hello().calls(20).at_once(4);
    for (row, key, text, wish) in [
        (
            "rule-condition",
            CONDITION_ROUTER,
            &condition,
            hello.clone().over(Protocol::Dubbo),
        ),
        (
            "rule-tag",
            &tag_router,
            &tag,
            hello.attach("dubbo.tag", "steered").over(Protocol::Tri),
        ),
    ] {
        findings.add(row, steer(&scene, &mut caller, (key, text), &wish, name)?);
    }
    Ok(())
}

/// Sets a rule under calls, and expects that they all go to `name` soon.
fn steer(
    scene: &Scene<'_>,
    caller: &mut Caller,
    (key, text): (&str, &str),
    wish: &Wish,
    name: &str,
) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    let before = caller.make(wish)?;
    problems.extend(before.problems("before the rule", &["go", "java"]));
    let writer = scene.set_rule(key, text)?;
    let writing = Stopwatch::start();
    loop {
        problems.extend(caller.make(wish)?.failures("while the rule is set"));
        match writer.next(Duration::ZERO) {
            Heard::Line(line) if line.contains("mZxid") => break,
            Heard::End => return Err(writer.failure("did not set the rule")),
            Heard::Line(_) | Heard::Silence if writing.elapsed() < WRITTEN => {}
            Heard::Line(_) | Heard::Silence => {
                return Err(writer.failure("did not set the rule in time"));
            }
        }
    }
    let set = Stopwatch::start();
    loop {
        let account = caller.make(wish)?;
        problems.extend(account.failures("when the rule was set"));
        if account.by.keys().eq([name]) {
            break;
        }
        if set.elapsed() > STEERED {
            problems.push(format!(
                "{STEERED:?} after the rule was set calls are answered by {:?}",
                account.by
            ));
            return Ok(problems);
        }
    }
    let after = caller.make(&wish.clone().calls(300))?;
    problems.extend(after.problems("after the rule", &[name]));
    Ok(problems)
}

const SERVICE: &str = "org.apache.dubbo.interop.UserService";
const CONDITION_ROUTER: &str = "org.apache.dubbo.interop.UserService::.condition-router";
/// How long ZooKeeper's own command line may take.
const WRITTEN: Duration = Duration::from_secs(30);
/// How long a rule may take to count.
const STEERED: Duration = Duration::from_secs(2);
