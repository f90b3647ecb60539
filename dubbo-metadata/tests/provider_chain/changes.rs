//! What is told, and when.

use std::time::Duration;

use dubbo_metadata::instance::MetaVersion;
use tokio::time::sleep;

use crate::fakes::{World, bar, greet, other, serve_metadata};

#[tokio::test(start_paused = true)]
async fn metadata_a01_one_instance_says_all_that_consumers_need() {
    let world = World::new();
    let provider = world.provider(|_| {});
    provider.export(&greet("")).expect("valid");
    provider.export(&bar("")).expect("valid");
    serve_metadata(&provider);
    provider.register().await.expect("registered");

    assert_eq!(
        world.calls(),
        ["0 ms register 10.0.0.1:50051 222f local"],
        "nothing else"
    );
    let instance = world.instance("10.0.0.1:50051");
    let metadata: Vec<_> = instance.metadata.iter().collect();
    assert_eq!(
        metadata,
        [
            (
                "dubbo.endpoints",
                r#"[{"port":20000,"protocol":"dubbo"},{"port":50051,"protocol":"tri"}]"#
            ),
            (
                "dubbo.metadata-service.url-params",
                r#"{"version":"1.0.0","release":"dubbo-rust-4.0.0","port":"50051","protocol":"tri"}"#
            ),
            (
                "dubbo.metadata.revision",
                "222f165004459af76f0540482d98ac81"
            ),
            ("dubbo.metadata.storage-type", "local"),
            ("meta-v", "2.0.0"),
            ("timestamp", "1700000000000"),
        ]
    );
    let length: usize = metadata.iter().map(|(k, v)| k.len() + v.len()).sum();
    assert!(length <= 1024, "{length}");
    assert_eq!(
        (&*instance.application, instance.weight),
        ("demo-provider", 100)
    );

    sleep(Duration::from_hours(24)).await;
    assert_eq!(world.calls().len(), 1, "nothing changed");
}

#[tokio::test(start_paused = true)]
async fn metadata_a03_changes_that_come_together_are_one_update_and_old_revisions_still_answer() {
    let world = World::new();
    let provider = world.started().await;
    sleep(Duration::from_mins(1)).await;
    provider.export(&other("x.Third")).expect("valid");
    sleep(Duration::from_millis(300)).await;
    provider.export(&other("x.Fourth")).expect("valid");
    sleep(Duration::from_secs(10)).await;
    let calls = world.calls();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(
        calls[1].starts_with("61300 ms update 10.0.0.1:50051 "),
        "{calls:?}"
    );

    let revision = "222f165004459af76f0540482d98ac81";
    sleep(Duration::from_mins(10)).await;
    let old = provider.history().get(revision).expect("still known");
    assert_eq!(old.info.services.len(), 2);
    let current = provider.history().current();
    assert_eq!(current.len(), 1);
    assert_eq!(current[0].info.services.len(), 4);
    assert_eq!(
        &world.instance("10.0.0.1:50051").metadata["dubbo.metadata.revision"],
        current[0].revision()
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_a03_changes_that_never_end_are_told_within_five_seconds() {
    let world = World::new();
    let provider = world.started().await;
    for index in 0..20 {
        provider
            .export(&other(&format!("x.Y{index}")))
            .expect("valid");
        sleep(Duration::from_millis(500)).await;
    }
    sleep(Duration::from_secs(10)).await;
    let times: Vec<_> = world.calls()[1..]
        .iter()
        .map(|call| call.split(' ').next().expect("a time").to_owned())
        .collect();
    // The first at 0, the last at 9500, told when it was quiet.
    assert_eq!(times, ["5000", "10500"]);
}

#[tokio::test(start_paused = true)]
async fn metadata_a04_a_service_that_goes_is_an_update_and_the_last_one_takes_the_instance_with_it()
{
    let world = World::new();
    let provider = world.started().await;
    provider.unexport(&bar(""));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls()[1..],
        ["1000 ms update 10.0.0.1:50051 7b1a local"]
    );
    provider.unexport(&greet(""));
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.calls()[2..], ["3000 ms unregister 10.0.0.1:50051"]);
    assert!(provider.history().current().is_empty(), "revision 0");
    assert!(
        provider
            .history()
            .get("7b1a5d4ca1a4d824525139f7ff32657a")
            .is_some(),
        "whoever heard of it may still ask"
    );
}

/// Case 87.
#[tokio::test(start_paused = true)]
async fn metadata_a05_a_restart_elsewhere_has_the_same_revision() {
    let world = World::new();
    world.started().await;
    let again = world.provider(|options| options.started_ms += 1000);
    for url in [greet("&pid=2&timestamp=1700000001000"), bar("&pid=2")] {
        let port = url.port().map_or(1, |port| port + 1);
        again
            .export(&url.with_host("10.0.0.2").with_port(port))
            .expect("valid");
    }
    again.register().await.expect("registered");
    assert_eq!(
        world.calls()[1..],
        ["0 ms register 10.0.0.2:50052 222f local"]
    );
    let instance = world.instance("10.0.0.2:50052");
    assert_eq!(&instance.metadata["timestamp"], "1700000001000");
    let published = &again.history().current()[0];
    assert!(published.info.services.values().all(|s| s.port == 0));
}

