//! The requests that are understood, as clients write them.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{
    instance::Instance,
    key::{ConfigKey, ServiceKey},
};

/// Where a service lives: in every request of the naming module.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Place {
    #[serde(deserialize_with = "null_as_empty")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub(super) group_name: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub(super) service_name: String,
}

impl Place {
    pub(super) fn key(&self) -> ServiceKey {
        ServiceKey::new(&self.namespace, &self.group_name, &self.service_name)
    }
}

/// `InstanceRequest` and `PersistentInstanceRequest`.
#[derive(Debug, Deserialize)]
pub(super) struct OneInstance {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) r#type: String,
    pub(super) instance: Instance,
}

/// `BatchInstanceRequest`.
#[derive(Debug, Deserialize)]
pub(super) struct Batch {
    #[serde(flatten)]
    pub(super) place: Place,
    pub(super) r#type: String,
    #[serde(default)]
    pub(super) instances: Vec<Instance>,
}

/// `SubscribeServiceRequest`.
#[derive(Debug, Deserialize)]
pub(super) struct Subscribe {
    #[serde(flatten)]
    pub(super) place: Place,
    #[serde(rename = "subscribe")]
    pub(super) wanted: bool,
    #[serde(default, deserialize_with = "null_as_empty")]
    pub(super) clusters: String,
}

/// `ServiceQueryRequest`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Query {
    #[serde(flatten)]
    pub(super) place: Place,
    #[serde(default, deserialize_with = "null_as_empty")]
    pub(super) cluster: String,
    #[serde(default)]
    pub(super) healthy_only: bool,
    #[serde(default)]
    pub(super) udp_port: i32,
}

/// `ServiceListRequest`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListServices {
    #[serde(flatten)]
    pub(super) place: Place,
    #[serde(default)]
    pub(super) page_no: i32,
    #[serde(default)]
    pub(super) page_size: i32,
}

/// Where a config lives: all of `ConfigQueryRequest` and `ConfigRemoveRequest`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ConfigPlace {
    #[serde(deserialize_with = "null_as_empty")]
    pub(super) tenant: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub(super) group: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub(super) data_id: String,
}

impl ConfigPlace {
    pub(super) fn key(&self) -> ConfigKey {
        ConfigKey::new(&self.tenant, &self.group, &self.data_id)
    }
}

/// `ConfigPublishRequest`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Publish {
    #[serde(flatten)]
    pub(super) place: ConfigPlace,
    #[serde(default, deserialize_with = "null_as_empty")]
    pub(super) content: String,
    #[serde(default, deserialize_with = "null_as_empty")]
    pub(super) cas_md5: String,
    #[serde(default)]
    pub(super) addition_map: BTreeMap<String, Option<String>>,
}

impl Publish {
    /// One of the things that are said besides.
    pub(super) fn addition(&self, name: &str) -> &str {
        let value = self.addition_map.get(name).and_then(Option::as_deref);
        value.unwrap_or_default()
    }
}

/// `ConfigBatchListenRequest`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listen {
    pub(super) listen: bool,
    #[serde(default)]
    pub(super) config_listen_contexts: Vec<Listened>,
}

/// What a listener has.
#[derive(Debug, Deserialize)]
pub(super) struct Listened {
    #[serde(flatten)]
    pub(super) place: ConfigPlace,
    #[serde(default, deserialize_with = "null_as_empty")]
    pub(super) md5: String,
}

fn null_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
