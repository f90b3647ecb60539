//! What the admin service shows and changes.

use std::sync::Arc;

use dubbo_cluster::migration::Controller;
use dubbo_core::discovery::ServiceInstance;
use dubbo_metadata::mapping::{MappingView, RegistrationStatus};
use tokio::sync::watch;

use super::super::Content;
use crate::instance::ConsumerSeen;

/// What an application shows to its operators, beside what it says to consumers.
pub(crate) trait AdminContent: Content {
    /// The instances that each registry was told of, by the registries of [`histories`](Content::histories) and in their
    /// order.
    fn instances(&self) -> Vec<(&str, watch::Receiver<Arc<[ServiceInstance]>>)>;

    /// Where the application's interfaces are mapped to it.
    fn registrations(&self) -> Vec<RegistrationStatus>;

    /// What the interfaces that it calls are mapped to, by registry.
    fn mappings(&self) -> Vec<(&str, MappingView)>;

    /// What moves the application's references from interfaces to applications; none where no registry is used both ways.
    fn migration(&self) -> Option<&Controller>;

    /// Who has called, and by which way; `None` where nobody counts.
    fn readiness(&self) -> Option<Vec<ConsumerSeen>>;

    /// Becomes true when the application ends, and nothing more is to be seen.
    fn over(&self) -> watch::Receiver<bool>;
}
