//! §1, §2 and §4.

use std::time::Duration;

use dubbo_test::nacos::{Delays, Instance, Sender};
use nacos_sdk::api::naming::ServiceInstance;
use serde_json::Value;

use super::sdk::{Named, addresses, instance, naming, quick_nacos, service};

/// What one connection does to a service.
#[derive(Debug)]
enum Do {
    Batch(&'static [i32]),
    Deregister(i32),
    Register(i32),
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_has_one_publication_of_a_service() {
    use Do::{Batch, Deregister, Register};
    let nacos = quick_nacos().await;
    // Nothing is pushed, so the first query computes the list.
    nacos.set_delays(never_pushing());
    let client = naming(&nacos).await;
    for (row, (steps, want)) in [
        (&[Register(1), Register(2)][..], &[2][..]),
        (&[Register(1), Register(1)], &[1]),
        (&[Register(1), Deregister(9)], &[]),
        (&[Register(1), Deregister(1), Deregister(1)], &[]),
        (&[Deregister(1)], &[]),
        (&[Batch(&[1, 2, 3]), Batch(&[2, 4])], &[2, 4]),
        (&[Batch(&[1, 2, 3]), Deregister(2)], &[]),
        (&[Batch(&[1, 2]), Register(3)], &[3]),
        (&[Register(3), Batch(&[1, 2])], &[1, 2]),
        (&[Batch(&[1]), Batch(&[])], &[]),
        (&[Batch(&[1, 1])], &[1]),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("publication-{row}");
        let named = Named(&client, &name);
        for step in steps {
            match step {
                Batch(ports) => {
                    let instances = ports.iter().map(|&port| instance(port)).collect();
                    named.batch(instances).await
                }
                Deregister(port) => named.deregister(instance(*port)).await,
                Register(port) => named.register(instance(*port)).await,
            }
            .expect("it is accepted");
        }
        let want: Vec<_> = want.iter().map(|port| format!("10.0.0.1:{port}")).collect();
        assert_eq!(named.addresses().await, want, "{steps:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_connections_are_two_publishers() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "twins");
    let with = |value: &str| {
        let mut instance = instance(1);
        instance.metadata.insert("who".to_owned(), value.to_owned());
        instance
    };
    named.register(with("us")).await.expect("it is accepted");
    let other = nacos.client();
    let twin = Instance::at("10.0.0.1", 1).with("who", "them");
    other.register(&service("twins"), [twin, Instance::at("10.0.0.1", 2)]);
    let twins = ["10.0.0.1:1", "10.0.0.1:1", "10.0.0.1:2"];
    let mut events = named.subscribe().await;
    assert_eq!(events.next().await, twins);
    drop(other);
    assert_eq!(events.next().await, ["10.0.0.1:1"]);
    let [left] = &nacos.registered(&service("twins"))[..] else {
        panic!("only ours is left");
    };
    assert_eq!(left.instance.metadata["who"], "us");
    assert_eq!(left.connection, Some(nacos.connections()[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_come_back_as_the_server_keeps_them() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "fields");
    let weighted = |weight| ServiceInstance {
        weight,
        ..instance(1)
    };
    for (given, want) in [
        (0.0, 0.0),
        (-1.0, -1.0),
        (20000.0, 20000.0),
        (f64::NAN, 0.0),
        (f64::INFINITY, 0.0),
    ] {
        named
            .register(weighted(given))
            .await
            .expect("it is accepted");
        let [registered] = &nacos.registered(&service("fields"))[..] else {
            panic!("there is one instance");
        };
        assert!(
            (registered.instance.weight - want).abs() < 1e-9,
            "{given} became {}",
            registered.instance.weight
        );
    }

    let named = Named(&client, "more-fields");
    let sick = ServiceInstance {
        cluster_name: None,
        healthy: false,
        ..instance(1)
    };
    let disabled = ServiceInstance {
        enabled: false,
        ..instance(2)
    };
    let persistent = ServiceInstance {
        ephemeral: false,
        cluster_name: Some("c1".to_owned()),
        ..instance(3)
    };
    named
        .batch(vec![sick, disabled, persistent])
        .await
        .expect("it is accepted");
    let mut all = named.query(&[]).await.expect("it is a legal query");
    all.sort_by_key(|instance| instance.port);
    let [sick, persistent] = &all[..] else {
        panic!("disabled instances are not listed: {all:?}");
    };
    assert!(!sick.healthy && persistent.healthy);
    assert!(persistent.ephemeral, "in a batch all are");
    assert_eq!(sick.cluster_name.as_deref(), Some("DEFAULT"));
    assert_eq!(
        sick.instance_id.as_deref(),
        Some("10.0.0.1#1#null#DEFAULT_GROUP@@more-fields")
    );
    assert_eq!(
        sick.service_name.as_deref(),
        Some("DEFAULT_GROUP@@more-fields")
    );
    for (clusters, want) in [
        (&["c1"][..], &["10.0.0.1:3"][..]),
        (&["c1", "DEFAULT"], &["10.0.0.1:1", "10.0.0.1:3"]),
        (&["c2"], &[]),
    ] {
        let found = named.query(clusters).await.expect("it is a legal query");
        assert_eq!(addresses(&found), want, "{clusters:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn persistent_instances_stay_and_keep_ephemeral_ones_out() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "persistent");
    let persistent = |port| ServiceInstance {
        ephemeral: false,
        ..instance(port)
    };
    for port in [1, 2] {
        named
            .register(persistent(port))
            .await
            .expect("it is accepted");
    }
    let refused = named.register(instance(3)).await.expect_err("it is");
    assert_eq!(
        refused.to_string(),
        "request_id:None ret_code:400 error_code:400 message:Some(\"errCode: 400, errMsg: Current service \
         DEFAULT_GROUP@@persistent is persistent service, can't register ephemeral instance. \")"
    );
    named
        .deregister(persistent(1))
        .await
        .expect("it is accepted");
    nacos.drop_connections().await;
    assert_eq!(nacos.addresses(&service("persistent")), ["10.0.0.1:2"]);
    nacos.stop().await;
    assert_eq!(nacos.addresses(&service("persistent")), ["10.0.0.1:2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn pushes_are_full_lists_and_come_merged() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "pushes");
    let mut events = named.subscribe().await;
    assert_eq!(events.next().await, [""; 0], "the first is empty as well");
    let others: Vec<_> = (1..=5).map(|_| nacos.client()).collect();
    for (other, port) in others.iter().zip(1..) {
        other.register(&service("pushes"), [Instance::at("h", port)]);
    }
    let all = ["h:1", "h:2", "h:3", "h:4", "h:5"];
    assert_eq!(events.next().await, all);
    drop(others);
    assert_eq!(events.next().await, [""; 0], "the last one left");

    let second = named.subscribe().await;
    // nacos-sdk has a list already, so it does not wait for this request.
    let both = || nacos.requests("SubscribeServiceRequest").len() == 2;
    nacos.until("the second subscription", both).await;
    named.unsubscribe(&events).await;
    named.unsubscribe(&second).await;
    nacos
        .until("the end of the subscription", || {
            nacos.subscribers(&service("pushes")).is_empty()
        })
        .await;
    let requests = nacos.requests("SubscribeServiceRequest");
    let subscribe: Vec<_> = requests.iter().map(|body| &body["subscribe"]).collect();
    let of = [true, true, false, false].map(Value::from);
    assert_eq!(subscribe, of.iter().collect::<Vec<_>>());
    let traffic = nacos.traffic();
    let pushes = traffic.iter().filter(|message| {
        message.sender == Sender::Server && message.kind == "NotifySubscriberRequest"
    });
    assert_eq!(pushes.count(), 3, "a second listener is no reason for one");
    events.none();
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_see_the_list_of_the_last_push() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let named = Named(&client, "cached");
    nacos.set_delays(never_pushing());
    let other = nacos.client();
    other.register(&service("cached"), [Instance::at("h", 1)]);
    assert_eq!(named.addresses().await, ["h:1"], "nobody had asked before");
    other.register(&service("cached"), [Instance::at("h", 2)]);
    assert_eq!(named.addresses().await, ["h:1"]);
    assert_eq!(nacos.addresses(&service("cached")), ["h:2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_paged_and_outlive_instances() {
    let nacos = quick_nacos().await;
    let client = naming(&nacos).await;
    let other = nacos.client();
    for name in ["a", "b", "c"] {
        other.register(&service(name), [Instance::at("h", 1)]);
    }
    other.deregister(&service("a"));
    let list = |page, size| client.get_service_list(page, size, None);
    for (page, size, want) in [
        (1, 2, &["a", "b"][..]),
        (2, 2, &["c"]),
        (3, 2, &[]),
        (0, 5000, &["a", "b", "c"]),
        (1, 0, &[]),
    ] {
        let (names, count) = list(page, size).await.expect("it is a legal page");
        assert_eq!(names, want, "page {page} of {size}");
        assert_eq!(count, 3);
    }
    let refused = list(1, -1).await.expect_err("it is no size");
    assert_eq!(
        refused.to_string(),
        "request_id:None ret_code:500 error_code:500 message:Some(\"fromIndex(0) > toIndex(-1)\")"
    );
    nacos.set_delays(Delays::default().faster(1000));
    nacos
        .until("the end of `a`", || {
            !nacos.services().contains(&service("a"))
        })
        .await;
}

fn never_pushing() -> Delays {
    Delays {
        push: Duration::from_hours(1),
        ..Delays::default()
    }
}
