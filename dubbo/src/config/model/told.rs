//! Settings of code, key by key, for whoever wants to see them.

use std::{collections::BTreeMap, fmt};

/// Settings that can be told as the keys and values that they are.
pub(crate) trait Told {
    /// Adds all that is set, each with its key below `path`, and its value as code has it.
    fn tell(&self, path: &str, all: &mut Vec<(String, String)>);
}

impl<T: fmt::Debug> Told for Option<T> {
    fn tell(&self, path: &str, all: &mut Vec<(String, String)>) {
        all.extend(self.iter().map(|value| (path.to_owned(), spelled(value))));
    }
}

impl<V: Told> Told for BTreeMap<String, V> {
    fn tell(&self, path: &str, all: &mut Vec<(String, String)>) {
        for (key, value) in self {
            value.tell(&format!("{path}.{key}"), all);
        }
    }
}

/// The value of a parameter.
impl Told for String {
    fn tell(&self, path: &str, all: &mut Vec<(String, String)>) {
        all.push((path.to_owned(), self.clone()));
    }
}

/// Where a field stands of a struct that stands at `path`: its documentation, here as attributes, begins with its key in
/// backquotes, as the page of all keys has it. Without one, or with a pattern of them, its own keys stand beside it.
pub(in crate::config) fn below(path: &str, documentation: &str) -> String {
    let text = documentation
        .split_once('"')
        .map(|(_, text)| text.trim_start());
    let key = text.and_then(|text| text.strip_prefix('`')?.split_once('`'));
    match key.map(|(key, _)| key).filter(|key| !key.contains('*')) {
        None => path.to_owned(),
        Some(whole) if whole.starts_with("dubbo.") => whole.to_owned(),
        Some(key) => format!("{path}.{key}"),
    }
}

/// A text as it is, a list of texts with `, ` between them, and everything else in the spelling of code.
fn spelled(value: &impl fmt::Debug) -> String {
    let text = format!("{value:?}");
    if let Ok(text) = serde_json::from_str::<String>(&text) {
        return text;
    }
    match serde_json::from_str::<Vec<String>>(&text) {
        Ok(list) => list.join(", "),
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::{
        ApplicationConfig, Config, ConsumerConfig, LimitsConfig, ProtocolConfig, ProviderConfig,
        ReferenceConfig, RegistryConfig, ServiceConfig, TripleConfig, TripleServerConfig,
    };

    #[test]
    fn each_setting_is_told_under_its_key() {
        let config = Config::new()
            .application(
                ApplicationConfig::from("shop")
                    .qos_port(0)
                    .qos_token("hush")
                    .qos_accept_foreign_ip_whitelist(["10.0.0.0/8", "::1"]),
            )
            .protocol(
                "tri",
                ProtocolConfig::tri().param("a.b", "c").triple(
                    TripleConfig::new()
                        .server(TripleServerConfig::new().max_connections(7))
                        .keep_alive_timeout(Duration::from_secs(3)),
                ),
            )
            .registry("r", RegistryConfig::at("nacos://h:1"))
            .provider(
                ProviderConfig::new()
                    .defaults(ServiceConfig::new().weight(5))
                    .service(
                        "a.B",
                        ServiceConfig::new().limits(LimitsConfig::new().execute(9)),
                    ),
            )
            .consumer(
                ConsumerConfig::new().reference("Users", ReferenceConfig::new().force_tag(true)),
            );
        let mut all = Vec::new();
        config.tell("dubbo", &mut all);
        all.sort_unstable();
        let all: Vec<_> = all
            .iter()
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        assert_eq!(
            all,
            [
                "dubbo.application.name = shop",
                "dubbo.application.qos-accept-foreign-ip-whitelist = 10.0.0.0/8, ::1",
                "dubbo.application.qos-port = 0",
                "dubbo.application.qos-token = ***",
                "dubbo.consumer.references.Users.force.tag = true",
                "dubbo.protocols.tri.name = tri",
                "dubbo.protocols.tri.params.a.b = c",
                "dubbo.protocols.tri.triple.keep-alive-timeout = 3s",
                "dubbo.protocols.tri.triple.max-connections = 7",
                "dubbo.provider.services.a.B.execute.limit = 9",
                "dubbo.provider.weight = 5",
                "dubbo.registries.r.address = nacos://h:1",
            ]
        );
    }
}
