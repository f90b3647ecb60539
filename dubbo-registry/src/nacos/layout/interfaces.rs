//! Interface level: a service `{category}:{interface}:{version}:{group}`, and a URL for each of its instances.
//!
//! dubbo-go and Java differ in how they spell an interface that is an inner class (`$` and `___`); we are registered and
//! look under both. A name without its empty parts, as old versions of Java wrote it, is looked at too.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use dubbo_core::{registry::RegistryError, service::ServiceKey, url::Url};
use parking_lot::Mutex;

use super::{DEFAULT_GROUP, group, limits, place, split};
use crate::{
    backend::{Entry, Place},
    layout::InterfaceLayout,
    matching::Category,
    nacos::instance::Instance,
};

/// The services of providers, consumers and rules.
pub(in crate::nacos) struct Interfaces {
    group: String,
    address: String,
    /// The URLs of which it was said that they are shortened.
    shortened: Mutex<BTreeSet<String>>,
}

impl Interfaces {
    pub(in crate::nacos) fn of_url(url: &Url) -> Result<Self, limits::Illegal> {
        Ok(Self {
            group: group(url, DEFAULT_GROUP)?,
            address: format!("{}://{}", url.protocol(), url.address()),
            shortened: Mutex::default(),
        })
    }

    fn instance(&self, url: &Url, category: Category) -> Result<Instance, String> {
        if url.param("dynamic") == Some("false") {
            return Err(
                "`dynamic=false` asks for an instance that outlives this program, and this registry makes none; an \
                 administrator's tool does"
                    .to_owned(),
            );
        }
        limits::host(url.host()).map_err(|error| error.to_string())?;
        let params = url.params().filter(|(_, value)| !value.is_empty());
        let mut metadata: BTreeMap<_, _> = params
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for (key, value) in [
            (PROTOCOL, url.protocol()),
            (PATH, url.path()),
            (CATEGORY, category.name()),
        ] {
            metadata.insert(key.to_owned(), value.to_owned());
        }
        let is_needed = |key: &str| NEEDED.contains(&key);
        let left_out = limits::fit(&mut metadata, is_needed).map_err(|error| error.to_string())?;
        if !left_out.is_empty() && self.shortened.lock().insert(url.to_string()) {
            tracing::warn!(
                service = %url.service_key(),
                left_out = left_out.join(","),
                "Nacos takes 1024 characters of metadata, so these parameters are not registered"
            );
        }
        let mut instance = Instance::new(url.host(), url.port().unwrap_or_default(), metadata);
        instance.weight = weight(url.param("weight"));
        Ok(instance)
    }

    fn wanted(&self, consumer: &Url) -> Vec<(Place, Category)> {
        let wanted = consumer.service_key();
        let of = |category: Category| {
            let names = match category {
                Category::Providers => read_names(&wanted),
                _ => vec![name(
                    category,
                    wanted.interface(),
                    version(&wanted),
                    &wanted,
                )],
            };
            let places = names
                .into_iter()
                .map(move |n| (place(&self.group, &n), category));
            places.collect::<Vec<_>>()
        };
        FOLLOWED
            .into_iter()
            .filter(|category| category.is_wanted_by(consumer))
            .flat_map(of)
            .collect()
    }
}

impl InterfaceLayout<Instance> for Interfaces {
    fn write(
        &self,
        url: &Url,
        category: Category,
    ) -> Result<Vec<(Place, Entry<Instance>)>, RegistryError> {
        let refuse = |reason: String| {
            RegistryError::new(format!("register {url:?}"), &self.address, reason).refused()
        };
        let instance = self.instance(url, category).map_err(refuse)?;
        let id: Arc<str> = url.to_string().into();
        let key = url.service_key();
        let written = spellings(key.interface()).into_iter().map(|interface| {
            let name = name(
                category,
                &interface,
                key.version().unwrap_or_default(),
                &key,
            );
            limits::service(&name).map_err(|error| refuse(error.to_string()))?;
            let entry = Entry {
                id: Arc::clone(&id),
                value: instance.clone(),
            };
            Ok((place(&self.group, &name), entry))
        });
        written.collect()
    }

    fn places(&self, consumer: &Url) -> Vec<(Place, Category)> {
        if is_pattern(&consumer.service_key()) {
            return Vec::new();
        }
        self.wanted(consumer)
    }

