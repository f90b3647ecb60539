//! `serializeCheckStatus` and `serializeWarnedClasses`: which classes of hessian2 may become Rust types, and which were not
//! to (`dubbo.hessian2`).

use dubbo_hessian2::{CheckMode, ClassPolicy};
use serde_json::json;

use super::super::command::{Answer, Asked, Dialect};

/// How strictly classes are checked, and by which lists.
pub(in crate::admin) fn check_status(asked: &Asked<'_>) -> Answer {
    asked.at_most(0)?;
    let policy = asked.instance()?.class_policy();
    let policy = policy.as_deref();
    // Java's names.
    let status = match policy.map(ClassPolicy::mode) {
        None | Some(CheckMode::Off) => "DISABLE",
        Some(CheckMode::Strict) => "STRICT",
        Some(CheckMode::Warn) => "WARN",
    };
    let allowed = policy.map_or(&[][..], |policy| policy.allowed());
    let denied = policy.map_or(&[][..], |policy| policy.denied());
    Ok(match asked.dialect {
        Dialect::Http => {
            json!({"checkStatus": status, "allowedPrefix": allowed, "disAllowedPrefix": denied})
                .to_string()
        }
        Dialect::Telnet => format!(
            "CheckStatus: {status}\n\n{}\n{}",
            listed("AllowedPrefix", allowed),
            listed("DisAllowedPrefix", denied)
        ),
    })
}

/// The classes that peers have sent objects of although they are in no list, or in the wrong one.
pub(in crate::admin) fn warned_classes(asked: &Asked<'_>) -> Answer {
    asked.at_most(0)?;
    let policy = asked.instance()?.class_policy();
    let logged = policy.map_or_else(Vec::new, |policy| policy.logged());
    let (refused, warned): (Vec<_>, Vec<_>) = logged.into_iter().partition(|(_, refused)| *refused);
    let [refused, warned] = [refused, warned].map(|classes| {
        classes
            .into_iter()
            .map(|(class, _)| class)
            .collect::<Vec<_>>()
    });
    Ok(match asked.dialect {
        Dialect::Http => json!({"warnedClasses": warned, "refusedClasses": refused}).to_string(),
        Dialect::Telnet => format!(
            "{}\n{}",
            listed("WarnedClasses", &warned),
            listed("RefusedClasses", &refused)
        ),
    })
}

fn listed(what: &str, names: &[String]) -> String {
    let mut text = format!("{what}:\n");
    for name in names {
        text.push_str(name);
        text.push('\n');
    }
    text
}