#[tokio::test(start_paused = true)]
async fn metadata_a07_neither_the_weight_of_an_instance_nor_the_order_of_exports_changes_the_revision()
 {
    for reverses in [true, false] {
        let world = World::new();
        let provider = world.provider(|options| options.weight = Some(50));
        let mut urls = [greet(""), bar("")];
        if reverses {
            urls.reverse();
        }
        for url in urls {
            provider.export(&url).expect("valid");
        }
        provider.register().await.expect("registered");
        assert_eq!(world.calls(), ["0 ms register 10.0.0.1:50051 222f local"]);
        assert_eq!(world.instance("10.0.0.1:50051").weight, 50);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_is_told_after_the_quiet_time_and_within_five_times_it() {
    for quiet in [200, 1_000, 3_000] {
        let world = World::new();
        let provider = world.provider(|options| {
            options.timings.quiet = Duration::from_millis(quiet);
        });
        provider.export(&greet("")).expect("valid");
        provider.register().await.expect("registered");
        provider.export(&bar("")).expect("valid");
        sleep(Duration::from_millis(quiet * 2)).await;
        for index in 0..10 {
            let url = other(&format!("x.Y{index}"));
            provider.export(&url).expect("valid");
            sleep(Duration::from_millis(quiet * 9 / 10)).await;
        }
        let calls = world.calls();
        for (call, at) in calls[1..].iter().zip([quiet, quiet * 2 + quiet * 5]) {
            assert!(call.starts_with(&format!("{at} ms update ")), "{calls:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn superseded_revisions_are_answered_for_as_many_and_as_long_as_the_settings_say() {
    for (size, retention, is_answered) in [
        (16, 600, true),
        (2, 60, true),
        (1, 60, false),
        (0, 60, false),
        (0, 3_600, true),
    ] {
        let world = World::new();
        let provider = world.provider(|options| {
            options.history.size = size;
            options.history.retention = Duration::from_secs(retention);
        });
        provider.export(&greet("")).expect("valid");
        provider.register().await.expect("registered");
        let first = provider.history().current()[0].revision().to_owned();
        for url in [bar(""), other("x.Third")] {
            provider.export(&url).expect("valid");
            sleep(Duration::from_mins(2)).await;
        }
        let answer = provider.history().answer(&first);
        assert_eq!(answer.is_some(), is_answered, "{size} {retention}");
    }
}

#[tokio::test(start_paused = true)]
async fn case_95_tag_and_environment_are_told_by_the_instance_and_leave_the_revision_alone() {
    let world = World::new();
    let provider = world.provider(|options| {
        options.tag = Some("gray".into());
        options.environment = Some("prod".into());
    });
    let more = "&application.tag=gray&environment=prod";
    provider.export(&greet(more)).expect("valid");
    provider.export(&bar(more)).expect("valid");
    provider.register().await.expect("registered");
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(&metadata["dubbo.tag"], "gray");
    assert_eq!(&metadata["environment"], "prod");
    assert_eq!(
        &metadata["dubbo.metadata.revision"],
        "222f165004459af76f0540482d98ac81"
    );
}

#[tokio::test(start_paused = true)]
async fn a_protocol_on_two_ports_makes_two_instances_with_revisions_of_their_own() {
    let world = World::new();
    let provider = world.started().await;
    provider
        .export(&other("x.Third").with_port(50052))
        .expect("valid");
    sleep(Duration::from_secs(2)).await;
    let calls = world.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls[1].starts_with("1000 ms update 10.0.0.1:50051 "));
    assert!(calls[2].starts_with("1000 ms register 10.0.0.1:50052 "));
    let current = provider.history().current();
    assert_eq!(current.len(), 2);
    let ports: Vec<_> = current
        .iter()
        .flat_map(|published| published.info.services.values().map(|s| s.port))
        .collect();
    assert_eq!(ports, [20000, 50051, 50052]);
    assert_eq!(
        &world.instance("10.0.0.1:50052").metadata["dubbo.endpoints"],
        r#"[{"port":50052,"protocol":"tri"}]"#
    );

    // And one again.
    provider.unexport(&other("x.Third").with_port(50052));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(
        world.calls()[3..],
        [
            "3000 ms update 10.0.0.1:50051 222f local",
            "3000 ms unregister 10.0.0.1:50052"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_metadata_service_is_told_when_it_comes_and_when_it_goes() {
    let world = World::new();
    let provider = world.started().await;
    serve_metadata(&provider);
    sleep(Duration::from_secs(2)).await;
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert_eq!(&metadata["meta-v"], "2.0.0");
    serve_metadata(&provider);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.calls().len(), 2, "nothing new");
    provider.set_metadata_service(None, MetaVersion::V1);
    sleep(Duration::from_secs(2)).await;
    let metadata = world.instance("10.0.0.1:50051").metadata;
    assert!(!metadata.contains_key("meta-v"));
}
