//! What comes after an outage: another client, as soon as there is a server, and nothing of the one before.

use std::time::Duration;

use dubbo_test::nacos::ScriptedNacos;
use tokio::time::{Instant, sleep, timeout};

use crate::world::{Program, consumer, provider, quick_nacos, service};

/// nacos-sdk would look for a server after 2, 6 and 14 s.
#[tokio::test(flavor = "multi_thread")]
async fn who_provides_is_back_soon_after_the_server_however_long_that_was_away() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    nacos.stop().await;
    sleep(Duration::from_secs(7)).await;
    nacos.start_again().await;
    let begun = Instant::now();
    let back = || nacos.addresses(&service("providers:a.B::")) == ["10.0.0.1:1"];
    nacos.until("the provider to be back", back).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "it took {took:?}");
}

/// A client that is made for such a server would leave its tasks behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_starting_is_only_looked_at() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    nacos.stop().await;
    let setups = || nacos.requests("ConnectionSetupRequest").len();
    let before = setups();
    nacos.starting().await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(setups(), before);
    let error = registry
        .lookup(&consumer(""))
        .await
        .expect_err("nobody is there");
    let text = "the server says: Server is starting,please try later. (code 300)";
    assert!(error.to_string().contains(text), "{error}");
    nacos.start_again().await;
    let begun = Instant::now();
    let back = || nacos.addresses(&service("providers:a.B::")) == ["10.0.0.1:1"];
    nacos.until("the provider to be back", back).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(2), "it took {took:?}");
    assert_eq!(setups(), before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_during_an_outage_does_not_come_back() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    for port in [1, 2] {
        registry
            .register(&provider(port, ""))
            .await
            .expect("registers");
    }
    nacos.stop().await;
    let gone = provider(1, "");
    let leaving = timeout(Duration::from_secs(1), registry.unregister(&gone));
    // Whether that is an error, a wish or done: nothing is shown, and nothing may be.
    drop(leaving.await);
    nacos.start_again().await;
    let name = service("providers:a.B::");
    let rest = || nacos.addresses(&name) == ["10.0.0.1:2"];
    nacos.until("the rest to be back", rest).await;
    // As long as it takes any client of nacos-sdk to repeat something.
    for _ in 0..40 {
        assert!(rest());
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(nacos.connections().len(), 1);
}

/// A process that is stopped, or a network that loses everything: no socket ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_for_long_is_given_up_without_a_trace() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=500ms&session=2s");
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    let before = nacos.connections();
    nacos.freeze();
    // The first heartbeat takes 1 s to notice, and those in a silence a bit longer than they wait.
    sleep(Duration::from_secs(5)).await;
    nacos.thaw();
    let another = || nacos.connections().len() == 1 && nacos.connections() != before;
    nacos.until("another connection alone", another).await;
    let back = || nacos.addresses(&service("providers:a.B::")) == ["10.0.0.1:1"];
    nacos.until("the provider to be back", back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_takes_the_place_of_one_that_is_lost() {
    let servers = [quick_nacos().await, quick_nacos().await];
    let program = Program::at(&format!(
        "{}?backup={}&poll-interval=500ms&timeout=1s",
        servers[0].address(),
        servers[1].address()
    ));
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    let has = |nacos: &ScriptedNacos| {
        let name = service("providers:a.B::");
        nacos.addresses(&name) == ["10.0.0.1:1"]
    };
    let (first, second) = match servers.each_ref().map(has) {
        [true, false] => (&servers[0], &servers[1]),
        [false, true] => (&servers[1], &servers[0]),
        both => panic!("{both:?}"),
    };
    first.stop().await;
    second.until("the provider", || has(second)).await;
}
