//! How registries of our own, which no other framework reads, are laid out: everything is a URL.

use std::borrow::Cow;

use dubbo_core::{
    discovery::ServiceInstance,
    registry::RegistryError,
    url::{Key, Url},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::{
    backend::{Entry, Place, TextKey},
    layout::{InstanceLayout, InterfaceLayout, TextLayout},
    matching::Category,
};

/// The layout of `memory` and `file`:
///
/// ```text
/// interfaces/{interface}/{category}     URLs
/// applications/{application}            instances, as URLs
/// metadata/{application} {revision}     texts: a group and a name in it
/// mapping {interface}
/// definitions {id}
/// config/{group} {key}
/// ```
///
/// With a `namespace` or a `group` in the registry's URL, all of it stands under `in/{namespace}/` and `in/{group}/`.
///
/// With [`CONFIG_DIR`], the config center is that directory as dubbo-go has it, `{group}/{key}`, for files that people write.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    root: String,
    config_dir: Option<String>,
}

impl Plain {
    /// The layout that the registry at `url` has.
    pub(crate) fn of(url: &Url) -> Self {
        let parts = ["namespace", "group"].map(|key| url.param(key).unwrap_or_default());
        let mut root = String::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            root = format!("{root}in/{}/", escape(part));
        }
        let config_dir = url.param(CONFIG_DIR).filter(|dir| !dir.is_empty());
        let absolute = |dir| {
            std::path::absolute(dir)
                .ok()?
                .into_os_string()
                .into_string()
                .ok()
        };
        Self {
            root,
            config_dir: config_dir.and_then(absolute),
        }
    }

    fn all_of(&self, interface: &str) -> Vec<(Place, Category)> {
        [
            Category::Configurators,
            Category::Providers,
            Category::Routers,
        ]
        .map(|category| (self.service(interface, category), category))
        .into()
    }

    fn service(&self, interface: &str, category: Category) -> Place {
        let interface = escape(interface);
        Place(format!("{}{INTERFACES}/{interface}/{}", self.root, category.name()).into())
    }

    fn key(&self, group: &str, name: &str) -> TextKey {
        TextKey {
            group: format!("{}{group}", self.root).into(),
            name: name.into(),
        }
    }
}

impl InterfaceLayout<Url> for Plain {
    fn write(
        &self,
        url: &Url,
        category: Category,
    ) -> Result<Vec<(Place, Entry<Url>)>, RegistryError> {
        let service = url.service_key();
        Ok(vec![(
            self.service(service.interface(), category),
            entry(url.clone()),
        )])
    }

    fn places(&self, consumer: &Url) -> Vec<(Place, Category)> {
        let service = consumer.service_key();
        match service.interface() {
            ANY => Vec::new(),
            interface => self.all_of(interface),
        }
    }

    fn folder(&self, consumer: &Url) -> Option<Place> {
        let is_any = consumer.service_key().interface() == ANY;
        is_any.then(|| Place(format!("{}{INTERFACES}", self.root).into()))
    }

    fn named(&self, name: &str, _consumer: &Url) -> Vec<(Place, Category)> {
        unescape(name).map_or_else(Vec::new, |interface| self.all_of(&interface))
    }

    fn read(&self, _place: &Place, entry: &Entry<Url>) -> Option<Url> {
        Some(entry.value.clone())
    }
}

impl InstanceLayout<Url> for Plain {
    fn place(&self, application: &str) -> Result<Place, RegistryError> {
        let place = format!("{}{}", self.root, group(APPLICATIONS, application));
        Ok(Place(place.into()))
    }

    fn applications(&self) -> Place {
        Place(format!("{}{APPLICATIONS}", self.root).into())
    }

    fn application(&self, name: &str) -> Option<String> {
        unescape(name)
    }

    fn write(&self, instance: &ServiceInstance) -> Result<Entry<Url>, RegistryError> {
        let metadata = instance.metadata.iter();
        let url = Url::new(INSTANCE, &*instance.host)
            .with_port(instance.port)
            .with_param("weight", instance.weight.to_string())
            .with_param("healthy", instance.healthy.to_string())
            .with_param("enabled", instance.enabled.to_string())
            .with_params(metadata.map(|(key, value)| (format!("{METADATA}{key}"), value)));
        Ok(entry(url))
    }

    fn read(&self, application: &str, entry: &Entry<Url>) -> Option<ServiceInstance> {
        let url = &entry.value;
        let mut instance = ServiceInstance::new(application, url.host(), url.port()?);
        instance.weight = url.get(&WEIGHT).ok()?;
        instance.healthy = url.get(&HEALTHY).ok()?;
        instance.enabled = url.get(&ENABLED).ok()?;
        let metadata = url.params().filter_map(|(key, value)| {
            Some((key.strip_prefix(METADATA)?.to_owned(), value.to_owned()))
        });
        instance.metadata = metadata.collect();
        Some(instance)
    }
}

impl TextLayout for Plain {
    fn app(&self, application: &str, revision: &str) -> Vec<TextKey> {
        vec![self.key(&group("metadata", application), revision)]
    }

    fn revisions(&self, application: &str) -> Option<String> {
        Some(format!("{}{}", self.root, group("metadata", application)))
    }

