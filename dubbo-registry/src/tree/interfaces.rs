//! Interface level: `/{group}/{interface}/{category}/{encoded URL}`.

use std::sync::Arc;

use dubbo_core::{registry::RegistryError, url::Url};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{folder, join, root};
use crate::{
    backend::{Entry, Place},
    layout::InterfaceLayout,
    matching::Category,
};

/// The nodes of providers, consumers and rules.
pub(crate) struct Interfaces {
    root: String,
    address: String,
    /// Whether an interface whose name has to be escaped also stands under the name as it is.
    has_plain_names: bool,
}

impl Interfaces {
    pub(crate) fn of_url(url: &Url) -> Self {
        Self {
            root: root(url, "/dubbo"),
            address: url.origin(),
            has_plain_names: false,
        }
    }

    /// With both spellings of names that have to be escaped: on etcd dubbo-go writes one and reads the other.
    #[cfg(any(feature = "etcd", test))]
    pub(crate) fn with_plain_names(self) -> Self {
        Self {
            has_plain_names: true,
            ..self
        }
    }

    /// Where `category` of `interface` stands, in each spelling.
    fn spellings(&self, interface: &str, category: Category) -> impl Iterator<Item = Place> {
        let escaped = utf8_percent_encode(interface, SEGMENT).to_string();
        let is_one = !self.has_plain_names || escaped == interface || interface.contains('/');
        let plain = (!is_one).then(|| interface.to_owned());
        std::iter::once(escaped).chain(plain).map(move |name| {
            let service = join(&self.root, &name);
            Place(join(&service, category.name()).into())
        })
    }

    fn wanted(&self, interface: &str, consumer: &Url) -> Vec<(Place, Category)> {
        FOLLOWED
            .into_iter()
            .filter(|category| category.is_wanted_by(consumer))
            .flat_map(|category| {
                let places = self.spellings(interface, category);
                places.map(move |place| (place, category))
            })
            .collect()
    }
}

impl InterfaceLayout<Arc<[u8]>> for Interfaces {
    fn write(
        &self,
        url: &Url,
        category: Category,
    ) -> Result<Vec<(Place, Entry<Arc<[u8]>>)>, RegistryError> {
        if url.param("dynamic") == Some("false") {
            let operation = format!("register {url:?}");
            let reason = "`dynamic=false` asks for a node that outlives this program, and this registry makes none; \
                          an administrator's tool does";
            return Err(RegistryError::new(operation, &self.address, reason).refused());
        }
        // dubbo-go leaves these out too, so that a node is known by what it says.
        let empty: Vec<_> = url
            .params()
            .filter(|(_, value)| value.is_empty())
            .map(|(name, _)| name.to_owned())
            .collect();
        let url = empty
            .iter()
            .fold(url.clone(), |url, name| url.without_param(name));
        let entry = Entry {
            id: url.encode().into(),
            value: Arc::default(),
        };
        let service = url.service_key();
        let places = self.spellings(service.interface(), category);
        Ok(places.map(|place| (place, entry.clone())).collect())
    }

    fn places(&self, consumer: &Url) -> Vec<(Place, Category)> {
        self.wanted(consumer.service_key().interface(), consumer)
    }

    fn folder(&self, consumer: &Url) -> Option<Place> {
        (consumer.service_key().interface() == ANY).then(|| folder(&self.root))
    }

    fn named(&self, name: &str, consumer: &Url) -> Vec<(Place, Category)> {
        if RESERVED.contains(&name) {
            return Vec::new();
        }
        match percent_decode_str(name).decode_utf8() {
            Ok(interface) => self.wanted(&interface, consumer),
            Err(_) => Vec::new(),
        }
    }

    fn read(&self, _place: &Place, entry: &Entry<Arc<[u8]>>) -> Option<Url> {
        let text = percent_decode_str(&entry.id.replace('+', " "))
            .decode_utf8()
            .ok()?
            .into_owned();
        let url = if text.contains("://") {
            text.parse().or_else(|_| escape_strays(&text).parse()).ok()
        } else {
            // Encoded twice.
            Url::decode(&text).ok()
        };
        url.filter(|url: &Url| !url.protocol().is_empty())
    }
}