    fn folder(&self, consumer: &Url) -> Option<Place> {
        is_pattern(&consumer.service_key()).then(|| Place(self.group.as_str().into()))
    }

    fn named(&self, name: &str, consumer: &Url) -> Vec<(Place, Category)> {
        let Some((category, key)) = parse(name) else {
            return Vec::new();
        };
        let wanted = consumer.service_key();
        let is_wanted = match key {
            Parsed::Full(key) => wanted.wants(&key),
            // What its parts are, its instances say.
            Parsed::Short(interface) => {
                category == Category::Providers && [ANY, &interface].contains(&wanted.interface())
            }
        };
        if is_wanted && FOLLOWED.contains(&category) && category.is_wanted_by(consumer) {
            vec![(place(&self.group, name), category)]
        } else {
            Vec::new()
        }
    }

    fn read(&self, place: &Place, entry: &Entry<Instance>) -> Option<Url> {
        let instance = &entry.value;
        if !instance.enabled {
            return None;
        }
        let given = |key: &str| {
            let value = instance.metadata.get(key).map(String::as_str);
            value.filter(|value| !value.is_empty())
        };
        let path = given(PATH).map(|path| path.trim_start_matches('/'));
        let path = path
            .filter(|path| !path.is_empty())
            .or(given("interface"))?;
        let (_, service) = split(place);
        let is_provider = matches!(parse(service), Some((Category::Providers, _)));
        let is_ours = |key: &str| {
            [PROTOCOL, PATH, GO_CATEGORY].contains(&key) || (key == CATEGORY && is_provider)
        };
        let params = instance.metadata.iter().filter(|(key, _)| !is_ours(key));
        let mut url = Url::new(given(PROTOCOL)?, &*instance.host)
            .with_path(path)
            .with_params(params.map(|(key, value)| (key.as_str(), value.as_str())));
        if instance.port > 0 {
            url = url.with_port(instance.port);
        }
        Some(url)
    }
}

/// Whether `name` is of a service at this level, and not of an application.
pub(super) fn is_interface_level(name: &str) -> bool {
    parse(name).is_some()
}

/// What the name of a service says.
#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    /// With all its parts.
    Full(ServiceKey),
    /// An interface; what follows may be a version or a group.
    Short(String),
}

fn parse(name: &str) -> Option<(Category, Parsed)> {
    let (category, rest) = name.split_once(':')?;
    let category = CATEGORIES.into_iter().find(|c| c.name() == category)?;
    let mut parts = rest.split(':');
    let interface = parts.next()?.replace(JAVA_DOLLAR, "$");
    if interface.is_empty() {
        return None;
    }
    let parsed = match (parts.next(), parts.next(), parts.next()) {
        (Some(version), Some(group), None) => {
            let key = ServiceKey::new(interface);
            Parsed::Full(key.with_version(version).with_group(group))
        }
        (_, None, None) => Parsed::Short(interface),
        _ => return None,
    };
    Some((category, parsed))
}

fn name(category: Category, interface: &str, version: &str, key: &ServiceKey) -> String {
    let group = key.group().unwrap_or_default();
    format!("{}:{interface}:{version}:{group}", category.name())
}

/// The names under which providers of `key` may be registered.
fn read_names(key: &ServiceKey) -> Vec<String> {
    let category = Category::Providers;
    let version = version(key);
    let mut names = Vec::new();
    for interface in spellings(key.interface()) {
        names.push(name(category, &interface, version, key));
        if version.is_empty() {
            names.push(name(category, &interface, NO_VERSION, key));
        }
        if version.is_empty() || key.group().is_none() {
            let parts = [category.name(), &interface, version];
            let parts = parts.into_iter().chain(key.group());
            let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
            names.push(parts.join(":"));
        }
    }
    names
}

/// How dubbo-go and how Java spells it.
fn spellings(interface: &str) -> Vec<String> {
    let go = interface.to_owned();
    if interface.contains('$') {
        vec![go, interface.replace('$', JAVA_DOLLAR)]
    } else {
        vec![go]
    }
}

/// The version, where `0.0.0` is none.
fn version(key: &ServiceKey) -> &str {
    let version = key.version().unwrap_or_default();
    if version == NO_VERSION { "" } else { version }
}

