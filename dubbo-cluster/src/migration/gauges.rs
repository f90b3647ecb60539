//! What metrics show of a migration (`docs/spec/metadata.md` §7.5).

use metrics::{Counter, Gauge, counter, gauge};

use super::{MigrationStep, Path, path::Both};

/// The metrics of one reference. They go to the recorder that is there when the reference is made.
pub(super) struct Gauges {
    service: String,
    registry: String,
    step: Gauge,
    addresses: Both<Gauge>,
}

impl Gauges {
    pub(super) fn new(service: String, registry: String) -> Self {
        let step = gauge!(
            "dubbo_migration_step", "service" => service.clone(), "registry" => registry.clone()
        );
        let addresses = Both::of(|path| {
            gauge!(
                "dubbo_migration_addresses",
                "service" => service.clone(), "registry" => registry.clone(), "path" => path.name()
            )
        });
        Self {
            service,
            registry,
            step,
            addresses,
        }
    }

    /// The counter of the calls by `path`.
    pub(super) fn calls(&self, path: Path) -> Counter {
        counter!(
            "dubbo_migration_calls_total",
            "service" => self.service.clone(), "registry" => self.registry.clone(), "path" => path.name()
        )
    }

    /// A path that is not followed has no addresses.
    pub(super) fn show(&self, step: MigrationStep, addresses: &Both<Option<usize>>) {
        self.step.set(step.number());
        for path in Path::BOTH {
            let count = addresses.get(path).unwrap_or(0);
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            self.addresses.get(path).set(count);
        }
    }
}
