//! A scripted server and programs that use it.

use std::sync::Arc;

use dubbo_core::{
    config_center::ConfigCenter,
    discovery::ServiceDiscovery,
    extension::Extensions,
    metadata::MetadataReport,
    registry::{Registry, RegistrySnapshot},
    subscription::{Subscription, Update},
    url::Url,
};
use dubbo_registry as _;
use dubbo_test::{
    nacos::{Delays, Instance, ScriptedNacos, ServiceKey},
    soon,
};

/// A server that does in a tenth of a second what takes Nacos a second.
pub(crate) async fn quick_nacos() -> ScriptedNacos {
    let nacos = ScriptedNacos::start().await;
    nacos.set_delays(Delays::default().faster(10));
    nacos
}

/// A program with plugins of its own, which share one client.
pub(crate) struct Program {
    extensions: Extensions,
    url: Url,
}

impl Program {
    pub(crate) fn on(nacos: &ScriptedNacos) -> Self {
        Self::with(nacos, "")
    }

    /// `params` are in the registry's URL.
    pub(crate) fn with(nacos: &ScriptedNacos, params: &str) -> Self {
        Self::at(&format!(
            "{}?poll-interval=500ms&outage-grace=1s&{params}",
            nacos.address()
        ))
    }

    /// `rest` is the registry's URL after `nacos://`.
    pub(crate) fn at(rest: &str) -> Self {
        let text = format!("nacos://{rest}");
        let mut url: Url = text.parse().expect("a URL");
        if url.param("group") == Some("") {
            url = url.without_param("group");
        }
        Self {
            extensions: Extensions::linked().expect("no duplicates"),
            url,
        }
    }

    pub(crate) fn registry(&self) -> Arc<dyn Registry> {
        let made = self.extensions.create("nacos", &self.url);
        made.expect("is linked")
    }

    pub(crate) fn discovery(&self) -> Arc<dyn ServiceDiscovery> {
        let made = self.extensions.create("nacos", &self.url);
        made.expect("is linked")
    }

    pub(crate) fn report(&self) -> Arc<dyn MetadataReport> {
        let made = self.extensions.create("nacos", &self.url);
        made.expect("is linked")
    }

    pub(crate) fn center(&self) -> Arc<dyn ConfigCenter> {
        let made = self.extensions.create("nacos", &self.url);
        made.expect("is linked")
    }
}

/// A service in `DEFAULT_GROUP`.
pub(crate) fn service(name: &str) -> ServiceKey {
    ServiceKey::new("", "DEFAULT_GROUP", name)
}

pub(crate) fn provider(port: u16, rest: &str) -> Url {
    let text = format!("tri://10.0.0.1:{port}/a.B?interface=a.B&{rest}");
    text.parse().expect("valid")
}

pub(crate) fn consumer(rest: &str) -> Url {
    let text = format!("consumer://10.0.0.9/a.B?interface=a.B&category=providers&{rest}");
    text.parse().expect("valid")
}

/// What another program registers for `a.B`.
pub(crate) fn theirs(port: u16) -> Instance {
    Instance::at("10.0.0.2", port)
        .with("protocol", "tri")
        .with("path", "a.B")
        .with("interface", "a.B")
}

/// A subscription on `a.B`.
pub(crate) async fn subscribe(registry: &dyn Registry) -> Subscription<RegistrySnapshot> {
    let subscribed = registry.subscribe(&consumer("")).await;
    subscribed.expect("subscribes")
}

/// Waits until the ports of the providers are `want`, which no failure is.
pub(crate) async fn sees(subscription: &mut Subscription<RegistrySnapshot>, want: &[u16]) {
    let seen = async {
        while !is(&subscription.current(), want) {
            let update = subscription.changed().await;
            update.expect("the subscription goes on");
        }
    };
    soon(&format!("the providers {want:?}"), seen).await;
}

/// Whether the ports of the providers are `want`.
pub(crate) fn is(update: &Update<RegistrySnapshot>, want: &[u16]) -> bool {
    let ports = |state: &RegistrySnapshot| {
        let mut ports: Vec<_> = state.providers.iter().filter_map(Url::port).collect();
        ports.sort_unstable();
        ports
    };
    update
        .state
        .as_ref()
        .is_ok_and(|state| ports(state) == want)
}

/// The lists that clients sent for a service, with the ports in them.
pub(crate) fn lists(nacos: &ScriptedNacos, name: &str) -> Vec<Vec<i64>> {
    let requests = nacos.requests("BatchInstanceRequest").into_iter();
    let requests = requests.filter(|request| request["serviceName"] == name);
    let ports = |request: serde_json::Value| {
        let instances = request["instances"].as_array().cloned().unwrap_or_default();
        let ports = instances.iter().filter_map(|i| i["port"].as_i64());
        ports.collect()
    };
    requests.map(ports).collect()
}