fn is_pattern(key: &ServiceKey) -> bool {
    let parts = [key.group(), key.version()].into_iter().flatten();
    key.interface() == ANY || parts.into_iter().any(|part| part.contains(['*', ',']))
}

/// As dubbo-go has it: what is no positive number is 1.
fn weight(param: Option<&str>) -> f64 {
    let weight = param.and_then(|weight| weight.parse::<f64>().ok());
    let weight = weight.filter(|weight| *weight > 0.0);
    weight.map_or(1.0, |weight| weight.min(10_000.0))
}

/// What consumers need of a provider, so that it stays when there is too much.
const NEEDED: [&str; 19] = [
    "application",
    CATEGORY,
    "dubbo",
    "dubbo.tag",
    "enabled",
    "group",
    "interface",
    PATH,
    "prefer.serialization",
    PROTOCOL,
    "release",
    "serialization",
    "side",
    "ssl-enabled",
    "timestamp",
    "token",
    "version",
    "warmup",
    "weight",
];

const PROTOCOL: &str = "protocol";
const PATH: &str = "path";
const CATEGORY: &str = "category";
const GO_CATEGORY: &str = "nacos.category";

/// What consumers follow. They do not look at each other.
const FOLLOWED: [Category; 3] = [
    Category::Providers,
    Category::Configurators,
    Category::Routers,
];

const CATEGORIES: [Category; 4] = [
    Category::Configurators,
    Category::Consumers,
    Category::Providers,
    Category::Routers,
];

