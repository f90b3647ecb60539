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

#[cfg(test)]
mod tests {
    use dubbo_test::logs::Logs;

    use super::*;
    use crate::model::ServiceInfo;

    fn info(revision: &str, services: &[&str]) -> Arc<MetadataInfo> {
        let service = |name: &&str| {
            Arc::new(ServiceInfo {
                name: (*name).to_owned(),
                protocol: "tri".to_owned(),
                ..ServiceInfo::default()
            })
        };
        Arc::new(MetadataInfo {
            revision: revision.to_owned(),
            services: services.iter().map(service).collect(),
            ..MetadataInfo::default()
        })
    }

    #[test]
    fn all_instances_that_made_one_move_are_one_line() {
        let (logs, _guard) = Logs::record();
        let (one, two) = (info("r1", &["a.B"]), info("r2", &["a.C"]));
        let mut moves = Moves::default();
        moves.note(&one, &info("r1", &["a.B"]));
        for _ in 0..3 {
            moves.note(&one, &two);
        }
        moves.note(&two, &one);
        moves.log("shop");
        let lines = logs.with("another revision");
        assert_eq!(
            lines,
            [
                "INFO instances serve another revision application=shop instances=3 changes=r1 -> r2: +a.C:tri -a.B:tri",
                "INFO instances serve another revision application=shop instances=1 changes=r2 -> r1: +a.B:tri -a.C:tri",
            ]
        );
    }
}
