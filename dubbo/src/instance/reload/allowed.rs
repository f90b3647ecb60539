//! The keys that a program takes care of by itself.

/// Which keys may change without being refused, beside those that are live: as in dubbo-go, by what they are, begin with or
/// contain.
#[derive(Debug, Clone, Default)]
pub(in crate::instance) struct Allowed {
    pub(in crate::instance) exactly: Vec<String>,
    pub(in crate::instance) beginning: Vec<String>,
    pub(in crate::instance) containing: Vec<String>,
}

impl Allowed {
    pub(super) fn allows(&self, path: &str) -> bool {
        self.exactly.iter().any(|allowed| path == allowed)
            || self
                .beginning
                .iter()
                .any(|allowed| path.starts_with(allowed))
            || self.containing.iter().any(|allowed| path.contains(allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_allowed_by_what_it_is_begins_with_or_contains() {
        let allowed = Allowed {
            exactly: vec!["dubbo.application.name".to_owned()],
            beginning: vec!["dubbo.custom.".to_owned()],
            containing: vec![".metadata.".to_owned()],
        };
        for (path, want) in [
            ("dubbo.application.name", true),
            ("dubbo.application.names", false),
            ("dubbo.custom.a", true),
            ("dubbo.customs", false),
            ("dubbo.metadata.token", true),
            ("dubbo.metadata", false),
        ] {
            assert_eq!(allowed.allows(path), want, "{path}");
        }
        assert!(!Allowed::default().allows("dubbo.application.name"));
    }
}
