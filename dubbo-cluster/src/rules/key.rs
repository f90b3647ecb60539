//! The keys that rules are kept under, as consoles write them (`docs/spec/cluster.md` §4.1).
//!
//! What is for one service is under its interface, version and group, with the colons of what is missing
//! (`shop.Users:1.0:.condition-router`); what is for an application under its name.

use dubbo_core::service::ServiceKey;

/// Who a rule is for.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// Every service of this application.
    Application(&'a str),
    /// This service alone.
    Service(&'a ServiceKey),
}

/// Where the conditions for `subject` are.
pub fn condition(subject: Subject<'_>) -> String {
    of(subject, "condition-router")
}

/// Where the tags of the provider application `application` are.
pub fn tag(application: &str) -> String {
    of(Subject::Application(application), "tag-router")
}

/// Where the script for calls of the provider application `application` is.
pub fn script(application: &str) -> String {
    of(Subject::Application(application), "script-router")
}

/// Where the affinity of `subject` is.
pub fn affinity(subject: Subject<'_>) -> String {
    of(subject, "affinity-router")
}

/// Where the mesh rules for calls of the provider application `application` are.
pub fn mesh(application: &str) -> String {
    of(Subject::Application(application), "MESHAPPRULE")
}

/// Where the overrides for `subject` are.
pub fn configurators(subject: Subject<'_>) -> String {
    of(subject, "configurators")
}

/// Where the policies of trying again of `application` are (`docs/spec/cluster.md` §7.2).
pub fn resend(application: &str) -> String {
    of(Subject::Application(application), "resend")
}

/// Where the switches of `application` are (`docs/spec/cluster.md` §7.11).
pub fn switches(application: &str) -> String {
    of(Subject::Application(application), "switches")
}

/// Where dubbo-go looks for the overrides of a service: under its service key, with `*` for the slash.
pub fn service_key_configurators(service: &ServiceKey) -> String {
    format!(
        "{}.configurators",
        service.to_string().replacen('/', "*", 1)
    )
}

fn of(subject: Subject<'_>, kind: &str) -> String {
    match subject {
        Subject::Application(name) => format!("{name}.{kind}"),
        Subject::Service(key) => {
            let version = key.version().filter(|version| *version != NO_VERSION);
            format!(
                "{}:{}:{}.{kind}",
                key.interface(),
                version.unwrap_or_default(),
                key.group().unwrap_or_default()
            )
        }
    }
}

/// What a version that nobody has set is called in places.
const NO_VERSION: &str = "0.0.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_consoles_write() {
        for (service, want) in [
            ("shop.Users", "shop.Users::"),
            ("shop.Users:1.0", "shop.Users:1.0:"),
            ("shop.Users:0.0.0", "shop.Users::"),
            ("g/shop.Users", "shop.Users::g"),
            ("g/shop.Users:1.0", "shop.Users:1.0:g"),
        ] {
            let service: ServiceKey = service.parse().expect(service);
            let subject = Subject::Service(&service);
            assert_eq!(condition(subject), format!("{want}.condition-router"));
            assert_eq!(affinity(subject), format!("{want}.affinity-router"));
            assert_eq!(configurators(subject), format!("{want}.configurators"));
        }
        let application = Subject::Application("appA");
        assert_eq!(condition(application), "appA.condition-router");
        assert_eq!(affinity(application), "appA.affinity-router");
        assert_eq!(configurators(application), "appA.configurators");
        assert_eq!(tag("appA"), "appA.tag-router");
        assert_eq!(script("appA"), "appA.script-router");
        assert_eq!(mesh("appA"), "appA.MESHAPPRULE");
        let service: ServiceKey = "g/shop.Users:1.0".parse().expect("a service key");
        let key = service_key_configurators(&service);
        assert_eq!(key, "g*shop.Users:1.0.configurators");
    }
}
