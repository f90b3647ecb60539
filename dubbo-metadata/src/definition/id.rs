//! Where a definition stands.

use std::fmt;

use dubbo_core::service::ServiceKey;

/// What a definition is stored under: one for each service and application. As text it is
/// `{interface}:{version}:{group}:{side}:{application}`, with nothing between two colons for what there is none of
/// (`docs/spec/metadata.md` §4.1.1).
///
/// ```
/// use dubbo_metadata::definition::{DefinitionId, Side};
///
/// let service = "g1/com.example.Greeter:1.0.0".parse()?;
/// let id = DefinitionId::new(&service, Side::Provider, "shop");
/// assert_eq!(id.to_string(), "com.example.Greeter:1.0.0:g1:provider:shop");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId {
    interface: String,
    version: String,
    group: String,
    side: Side,
    application: String,
}

impl DefinitionId {
    /// That of `service` on one side of `application`.
    pub fn new(service: &ServiceKey, side: Side, application: impl Into<String>) -> Self {
        Self {
            interface: service.interface().to_owned(),
            version: service.version().unwrap_or_default().to_owned(),
            group: service.group().unwrap_or_default().to_owned(),
            side,
            application: application.into(),
        }
    }

    /// The application and the interface, where a provider tells of itself.
    pub(super) fn provided(&self) -> Option<(String, String)> {
        let names = || (self.application.clone(), self.interface.clone());
        (self.side == Side::Provider).then(names)
    }

    /// The side that tells of itself.
    pub fn side(&self) -> Side {
        self.side
    }
}

impl fmt::Display for DefinitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            interface,
            version,
            group,
            side,
            application,
        } = self;
        let side = match side {
            Side::Consumer => "consumer",
            Side::Provider => "provider",
        };
        write!(f, "{interface}:{version}:{group}:{side}:{application}")
    }
}

/// Who tells of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Who calls the service.
    Consumer,
    /// Who serves it.
    Provider,
}
