//! What services are called and say, as others have it.

use std::collections::BTreeMap;

use dubbo_core::url::Url;

use super::super::{DEFAULT_GROUP, Interfaces, place, split};
use crate::{
    backend::{Entry, Place},
    layout::InterfaceLayout as _,
    matching::Category,
    nacos::instance::Instance,
};

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
    let one = url("consumer://h/x?interface=org.example.Outer$Inner&group=*&category=providers");
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
