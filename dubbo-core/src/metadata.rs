//! Where an application's metadata is kept outside the application: the metadata report.

use std::{fmt, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{registry::RegistryError, subscription::Subscription, url::Url};

/// A store of application metadata, service definitions and the mapping from interfaces to applications.
///
/// `docs/spec/metadata.md` §6.6, `docs/spec/registry.md` §7. `Ok` of nothing and `Err` are different everywhere. Each
/// method is one attempt, with a time limit of its own; who calls it tries again.
#[async_trait]
pub trait MetadataReport: Send + Sync + 'static {
    /// The store's own URL.
    fn url(&self) -> &Url;

    /// The metadata of `application` at `revision`, encoded.
    async fn app(&self, application: &str, revision: &str) -> Result<Option<Bytes>, RegistryError>;

    /// Publishes the metadata of `application` at `revision`; when it returns, others can read it.
    async fn publish_app(
        &self,
        application: &str,
        revision: &str,
        metadata: Bytes,
    ) -> Result<(), RegistryError>;

    /// Removes one revision.
    async fn remove_app(&self, application: &str, revision: &str) -> Result<(), RegistryError>;

    /// The revisions of `application`, with the time each was written where the store knows it.
    async fn list_app(
        &self,
        application: &str,
    ) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError>;

    /// The applications that provide `interface`, with a ticket for [`cas_mapping`](Self::cas_mapping).
    async fn mapping(&self, interface: &str) -> Result<(Mapping, Ticket), RegistryError>;

    /// Writes the mapping of `interface`, if it is still as it was when `ticket` was given out.
    async fn cas_mapping(
        &self,
        interface: &str,
        mapping: &Mapping,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError>;

    /// Follows the mapping of `interface`.
    async fn watch_mapping(
        &self,
        interface: &str,
    ) -> Result<Subscription<Arc<Mapping>>, RegistryError>;

    /// Stores a service definition under `id`.
    async fn store_definition(&self, id: &str, definition: Bytes) -> Result<(), RegistryError>;

    /// The service definition under `id`.
    async fn definition(&self, id: &str) -> Result<Option<Bytes>, RegistryError>;

    /// When stale metadata of `application` was last looked for, in milliseconds since the epoch, with a ticket for
    /// [`cas_last_collection`](Self::cas_last_collection). A report that cannot keep it refuses, as this one does by default;
    /// then nothing stale is ever removed from it.
    async fn last_collection(
        &self,
        application: &str,
    ) -> Result<(Option<u64>, Ticket), RegistryError> {
        Err(no_collection(self.url(), application))
    }

    /// Says that stale metadata is looked for at `now_ms`, if nobody has said so since `ticket` was given out: who has
    /// written it is the one who looks.
    async fn cas_last_collection(
        &self,
        application: &str,
        now_ms: u64,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let _ = (now_ms, ticket);
        Err(no_collection(self.url(), application))
    }

    /// Ends its subscriptions.
    async fn close(&self);
}

fn no_collection(report: &Url, application: &str) -> RegistryError {
    RegistryError::new(
        format!("look for stale metadata of {application}"),
        report.origin(),
        "this kind of report does not keep when it was done",
    )
    .refused()
}

/// Which parameters of an exported URL others are told: Dubbo Java's extension point of the same name
/// (`docs/spec/metadata.md` §1.5).
///
/// A service has the filter called `default` and those that its parameter `params-filter` names (`mine,-default`). What
/// they name is taken together: where any of them includes something, only that is told and what is excluded does not
/// count; else everything is told that is not excluded. Letters are compared without case. What peers cannot do without
/// (`application`, `group`, `methods`, `version`) is always told, and what the configuration calls secret never.
///
/// ```
/// use std::sync::Arc;
///
/// use dubbo_core::metadata::MetadataParamsFilter;
///
/// struct Quiet;
///
/// impl MetadataParamsFilter for Quiet {
///     fn service_params_excluded(&self) -> Vec<String> {
///         vec!["owner".to_owned(), "internal.*".to_owned()]
///     }
/// }
///
/// dubbo_core::extension!(dyn MetadataParamsFilter, "quiet", |_cx| Ok(Arc::new(Quiet)));
/// ```
pub trait MetadataParamsFilter: Send + Sync + 'static {
    /// The names of the parameters that the metadata of a service has, and no others. A name is also that of the parameter
    /// of each method.
    fn service_params_included(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of the parameters that the metadata of a service does not have. What has `.` and the name in it is
    /// excluded as well; a name that ends in `.*` stands for all that begin so.
    fn service_params_excluded(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of the parameters of a service that the instance tells about itself.
    fn instance_params_included(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names that the instance does not tell of those that Dubbo has for it: `timestamp`, `heartbeat.timeout`, `ipv6`.
    fn instance_params_excluded(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The applications that provide one interface, in the order in which they came. As text they stand with commas between
/// them (`docs/spec/registry.md` §7.3).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping(Vec<String>);

impl Mapping {
    /// Reads the text: blanks around names, empty names and repeated ones are left out.
    pub fn parse(text: &str) -> Self {
        let mut mapping = Self::default();
        for name in text.split(',').map(str::trim) {
            if !name.is_empty() {
                mapping.add(name);
            }
        }
        mapping
    }

    /// Adds `application` at the end, unless it is there; whether it was not.
    pub fn add(&mut self, application: &str) -> bool {
        let is_new = !self.contains(application);
        if is_new {
            self.0.push(application.to_owned());
        }
        is_new
    }

    /// Whether `application` is one of them.
    pub fn contains(&self, application: &str) -> bool {
        self.0.iter().any(|name| name == application)
    }

    /// The names.
    pub fn applications(&self) -> &[String] {
        &self.0
    }

    /// Whether nobody provides it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

/// The state of a mapping at the time it was read: a version, a checksum, or that it was absent. Only the store that
/// made it can read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ticket(pub Option<String>);

/// What became of a compare-and-set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CasOutcome {
    /// Someone else wrote in between; read again and retry.
    Conflict,
    /// It is written.
    Written,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_keeps_its_order_and_each_name_once() {
        for (text, add, want) in [
            ("", "demo-app", "demo-app"),
            ("order-service", "order", "order-service,order"),
            (",demo-app,,", "demo-app", "demo-app"),
            ("a, b", "b", "a,b"),
            ("b,a,b", "c", "b,a,c"),
        ] {
            let mut mapping = Mapping::parse(text);
            let was_there = mapping.contains(add);
            assert_eq!(mapping.add(add), !was_there, "{text}");
            assert_eq!(mapping.to_string(), want, "{text}");
        }
    }
}
