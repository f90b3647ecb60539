//! What the answers of the metadata service are made of.

use std::sync::Arc;

use bytes::Bytes;
use dubbo_core::{discovery::ServiceInstance, service::ServiceKey, url::Url};
use dubbo_metadata::{
    openapi::OpenApi,
    published::{History, Published},
};

/// What an application says about itself.
///
/// Its metadata may differ from registry to registry, so there is a history for each of them.
pub(crate) trait Content: Send + Sync + 'static {
    /// The application's name: the group of its metadata services.
    fn application(&self) -> &str;

    /// What has been published, by the id of the registry: the current metadata and that which consumers may still ask
    /// for.
    fn histories(&self) -> Vec<(&str, &History)>;

    /// The services that are exported, as registries are told of them.
    fn exported(&self) -> Vec<Url>;

    /// The services that are referred to, as registries are told of them.
    fn subscribed(&self) -> Vec<Url>;

    /// What `service`, which is exported, takes and gives: a definition in JSON.
    fn definition(&self, service: &ServiceKey) -> Option<Bytes>;

    /// The instance that registries were told of; of several, one.
    fn instance(&self) -> Option<ServiceInstance>;

    /// The documents of what is exported; `None` where they are switched off.
    fn openapi(&self) -> Option<&OpenApi>;

    /// The metadata of `revision`, whichever registry it was published for.
    fn find(&self, revision: &str) -> Option<Arc<Published>> {
        let histories = self.histories();
        histories
            .iter()
            .find_map(|(_, history)| history.answer(revision))
    }

    /// The current metadata, each revision once.
    fn current(&self) -> Vec<Arc<Published>> {
        let mut all: Vec<Arc<Published>> = Vec::new();
        for published in self
            .histories()
            .iter()
            .flat_map(|(_, history)| history.current())
        {
            if all
                .iter()
                .all(|other| other.revision() != published.revision())
            {
                all.push(published);
            }
        }
        all
    }
}
