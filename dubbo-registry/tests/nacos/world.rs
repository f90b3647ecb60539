//! A scripted server and programs that use it.

use std::sync::Arc;

use dubbo_core::{
    config_center::ConfigCenter, discovery::ServiceDiscovery, extension::Extensions,
    metadata::MetadataReport, registry::Registry, url::Url,
};
use dubbo_registry as _;
use dubbo_test::nacos::{Delays, ScriptedNacos};

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
        Self::at(&format!("{}?poll-interval=500ms&{params}", nacos.address()))
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
