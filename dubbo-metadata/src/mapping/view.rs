//! What a consumer knows of a mapping.

use std::time::Duration;

/// Who provides one interface, as far as a consumer knows now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MappingView {
    /// The interface.
    pub interface: String,
    /// The applications that are named, in the mapping's order; none as long as it is pending.
    pub applications: Vec<String>,
    /// How they were found, or why there are none, in one sentence.
    pub evidence: String,
    /// How long the last change of it took that named a new application: from when the report told of it until the new
    /// providers were in the lists of all subscriptions. `None` before the first such change.
    pub lag: Option<Duration>,
}
