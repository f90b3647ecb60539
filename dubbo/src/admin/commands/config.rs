//! `getConfig` and `metrics`.

use std::{collections::BTreeMap, fmt::Write as _};

use super::super::command::{Answer, Asked, Dialect, Failure};
use crate::{config::shown, instance::Instance};

/// What is set, by files, config center, environment and code: JSON over HTTP, lines on a telnet. A section, and the name of
/// one of its entries, narrow it.
pub(in crate::admin) fn get_config(asked: &Asked<'_>) -> Answer {
    asked.at_most(2)?;
    let set = Settings::of(&asked.instance()?);
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
    let set = set.below(&prefix);
    if set.0.is_empty() && !asked.arguments.is_empty() {
        let section = prefix.trim_end_matches('.');
        return Err(Failure::NotFound(format!("nothing is set at `{section}`")));
    }
    Ok(match asked.dialect {
        Dialect::Http => set.json(),
        Dialect::Telnet => set.text(),
    })
}

/// All that is set: by its key what may be shown of the value, and where it is written, or `code`.
pub(in crate::admin) struct Settings(BTreeMap<String, (String, String)>);

impl Settings {
    /// Those of `instance`. What code says counts more than all else.
    pub(in crate::admin) fn of(instance: &Instance) -> Self {
        let tree = instance.config_tree();
        let written = tree.shown();
        let mut all: BTreeMap<_, _> = written
            .map(|(path, value, at)| (path.to_owned(), (value, at.to_string())))
            .collect();
        for (path, value) in instance.config_of_code() {
            let value = shown(&path, &value);
            let at = match all.get(&path) {
                Some((_, at)) if !at.starts_with(CODE) => format!("{CODE}, over {at}"),
                Some(_) | None => CODE.to_owned(),
            };
            all.insert(path, (value, at));
        }
        Self(all)
    }

    fn below(mut self, prefix: &str) -> Self {
        self.0.retain(|path, _| path.starts_with(prefix));
        self
    }

    /// One key a line.
    pub(in crate::admin) fn text(&self) -> String {
        let mut text = String::new();
        for (path, (value, at)) in &self.0 {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{path} = {} ({at})", value.escape_debug());
        }
        text
    }

    /// The same as an object: `{"dubbo.application.name": {"value": "x", "at": "dubbo.yaml:3:11"}}`.
    pub(in crate::admin) fn json(&self) -> String {
        let keys = self.0.iter();
        let object: serde_json::Map<_, _> = keys
            .map(|(path, (value, at))| {
                let entry = serde_json::json!({"value": value, "at": at});
                (path.to_owned(), entry)
            })
            .collect();
        serde_json::Value::Object(object).to_string()
    }
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

/// Where that is written which no file has.
const CODE: &str = "code";
