//! What providers see of attempts: `docs/spec/cluster.md` §7.4.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;

use crate::{
    failure::Failure,
    interop::route::{Party, Protocol},
};

use super::{
    caller::Wish,
    findings::Findings,
    scene::{Peers, Role, Scene},
};

pub(super) const ROWS: [&str; 6] = [
    "first-compat-tri",
    "first-compat-dubbo",
    "attempts-compat-tri",
    "attempts-compat-dubbo",
    "attempts-strict-tri",
    "attempts-strict-dubbo",
];

/// One provider, whose every attempt runs out of time.
pub(super) fn play(peers: &Peers, party: Party, findings: &mut Findings) -> Result<(), Failure> {
    let scene = Scene::start(peers, "attempts", party)?;
    let [provider] = scene.providers([Role::new(party, "one")])?;
    for mode in [Mode::Compat, Mode::Strict] {
        let name = mode.name();
        let reference = json!({"timeout": "400ms", "params": {"idempotent": "true"}});
        let mut caller = scene.caller(name, &reference, &json!({"mode": name}))?;
        caller.until_answered_by(&Wish::hello(), &["one"])?;
        for protocol in Protocol::ALL {
            if mode == Mode::Compat {
                let account = caller.make(&Wish::attachments().over(protocol))?;
                let mut problems = account.failures("a call");
                problems.extend(mode.problems(protocol, &[account.seen]));
                findings.add(&format!("first-{name}-{protocol}"), problems);
            }
            let wish = Wish::sleep(TOO_LONG).over(protocol);
            let account = caller.make(&wish.attach("interop-tell", "yes"))?;
            let seen: Vec<_> = provider.held(QUIET).into_iter().map(|it| it.seen).collect();
            let mut problems = Vec::new();
            if seen.len() != ATTEMPTS {
                problems.push(format!(
                    "{ATTEMPTS} attempts should be made, and the provider saw {}",
                    seen.len()
                ));
            }
            if !account
                .errors
                .keys()
                .all(|error| error.starts_with("deadline_exceeded: "))
                || account.errors.is_empty()
            {
                problems.push(format!(
                    "the call should run out of time, and ended with {:?}",
                    account.errors
                ));
            }
            problems.extend(mode.problems(protocol, &seen));
            findings.add(&format!("attempts-{name}-{protocol}"), problems);
        }
    }
    Ok(())
}

/// The rules that calls go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Compat,
    Strict,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Compat => "compat",
            Self::Strict => "strict",
        }
    }

    /// What is wrong with the attachments of the attempts of one call, each as `name: value`.
    fn problems(self, protocol: Protocol, attempts: &[Vec<String>]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut ids = Vec::new();
        for (number, lines) in (1..).zip(attempts) {
            let mut seen: BTreeMap<&str, &str> = lines
                .iter()
                .filter_map(|line| line.split_once(": "))
                .filter(|(name, _)| name.starts_with("dubbo-") || *name == PREVIOUS)
                .collect();
            let id = seen.remove("dubbo-request-id");
            ids.extend(id);
            if id.is_some() != (self == Self::Strict) {
                problems.push(format!("attempt {number} has the request id {id:?}"));
            }
            let wanted = self.wanted(protocol, number);
            let wanted: BTreeMap<&str, &str> =
                wanted.iter().map(|(name, it)| (*name, &**it)).collect();
            if seen != wanted {
                problems.push(format!(
                    "attempt {number} should have {wanted:?}, and has {seen:?}"
                ));
            }
        }
        ids.dedup();
        if ids.len() > 1 {
            problems.push(format!("the request id changes: {ids:?}"));
        }
        problems
    }

    /// What attempt `number` carries, but for the id of the request.
    fn wanted(self, protocol: Protocol, number: u32) -> BTreeMap<&'static str, String> {
        let mut wanted = BTreeMap::new();
        if number == 1 {
            return wanted;
        }
        wanted.insert("dubbo-attempt", number.to_string());
        wanted.insert("dubbo-attempt-cause", "ambiguous".to_owned());
        if protocol == Protocol::Tri {
            wanted.insert(PREVIOUS, (number - 1).to_string());
        }
        if self == Self::Strict {
            wanted.insert("dubbo-retry-pool", "default".to_owned());
        }
        wanted
    }
}

/// What gRPC calls the count of attempts before.
const PREVIOUS: &str = "grpc-previous-rpc-attempts";
/// What a call has when nothing is set.
const ATTEMPTS: usize = 3;
const TOO_LONG: Duration = Duration::from_secs(2);
/// How long no attempt may come until none is expected any more: longer than one takes.
const QUIET: Duration = Duration::from_millis(800);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_told_by_what_they_carry() {
        let attempt =
            |lines: &[&str]| -> Vec<String> { lines.iter().map(|&line| line.to_owned()).collect() };
        let first = attempt(&["dubbo-request-id: a", "path: x"]);
        let second = |id: &str| {
            attempt(&[
                &format!("dubbo-request-id: {id}"),
                "dubbo-attempt: 2",
                "dubbo-attempt-cause: ambiguous",
                "dubbo-retry-pool: default",
                "grpc-previous-rpc-attempts: 1",
            ])
        };
        let tri = |attempts: &[Vec<String>]| Mode::Strict.problems(Protocol::Tri, attempts).len();
        assert_eq!(tri(&[first.clone(), second("a")]), 0);
        assert_eq!(tri(&[first.clone(), second("b")]), 1, "another id");
        assert_eq!(tri(&[second("a")]), 1, "a first one with counters");
        assert_eq!(tri(&[first.clone(), first.clone()]), 1, "no counters");
        let over_dubbo = Mode::Strict.problems(Protocol::Dubbo, &[first.clone(), second("a")]);
        assert_eq!(over_dubbo.len(), 1, "{over_dubbo:?}");
        let compat =
            |attempts: &[Vec<String>]| Mode::Compat.problems(Protocol::Tri, attempts).len();
        assert_eq!(compat(&[attempt(&["path: x"])]), 0);
        assert_eq!(compat(&[first]), 1, "an id");
    }
}
