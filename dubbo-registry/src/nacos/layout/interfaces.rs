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
            address: url.origin(),
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
        let key = url.service_key();
        let path = Some(url.path()).filter(|path| !path.is_empty());
        let params = url.params().filter(|(_, value)| !value.is_empty());
        let mut metadata: BTreeMap<_, _> = params
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        for (key, value) in [
            (PROTOCOL, url.protocol()),
            (PATH, path.unwrap_or_else(|| key.interface())),
            (CATEGORY, category.name()),
        ] {
            metadata.insert(key.to_owned(), value.to_owned());
        }
        let is_needed = |key: &str| NEEDED.contains(&key);
        let left_out = limits::fit(&mut metadata, is_needed).map_err(|error| error.to_string())?;
        if !left_out.is_empty() && self.shortened.lock().insert(url.to_string()) {
            tracing::warn!(
                service = %key,
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
            .or_else(|| given("interface"))?;
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
