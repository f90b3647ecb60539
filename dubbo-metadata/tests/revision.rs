//! The acceptance tests of `docs/spec/metadata.md` §9 about revisions.

use std::{collections::HashMap, sync::Arc};

use dubbo_core::url::Url;
use dubbo_metadata::{
    model::{ParamsFilter, ServiceInfo},
    revision::Algorithm,
};

#[test]
fn metadata_a06_the_four_emitters_give_the_values_of_the_specification() {
    let go = [
        service(
            "org.apache.dubbo.samples.GreetService g1 1.0.0 tri 50051",
            &format!(
                "{GO_PARAMS} serialization=protobuf group=g1 version=1.0.0 Greet.timeout=1000 methods=SayHello,Greet"
            ),
        ),
        service(
            "com.foo.Bar - - dubbo 20000",
            &format!("{GO_PARAMS} serialization=hessian2 methods=GetPetByID,GetPetTypes"),
        ),
    ];
    let java = [
        service(
            "org.apache.dubbo.samples.GreetService g1 1.0.0 tri 50051",
            &format!(
                "{JAVA_PARAMS} interface=org.apache.dubbo.samples.GreetService group=g1 version=1.0.0 revision=1.0.0 \
                 greet.timeout=1000 methods=greet,sayHello"
            ),
        ),
        service(
            "com.foo.Bar - - dubbo 20000",
            &format!("{JAVA_PARAMS} interface=com.foo.Bar methods=getPetByID,getPetTypes"),
        ),
    ];
    let with = |services: &[Arc<ServiceInfo>], key: &str, value: &str| -> Vec<_> {
        services
            .iter()
            .map(|service| {
                let mut service = ServiceInfo::clone(service);
                if service.params.contains_key(key) {
                    service.params.insert(key.into(), value.into());
                }
                Arc::new(service)
            })
            .collect()
    };
    let both = service(
        "org.apache.dubbo.samples.GreetService g1 1.0.0 dubbo 20000",
        "methods=SayHello,Greet",
    );
    let no_methods = service("com.foo.Bar - - dubbo 20000", "application=demo-provider");
    for (algorithm, services, want) in [
        (Algorithm::Go305, go.to_vec(), "5915580501"),
        (
            Algorithm::Go305,
            [go.to_vec(), vec![both]].concat(),
            "10076165143",
        ),
        (Algorithm::Go305, vec![no_methods], "943056678"),
        (
            Algorithm::Go332,
            go.to_vec(),
            "e701c04c2cae390abea616243d9a86c3d6b107529e16cb6dcca29c3cfc078dfab2a29afbcb2f63dea3187ca6da1256c8094ae15ed2b1c1e2263df23243275bb7",
        ),
        (
            Algorithm::Go332,
            with(&go, "timestamp", "1700000001"),
            "bf5b3bde8c52b06016722d7dc5c6ca200e218d7c75efb71f81a2f7c3bf693f132736771c41c96697888b217da9e703881b5f7a778042b554d7ff480bcbf9f46d",
        ),
        (
            Algorithm::Java,
            java.to_vec(),
            "6dab9fb35fb3fa720f5d491ccfd17589",
        ),
        (
            Algorithm::Java,
            with(&java, "greet.timeout", "2000"),
            "0e261ccfcb1bcce382fbc152ade5be15",
        ),
        (
            Algorithm::R1,
            exported(1000, ""),
            "222f165004459af76f0540482d98ac81",
        ),
        (
            Algorithm::R1,
            exported(1000, "")[..1].to_vec(),
            "7b1a5d4ca1a4d824525139f7ff32657a",
        ),
        (
            Algorithm::Java,
            in_order(exported(1000, "")),
            "34f39a1d7efb3bd94d168afb25390696",
        ),
    ] {
        assert_eq!(
            algorithm.revision("demo-provider", &services),
            want,
            "{algorithm:?}"
        );
    }
    for algorithm in [
        Algorithm::Go305,
        Algorithm::Go332,
        Algorithm::Java,
        Algorithm::R1,
    ] {
        assert_eq!(algorithm.revision("a", &[] as &[Arc<ServiceInfo>]), "0");
    }
}