    fn mapping(&self, interface: &str) -> Vec<TextKey> {
        vec![self.key("mapping", interface)]
    }

    fn collection(&self, application: &str) -> TextKey {
        self.key("metadata-gc", application)
    }

    fn definition(&self, id: &str) -> TextKey {
        self.key("definitions", id)
    }

    fn config(&self, name: &str, of: &str) -> Vec<TextKey> {
        // A group that is an absolute path stands where it says, and not among the other texts.
        vec![match &self.config_dir {
            Some(dir) => TextKey {
                group: format!("{dir}/{}", escape(of)).into(),
                name: name.into(),
            },
            None => self.key(&group("config", of), name),
        }]
    }
}

/// The entry that stands for `url`. An instance is known by its address alone, so that it can be changed in place.
pub(crate) fn entry(url: Url) -> Entry<Url> {
    let id = match url.protocol() {
        INSTANCE => url.address(),
        _ => url.to_string(),
    };
    Entry {
        id: id.into(),
        value: url,
    }
}

/// `text` as one segment of a path, and as the name of a file: never empty, `.` or `..`.
pub(crate) fn escape(text: &str) -> String {
    let escaped: Cow<'_, str> = utf8_percent_encode(text, SEGMENT).into();
    match escaped.strip_prefix('.') {
        Some(rest) => format!("%2E{rest}"),
        // No escape ends with it.
        None if escaped.is_empty() => "%".to_owned(),
        None => escaped.into_owned(),
    }
}

/// Undoes [`escape`]; `None` for what it never makes.
pub(crate) fn unescape(segment: &str) -> Option<String> {
    let text = match segment {
        "%" => String::new(),
        _ => percent_decode_str(segment).decode_utf8().ok()?.into_owned(),
    };
    (escape(&text) == segment).then_some(text)
}

fn group(kind: &str, name: &str) -> String {
    format!("{kind}/{}", escape(name))
}

const ANY: &str = "*";

/// dubbo-go's parameter that says in which directory the documents of a `file` center are.
pub(crate) const CONFIG_DIR: &str = "dubbo.config-center.dir";

const APPLICATIONS: &str = "applications";

const INTERFACES: &str = "interfaces";

const INSTANCE: &str = "instance";

const METADATA: &str = "metadata.";

const WEIGHT: Key<u32> = Key {
    name: "weight",
    default: || 100,
};

const HEALTHY: Key<bool> = Key {
    name: "healthy",
    default: || true,
};

const ENABLED: Key<bool> = Key {
    name: "enabled",
    default: || true,
};

const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'$');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_segment_and_comes_back() {
        for (text, want) in [
            ("greet.Greeter", "greet.Greeter"),
            ("a.B$C", "a.B$C"),
            ("", "%"),
            (".", "%2E"),
            ("..", "%2E."),
            ("../x", "%2E.%2Fx"),
            ("a/b:c d", "a%2Fb%3Ac%20d"),
            ("100%", "100%25"),
            ("名", "%E5%90%8D"),
        ] {
            assert_eq!(escape(text), want, "{text:?}");
            assert_eq!(unescape(want).as_deref(), Some(text));
        }
        for odd in ["a b", "%2e", "%zz", "%FF", ".", "a%", ""] {
            assert_eq!(unescape(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn namespace_and_group_are_corners_of_their_own() {
        for (url, want) in [
            ("memory://here", "applications/shop"),
            ("memory://here?group=", "applications/shop"),
            ("memory://here?group=g/1", "in/g%2F1/applications/shop"),
            (
                "memory://here?group=g&namespace=n",
                "in/n/in/g/applications/shop",
            ),
        ] {
            let plain = Plain::of(&url.parse().expect("valid"));
            let place = plain.place("shop").expect("any name will do");
            assert_eq!(&*place.0, want, "{url}");
        }
    }

    #[test]
    fn an_instance_comes_back_as_it_was_and_its_id_is_its_address() {
        let plain = Plain::of(&Url::new("memory", "here"));
        let mut instance = ServiceInstance::new("shop", "fd00::1", 20880);
        instance.weight = 7;
        instance.healthy = false;
        instance.enabled = false;
        let endpoints = r#"[{"port":20880,"protocol":"tri"}]"#;
        for (key, value) in [
            ("dubbo.endpoints", endpoints),
            ("empty", ""),
            ("odd key", "a&b=c;d"),
        ] {
            instance.metadata.insert(key.to_owned(), value.to_owned());
        }
        let written = InstanceLayout::write(&plain, &instance).expect("anything can be written");
        assert_eq!(&*written.id, "[fd00::1]:20880");
        let text = written.value.to_string();
        let back = entry(text.parse().expect("a URL"));
        assert_eq!(InstanceLayout::read(&plain, "shop", &back), Some(instance));
    }

    #[test]
    fn what_is_no_instance_is_none() {
        let plain = Plain::of(&Url::new("memory", "here"));
        for text in [
            "instance://h",
            "instance://h:1?weight=x",
            "instance://h:1?healthy=perhaps",
        ] {
            let entry = entry(text.parse().expect("a URL"));
            assert_eq!(InstanceLayout::read(&plain, "shop", &entry), None, "{text}");
        }
    }
}