/// Escapes each `%` that begins no escape: dubbo-go and Java write values as they are into the text that they encode.
fn escape_strays(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_escape = |at: usize| {
        let hex = bytes.get(at + 1..at + 3);
        hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    };
    let mut escaped = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        escaped.push(character);
        if character == '%' && !is_escape(at) {
            escaped.push_str("25");
        }
    }
    escaped
}

/// What consumers follow. They do not look at each other.
const FOLLOWED: [Category; 3] = [
    Category::Providers,
    Category::Configurators,
    Category::Routers,
];

const ANY: &str = "*";

/// What stands beside the interfaces: texts of the config center, mappings and metadata.
const RESERVED: [&str; 3] = ["config", "mapping", "metadata"];

/// Go leaves `~` and Java `*` as they are; both read the escapes.
pub(super) const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(url: &str) -> Interfaces {
        Interfaces::of_url(&url.parse().expect(url))
    }

    fn default() -> Interfaces {
        layout("zookeeper://h")
    }

    /// Place and name of the node of `url`.
    fn written(layout: &Interfaces, url: &str) -> (String, String) {
        let url: Url = url.parse().expect(url);
        let category = Category::of(&url).expect("a category");
        let nodes = layout.write(&url, category).expect("can be written");
        let [(place, entry)] = &nodes[..] else {
            panic!("{nodes:?}");
        };
        assert!(entry.value.is_empty());
        (place.0.to_string(), entry.id.to_string())
    }

    fn read(id: &str) -> Option<Url> {
        let place = Place("/dubbo/x/providers".into());
        let entry = Entry {
            id: id.into(),
            value: b"10.0.0.8".as_slice().into(),
        };
        default().read(&place, &entry)
    }

    const GO: &str = "tri%3A%2F%2F10.0.0.7%3A20000%2Forg.example.Greeter%3Fanyhost%3Dtrue%26application%3Ddemo-app\
        %26group%3Dg1%26interface%3Dorg.example.Greeter%26methods%3DSayHello%2CSayBye%26registry.role%3D3\
        %26release%3Ddubbo-golang-3.3.2%26serialization%3Dprotobuf%26side%3Dprovider%26timestamp%3D1700000000\
        %26version%3D1.0.0%26weight%3D100";

    #[test]
    fn registry_t01_a_providers_node_is_named_as_dubbo_go_names_it() {
        let url = "tri://10.0.0.7:20000/org.example.Greeter?registry.role=3&warmup=&weight=100&side=provider\
            &timestamp=1700000000&version=1.0.0&group=g1&interface=org.example.Greeter&anyhost=true\
            &methods=SayHello,SayBye&release=dubbo-golang-3.3.2&serialization=protobuf&application=demo-app";
        let (place, id) = written(&default(), url);
        assert_eq!(place, "/dubbo/org.example.Greeter/providers");
        assert_eq!(id, GO);
        let back = read(&id).expect("a URL");
        let without_empty = url.parse::<Url>().expect("valid").without_param("warmup");
        assert_eq!(back, without_empty);
    }

    #[test]
    fn registry_t02_a_consumers_node_is_named_as_dubbo_go_names_it() {
        let text = "consumer://10.0.0.9/org.example.Greeter?application=demo-web&group=g1\
            &interface=org.example.Greeter&protocol=tri&registry.role=0&release=dubbo-golang-3.3.2&side=consumer\
            &timestamp=1700000000&version=1.0.0";
        let (place, id) = written(&default(), text);
        assert_eq!(place, "/dubbo/org.example.Greeter/consumers");
        assert_eq!(read(&id).expect("a URL").to_string(), text);
    }

    #[test]
    fn registry_t03_a_java_providers_node_is_read_and_written() {
        let text = "dubbo://10.0.0.8:20880/org.example.Greeter?application=demo-java&deprecated=false&dubbo=2.0.2\
            &dynamic=true&generic=false&group=g1&interface=org.example.Greeter&methods=sayBye,sayHello\
            &prefer.serialization=hessian2,fastjson2&release=3.3.2&revision=1.0.0&side=provider\
            &timestamp=1700000000000&version=1.0.0";
        let (place, id) = written(&default(), text);
        assert_eq!(place, "/dubbo/org.example.Greeter/providers");
        assert!(id.starts_with("dubbo%3A%2F%2F10.0.0.8%3A20880%2F"), "{id}");
        assert!(
            id.contains("prefer.serialization%3Dhessian2%2Cfastjson2"),
            "{id}"
        );
        let url = read(&id).expect("a URL");
        assert_eq!(url.to_string(), text);
        let key = url.service_key();
        assert_eq!((key.group(), key.version()), (Some("g1"), Some("1.0.0")));
        assert_eq!(url.param("timestamp"), Some("1700000000000"));
    }

    #[test]
    fn registry_t04_an_inner_class_has_its_dollar_escaped() {
        let url = "tri://h/org.example.Outer$Inner?interface=org.example.Outer$Inner";
        let (place, _) = written(&default(), url);
        assert_eq!(place, "/dubbo/org.example.Outer%24Inner/providers");
        let all: Url = "consumer://h/x?interface=*&category=providers"
            .parse()
            .expect("valid");
        let named = default().named("org.example.Outer%24Inner", &all);
        assert_eq!(named, [(Place(place.into()), Category::Providers)]);
    }

    #[test]
    fn with_plain_names_an_inner_class_stands_where_dubbo_go_writes_and_where_it_reads() {
        let layout = default().with_plain_names();
        let places = |interface: &str| -> Vec<_> {
            let url = format!("tri://h/{interface}?interface={interface}&category=providers");
            let url: Url = url.parse().expect("a URL");
            let written = layout.write(&url, Category::Providers).expect("can be");
            let written: Vec<_> = written.into_iter().map(|(place, _)| place).collect();
            let followed: Vec<_> = layout.places(&url).into_iter().map(|(p, _)| p).collect();
            assert_eq!(written, followed);
            written.iter().map(|place| place.0.to_string()).collect()
        };
        assert_eq!(places("x.Y"), ["/dubbo/x.Y/providers"]);
        assert_eq!(
            places("x.Y$Z"),
            ["/dubbo/x.Y%24Z/providers", "/dubbo/x.Y$Z/providers"]
        );
        assert_eq!(places("x/Y"), ["/dubbo/x%2FY/providers"]);
        let all: Url = "consumer://h/x?interface=*&category=providers"
            .parse()
            .expect("valid");
        assert_eq!(layout.named("x.Y$Z", &all), layout.named("x.Y%24Z", &all));
    }

    #[test]
    fn registry_t17_a_provider_may_say_little() {
        let url = read("dubbo%3A%2F%2F10.0.0.8%3A20880%2Forg.example.Greeter%3Fapplication%3Da%26version%3D1.0.0")
            .expect("a URL");
        assert_eq!(url.service_key().interface(), "org.example.Greeter");
        for absent in ["methods", "side", "timestamp"] {
            assert_eq!(url.param(absent), None);
        }
    }

    #[test]
    fn a_node_is_encoded_once_and_has_no_slash() {
        let (place, id) = written(
            &default(),
            "tri://10.0.0.1:50051/x.Y?interface=x.Y&version=1.0&star=a*b&wave=a~b",
        );
        assert_eq!(place, "/dubbo/x.Y/providers");
        assert_eq!(
            id,
            "tri%3A%2F%2F10.0.0.1%3A50051%2Fx.Y%3Finterface%3Dx.Y%26star%3Da%2Ab%26version%3D1.0%26wave%3Da%7Eb"
        );
        let (_, id) = written(&default(), "tri://[2001:db8::1]:50051/x.Y");
        assert_eq!(id, "tri%3A%2F%2F%5B2001%3Adb8%3A%3A1%5D%3A50051%2Fx.Y");
        assert_eq!(read(&id).expect("a URL").host(), "2001:db8::1");
    }

    #[test]
    fn nodes_of_all_spellings_are_read() {
        for (id, want) in [
            ("dubbo%3A%2F%2Fh%3A1%2Fx.Y", Some("dubbo://h:1/x.Y")),
            ("dubbo%3a%2f%2fh%3a1%2fx.Y", Some("dubbo://h:1/x.Y")),
            (
                "dubbo%253A%252F%252Fh%253A1%252Fx.Y",
                Some("dubbo://h:1/x.Y"),
            ),
            (
                "tri%3A%2F%2Fh%2Fx.Y%3Fa%3Db+c%26d%3D*~",
                Some("tri://h/x.Y?a=b%20c&d=*~"),
            ),
            (
                "tri%3A%2F%2Fh%2Fx.Y%3Fa%3Db%2Bc",
                Some("tri://h/x.Y?a=b%2Bc"),
            ),
            (
                "tri%3A%2F%2Fh%2Fx.Y%3Frate%3D100%25%26log%3D%25d%2541",
                Some("tri://h/x.Y?log=%25dA&rate=100%25"),
            ),
            (
                "override%3A%2F%2F0.0.0.0%2Fx.Y%3Fcategory%3Dconfigurators",
                Some("override://0.0.0.0/x.Y?category=configurators"),
            ),
            ("junk", None),
            ("10.0.0.1:1", None),
            ("", None),
            ("%FF%3A%2F%2F", None),
            ("tri%3A%2F%2F", None),
        ] {
            assert_eq!(read(id).map(|url| url.to_string()).as_deref(), want, "{id}");
        }
    }

    #[test]
    fn a_node_that_is_to_outlive_the_program_is_refused() {
        let url = "override://0.0.0.0/x.Y?dynamic=false"
            .parse()
            .expect("valid");
        let error = default()
            .write(&url, Category::Configurators)
            .expect_err("refused");
        assert!(error.reason.contains("`dynamic=false`"), "{error}");
    }

    #[test]
    fn a_consumer_follows_what_it_asks_for() {
        let places = |text: &str| -> Vec<_> {
            let consumer: Url = text.parse().expect(text);
            let places = layout("zookeeper://h?group=/g1").places(&consumer);
            places
                .into_iter()
                .map(|(place, _)| place.0.to_string())
                .collect()
        };
        assert_eq!(
            places("consumer://h/x.Y"),
            [
                "/g1/x.Y/providers",
                "/g1/x.Y/configurators",
                "/g1/x.Y/routers"
            ]
        );
        assert_eq!(
            places("consumer://h/x.Y?category=providers"),
            ["/g1/x.Y/providers"]
        );
        assert_eq!(places("consumer://h/x.Y?category=consumers"), [""; 0]);
    }

    #[test]
    fn every_interface_is_found_below_the_root() {
        let all: Url = "consumer://h/x?interface=*&category=providers"
            .parse()
            .expect("valid");
        let one: Url = "consumer://h/x.Y".parse().expect("valid");
        for (url, want) in [("zookeeper://h", "/dubbo"), ("zookeeper://h?group=/", "/")] {
            assert_eq!(layout(url).folder(&all), Some(Place(want.into())), "{url}");
            assert_eq!(layout(url).folder(&one), None);
        }
        for (name, want) in [
            ("x.Y", Some("/dubbo/x.Y/providers")),
            ("mapping", None),
            ("metadata", None),
            ("config", None),
            ("%FF", None),
        ] {
            let named = default().named(name, &all);
            let places: Vec<_> = named.iter().map(|(place, _)| &*place.0).collect();
            assert_eq!(places, want.into_iter().collect::<Vec<_>>(), "{name}");
        }
    }
}