const ANY: &str = "*";
const JAVA_DOLLAR: &str = "___";
const NO_VERSION: &str = "0.0.0";

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Interfaces {
        Interfaces::of_url(&"nacos://h".parse().expect("valid")).expect("valid")
    }

    fn url(text: &str) -> Url {
        text.parse().expect(text)
    }

    fn written(text: &str) -> Vec<(Place, Entry<Instance>)> {
        let url = url(text);
        let category = Category::of(&url).expect("a category");
        layout().write(&url, category).expect("can be written")
    }

    /// Where `text` is registered.
    fn names(text: &str) -> Vec<String> {
        let places = written(text).into_iter();
        places.map(|(place, _)| place.0.to_string()).collect()
    }

    /// Where a consumer looks for providers.
    fn looks(query: &str) -> Vec<String> {
        let consumer = url(&format!("consumer://h/x?category=providers&{query}"));
        let places = layout().places(&consumer).into_iter();
        let names = places.map(|(place, _)| split(&place).1.to_owned());
        names.collect()
    }

    fn read(name: &str, metadata: &[(&str, &str)]) -> Option<Url> {
        let metadata = metadata.iter();
        let metadata = metadata.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let value = Instance::new("10.0.0.7", 20000, metadata.collect());
        let id = value.id().into();
        layout().read(&place(DEFAULT_GROUP, name), &Entry { id, value })
    }

    const T1: &str = "tri://10.0.0.7:20000/org.example.Greeter?application=demo-app&group=g1\
        &interface=org.example.Greeter&methods=SayHello,SayBye&registry.role=3&release=dubbo-golang-3.3.2\
        &serialization=protobuf&side=provider&timestamp=1700000000&version=1.0.0&warmup=&weight=100";

    #[test]
    fn registry_t04_an_inner_class_is_registered_and_looked_at_in_both_spellings() {
        let provider = "tri://h:1/org.example.Outer$Inner?interface=org.example.Outer$Inner";
        let both = [
            "providers:org.example.Outer$Inner::",
            "providers:org.example.Outer___Inner::",
        ];
        assert_eq!(
            names(provider),
            both.map(|name| format!("DEFAULT_GROUP@@{name}"))
        );
        let looks = looks("interface=org.example.Outer$Inner");
        assert!(
            both.iter().all(|name| looks.contains(&(*name).to_owned())),
            "{looks:?}"
        );
        let all = url("consumer://h/x?interface=*&category=providers");
        let named = layout().named(both[1], &all);
        assert_eq!(
            named,
            [(place(DEFAULT_GROUP, both[1]), Category::Providers)]
        );
        let one =
            url("consumer://h/x?interface=org.example.Outer$Inner&group=*&category=providers");
        assert_eq!(layout().named(both[1], &one).len(), 1);
    }

    #[test]
    fn registry_t05_services_are_called_as_others_call_them() {
        for (url, want) in [
            (
                "tri://h/org.example.Greeter?version=1.0.0&group=g1",
                "providers:org.example.Greeter:1.0.0:g1",
            ),
            (
                "tri://h/org.example.Greeter",
                "providers:org.example.Greeter::",
            ),
            (
                "tri://h/org.example.Greeter?version=0.0.0&group=g1",
                "providers:org.example.Greeter:0.0.0:g1",
            ),
            (
                "consumer://h/org.example.Greeter?version=1.0.0&group=g1",
                "consumers:org.example.Greeter:1.0.0:g1",
            ),
            (
                "override://h/org.example.Greeter",
                "configurators:org.example.Greeter::",
            ),
        ] {
            assert_eq!(names(url), [format!("DEFAULT_GROUP@@{want}")], "{url}");
        }
        let group = Interfaces::of_url(&url("nacos://h?group=g")).expect("valid");
        let placed = group
            .write(&url("tri://h/a.B"), Category::Providers)
            .expect("valid");
        assert_eq!(&*placed[0].0.0, "g@@providers:a.B::");
    }

    #[test]
    fn registry_t06_metadata_are_the_parameters_and_where_they_belong() {
        let [(_, entry)] = &written(T1)[..] else {
            panic!("one place");
        };
        let provider = url(T1);
        let mut want: BTreeMap<_, _> = provider
            .params()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for (key, value) in [
            ("category", "providers"),
            ("path", "org.example.Greeter"),
            ("protocol", "tri"),
        ] {
            want.insert(key.to_owned(), value.to_owned());
        }
        assert_eq!(entry.value.metadata, want);
        assert!(entry.value.healthy && entry.value.enabled);
        for (weight, want) in [
            ("100", 100.0),
            ("0", 1.0),
            ("-1", 1.0),
            ("abc", 1.0),
            ("NaN", 1.0),
            ("20000", 10_000.0),
            ("0.5", 0.5),
        ] {
            let url = T1.replace("weight=100", &format!("weight={weight}"));
            let registered = written(&url)[0].1.value.weight;
            assert!((registered - want).abs() < f64::EPSILON, "{weight}");
        }
    }

    #[test]
    fn registry_t06_a_path_is_read_with_and_without_a_slash() {
        let name = "providers:org.example.Greeter:1.0.0:g1";
        let interface = ("interface", "org.example.Greeter");
        let want = "tri://10.0.0.7:20000/org.example.Greeter?interface=org.example.Greeter";
        for metadata in [
            &[
                ("protocol", "tri"),
                ("path", "/org.example.Greeter"),
                interface,
            ][..],
            &[
                ("protocol", "tri"),
                ("path", "org.example.Greeter"),
                interface,
            ],
            &[("protocol", "tri"), ("path", "/"), interface],
            &[("protocol", "tri"), interface],
            &[
                ("protocol", "tri"),
                ("category", "providers"),
                ("nacos.category", "providers"),
                interface,
            ],
        ] {
            let read = read(name, metadata).expect("a URL");
            assert_eq!(read.to_string(), want, "{metadata:?}");
        }
        for metadata in [
            &[][..],
            &[("protocol", "tri")],
            &[interface],
            &[("protocol", ""), interface],
        ] {
            assert_eq!(read(name, metadata), None, "{metadata:?}");
        }
    }

    #[test]
    fn registry_t07_what_consumers_need_stays_and_more_than_that_is_refused() {
        let long = format!("{T1}&service.filter={}", "x".repeat(900));
        let [(_, entry)] = &written(&long)[..] else {
            panic!("one place");
        };
        assert!(!entry.value.metadata.contains_key("service.filter"));
        assert_eq!(entry.value.metadata["methods"], "SayHello,SayBye");
        let token = url(&format!("{T1}&token={}", "x".repeat(1000)));
        let error = layout()
            .write(&token, Category::Providers)
            .expect_err("too long");
        assert_eq!(error.kind, dubbo_core::registry::RegistryErrorKind::Refused);
        assert!(error.reason.contains("Nacos takes 1024 in all"), "{error}");
    }

    /// Case 68, and version `0.0.0`, which is none.
    #[test]
    fn a_consumer_looks_under_all_names_that_mean_the_same() {
        for (query, want) in [
            (
                "interface=a.B",
                &["providers:a.B::", "providers:a.B:0.0.0:", "providers:a.B"][..],
            ),
            (
                "interface=a.B&version=0.0.0",
                &["providers:a.B::", "providers:a.B:0.0.0:", "providers:a.B"],
            ),
            (
                "interface=a.B&version=1",
                &["providers:a.B:1:", "providers:a.B:1"],
            ),
            (
                "interface=a.B&group=g",
                &[
                    "providers:a.B::g",
                    "providers:a.B:0.0.0:g",
                    "providers:a.B:g",
                ],
            ),
            ("interface=a.B&version=1&group=g", &["providers:a.B:1:g"]),
        ] {
            assert_eq!(looks(query), want, "{query}");
        }
        let all = layout().places(&url("consumer://h/a.B?version=1&group=g"));
        let all: Vec<_> = all.iter().map(|(place, _)| split(place).1).collect();
        assert_eq!(
            all,
            [
                "providers:a.B:1:g",
                "configurators:a.B:1:g",
                "routers:a.B:1:g"
            ]
        );
    }

    #[test]
    fn names_of_a_group_lead_to_what_a_pattern_asks_for() {
        for query in [
            "interface=*",
            "interface=a.B&group=*",
            "interface=a.B&version=1,2",
        ] {
            let consumer = url(&format!("consumer://h/x?{query}"));
            assert_eq!(
                layout().folder(&consumer),
                Some(Place(DEFAULT_GROUP.into()))
            );
            assert_eq!(layout().places(&consumer), []);
        }
        assert_eq!(layout().folder(&url("consumer://h/a.B")), None);
        for (query, name, wanted) in [
            ("interface=*", "providers:a.B::", true),
            ("interface=*", "providers:a.B", true),
            ("interface=*", "configurators:a.B::", true),
            ("interface=*", "consumers:a.B::", false),
            ("interface=*", "demo-app", false),
            ("interface=*", "providers:", false),
            ("interface=*", "providers:a:b:c:d", false),
            ("interface=*", "providers:a.B:1:", false),
            ("interface=*&version=*", "providers:a.B:1:", true),
            ("interface=a.B&group=g,h", "providers:a.B::h", true),
            ("interface=a.B&group=g,h", "providers:a.B::i", false),
            ("interface=a.B&group=*", "providers:a.C::g", false),
            ("interface=a.B&group=*", "providers:a.B:g", true),
            ("interface=a.B&group=*", "providers:a.C:g", false),
        ] {
            let named = layout().named(name, &url(&format!("consumer://h/x?{query}")));
            assert_eq!(!named.is_empty(), wanted, "{query} {name}");
        }
    }

    #[test]
    fn what_was_registered_is_read_back() {
        for text in [
            "tri://[fd00::1]:50051/a.B?application=demo&interface=a.B&timestamp=1700000000000",
            "override://0.0.0.0/a.B?category=configurators&timeout=5",
            "consumer://10.0.0.9/a.B?category=consumers&interface=a.B",
        ] {
            let [(place, entry)] = &written(text)[..] else {
                panic!("one place");
            };
            let back = layout().read(place, entry).expect("a URL");
            assert_eq!(back.to_string(), text);
        }
    }

    #[test]
    fn what_is_switched_off_at_the_server_is_not_there() {
        let [(place, entry)] = &written(T1)[..] else {
            panic!("one place");
        };
        let mut off = entry.clone();
        off.value.enabled = false;
        assert_eq!(layout().read(place, &off), None);
    }

    #[test]
    fn what_nacos_would_refuse_is_not_asked_of_it() {
        for (text, why) in [
            ("tri://h/a%20b?interface=a%20b", "has ' ' in it"),
            ("tri://h/a.B?group=x@@y", "`@@` in it"),
            ("override://0.0.0.0/x.Y?dynamic=false", "`dynamic=false`"),
        ] {
            let url = url(text);
            let category = Category::of(&url).expect("a category");
            let error = layout().write(&url, category).expect_err(text);
            assert!(error.reason.contains(why), "{error}");
        }
    }
}
