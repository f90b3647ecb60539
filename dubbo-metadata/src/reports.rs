//! The metadata reports, and which of them is a registry's.

use std::{fmt, sync::Arc};

use dubbo_core::metadata::MetadataReport;

/// The reports by their ids, as one registry chooses among them (`docs/spec/metadata.md` §4.1.1).
pub(crate) struct Reports {
    registry: String,
    list: Vec<(String, Arc<dyn MetadataReport>)>,
}

impl Reports {
    /// The reports that the registry with the id `registry` can read.
    pub(crate) fn new(registry: String, list: Vec<(String, Arc<dyn MetadataReport>)>) -> Self {
        Self { registry, list }
    }

    /// The one that holds the metadata of an instance: that of the cluster which the instance names; else that of this
    /// registry, for the ids are the provider's own; else the one called `default`; else the only one.
    pub(crate) fn of(
        &self,
        cluster: Option<&str>,
    ) -> Result<(&str, &Arc<dyn MetadataReport>), NoReport> {
        let (id, report) = cluster
            .and_then(|cluster| self.named(cluster))
            .or_else(|| self.named(&self.registry))
            .or_else(|| self.named(DEFAULT))
            .or_else(|| self.list.first().filter(|_| self.list.len() == 1))
            .ok_or_else(|| NoReport {
                wanted: cluster.unwrap_or(&self.registry).to_owned(),
                known: self.list.iter().map(|(id, _)| id.clone()).collect(),
            })?;
        Ok((id, report))
    }

    /// All of them, this registry's first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (&str, &Arc<dyn MetadataReport>)> {
        let first = self.of(None).ok().map(|(id, _)| id);
        let (own, others): (Vec<_>, Vec<_>) = self
            .list
            .iter()
            .map(|(id, report)| (id.as_str(), report))
            .partition(|(id, _)| Some(*id) == first);
        own.into_iter().chain(others)
    }

    fn named(&self, wanted: &str) -> Option<&(String, Arc<dyn MetadataReport>)> {
        self.list.iter().find(|(id, _)| id == wanted)
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.list.iter().map(|(id, _)| id))
            .finish()
    }
}

/// None of the reports is the one that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no metadata report `{wanted}` and none called `default`; there {}", are(.known))]
pub(crate) struct NoReport {
    wanted: String,
    known: Vec<String>,
}

fn are(known: &[String]) -> String {
    if known.is_empty() {
        return "is none at all".to_owned();
    }
    format!("are {}", known.join(", "))
}

const DEFAULT: &str = "default";
