//! Which providers a consumer asks for.

use super::ServiceKey;

impl ServiceKey {
    /// Whether a consumer that asks for this key is to see a provider of `provided`.
    ///
    /// `docs/spec/registry.md` §1.4, Java's rules: the interface is the same, or one of the two is `*`; group and version
    /// are the same, or this key has `*` or a comma list with them. Version `0.0.0` is none
    /// (`docs/spec/metadata.md` §1.1).
    pub fn wants(&self, provided: &Self) -> bool {
        let interface = self.interface() == provided.interface()
            || [self.interface(), provided.interface()].contains(&ANY);
        interface
            && wants_part(self.group(), provided.group())
            && wants_part(written(self.version()), written(provided.version()))
    }
}

/// Whether a comma list has `item` or `*`.
pub fn lists(list: &str, item: &str) -> bool {
    list.split(',')
        .map(str::trim)
        .any(|entry| entry == item || entry == ANY)
}

fn wants_part(wanted: Option<&str>, provided: Option<&str>) -> bool {
    wanted == provided || wanted.is_some_and(|list| lists(list, provided.unwrap_or_default()))
}

fn written(version: Option<&str>) -> Option<&str> {
    version.filter(|version| *version != NO_VERSION)
}

const ANY: &str = "*";

/// What dubbo-go takes for no version.
const NO_VERSION: &str = "0.0.0";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interface_group_and_version_decide() {
        for (consumer, provider, want) in [
            ("a.B", "a.B", true),
            ("a.B", "a.C", false),
            ("*", "a.C", true),
            ("*", "g/a.C", false),
            ("*/*", "g/a.C", true),
            ("g/a.B", "a.B", false),
            ("a.B", "g/a.B", false),
            ("*/a.B", "a.B", true),
            ("f, g/a.B", "g/a.B", true),
            ("f,g/a.B", "a.B", false),
            ("a.B:*", "a.B:1", true),
            ("a.B:1,2", "a.B:2", true),
            ("a.B:1", "a.B:1.0", false),
            ("a.B:1", "a.B:*", false),
            ("a.B:0.0.0", "a.B", true),
            ("a.B", "a.B:0.0.0", true),
        ] {
            let key = |text: &str| text.parse::<ServiceKey>().expect(text);
            assert_eq!(
                key(consumer).wants(&key(provider)),
                want,
                "{consumer} and {provider}"
            );
        }
    }
}
