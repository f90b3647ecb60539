use std::{sync::Barrier, time::Duration};

use dubbo_core::status::Code;

use super::*;
use crate::filter::tests::rig::{Provider, invocation_of};

#[tokio::test(start_paused = true)]
async fn cluster_t14_a_thousand_calls_leave_nothing_in_flight_and_none_is_refused() {
    let provider = Provider::echoing();
    let chain = provider.chain("padasvc", "");
    for _ in 0..1_000 {
        let mut call = invocation_of("Greet");
        call.attachments.insert(ENABLED, "1");
        let reply = chain.invoke(call).await.expect("there is room");
        assert_eq!(reply.trailers.get(IN_FLIGHT), Some("0"));
    }
}

#[test]
fn cluster_t14_no_more_are_in_flight_than_the_limit_whoever_comes() {
    let limiter = Arc::new(Limiter::new(Algorithm::Aimd));
    let limit = limiter.limit();
    assert_eq!(limit, 50);
    let most = std::sync::atomic::AtomicU32::new(0);
    let barrier = Barrier::new(64);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..1_000 {
                    // All of them hold what they get until all have asked.
                    let permit = limiter.try_enter();
                    most.fetch_max(limiter.in_flight(), std::sync::atomic::Ordering::AcqRel);
                    drop(permit);
                }
                barrier.wait();
                let permit = limiter.try_enter();
                barrier.wait();
                most.fetch_max(limiter.in_flight(), std::sync::atomic::Ordering::AcqRel);
                barrier.wait();
                drop(permit);
            });
        }
    });
    assert_eq!(most.into_inner(), limit);
    assert_eq!(limiter.in_flight(), 0);
}

#[tokio::test]
async fn a_refusal_says_what_dubbo_go_says_and_who_asks_hears_how_much_room_there_is() {
    let provider = Provider::hanging();
    let chain = provider.chain("padasvc", "adaptive-service.limiter=gradient2");
    let mut calls: Vec<_> = (0..50)
        .map(|_| chain.invoke(invocation_of("Greet")))
        .collect();
    for call in &mut calls {
        assert!(futures_util::poll!(call.as_mut()).is_pending());
    }
    let mut asking = invocation_of("Greet");
    asking.attachments.insert(ENABLED, "1");
    let refusal = chain.invoke(asking).await.expect_err("there is no room");
    assert_eq!(refusal.code(), Code::ResourceExhausted);
    assert!(
        refusal.message().ends_with(REFUSAL) && refusal.is_not_processed(),
        "{refusal}"
    );
    assert!(refusal.pushback().is_some_and(|wait| wait > Duration::ZERO));
    assert_eq!(refusal.attachments().get(REMAINING), Some("0"));
    assert_eq!(refusal.attachments().get(IN_FLIGHT), Some("50"));
    let other = chain
        .invoke(invocation_of("Greet"))
        .await
        .expect_err("there is no room");
    assert!(
        !other.attachments().contains(REMAINING),
        "who does not ask is not told"
    );

    let mut of_another = chain.invoke(invocation_of("Find"));
    assert!(futures_util::poll!(of_another.as_mut()).is_pending());
    drop(calls);
    let mut again = chain.invoke(invocation_of("Greet"));
    assert!(
        futures_util::poll!(again.as_mut()).is_pending(),
        "what was given up has left"
    );
}

#[test]
fn an_algorithm_that_is_not_there_is_an_error_of_the_start() {
    let provider = Provider::echoing();
    for name in ["hill-climbing", "gradient2", "AIMD"] {
        provider.chain("padasvc", &format!("adaptive-service.limiter={name}"));
    }
    let error = provider
        .try_chain("padasvc", "adaptive-service.limiter=magic")
        .err();
    let error = error.expect("refused").to_string();
    assert!(
        error.contains("there are: aimd, gradient2, hill-climbing"),
        "{error}"
    );
}
