//! Metadata, mappings and rules (`docs/spec/registry.md` §7, §8.1).

use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

use super::{DEFAULT_GROUP, group};
use crate::{backend::TextKey, layout::TextLayout};

/// The data ids of texts.
pub(in crate::nacos) struct Texts {
    /// Of definitions.
    group: String,
    /// Where dubbo-go looked for metadata before it looked where Java does.
    go33: Option<String>,
}

impl Texts {
    pub(in crate::nacos) fn of_url(url: &Url) -> Result<Self, BoxError> {
        let is_for_go33 = url.get(&COMPAT_GO33)?;
        Ok(Self {
            group: group(url, DUBBO)?,
            go33: is_for_go33.then(|| group(url, DEFAULT_GROUP)).transpose()?,
        })
    }
}

impl TextLayout for Texts {
    fn app(&self, application: &str, revision: &str) -> Vec<TextKey> {
        let go33 = self.go33.iter();
        let go33 = go33.map(|group| key(&format!("{application}:{revision}"), group));
        std::iter::once(key(application, revision))
            .chain(go33)
            .collect()
    }

    /// Each is a group of its own, and groups cannot be listed.
    fn revisions(&self, _application: &str) -> Option<String> {
        None
    }

    fn mapping(&self, interface: &str) -> Vec<TextKey> {
        vec![key(interface, "mapping")]
    }

    fn collection(&self, application: &str) -> TextKey {
        key(application, "metadata-gc")
    }

    fn definition(&self, id: &str) -> TextKey {
        key(id, &self.group)
    }

    fn config(&self, name: &str, group: &str) -> Vec<TextKey> {
        let group = if group.is_empty() { DUBBO } else { group };
        vec![key(name, group)]
    }
}

/// Java's spelling of what Nacos does not take.
fn key(data_id: &str, group: &str) -> TextKey {
    let legal = |text: &str| text.replace('$', "___").replace('/', "-").into();
    TextKey {
        group: legal(group),
        name: legal(data_id),
    }
}

/// Whether dubbo-go 3.3 is to find the metadata where it has always written them, too.
const COMPAT_GO33: Key<bool> = Key {
    name: "compat-go33",
    default: || true,
};

const DUBBO: &str = "dubbo";

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(url: &str) -> Texts {
        Texts::of_url(&url.parse().expect(url)).expect(url)
    }

    /// Data id and group.
    fn pairs(keys: &[TextKey]) -> Vec<(&str, &str)> {
        keys.iter().map(|key| (&*key.name, &*key.group)).collect()
    }

    #[test]
    fn registry_t12_metadata_stand_where_java_looks_and_where_dubbo_go_looked() {
        let both = [("demo-app", "r1"), ("demo-app:r1", "DEFAULT_GROUP")];
        for (url, want) in [
            ("nacos://h", &both[..]),
            ("nacos://h?compat-go33=false", &both[..1]),
            (
                "nacos://h?group=g1",
                &[("demo-app", "r1"), ("demo-app:r1", "g1")],
            ),
        ] {
            assert_eq!(pairs(&texts(url).app("demo-app", "r1")), want, "{url}");
        }
        assert_eq!(texts("nacos://h").revisions("demo-app"), None);
        let collection = texts("nacos://h").collection("demo-app");
        assert_eq!(pairs(&[collection]), [("demo-app", "metadata-gc")]);
    }

    #[test]
    fn registry_t11_a_mapping_is_called_by_its_interface() {
        for (interface, want) in [
            ("org.example.Greeter", "org.example.Greeter"),
            ("org.example.Outer$Inner", "org.example.Outer___Inner"),
            ("a/b", "a-b"),
        ] {
            let keys = texts("nacos://h?group=g1").mapping(interface);
            assert_eq!(pairs(&keys), [(want, "mapping")]);
        }
    }

    #[test]
    fn definitions_stand_where_java_puts_them() {
        for (url, group) in [("nacos://h", "dubbo"), ("nacos://h?group=g1", "g1")] {
            let key = texts(url).definition("a.B$C:::provider:demo");
            assert_eq!(pairs(&[key]), [("a.B___C:::provider:demo", group)]);
        }
    }

    #[test]
    fn registry_t13_rules_stand_in_the_group_dubbo() {
        for (name, group, want) in [
            (
                "org.example.Greeter:1.0.0:g1.configurators",
                "",
                ("org.example.Greeter:1.0.0:g1.configurators", "dubbo"),
            ),
            (
                "org.example.Greeter::.configurators",
                "dubbo",
                ("org.example.Greeter::.configurators", "dubbo"),
            ),
            ("demo-app.tag-router", "a/b", ("demo-app.tag-router", "a-b")),
        ] {
            let keys = texts("nacos://h?group=g1").config(name, group);
            assert_eq!(pairs(&keys), [want]);
        }
    }

    #[test]
    fn a_switch_that_is_neither_on_nor_off_is_refused() {
        let url = "nacos://h?compat-go33=maybe".parse().expect("valid");
        assert!(Texts::of_url(&url).is_err());
    }
}
