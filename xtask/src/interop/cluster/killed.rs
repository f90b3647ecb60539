//! Providers that die while they are called.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    failure::Failure,
    interop::route::{Party, Protocol},
};

use super::{
    caller::Wish,
    findings::Findings,
    scene::{Peers, Role, Scene},
};

pub(super) const ROWS: [&str; 4] = [
    "killed-strict-tri",
    "killed-strict-dubbo",
    "killed-compat-tri",
    "killed-compat-dubbo",
];

/// Three providers, of which one is killed under calls of either mode that may be repeated. None of the calls may fail,
/// while of others beside them, which are not tried again, some have to: else nothing was under way.
pub(super) fn play(peers: &Peers, party: Party, findings: &mut Findings) -> Result<(), Failure> {
    let scene = Scene::start(peers, "killed", party)?;
    let names = ["one", "two", "three"];
    let [_stays, second, third] = scene.providers(names.map(|name| Role::new(party, name)))?;
    for (mode, mut victim, names) in [
        ("strict", second, &names[..]),
        ("compat", third, &["one", "three"]),
    ] {
        let begin = |protocol: Protocol, name: &str, mode: &str, reference: Value| {
            let name = format!("{name}-{protocol}");
            let mut caller = scene.caller(&name, &reference, &json!({"mode": mode}))?;
            caller.until_answered_by(&Wish::hello(), names)?;
            let wish = Wish::sleep(CALL).during(WATCHED).at_once(20);
            caller.begin(&wish.over(protocol))?;
            Ok::<_, Failure>(caller)
        };
        let mut callers = Vec::new();
        for protocol in Protocol::ALL {
            let idempotent = json!({"params": {"idempotent": "true"}});
            let caller = begin(protocol, mode, mode, idempotent)?;
            let once = begin(
                protocol,
                &format!("{mode}-once"),
                "compat",
                json!({"retries": 0}),
            )?;
            callers.push((protocol, caller, once));
        }
        victim.await_held(UNDER_WAY)?;
        victim.kill()?;
        for (protocol, caller, once) in callers {
            let mut problems = caller.hear()?.failures("while a provider died");
            if once.hear()?.errors.is_empty() {
                problems.push("no call was under way to the provider that died".to_owned());
            }
            findings.add(&format!("killed-{mode}-{protocol}"), problems);
        }
    }
    Ok(())
}

/// How long a provider takes for each call: so that it has some under way whenever it dies.
const CALL: Duration = Duration::from_millis(100);
/// Longer than it takes to start four callers one after the other, and to see one go.
const WATCHED: Duration = Duration::from_secs(5);
/// After how many calls of all callers the provider dies: more than all of them have under way at once.
const UNDER_WAY: usize = 100;
