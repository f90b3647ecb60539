//! What is reported of migrations: for programs, for people, and as the JSON that Dubbo Java's reporters get.

use std::fmt;

use dubbo_core::service::ServiceKey;
use serde_json::{Map, Value};

use super::{MigrationStep, Path};

/// How far the migration of a consumer application is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MigrationStatus {
    /// The consumer application.
    pub application: String,
    /// Who said the rule that counts, such as `zookeeper://10.0.0.1:2181`; `None` without one.
    pub rule: Option<String>,
    /// The last text that could not be read as a rule, if no rule came from the same place since.
    pub refused: Option<String>,
    /// Every reference that is followed by both paths, or may be.
    pub references: Vec<ReferenceStatus>,
}

/// How far the migration of one reference is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReferenceStatus {
    /// The consumer application.
    pub application: String,
    /// The service.
    pub service: ServiceKey,
    /// What messages call the registry.
    pub registry: String,
    /// The step it is in.
    pub step: MigrationStep,
    /// Who said so.
    pub said_by: String,
    /// How many addresses the preferred path must have for each one of the other.
    pub threshold: f64,
    /// How many calls in a hundred may go by the path that the step prefers.
    pub proportion: u8,
    /// The step that it is to be in and that is not taken yet.
    pub wanted: Option<MigrationStep>,
    /// Why that step was refused; it is tried again with each change.
    pub refused: Option<String>,
    /// The path that calls go by, as long as it has an address.
    pub preferred: Path,
    /// Why that path.
    pub why: String,
    /// How many addresses there are by the application; `None` when it is not followed.
    pub application_addresses: Option<usize>,
    /// How many there are by the interface.
    pub interface_addresses: Option<usize>,
    /// How many calls, further attempts counted, went by the application.
    pub application_calls: u64,
    /// How many went by the interface.
    pub interface_calls: u64,
    /// The last step that was taken or refused.
    pub last_change: StepReport,
}

/// A step that was taken or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepReport {
    /// The step before; `None` for the first one.
    pub origin: Option<MigrationStep>,
    /// The step that was to be taken.
    pub new: MigrationStep,
    /// Whether it was.
    pub success: bool,
}

impl ReferenceStatus {
    /// Which path takes the calls, as Java's `consumption`.
    pub fn consumption(&self) -> String {
        let status = [("status", self.preferred.name())];
        report("consumption", &self.application, &self.service, status)
    }

    /// The last step that was taken or refused, as Java's `migrationStepStatus`.
    pub fn migration_step_status(&self) -> String {
        let StepReport {
            origin,
            new,
            success,
        } = self.last_change;
        let fields = [
            ("originStep", origin.map_or("null", MigrationStep::name)),
            ("newStep", new.name()),
            ("success", if success { "true" } else { "false" }),
        ];
        report(
            "migrationStepStatus",
            &self.application,
            &self.service,
            fields,
        )
    }
}

/// In short, as the command `ls` of Dubbo Java's operator console shows it: `AF(I-10,A-4)`, `I(10)`, `A(10)`.
impl fmt::Display for ReferenceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (application, interface) = (
            self.application_addresses.unwrap_or(0),
            self.interface_addresses.unwrap_or(0),
        );
        write!(f, "{} at {}: ", self.service, self.registry)?;
        match self.step {
            MigrationStep::ForceInterface => write!(f, "I({interface})"),
            MigrationStep::InterfaceFirst => write!(f, "IF(I-{interface},A-{application})"),
            MigrationStep::ApplicationFirst => write!(f, "AF(I-{interface},A-{application})"),
            MigrationStep::ForceApplication => write!(f, "A({application})"),
        }
    }
}

/// How an application is registered, as Java's `registration`: `instance`, `interface` or `all`.
pub fn registration(application: &str, mode: &str) -> String {
    let fields = [("application", application), ("status", mode)];
    object(fields)
}

fn report<const N: usize>(
    kind: &str,
    application: &str,
    service: &ServiceKey,
    fields: [(&str, &str); N],
) -> String {
    let common = [
        ("type", Some(kind)),
        ("application", Some(application)),
        ("service", Some(service.interface())),
        ("version", service.version()),
        ("group", service.group()),
    ];
    let common = common
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)));
    object(common.chain(fields))
}

fn object<'f>(fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> String {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Value::from(value)));
    Value::Object(fields.collect::<Map<_, _>>()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> ReferenceStatus {
        ReferenceStatus {
            application: "c".to_owned(),
            service: "g/a.B:1.0.0".parse().expect("a key"),
            registry: "registry memory://local".to_owned(),
            step: MigrationStep::ApplicationFirst,
            said_by: "the default".to_owned(),
            threshold: 0.0,
            proportion: 100,
            wanted: None,
            refused: None,
            preferred: Path::Application,
            why: String::new(),
            application_addresses: Some(4),
            interface_addresses: Some(10),
            application_calls: 0,
            interface_calls: 0,
            last_change: StepReport {
                origin: Some(MigrationStep::ApplicationFirst),
                new: MigrationStep::ForceApplication,
                success: false,
            },
        }
    }

    #[test]
    fn metadata_a25_reports_are_those_of_java() {
        let mut status = status();
        let json = |text: String| text.parse::<Value>().expect("JSON");
        assert_eq!(
            json(status.consumption()),
            serde_json::json!({
                "type": "consumption", "application": "c", "service": "a.B", "version": "1.0.0", "group": "g",
                "status": "app",
            })
        );
        assert_eq!(
            json(status.migration_step_status()),
            serde_json::json!({
                "type": "migrationStepStatus", "application": "c", "service": "a.B", "version": "1.0.0", "group": "g",
                "originStep": "APPLICATION_FIRST", "newStep": "FORCE_APPLICATION", "success": "false",
            })
        );
        status.service = ServiceKey::new("a.\"B");
        status.last_change.origin = None;
        let report = json(status.migration_step_status());
        assert_eq!(
            (&report["originStep"], &report["group"], &report["service"]),
            (&Value::from("null"), &Value::Null, &Value::from("a.\"B"))
        );
        assert_eq!(
            registration("c", "all"),
            r#"{"application":"c","status":"all"}"#
        );
    }

    #[test]
    fn in_short_it_is_what_java_lists() {
        let mut status = status();
        for (step, want) in [
            (MigrationStep::ForceInterface, "I(10)"),
            (MigrationStep::InterfaceFirst, "IF(I-10,A-4)"),
            (MigrationStep::ApplicationFirst, "AF(I-10,A-4)"),
            (MigrationStep::ForceApplication, "A(4)"),
        ] {
            status.step = step;
            let want = format!("g/a.B:1.0.0 at registry memory://local: {want}");
            assert_eq!(status.to_string(), want);
        }
    }
}
