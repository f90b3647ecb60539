//! `getConfig`, `switchLogLevel` and `metrics`.

use std::fmt::Write as _;

use super::super::command::{Answer, Asked, Dialect, Failure};
use crate::{
    config::{LogLevel, Tree},
    instance::Instance,
    logging,
};

/// What files, config center and environment set: JSON over HTTP, lines on a telnet. A section, and the name of one of its
/// entries, narrow it.
pub(in crate::admin) fn get_config(asked: &Asked<'_>) -> Answer {
    asked.at_most(2)?;
    let instance = asked.instance()?;
    let tree = instance.config_tree();
    let mut prefix = "dubbo.".to_owned();
    if let Some(section) = asked.arguments.first() {
        let of_java = SECTIONS
            .iter()
            .find(|(java, _)| java.eq_ignore_ascii_case(section));
        prefix.push_str(of_java.map_or(section.as_str(), |(_, section)| section));
        prefix.push('.');
    }
    if let Some(name) = asked.arguments.get(1) {
        prefix.push_str(name);
        prefix.push('.');
    }
    let text = match asked.dialect {
        Dialect::Http => config_json(&tree, &prefix),
        Dialect::Telnet => config_text(&tree, &prefix),
    };
    if tree.shown().any(|(path, ..)| path.starts_with(&prefix)) || asked.arguments.is_empty() {
        return Ok(text);
    }
    let section = prefix.trim_end_matches('.');
    Err(Failure::NotFound(format!("nothing is set at `{section}`")))
}

/// The keys below `prefix`, one a line, with what may be shown of their values and where they are written.
pub(in crate::admin) fn config_text(tree: &Tree, prefix: &str) -> String {
    let mut text = String::new();
    for (path, value, at) in tree.shown().filter(|(path, ..)| path.starts_with(prefix)) {
        let _ = writeln!(text, "{path} = {} ({at})", value.escape_debug());
    }
    text
}

/// The same as an object: `{"dubbo.application.name": {"value": "x", "at": "dubbo.yaml:3:11"}}`.
pub(in crate::admin) fn config_json(tree: &Tree, prefix: &str) -> String {
    let keys = tree.shown().filter(|(path, ..)| path.starts_with(prefix));
    let object: serde_json::Map<_, _> = keys
        .map(|(path, value, at)| {
            let entry = serde_json::json!({"value": value, "at": at.to_string()});
            (path.to_owned(), entry)
        })
        .collect();
    serde_json::Value::Object(object).to_string()
}

/// Has what is as important as the first argument be logged, and what is more so.
pub(in crate::admin) fn switch_log_level(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    set_log_level(asked.argument(0, "a level: trace, debug, info, warn or error")?)
}

/// The level by its name, or by the number that Dubbo Java has for it.
pub(in crate::admin) fn set_log_level(text: &str) -> Answer {
    let found = LEVELS
        .iter()
        .find(|(names, _)| names.iter().any(|name| name.eq_ignore_ascii_case(text)));
    let Some((names, level)) = found else {
        return Err(Failure::Bad(format!(
            "expected a level, trace, debug, info, warn or error, or 0 to 5, found `{text}`{}",
            if matches!(text, "6") || text.eq_ignore_ascii_case("off") {
                ": errors are always logged"
            } else {
                ""
            }
        )));
    };
    logging::set_level(*level).map_err(|error| Failure::Failed(error.to_string()))?;
    tracing::info!(level = names[0], "an operator has set the level of the log");
    Ok(format!("OK: logging from {} on", names[0]))
}

/// What was counted, in the format of Prometheus.
pub(in crate::admin) async fn metrics(asked: &Asked<'_>) -> Answer {
    asked.at_most(1)?;
    let instance: Instance = asked.instance()?;
    if let Some(application) = asked.arguments.first() {
        let own = instance.application();
        if *application != own {
            let text = format!("this program is `{own}`, and knows nothing of `{application}`");
            return Err(Failure::NotFound(text));
        }
    }
    asked.shared.metrics().await.map_err(Failure::NotFound)
}

/// All names of each level. Java's `ALL` is 0.
const LEVELS: [(&[&str], LogLevel); 5] = [
    (&["trace", "1", "0", "all"], LogLevel::Trace),
    (&["debug", "2"], LogLevel::Debug),
    (&["info", "3"], LogLevel::Info),
    (&["warn", "4"], LogLevel::Warn),
    (&["error", "5"], LogLevel::Error),
];

/// What Dubbo Java calls the sections.
const SECTIONS: [(&str, &str); 10] = [
    ("ApplicationConfig", "application"),
    ("ConfigCenterConfig", "config-center"),
    ("ConsumerConfig", "consumer"),
    ("MetadataReportConfig", "metadata-report"),
    ("MetricsConfig", "metrics"),
    ("ProtocolConfig", "protocols"),
    ("ProviderConfig", "provider"),
    ("ReferenceConfig", "consumer.references"),
    ("RegistryConfig", "registries"),
    ("ServiceConfig", "provider.services"),
];
