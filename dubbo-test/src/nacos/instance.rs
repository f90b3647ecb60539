//! One instance of a service.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::key::ServiceKey;

/// An instance, as it is registered and as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Instance {
    /// Made up by the server unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Any text without white space.
    pub ip: String,
    /// 0 to 65535.
    pub port: i32,
    /// Any number; 1 unless given. Nacos does not clamp it.
    #[serde(deserialize_with = "null_as_zero")]
    pub weight: f64,
    /// As the provider says; the server does not look.
    pub healthy: bool,
    /// One that is not enabled is not listed.
    pub enabled: bool,
    /// Whether it goes when its connection goes: decided by how it was registered.
    pub ephemeral: bool,
    /// `DEFAULT` unless given.
    pub cluster_name: Option<String>,
    /// `group@@name` where it is listed.
    pub service_name: Option<String>,
    /// Keys and values of at most 1024 UTF-16 units together.
    pub metadata: BTreeMap<String, String>,
}

impl Instance {
    /// An enabled healthy ephemeral instance of weight 1.
    pub fn at(ip: &str, port: u16) -> Self {
        Self {
            ip: ip.to_owned(),
            port: port.into(),
            ..Self::default()
        }
    }

    /// Adds an entry to the metadata.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.metadata.insert(key.to_owned(), value.to_owned());
        self
    }

    /// `ip:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.ip, self.port)
    }

    /// As the server lists what was registered under `service`.
    pub(super) fn published(mut self, service: &ServiceKey, ephemeral: bool) -> Self {
        let grouped = service.grouped();
        let given = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        if !given(&self.instance_id) {
            let cluster = self.cluster_name.as_deref().unwrap_or("null");
            let named = self.service_name.as_deref().filter(|name| !name.is_empty());
            let named = named.unwrap_or(&grouped);
            let id = format!("{}#{}#{cluster}#{named}", self.ip, self.port);
            self.instance_id = Some(id);
        }
        if !given(&self.cluster_name) {
            self.cluster_name = Some("DEFAULT".to_owned());
        }
        self.service_name = Some(grouped);
        self.ephemeral = ephemeral;
        self
    }
}

impl Default for Instance {
    fn default() -> Self {
        Self {
            instance_id: None,
            ip: String::new(),
            port: 0,
            weight: 1.0,
            healthy: true,
            enabled: true,
            ephemeral: true,
            cluster_name: None,
            service_name: None,
            metadata: BTreeMap::new(),
        }
    }
}

/// JSON has no NaN and no infinity: clients write `null`, which Java reads as 0.
fn null_as_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_fills_in_what_was_not_given() {
        let service = ServiceKey::new("", "G", "s");
        let cluster = |cluster: &str| Instance {
            cluster_name: Some(cluster.to_owned()),
            ..Instance::at("::1", 1)
        };
        let named = |name: &str| Instance {
            service_name: Some(name.to_owned()),
            ..Instance::at("h", 2)
        };
        let numbered = Instance {
            instance_id: Some("mine".to_owned()),
            ..Instance::at("h", 2)
        };
        for (given, id, listed) in [
            (Instance::at("h", 2), "h#2#null#G@@s", "DEFAULT"),
            (cluster(""), "::1#1##G@@s", "DEFAULT"),
            (cluster("c1"), "::1#1#c1#G@@s", "c1"),
            (named("x@@y"), "h#2#null#x@@y", "DEFAULT"),
            (numbered, "mine", "DEFAULT"),
        ] {
            let instance = given.published(&service, true);
            assert_eq!(instance.instance_id.as_deref(), Some(id));
            assert_eq!(instance.cluster_name.as_deref(), Some(listed));
            assert_eq!(instance.service_name.as_deref(), Some("G@@s"));
        }
    }

    #[test]
    fn a_weight_that_json_cannot_say_is_zero() {
        let instance: Instance = serde_json::from_str(r#"{"weight":null}"#).expect("legal");
        assert!(instance.weight.abs() < f64::EPSILON);
    }
}
