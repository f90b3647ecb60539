//! Calls of a tag, and providers that have one by their own configuration: `docs/spec/cluster.md` §4.5.

use serde_json::json;

use crate::{
    failure::Failure,
    interop::{
        lines::Account,
        registry::Level,
        route::{Party, Protocol},
    },
};

use super::{
    caller::Wish,
    findings::Findings,
    scene::{Peers, Role, Scene},
};

pub(super) const ROWS: [&str; 8] = [
    "tag-gray-interface",
    "tag-none-interface",
    "tag-unknown-interface",
    "tag-forced-interface",
    "tag-gray-application",
    "tag-none-application",
    "tag-unknown-application",
    "tag-forced-application",
];

/// Tags that travel with an interface, and with an application.
pub(super) fn play(peers: &Peers, party: Party, findings: &mut Findings) -> Result<(), Failure> {
    play_at(Level::Interface, peers, party, findings)?;
    play_at(Level::Application, peers, party, findings)
}

/// Two providers of one application, one of them gray.
fn play_at(
    level: Level,
    peers: &Peers,
    party: Party,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let scene = Scene::start_at(level, peers, "tags", party)?;
    let gray = Role {
        tag: Some("gray"),
        ..Role::new(party, "gray")
    };
    let _providers = scene.providers([Role::new(party, "plain"), gray])?;
    let mut caller = scene.caller("caller", &json!({}), &json!({}))?;
    let hello = |tag: Option<&str>| {
        let hello = Wish::hello().calls(CALLS);
        tag.map_or_else(|| hello.clone(), |tag| hello.clone().attach(TAG, tag))
    };
    caller.until_answered_by(&hello(Some("gray")), &["gray"])?;
    caller.until_answered_by(&hello(None), &["plain"])?;
    for protocol in Protocol::ALL {
        for (row, tag, by) in [
            ("tag-gray", Some("gray"), "gray"),
            ("tag-none", None, "plain"),
            ("tag-unknown", Some(UNKNOWN), "plain"),
        ] {
            let account = caller.make(&hello(tag).over(protocol))?;
            let row = format!("{row}-{level}");
            findings.add(&row, account.problems(&format!("over {protocol}"), &[by]));
        }
        let forced = Wish::hello().attach(TAG, UNKNOWN).attach(FORCE, "true");
        let account = caller.make(&forced.over(protocol))?;
        findings.add(
            &format!("tag-forced-{level}"),
            refusal(&account).map(|it| format!("over {protocol}: {it}")),
        );
    }
    Ok(())
}

/// What is wrong with how a call was refused.
fn refusal(account: &Account) -> Option<String> {
    let is_told = |error: &String| error.starts_with("unavailable: ") && error.contains(UNKNOWN);
    let refused = account.by.is_empty() && account.errors.keys().any(is_told);
    (!refused).then(|| {
        format!(
            "should be refused as unavailable with a text that names the tag, and was answered by {:?}, with errors {:?}",
            account.by, account.errors
        )
    })
}

const CALLS: u64 = 100;
const TAG: &str = "dubbo.tag";
const FORCE: &str = "dubbo.force.tag";
/// A tag that no provider has.
const UNKNOWN: &str = "violet";
