//! From instances and revisions to providers.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use dubbo_core::url::Url;
use tokio::time::Instant;

use crate::fakes::{Answer, World, addresses, at, info, instances};

const STRONG: &str = "222f165004459af76f0540482d98ac81";

#[tokio::test(start_paused = true)]
async fn metadata_a09_many_instances_of_one_revision_take_one_fetch() {
    let world = World::new();
    let interfaces = ["a.B", "a.C", "a.D"];
    for interface in interfaces {
        world.report.map(interface, "demo-provider");
    }
    let mut list = instances("demo-provider", STRONG, 0, 10_000);
    world.registry.list("demo-provider", list.clone());
    world.instances.set_delay(Duration::from_millis(20));
    world.instances.serve(info(
        "demo-provider",
        STRONG,
        &["a.B:tri", "a.C:tri", "a.D:tri"],
    ));

    let (b, c, d) = tokio::join!(
        world.follow("a.B"),
        world.follow("a.C"),
        world.follow("a.D")
    );
    let mut all = [b, c, d];
    for following in &mut all {
        assert_eq!(following.addresses().len(), 10_000);
    }
    assert_eq!(world.instances.calls().len(), 1);
    assert_eq!(world.registry.watches(), 1, "one watch for all three");

    list.extend(instances("demo-provider", STRONG, 1, 1));
    world.registry.list("demo-provider", list);
    for following in &mut all {
        assert_eq!(addresses(&following.next().await).len(), 10_001);
        following.stays_quiet(Duration::from_secs(10)).await;
    }
    assert_eq!(world.instances.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn metadata_a10_identical_lists_are_no_news_and_weights_are() {
    let world = World::new();
    world.report.map("a.B", "demo-provider");
    let mut list = instances("demo-provider", STRONG, 0, 100);
    world.registry.list("demo-provider", list.clone());
    world
        .instances
        .serve(info("demo-provider", STRONG, &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    let before = following.0.current().state.expect("providers").providers;

    for _ in 0..100 {
        world.registry.list("demo-provider", list.clone());
        following.stays_quiet(Duration::from_millis(200)).await;
    }

    for instance in list.iter_mut().take(50) {
        instance.weight = 200;
    }
    world.registry.list("demo-provider", list);
    let after = following.next().await.state.expect("providers").providers;
    following.stays_quiet(Duration::from_secs(10)).await;
    let weights = |weight| after.iter().filter(|u| u.param("weight") == weight).count();
    assert_eq!((weights(Some("200")), weights(None)), (50, 50));
    let same = after.iter().filter(|url| before.contains(url)).count();
    assert_eq!(same, 50, "the others are what they were");
    assert_eq!(world.instances.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn metadata_a11_a_weak_revision_is_each_applications_own_and_not_for_ever() {
    let world = World::new();
    world.report.map("a.B", "A,B");
    world.registry.list("A", instances("A", "42", 1, 1));
    world.registry.list("B", instances("B", "42", 2, 1));
    world.instances.serve(info("A", "42", &["a.B:tri"]));
    world.instances.serve(info("B", "42", &["a.C:tri"]));
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses(), ["10.1.0.0:20000"]);
    assert_eq!(world.instances.calls().len(), 2);

    // The checksum stays, what it stands for does not.
    world.instances.serve(info("B", "42", &["a.B:tri"]));
    let start = Instant::now();
    following
        .next_within(Duration::from_mins(6))
        .await
        .expect("it is asked for again");
    assert_eq!(following.addresses(), ["10.1.0.0:20000", "10.2.0.0:20000"]);
    assert!(
        start.elapsed() >= Duration::from_secs(299),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(world.instances.calls().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_weak_revision_is_asked_for_again_when_another_process_has_it() {
    let world = World::new();
    world.report.map("a.B", "A");
    let process = |started: &str| {
        let said = [("dubbo.metadata.revision", "42"), ("timestamp", started)];
        vec![at("A", "10.0.0.1", 20000, &said)]
    };
    world.registry.list("A", process("1"));
    world.instances.serve(info("A", "42", &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 1);

    world.instances.serve(info("A", "42", &["a.C:tri"]));
    world.registry.list("A", process("2"));
    following.until(0).await;
    assert_eq!(following.step("matching"), "matching: none serves a.B -> 0");
    assert_eq!(world.instances.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn metadata_a12_what_is_known_comes_first_and_the_rest_is_tried_again() {
    let world = World::new();
    world.report.map("a.B", "app");
    let mut list = instances("app", "r1", 1, 50);
    list.extend(instances("app", "r2", 2, 50));
    world.registry.list("app", list);
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world.instances.answer("app/r2", Answer::Silence);

    let start = Instant::now();
    let mut following = world.follow("a.B").await;
    assert_eq!(following.addresses().len(), 50);
    assert!(
        start.elapsed() <= Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );

    // Rounds of three, each with a limit of 5 s; then a growing wait.
    let of_r2 = || -> Vec<_> {
        let mut calls = world.instances.calls();
        calls.retain(|call| call.revision == "r2");
        calls
    };
    for (round, longest) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
        while of_r2().len() < 3 * (round + 2) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let calls = of_r2();
        let (third, fourth) = (&calls[3 * round + 2], &calls[3 * round + 3]);
        let wait = (fourth.at - third.at).as_secs_f64() - 5.0;
        let range = f64::from(longest) / 2.0..=f64::from(longest) + 0.01;
        assert!(range.contains(&wait), "round {round}: {wait} in {range:?}");
        let asked: BTreeSet<_> = calls[3 * round..3 * round + 3]
            .iter()
            .map(|c| &c.id)
            .collect();
        assert_eq!(asked.len(), 3, "three others: {asked:?}");
    }
    let (text, known) = (
        following.step("metadata"),
        "metadata: 1 of 2 revisions known; ",
    );
    assert!(
        text.starts_with(&format!(
            "{known}revision r2 of app (50 instances) cannot be fetched: 10.2."
        )),
        "{text}"
    );
    assert!(text.ends_with(": no answer within 5s -> 50"), "{text}");

    world.instances.serve(info("app", "r2", &["a.B:tri"]));
    following
        .next_within(Duration::from_secs(76))
        .await
        .expect("without a word of the registry");
    assert_eq!(following.addresses().len(), 100);
    following.stays_quiet(Duration::from_mins(10)).await;
}

#[tokio::test(start_paused = true)]
async fn who_failed_lately_is_not_asked_again_as_long_as_there_are_others() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r1", 1, 6));
    world.instances.answer("app/r1", Answer::Refused);
    let _following = world.follow("a.B").await;
    while world.instances.calls().len() < 9 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let calls = world.instances.calls();
    let six: BTreeSet<_> = calls[..6].iter().map(|call| &call.id).collect();
    assert_eq!(six.len(), 6, "{six:?}");
}

#[tokio::test(start_paused = true)]
async fn metadata_a13_an_instance_that_moved_on_stays_with_what_it_was_for_a_while() {
    let world = World::new();
    world.report.map("a.B", "app");
    let mut list = instances("app", "r1", 1, 10);
    world.registry.list("app", list.clone());
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world.instances.answer("app/r2", Answer::Silence);
    let mut following = world.follow("a.B").await;
    following.until(10).await;

    let start = Instant::now();
    let mut left = 10;
    for moved in 0..10 {
        list[moved].metadata.insert("dubbo.metadata.revision", "r2");
        world.registry.list("app", list.clone());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(world.consumer.stats().stale_instances, moved + 1);
        assert_eq!(following.addresses().len(), 10, "after {moved}");
    }
    // From now on one goes each second, the last but one at 38 s.
    while left > 1 {
        following.until(left - 1).await;
        left -= 1;
        let gone_at = Duration::from_secs(30 + 9 - u64::try_from(left).expect("small"));
        let late = start.elapsed().saturating_sub(gone_at);
        assert!(
            start.elapsed() >= gone_at && late < Duration::from_millis(200),
            "{late:?}"
        );
    }
    // That nobody knows of any is no reason for an empty list.
    let update = following.next().await;
    assert!(update.state.is_err(), "{update:?}");
    assert_eq!(world.consumer.stats().stale_instances, 0);
    world.instances.serve(info("app", "r2", &["a.B:tri"]));
    following.until(10).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_a14_without_any_metadata_it_is_pending_and_says_why() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r1", 1, 1));
    world.instances.answer("app/r1", Answer::Refused);
    let mut following = world.follow("a.B").await;
    let (error, steps) = following.error();
    assert_eq!(
        error,
        "find a.B at zookeeper://10.0.0.100:2181: what app serves at revision r1 is not known yet: 10.1.0.0:20000: the \
         call of its metadata service failed: connection refused"
    );
    assert_eq!(
        steps,
        [
            "mapping: a.B is provided by app (metadata report zk1) -> 1",
            "instances: app has 1 -> 1",
            "metadata: 0 of 1 revision known; revision r1 of app (1 instance) cannot be fetched: 10.1.0.0:20000: the call \
             of its metadata service failed: connection refused -> 0"
        ]
    );
    following.stays_quiet(Duration::from_secs(30)).await;
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    following.until(1).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_a20_another_revision_is_no_answer_and_the_next_candidate_is_asked() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "r2", 1, 3));
    let moved_on = info("app", "r3", &["a.C:tri"]);
    let another = info("other", "r2", &["a.D:tri"]);
    for (id, wrong) in [("10.1.0.0:20000", moved_on), ("10.1.0.1:20000", another)] {
        world.instances.answer_of(id, Answer::Info(wrong.into()));
    }
    world.instances.answer_of("10.1.0.2:20000", Answer::Nothing);
    let mut following = world.follow("a.B").await;
    let (_, steps) = following.error();
    let error = steps.last().expect("steps");
    for want in [
        "10.1.0.0:20000: it answered with revision \"r3\"",
        "10.1.0.1:20000: it is the application other",
        "10.1.0.2:20000: it does not know this revision",
    ] {
        assert!(error.contains(want), "{error}");
    }

    world.instances.answer_of(
        "10.1.0.2:20000",
        Answer::Info(info("app", "r2", &["a.B:tri"]).into()),
    );
    following.until(3).await;
}

#[tokio::test(start_paused = true)]
async fn metadata_a21_instances_without_a_port_for_the_protocol_are_left_out_and_counted() {
    let world = World::new();
    world.report.map("a.B", "app");
    let with = |host: &str, endpoints: &str| {
        let said = [
            ("dubbo.metadata.revision", "r1"),
            ("dubbo.endpoints", endpoints),
        ];
        at("app", host, 20000, &said)
    };
    let both = r#"[{"port":50051,"protocol":"tri"},{"port":20000,"protocol":"dubbo"}]"#;
    let dubbo = r#"[{"port":20000,"protocol":"dubbo"}]"#;
    world
        .registry
        .list("app", vec![with("10.0.0.1", both), with("10.0.0.2", dubbo)]);
    world
        .instances
        .serve(info("app", "r1", &["a.B:tri", "a.B:dubbo"]));

    let mut any = world.follow("a.B").await;
    let urls: Vec<_> = {
        let providers = any.0.current().state.expect("providers").providers;
        providers
            .iter()
            .map(|url| format!("{}:{}", url.protocol(), url.address()))
            .collect()
    };
    assert_eq!(
        urls,
        [
            "dubbo:10.0.0.1:20000",
            "tri:10.0.0.1:50051",
            "dubbo:10.0.0.2:20000"
        ]
    );
    let mut tri = world.follow("a.B?protocol=tri").await;
    assert_eq!(tri.addresses(), ["10.0.0.1:50051"]);
    assert_eq!(
        tri.step("matching"),
        "matching: a.B on tri is served in 1 place; 1 instance without a port for it -> 1"
    );
    assert_eq!(world.consumer.stats().portless, 2);
}

#[tokio::test(start_paused = true)]
async fn the_steps_say_what_there_is_instead() {
    let world = World::new();
    world.report.map("a.B", "app");
    let mut list = instances("app", "r1", 1, 2);
    list.extend(instances("app", "0", 2, 1));
    let mut disabled = instances("app", "r1", 3, 1);
    disabled[0].enabled = false;
    list.extend(disabled);
    world.registry.list("app", list);
    world.instances.serve(info(
        "app",
        "r1",
        &["g2/a.B:2.0:tri", "g2/a.B:1.0:dubbo", "a.C:tri"],
    ));
    let mut following = world
        .follow("a.B?group=g2&version=2.0&protocol=dubbo")
        .await;
    assert!(following.addresses().is_empty());
    assert_eq!(
        ["mapping", "instances", "metadata", "matching"].map(|name| following.step(name)),
        [
            "mapping: a.B is provided by app (metadata report zk1) -> 1",
            "instances: app has 3 and 1 that want no calls -> 3",
            "metadata: 1 revision known; 1 instance without services -> 2",
            "matching: none serves g2/a.B:2.0 on dubbo; there is g2/a.B:1.0:dubbo, g2/a.B:2.0:tri -> 0",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_new_metadata_to_hear_of_an_instance_that_has_gone() {
    let world = World::new();
    world.report.map("a.B", "app");
    let mut list = instances("app", "r1", 1, 3);
    world.registry.list("app", list.clone());
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    world.instances.serve(info("app", "r2", &["a.B:tri"]));
    world.instances.slow("app/r2", Duration::from_secs(2));
    let mut following = world.follow("a.B").await;
    list.remove(0);
    list.extend(instances("app", "r2", 2, 1));
    world.registry.list("app", list);
    let start = Instant::now();
    assert_eq!(addresses(&following.next().await).len(), 2);
    assert!(
        start.elapsed() < Duration::from_millis(200),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(addresses(&following.next().await).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn those_who_are_silent_are_not_waited_for_alone() {
    for seed in 0..20 {
        let world = World::with(|options| options.seed = seed);
        world.report.map("a.B", "app");
        world.registry.list("app", instances("app", "r1", 1, 3));
        world.instances.serve(info("app", "r1", &["a.B:tri"]));
        for id in ["10.1.0.0:20000", "10.1.0.1:20000"] {
            world.instances.answer_of(id, Answer::Silence);
        }
        let start = Instant::now();
        let mut following = world.follow("a.B").await;
        assert_eq!(following.addresses().len(), 3, "seed {seed}");
        let within = start.elapsed();
        assert!(within <= Duration::from_secs(2), "seed {seed}: {within:?}");
        let asked = world.instances.calls().len();
        assert_eq!(
            Duration::from_secs(asked as u64 - 1),
            within,
            "one a second"
        );
        assert_eq!(world.consumer.stats().fetches, asked as u64);
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_are_silent_are_asked_again_with_no_more_at_once_than_may_be() {
    for (concurrency, most) in [(1, 1), (2, 2), (3, 3), (8, 3)] {
        let world = World::with(|options| options.fetch_concurrency = concurrency);
        world.report.map("a.B", "app");
        world.registry.list("app", instances("app", "r1", 1, 50));
        world.instances.answer("app/r1", Answer::Silence);
        let mut following = world.follow("a.B").await;
        let calls = || world.instances.calls();
        while calls().len() < 12 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(world.instances.most_at_once(), most, "{concurrency} slots");
        // Each has its whole time, and a round ends with the last of three.
        let calls = calls();
        for round in calls.chunks(3) {
            let asked: BTreeSet<_> = round.iter().map(|call| &call.id).collect();
            assert_eq!(asked.len(), 3, "{round:?}");
        }
        let apart = calls[1].at - calls[0].at;
        assert_eq!(apart.as_secs(), if most == 1 { 5 } else { 1 });
        assert!(calls[3].at - calls[2].at >= Duration::from_millis(5_500));

        world.instances.serve(info("app", "r1", &["a.B:tri"]));
        following.until(50).await;
        assert_eq!(world.consumer.stats().tasks, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_turn_is_not_silent() {
    let world = World::with(|options| options.fetch_concurrency = 1);
    world.report.map("a.B", "app");
    // Nobody is silent for long, but the last ones wait for a while.
    let list = (0..10).flat_map(|n| {
        let revision = format!("r{n}");
        world.instances.serve(info("app", &revision, &["a.B:tri"]));
        instances("app", &revision, n, 5)
    });
    world.registry.list("app", list.collect());
    world.instances.set_delay(Duration::from_millis(900));
    let mut following = world.follow("a.B").await;
    following.until(50).await;
    assert_eq!(world.instances.calls().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_weak_revision_is_not_kept_for_those_who_come_later() {
    let world = World::new();
    world.report.map("a.B", "app");
    world.registry.list("app", instances("app", "42", 1, 1));
    world.instances.serve(info("app", "42", &["a.B:tri"]));
    for round in 1..=2 {
        assert_eq!(world.follow("a.B").await.addresses().len(), 1);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(world.instances.calls().len(), round);
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_changed_is_made_anew() {
    let world = World::new();
    world.report.map("a.B", "app");
    let mut list = instances("app", "r1", 1, 5);
    world.registry.list("app", list.clone());
    world.instances.serve(info("app", "r1", &["a.B:tri"]));
    let mut following = world.follow("a.B").await;
    // The host is the instance's own text: the same place means the same instance, and with the weight the same URL.
    let mut places = || -> BTreeMap<String, (*const u8, Option<String>)> {
        let providers = following.0.current().state.expect("providers").providers;
        let place = |url: &Url| {
            let weight = url.param("weight").map(str::to_owned);
            (url.host().to_owned(), (url.host().as_ptr(), weight))
        };
        providers.iter().map(place).collect()
    };
    let before = places();
    list.remove(0);
    list[1].weight = 50;
    list.extend(instances("app", "r1", 0, 1));
    world.registry.list("app", list);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = places();
    let kept = after
        .iter()
        .filter(|(host, place)| before.get(*host) == Some(place));
    let kept: Vec<_> = kept.map(|(host, _)| host.as_str()).collect();
    assert_eq!(
        (after.len(), kept),
        (5, vec!["10.1.0.1", "10.1.0.3", "10.1.0.4"])
    );
}
