//! Metadata, mappings and rules (`docs/spec/registry.md` §7, §8.1; `docs/spec/metadata.md` §4.1.1).

use dubbo_core::url::{Key, Url, UrlError};
use percent_encoding::utf8_percent_encode;

use super::{absolute, interfaces::SEGMENT, join, root};
use crate::{backend::TextKey, layout::TextLayout};

/// The nodes of texts.
pub(crate) struct Texts {
    /// Above metadata and mappings.
    root: String,
    /// Above the config center's texts.
    config: String,
    is_for_go33: bool,
}

impl Texts {
    pub(crate) fn of_url(url: &Url) -> Result<Self, UrlError> {
        let given = |key| url.param(key).filter(|value| !value.is_empty());
        let config = match (given(CONFIG_ROOT), given("namespace")) {
            (Some(path), _) => absolute(path),
            (None, namespace) => {
                let namespace = absolute(namespace.unwrap_or(DEFAULT_GROUP));
                join(&namespace, "config")
            }
        };
        Ok(Self {
            root: root(url, "/dubbo"),
            config,
            is_for_go33: url.get(&COMPAT_GO33)?,
        })
    }
}

impl TextLayout for Texts {
    fn app(&self, application: &str, revision: &str) -> Vec<TextKey> {
        let mut keys = vec![key(&java_path(
            &self.root,
            &[&["metadata", application], &[revision]],
        ))];
        if self.is_for_go33 {
            keys.push(key(&join(&join(&self.root, application), revision)));
        }
        keys
    }

    fn revisions(&self, application: &str) -> Option<String> {
        Some(java_path(&self.root, &[&["metadata", application]]))
    }

    fn mapping(&self, interface: &str) -> Vec<TextKey> {
        vec![key(&join(&join(&self.root, "mapping"), interface))]
    }

    fn collection(&self, application: &str) -> TextKey {
        key(&join(&join(&self.root, "metadata-gc"), application))
    }

    fn definition(&self, id: &str) -> TextKey {
        let mut parts = id.splitn(5, ':');
        let [interface, version, group, side, application] =
            std::array::from_fn(|_| parts.next().unwrap_or_default());
        let interface = match interface {
            "*" => String::new(),
            interface => utf8_percent_encode(interface, SEGMENT).to_string(),
        };
        let service = ["metadata", &*interface, version, group, side];
        key(&java_path(&self.root, &[&service, &[application]]))
    }

    fn config(&self, name: &str, group: &str) -> Vec<TextKey> {
        let group = if group.is_empty() {
            DEFAULT_GROUP
        } else {
            group
        };
        vec![key(&join(&join(&self.config, group), name))]
    }
}

/// The path below `root` as Java makes it: in steps, each of which begins with what there is, and leaves out what is empty
/// or was there.
fn java_path(root: &str, steps: &[&[&str]]) -> String {
    let mut path = String::new();
    for step in steps {
        let mut parts = vec![path.as_str()];
        parts.retain(|part| !part.is_empty());
        for part in *step {
            if !part.is_empty() && !parts.contains(part) {
                parts.push(part);
            }
        }
        path = parts.join("/");
    }
    join(root, &path)
}

fn key(path: &str) -> TextKey {
    let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
    TextKey {
        group: group.into(),
        name: name.into(),
    }
}

/// Java and dubbo-go have the same name for it.
const CONFIG_ROOT: &str = "dubbo.config-center.root-path";

/// Whether dubbo-go 3.3 is to find the metadata: it looks at another node than everybody else.
const COMPAT_GO33: Key<bool> = Key {
    name: "compat-go33",
    default: || true,
};

