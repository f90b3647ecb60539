//! What is known of one application at one moment.

use std::sync::Arc;

use dubbo_core::{discovery::ServiceInstance, list::List, registry::RegistryError};

use super::{filters::LeftOut, load::LoadError, store::Metadata};
use crate::{
    instance::{Endpoints, keys},
    model::MetadataInfo,
};

/// The instances of an application and what each serves. A value is never changed.
#[derive(Debug, Clone, Default)]
pub(super) struct AppState {
    /// Whether the registry has listed the instances.
    pub(super) listed: bool,
    /// Why this registry can never have the application. It then has no instance, for certain.
    pub(super) refused: Option<Arc<RegistryError>>,
    /// Why the registry does not answer now.
    pub(super) failing: Option<Arc<RegistryError>>,
    /// Those that want calls, by id.
    pub(super) instances: List<Arc<InstanceView>>,
    /// How many do not want any.
    pub(super) disabled: usize,
    /// How many filters took out before.
    pub(super) left_out: LeftOut,
    /// How many of them serve what.
    pub(super) serving: Serving,
    /// The revisions of the instances.
    pub(super) revisions: Arc<[RevisionState]>,
}

impl AppState {
    /// Whether all that can be known soon is known: each revision has been got, or has failed once.
    pub(super) fn is_settled(&self) -> bool {
        let heard = self.listed || self.refused.is_some() || self.failing.is_some();
        heard
            && !self
                .revisions
                .iter()
                .any(|revision| matches!(revision.metadata, Metadata::Loading))
    }

    /// Whether there may be instances or services that nobody here has seen.
    pub(super) fn is_uncertain(&self) -> bool {
        let is_known = self.listed || self.refused.is_some();
        !is_known || self.serving.unknown > 0
    }
}

/// How many instances serve what, in the words of [`Serves`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Serving {
    pub(super) known: usize,
    pub(super) nothing: usize,
    pub(super) stale: usize,
    pub(super) unknown: usize,
}

impl Serving {
    pub(super) fn count(&mut self, serves: &Serves) {
        *match serves {
            Serves::Known(_) => &mut self.known,
            Serves::Nothing => &mut self.nothing,
            Serves::Stale(_) => &mut self.stale,
            Serves::Unknown => &mut self.unknown,
        } += 1;
    }
}

/// One revision of an application.
#[derive(Debug, Clone)]
pub(super) struct RevisionState {
    pub(super) revision: Arc<str>,
    /// How many instances have it.
    pub(super) instances: usize,
    pub(super) metadata: Metadata,
}

impl RevisionState {
    pub(super) fn error(&self) -> Option<&Arc<LoadError>> {
        match &self.metadata {
            Metadata::Failed(error) => Some(error),
            Metadata::Loading | Metadata::Ready(_) => None,
        }
    }
}

/// One instance. As long as nothing about it changes, it is the same allocation.
#[derive(Debug)]
pub(super) struct InstanceView {
    pub(super) id: Arc<str>,
    pub(super) instance: Arc<ServiceInstance>,
    /// The ports by protocol; empty when it advertises none.
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) serves: Serves,
}

/// What an instance serves.
#[derive(Debug, Clone)]
pub(super) enum Serves {
    /// All of this.
    Known(Arc<MetadataInfo>),
    /// Nothing: it says so, or it has no metadata.
    Nothing,
    /// All of this, before it changed; what it serves now is not known yet.
    Stale(Arc<MetadataInfo>),
    /// That is not known yet.
    Unknown,
}

impl Serves {
    pub(super) fn info(&self) -> Option<&Arc<MetadataInfo>> {
        match self {
            Self::Known(info) | Self::Stale(info) => Some(info),
            Self::Nothing | Self::Unknown => None,
        }
    }

    /// Whether it is the same allocation, too.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(one), Self::Known(other)) | (Self::Stale(one), Self::Stale(other)) => {
                Arc::ptr_eq(one, other)
            }
            (Self::Nothing, Self::Nothing) | (Self::Unknown, Self::Unknown) => true,
            _ => false,
        }
    }
}

/// The endpoints that instances advertise. Those that say the same have one value.
#[derive(Default)]
pub(super) struct EndpointsRead {
    none: Arc<Endpoints>,
    last: Option<(Arc<str>, Arc<Endpoints>)>,
}

impl EndpointsRead {
    /// Those of `instance`. What cannot be read is none: the instance's own port is left.
    pub(super) fn of(&mut self, instance: &ServiceInstance) -> Arc<Endpoints> {
        let json = instance.metadata.text(keys::ENDPOINTS);
        let Some(json) = json.filter(|json| !json.is_empty()) else {
            return Arc::clone(&self.none);
        };
        if let Some((last, endpoints)) = &self.last
            && last == json
        {
            return Arc::clone(endpoints);
        }
        let read = Endpoints::parse(json).unwrap_or_else(|error| {
            tracing::warn!(
                application = &*instance.application, instance = instance.id(), %error,
                "the instance's own port is used for all its protocols"
            );
            Endpoints::default()
        });
        let read = Arc::new(read);
        self.last = Some((Arc::clone(json), Arc::clone(&read)));
        read
    }
}

/// What an instance says under `key`, if it is not empty.
pub(super) fn said<'a>(instance: &'a ServiceInstance, key: &str) -> Option<&'a str> {
    instance.metadata.get(key).filter(|value| !value.is_empty())
}