#[test]
fn the_small_vectors_of_the_registry_specification_hold() {
    let small = service("x.Y - - tri 1", "application=a methods=M");
    let greeter = "org.example.Greeter g1 1.0.0 tri 20000";
    let go = "application=demo-app group=g1 methods=SayHello,SayBye release=dubbo-golang-3.3.2 serialization=protobuf \
              timestamp=1700000000 version=1.0.0 weight=100";
    let java = "application=demo-app deprecated=false dubbo=2.0.2 dynamic=true generic=false group=g1 \
                interface=org.example.Greeter methods=sayBye,sayHello prefer.serialization=hessian2,fastjson2 \
                release=3.3.2 revision=1.0.0 service-name-mapping=true side=provider version=1.0.0";
    let go_revision = "b53d2193b9880e42e857ac4f968e135664026cc4cd0c4a3a8f4bc5152ebda55db0f236203c696d43a8a9cbf574ebe8d79276c83e61474f353f39a6e906f49699";
    for (algorithm, app, service, want) in [
        (
            Algorithm::Java,
            "a",
            small.clone(),
            "235d4816a205cb66ddeb8d10674f5653",
        ),
        (
            Algorithm::Go332,
            "a",
            small,
            "dacafe02b262a5374c1dec01a8728188f2d22becf98468bad0fdbcd16ec3a934d26bb1e605eafaab9ae26b567129a93c6e149c638fd5f305f56ffa219b69bd1a",
        ),
        (
            Algorithm::Java,
            "demo-app",
            service(greeter, java),
            "c1d1ea28445cbf4e926225ffda9b42c1",
        ),
        (
            Algorithm::Go332,
            "demo-app",
            service(greeter, go),
            go_revision,
        ),
        (
            Algorithm::Go332,
            "demo-app",
            service(greeter, &go.replace("SayHello,SayBye", "SayBye,SayHello")),
            go_revision,
        ),
    ] {
        assert_eq!(algorithm.revision(app, &[service]), want, "{algorithm:?}");
    }
}

#[test]
fn metadata_a07_a_revision_changes_with_what_is_served_and_with_nothing_else() {
    let revision =
        |services: &[Arc<ServiceInfo>]| Algorithm::R1.revision("demo-provider", services);
    assert_eq!(
        revision(&exported(2000, "")),
        "7b48944c166234a24d7925357a34e363"
    );
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..1000 {
        let volatile = format!(
            "&pid={}&timestamp={}&bind.port={}&bind.ip=10.0.0.{}&registry.id=zk{}&qos.port={}&heartbeat.timeout={}\
             &application.tag=t{}&environment=e{}",
            random.u16(..),
            random.u64(..),
            random.u16(..),
            random.u8(..),
            random.u8(..),
            random.u16(..),
            random.u16(..),
            random.u8(..),
            random.u8(..),
        );
        let mut services: Vec<_> = exported(1000, &volatile);
        random.shuffle(&mut services);
        for service in &mut services {
            let mut shuffled = ServiceInfo::clone(service);
            let mut methods: Vec<_> = service.methods().collect();
            random.shuffle(&mut methods);
            shuffled.params.insert("methods".into(), methods.join(","));
            *service = Arc::new(shuffled);
        }
        assert_eq!(revision(&services), "222f165004459af76f0540482d98ac81");
    }
}

#[test]
fn case_86_versions_and_groups_of_one_interface_have_revisions_of_their_own() {
    let one = |service_of: &str| {
        let service = service(service_of, "methods=greet");
        Algorithm::R1.revision("demo", &[service])
    };
    let revisions = [
        one("x.Y - 1.0 tri 0"),
        one("x.Y - 2.0 tri 0"),
        one("x.Y g - tri 0"),
        one("x.Y g 1.0 tri 0"),
        one("x.Y - 1.0 dubbo 0"),
    ];
    for (index, revision) in revisions.iter().enumerate() {
        assert!(!revisions[..index].contains(revision), "{index}");
    }
}

