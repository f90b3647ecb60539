//! What is wrong with metadata, or with what it should be made from.

/// Why metadata could not be read, or cannot be published as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// An application whose name cannot stand in a mapping.
    #[error("application name {name:?} {reason}; set another `dubbo.application.name`")]
    Application {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A service that cannot be told to others.
    #[error("{url} cannot be published: {reason}")]
    Export {
        /// Its URL.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Text that is no JSON, or has a value of the wrong kind.
    #[error("{what} cannot be read: {reason}")]
    Json {
        /// What it should be, such as `dubbo.endpoints`.
        what: &'static str,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// A metadata report that is not there.
    #[error(
        "no metadata report for registry `{registry}`: there are {}; name one of them `{registry}` or `default`, or leave \
         out `metadata-type: remote`",
        listed(.known)
    )]
    Report {
        /// The registry that needs it.
        registry: String,
        /// The ids of those that are there.
        known: Vec<String>,
    },
}

impl MetadataError {
    pub(crate) fn json(what: &'static str, reason: impl ToString) -> Self {
        Self::Json {
            what,
            reason: reason.to_string(),
        }
    }
}

fn listed(ids: &[String]) -> String {
    if ids.is_empty() {
        return "none".to_owned();
    }
    ids.iter()
        .map(|id| format!("`{id}`"))
        .collect::<Vec<_>>()
        .join(", ")
}
