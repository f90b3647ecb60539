//! Instances that moved from one revision to another, told in one line for all that made the same move.

use std::{collections::BTreeMap, sync::Arc};

use crate::model::MetadataInfo;

/// The moves that were seen at one look at the instances of an application.
#[derive(Debug, Default)]
pub(super) struct Moves(BTreeMap<(String, String), Move>);

#[derive(Debug)]
struct Move {
    older: Arc<MetadataInfo>,
    newer: Arc<MetadataInfo>,
    instances: usize,
}

impl Moves {
    /// Notes an instance that served `older` and serves `newer` now; nothing if that is one revision.
    pub(super) fn note(&mut self, older: &Arc<MetadataInfo>, newer: &Arc<MetadataInfo>) {
        if older.revision == newer.revision {
            return;
        }
        let revisions = (older.revision.clone(), newer.revision.clone());
        let moved = self.0.entry(revisions).or_insert_with(|| Move {
            older: Arc::clone(older),
            newer: Arc::clone(newer),
            instances: 0,
        });
        moved.instances += 1;
    }

    /// Writes them into the log.
    pub(super) fn log(self, application: &str) {
        for moved in self.0.into_values() {
            let changes = moved.newer.describe(&moved.older);
            tracing::info!(
                application,
                instances = moved.instances,
                %changes,
                "instances serve another revision"
            );
        }
    }
}
