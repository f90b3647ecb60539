//! The server is away, or hangs.

use std::time::Duration;

use dubbo_core::registry::RegistryErrorKind;
use tokio::time::{Instant, sleep, timeout};

use crate::world::{
    Program, consumer, is, provider, quick_nacos, sees, service, subscribe, theirs,
};

/// To nacos-sdk the connection of such a program is never lost, as long as anything is asked on it.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_only_provides_is_back_after_a_restart() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    nacos.stop().await;
    // Something is asked all the time.
    let asking = async {
        loop {
            let _ = timeout(Duration::from_millis(200), registry.lookup(&consumer(""))).await;
            sleep(Duration::from_millis(50)).await;
        }
    };
    let restarts = async {
        sleep(Duration::from_secs(3)).await;
        nacos.starting().await;
        sleep(Duration::from_secs(2)).await;
        nacos.start_again().await;
        let back = || nacos.addresses(&service("providers:a.B::")) == ["10.0.0.1:1"];
        let deadline = Instant::now() + Duration::from_mins(1);
        while !back() {
            assert!(Instant::now() < deadline, "it did not come back");
            sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        () = restarts => {}
        () = asking => {}
    }
}

/// Calls of nacos-sdk hang for as long as the server is away.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_hangs_while_the_server_is_away_and_wishes_come_true_afterwards() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    let mut subscription = subscribe(&*registry).await;
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    sees(&mut subscription, &[1]).await;
    nacos.stop().await;
    let begun = Instant::now();
    let error = loop {
        match registry.lookup(&consumer("")).await {
            Ok(_) => sleep(Duration::from_millis(50)).await,
            Err(error) => break error,
        }
    };
    assert!(begun.elapsed() < Duration::from_secs(5), "{error}");
    assert_eq!(error.kind, RegistryErrorKind::Unavailable);
    let second = provider(2, "");
    let mut wish = Box::pin(registry.register(&second));
    let early = timeout(Duration::from_secs(1), &mut wish).await;
    assert!(early.is_err(), "the server is away");
    // An outage is an error and no empty list.
    while subscription.current().state.is_ok() {
        let update = subscription.changed().await.expect("goes on");
        assert!(update.state.is_err() || is(&update, &[1]), "{update:?}");
    }
    nacos.start_again().await;
    wish.await.expect("registers");
    sees(&mut subscription, &[1, 2]).await;
}

/// P34: nobody has come back when the first list comes.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_after_a_restart_is_not_believed() {
    let nacos = quick_nacos().await;
    let name = service("providers:a.B::");
    let other = nacos.client();
    other.register(&name, [theirs(1)]);
    // It is longer away than the grace of other tests.
    let address = nacos.address();
    let program = Program::at(&format!("{address}?poll-interval=500ms&timeout=1s"));
    let registry = program.registry();
    let mut subscription = subscribe(&*registry).await;
    sees(&mut subscription, &[1]).await;
    nacos.stop().await;
    drop(other);
    nacos.start_again().await;
    let connected = || !nacos.subscribers(&name).is_empty();
    nacos.until("the subscription to be back", connected).await;
    // That of a server which has just started.
    sleep(Duration::from_secs(1)).await;
    assert!(nacos.listed(&name).is_empty());
    let other = nacos.client();
    other.register(&name, [theirs(1), theirs(2)]);
    while !is(&subscription.current(), &[1, 2]) {
        let update = subscription.changed().await.expect("goes on");
        assert!(!is(&update, &[]), "{update:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_noticed_and_forgiven() {
    let nacos = quick_nacos().await;
    let program = Program::with(&nacos, "timeout=500ms");
    let registry = program.registry();
    registry
        .register(&provider(1, ""))
        .await
        .expect("registers");
    nacos.freeze();
    let error = registry.lookup(&consumer("")).await.expect_err("it hangs");
    assert!(
        error.to_string().contains("no answer within 500ms"),
        "{error}"
    );
    // From now on nobody waits.
    let quick = async || {
        let begun = Instant::now();
        let failed = registry.lookup(&consumer("")).await.is_err();
        failed && begun.elapsed() < Duration::from_millis(100)
    };
    while !quick().await {}
    nacos.thaw();
    let found = loop {
        match registry.lookup(&consumer("")).await {
            Ok(found) => break found,
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    };
    assert_eq!(found.providers.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    let nacos = quick_nacos().await;
    nacos.stop().await;
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    let first = provider(1, "");
    let mut wish = Box::pin(registry.register(&first));
    let early = timeout(Duration::from_secs(1), &mut wish).await;
    assert!(early.is_err(), "there is no server");
    let error = registry
        .lookup(&consumer(""))
        .await
        .expect_err("nobody is there");
    let port = nacos.grpc_address().port();
    let text = format!("no server can be reached at its port of gRPC: 127.0.0.1:{port}");
    assert!(error.to_string().contains(&text), "{error}");
    nacos.start_again().await;
    wish.await.expect("registers");
}

/// On a connection that is lost before the server said anything on it, nacos-sdk repeats what it has to say, and takes the
/// refusals for a sign of life.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_find_back_is_given_up_for_a_new_one_and_leaves_nothing() {
    let nacos = quick_nacos().await;
    let name = service("providers:a.B::");
    let program = Program::with(&nacos, "timeout=1s");
    let registry = program.registry();
    let mut subscription = subscribe(&*registry).await;
    for port in [1, 2] {
        registry
            .register(&provider(port, ""))
            .await
            .expect("registers");
    }
    let both = || nacos.addresses(&name) == ["10.0.0.1:1", "10.0.0.1:2"];
    for _ in 0..3 {
        nacos.drop_connections().await;
        let deadline = Instant::now() + Duration::from_mins(1);
        while !both() {
            assert!(Instant::now() < deadline, "they did not come back");
            sleep(Duration::from_millis(10)).await;
        }
    }
    sees(&mut subscription, &[1, 2]).await;
    for port in [1, 2] {
        let provider = provider(port, "");
        registry.unregister(&provider).await.expect("unregisters");
    }
    // As long as it takes any client of nacos-sdk to repeat something.
    for _ in 0..40 {
        assert!(nacos.registered(&name).is_empty());
        sleep(Duration::from_millis(100)).await;
    }
}
