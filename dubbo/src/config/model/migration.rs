use std::{path::PathBuf, time::Duration};

use dubbo_cluster::migration::{Comparators, MigrationStep, Terms};
use dubbo_core::yaml::Section;

use super::settings;

settings! {
    /// `dubbo.migration`: moving from interfaces to applications, and what a local rule for that is
    /// (`docs/spec/metadata.md` §7.5).
    pub struct MigrationConfig {
        /// `enabled`, by default false: whether registries whose type nothing says are used by interfaces and by
        /// applications, where they have both.
        enabled: Option<bool>,
        /// `comparators`, by default none: what is compared beside addresses before calls go another way. Names with commas
        /// between them: `methods`, `protocols`, `errors`.
        comparators: Option<Comparators>,
        /// `readiness`, by default false: whether references say by which way they found the provider that they call (the
        /// attachments `migration-path` and `migration-consumer`), and whether services count who calls by which
        /// ([`Instance::migration_readiness`](crate::Instance::migration_readiness)).
        readiness: Option<bool>,
        /// `dubbo.migration-file.enable`, by default false: whether the local rule counts, when no other has come.
        file_enable: Option<bool>,
        /// `file`, by default `dubbo-migration.yaml`: the local rule.
        file: Option<PathBuf>,
    }
}

impl MigrationConfig {
    /// Reads the sections `migration` and `migration-file`.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let own = s.section("migration", |s| Self {
            enabled: s.bool("enabled"),
            comparators: s.parse("comparators", COMPARATORS, |text| text.parse().ok()),
            readiness: s.bool("readiness"),
            file_enable: None,
            file: s.string("file").map(PathBuf::from),
        });
        Self {
            file_enable: s.section("migration-file", |s| s.bool("enable")),
            ..own
        }
    }
}

settings! {
    /// `dubbo.application.migration`: how references that are followed both ways migrate, as long as no rule and no
    /// parameter of theirs says more.
    pub struct ApplicationMigrationConfig {
        /// `step`, by default `APPLICATION_FIRST`. Java's older key `service-discovery.migration` says the same.
        step: Option<MigrationStep>,
        /// `threshold`, by default 0: how many addresses the new way must have for each one of the old way.
        threshold: Option<f64>,
        /// `proportion`, by default 100: how many calls in a hundred may go by the way that the step prefers.
        proportion: Option<u8>,
        /// `force`, by default false: whether a forced step is taken without comparing.
        force: Option<bool>,
        /// `delay`, by default 1 min: how long a rule from a config center is waited for before the local one counts. How
        /// long a step waits is for a rule to say, or for a reference.
        delay: Option<Duration>,
    }
}

impl ApplicationMigrationConfig {
    /// Reads the section `migration`, and Java's older key `service-discovery.migration`.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        let own = s.section("migration", |s| Self {
            step: s.choice("step", &MigrationStep::NAMES),
            threshold: s.parse(
                "threshold",
                "a number that is not negative, such as 0.8",
                |text| {
                    let number: f64 = text.parse().ok()?;
                    (number.is_finite() && number >= 0.0).then_some(number)
                },
            ),
            proportion: s.integer("proportion", 0..=100),
            force: s.bool("force"),
            delay: s.duration("delay"),
        });
        let older = s.section("service-discovery", |s| {
            s.choice("migration", &MigrationStep::NAMES)
        });
        Self {
            step: own.step.or(older),
            ..own
        }
    }

    /// What it says to those that migrate.
    pub(crate) fn terms(&self) -> Terms {
        let mut terms = Terms::default();
        terms.step = self.step;
        terms.threshold = self.threshold;
        terms.proportion = self.proportion;
        terms.force = self.force;
        terms
    }
}

const COMPARATORS: &str =
    "`methods`, `protocols` or `errors`, or several of them with commas between";