const DEFAULT_GROUP: &str = "dubbo";

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(url: &str) -> Texts {
        Texts::of_url(&url.parse().expect(url)).expect(url)
    }

    fn path(key: &TextKey) -> String {
        join(&key.group, &key.name)
    }

    fn paths(keys: &[TextKey]) -> Vec<String> {
        keys.iter().map(path).collect()
    }

    #[test]
    fn registry_t12_metadata_stands_where_java_and_where_dubbo_go_looks() {
        let both = ["/dubbo/metadata/demo-app/r1", "/dubbo/demo-app/r1"];
        for (url, want) in [
            ("zookeeper://h", &both[..]),
            ("zookeeper://h?compat-go33=true", &both),
            ("zookeeper://h?compat-go33=false", &both[..1]),
        ] {
            assert_eq!(paths(&texts(url).app("demo-app", "r1")), want, "{url}");
        }
        let other = texts("zookeeper://h?group=g1").app("demo-app", "r1");
        assert_eq!(
            paths(&other),
            ["/g1/metadata/demo-app/r1", "/g1/demo-app/r1"]
        );
        let collection = texts("zookeeper://h?group=g1").collection("demo-app");
        assert_eq!(path(&collection), "/g1/metadata-gc/demo-app");
        let revisions = texts("zookeeper://h").revisions("demo-app");
        assert_eq!(revisions.as_deref(), Some("/dubbo/metadata/demo-app"));
    }

    #[test]
    fn registry_t04_the_mapping_of_an_inner_class_has_a_dollar() {
        let mapping = texts("zookeeper://h").mapping("org.example.Outer$Inner");
        assert_eq!(paths(&mapping), ["/dubbo/mapping/org.example.Outer$Inner"]);
    }

    #[test]
    fn an_application_called_metadata_loses_a_segment_as_in_java() {
        let texts = texts("zookeeper://h?compat-go33=false");
        assert_eq!(paths(&texts.app("metadata", "r1")), ["/dubbo/metadata/r1"]);
        assert_eq!(
            texts.revisions("metadata").as_deref(),
            Some("/dubbo/metadata")
        );
        // The second step begins with the whole of the first.
        assert_eq!(paths(&texts.app("a", "a")), ["/dubbo/metadata/a/a"]);
    }

    #[test]
    fn definitions_stand_where_java_puts_them() {
        for (id, want) in [
            (
                "x.Y:1.0.0:g1:provider:app",
                "/dubbo/metadata/x.Y/1.0.0/g1/provider/app",
            ),
            ("x.Y:::provider:app", "/dubbo/metadata/x.Y/provider/app"),
            ("x.Y:v:v:provider:app", "/dubbo/metadata/x.Y/v/provider/app"),
            (
                "x.Y::metadata:consumer:app",
                "/dubbo/metadata/x.Y/consumer/app",
            ),
            (
                "x.Y:1:app:provider:app",
                "/dubbo/metadata/x.Y/1/app/provider/app",
            ),
            (
                "x.Y:1:provider:provider:app",
                "/dubbo/metadata/x.Y/1/provider/app",
            ),
            (
                "o.Outer$Inner:::provider:app",
                "/dubbo/metadata/o.Outer%24Inner/provider/app",
            ),
        ] {
            assert_eq!(path(&texts("zookeeper://h").definition(id)), want, "{id}");
        }
    }

    #[test]
    fn registry_t13_rules_stand_below_the_config_center() {
        for (url, group, want) in [
            ("zookeeper://h", "dubbo", "/dubbo/config/dubbo/"),
            ("zookeeper://h", "", "/dubbo/config/dubbo/"),
            ("zookeeper://h", "g", "/dubbo/config/g/"),
            (
                "zookeeper://h?namespace=prod",
                "dubbo",
                "/prod/config/dubbo/",
            ),
            (
                "zookeeper://h?dubbo.config-center.root-path=/a/b/&namespace=n",
                "dubbo",
                "/a/b/dubbo/",
            ),
            ("zookeeper://h?group=/g1", "dubbo", "/dubbo/config/dubbo/"),
        ] {
            for name in [
                "org.example.Greeter:1.0.0:g1.configurators",
                "org.example.Greeter::.configurators",
                "demo-app.tag-router",
            ] {
                let keys = texts(url).config(name, group);
                assert_eq!(paths(&keys), [format!("{want}{name}")], "{url} {group}");
            }
        }
    }

    #[test]
    fn two_groups_are_two_trees() {
        let paths_of = |group: &str| -> Vec<String> {
            let url: Url = format!("zookeeper://h?group={group}")
                .parse()
                .expect("valid");
            let texts = Texts::of_url(&url).expect("valid");
            let keys = [
                texts.app("a", "r"),
                texts.mapping("x.Y"),
                vec![texts.definition("x.Y::::a")],
            ];
            keys.iter().flat_map(|keys| paths(keys)).collect()
        };
        let (one, two) = (paths_of("/g1"), paths_of("/g2"));
        assert!(one.iter().all(|path| path.starts_with("/g1/")), "{one:?}");
        assert!(two.iter().all(|path| path.starts_with("/g2/")), "{two:?}");
    }

    #[test]
    fn a_switch_that_is_neither_on_nor_off_is_refused() {
        let url: Url = "zookeeper://h?compat-go33=maybe".parse().expect("valid");
        assert!(Texts::of_url(&url).is_err());
    }
}
