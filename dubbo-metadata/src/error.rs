//! What is wrong with metadata, or with what it should be made from.

use dubbo_core::{extension::ExtensionError, url::UrlError};

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
    /// An instance customizer that would come before the framework.
    #[error(
        "the instance customizer `{name}` has the order {order}; give it one from 100 to 9000, for those below 100 are the \
         framework's"
    )]
    CustomizerOrder {
        /// Its name.
        name: String,
        /// Its order.
        order: u16,
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
    /// A label that an instance cannot have.
    #[error("the label `{label}` {reason}")]
    Label {
        /// The label, or what is there in its place.
        label: String,
        /// What is wrong with it, and what to write.
        reason: &'static str,
    },
    /// A service whose `params-filter` cannot be had.
    #[error("`params-filter` of {service}: {source}")]
    Params {
        /// The service.
        service: String,
        /// Why.
        source: ExtensionError,
    },
    /// Metadata that should be kept in a report, and there is none for it.
    #[error("`metadata-type` is `remote`: {0}; name one of them so, or leave `metadata-type` out")]
    Report(String),
    /// A report whose parameters cannot be read.
    #[error("the metadata report {report}: {source}")]
    ReportParams {
        /// The report.
        report: String,
        /// What is wrong with one of them.
        source: UrlError,
    },
}

impl MetadataError {
    pub(crate) fn json(what: &'static str, reason: &(impl ToString + ?Sized)) -> Self {
        Self::Json {
            what,
            reason: reason.to_string(),
        }
    }

    /// Whether an application of this name can stand in a mapping, which is a list with commas.
    pub(crate) fn check_application(name: &str) -> Result<(), Self> {
        let reason = match name {
            "" => "is empty",
            name if name.contains(',') => "has a comma in it, which stands between applications",
            name if name.trim() != name => "begins or ends with a blank",
            name if name.contains(char::is_control) => "has a control character in it",
            _ => return Ok(()),
        };
        Err(Self::Application {
            name: name.to_owned(),
            reason,
        })
    }
}