#[test]
fn metadata_a08_no_two_sets_of_services_share_a_revision() {
    let mut random = fastrand::Rng::with_seed(8);
    let pieces = ["a", "b", "|", "&", "=", ", ", ",", ":", "/", "a=b", "\u{0}"];
    let mut seen: HashMap<String, Vec<Arc<ServiceInfo>>> = HashMap::new();
    while seen.len() < 100_000 {
        let services: Vec<_> = (0..random.usize(1..=2))
            .map(|_| {
                let mut text = |from: usize| -> String {
                    (0..random.usize(from..=3))
                        .map(|_| *random.choice(&pieces).expect("not empty"))
                        .collect()
                };
                let mut service = ServiceInfo {
                    name: text(1),
                    group: text(0),
                    version: text(0),
                    protocol: text(0),
                    path: text(0),
                    port: 0,
                    params: [(text(0), text(1)), (text(0), text(1))].into(),
                };
                service.params.remove("methods");
                Arc::new(service)
            })
            .collect();
        let mut services = services;
        services.sort();
        let revision = Algorithm::R1.revision("app", &services);
        if let Some(other) = seen.get(&revision) {
            assert_eq!(*other, services, "{revision}");
        }
        seen.insert(revision, services);
    }

    // Dubbo Java's does not tell one value from two, and ours has to say the same when it checks Java's.
    let one = [service_with(&[("a", "b, c=d")])];
    let two = [service_with(&[("a", "b"), ("c", "d")])];
    assert_eq!(
        Algorithm::Java.revision("app", &one),
        Algorithm::Java.revision("app", &two)
    );
    assert_ne!(
        Algorithm::R1.revision("app", &one),
        Algorithm::R1.revision("app", &two)
    );
}

/// The fixture of the specification as our provider exports it, with further parameters: S1, then S2.
fn exported(greet_timeout: u32, more: &str) -> Vec<Arc<ServiceInfo>> {
    let common = format!("application=demo-provider&release=dubbo-rust-4.0.0&side=provider{more}");
    [
        format!(
            "tri://10.0.0.1:50051/org.apache.dubbo.samples.GreetService?interface=org.apache.dubbo.samples.GreetService\
             &group=g1&version=1.0.0&methods=SayHello,Greet&methods.Greet.timeout={greet_timeout}&{common}"
        ),
        format!(
            "dubbo://10.0.0.1:20000/com.foo.Bar?interface=com.foo.Bar&methods=GetPetByID,GetPetTypes&{common}"
        ),
    ]
    .iter()
    .map(|url| {
        let url: Url = url.parse().expect("valid");
        Arc::new(ServiceInfo::of_url(&url, &ParamsFilter::default()))
    })
    .collect()
}

/// With the methods as they were written, on which Java's revision depends.
fn in_order(services: Vec<Arc<ServiceInfo>>) -> Vec<Arc<ServiceInfo>> {
    services
        .into_iter()
        .map(|service| {
            let mut service = ServiceInfo::clone(&service);
            if service.name.ends_with("GreetService") {
                service
                    .params
                    .insert("methods".into(), "SayHello,Greet".into());
            }
            Arc::new(service)
        })
        .collect()
}

/// `name group version protocol port`, `-` for none; then the parameters.
fn service(what: &str, params: &str) -> Arc<ServiceInfo> {
    let parts: Vec<_> = what.split(' ').collect();
    let [name, group, version, protocol, port] = parts[..] else {
        panic!("{what}");
    };
    let or_none = |text: &str| if text == "-" { "" } else { text }.to_owned();
    Arc::new(ServiceInfo {
        name: name.to_owned(),
        group: or_none(group),
        version: or_none(version),
        protocol: protocol.to_owned(),
        port: port.parse().expect("a port"),
        path: name.to_owned(),
        params: params
            .split_whitespace()
            .map(|param| param.split_once('=').expect("key=value"))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    })
}

fn service_with(params: &[(&str, &str)]) -> Arc<ServiceInfo> {
    Arc::new(ServiceInfo {
        name: "x.Y".into(),
        params: params
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..ServiceInfo::default()
    })
}

const GO_PARAMS: &str = "application=demo-provider cluster=failover loadbalance=random release=dubbo-golang-3.3.2 \
                         weight=100 timestamp=1700000000";

const JAVA_PARAMS: &str = "side=provider release=3.3.1 deprecated=false dubbo=2.0.2 service-name-mapping=true generic=false \
                           prefer.serialization=hessian2,fastjson2 application=demo-provider dynamic=true anyhost=true";
