//! What becomes of calls that wait when the program ends, or when nobody holds the client any more.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{AGES, Estate, down, unavailable};
use crate::{
    cluster::IGNORED,
    resend::dead_letter::{Filter, Page, Reason},
    testing::{Answer, Fixed, Scripted, invocation},
};

#[tokio::test(start_paused = true)]
async fn at_the_end_each_call_has_a_last_attempt_and_the_rest_are_dead_letters() {
    for (last, want) in [
        (Answer::After(Duration::from_millis(100)), 0),
        (unavailable(), 3),
        (Answer::Deaf, 3),
    ] {
        let script = [unavailable(), unavailable(), unavailable(), last.clone()];
        let provider = Scripted::with(1, script);
        let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
        let reference = estate.join(Some(-1), &[]);
        for _ in 0..3 {
            reference.invoke(invocation()).await.expect("goes on");
        }
        let start = Instant::now();
        estate
            .letters
            .drain(start + Duration::from_millis(200))
            .await;
        assert!(start.elapsed() <= Duration::from_millis(200), "{last:?}");
        assert_eq!(provider.calls().len(), 6, "{last:?}");
        let letters = estate.letters().await;
        assert_eq!(letters.len(), want, "{last:?}");
        assert!(
            letters
                .iter()
                .all(|letter| letter.reason == Reason::Shutdown)
        );
        // Nothing goes on behind it, and nothing is taken any more.
        let mut call = invocation();
        call.deadline = Some(Instant::now() + Duration::from_millis(100));
        let late = reference.invoke(call).await;
        let calls = provider.calls().len();
        sleep(AGES).await;
        assert_eq!(provider.calls().len(), calls, "{last:?}");
        let late = late.map(|reply| reply.trailers.get(IGNORED).map(str::to_owned));
        match late.expect("the caller goes on") {
            None => assert_eq!(want, 0, "it worked"),
            Some(text) => assert!(text.contains("the program ends"), "{text}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn closing_the_reference_gives_up_what_waits() {
    let provider = down();
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(3), &[]);
    reference.invoke(invocation()).await.expect("goes on");
    reference.close().await;
    let letters = estate.letters().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].reason, Reason::Shutdown);
    assert_eq!(letters[0].attempts.len(), 1, "without time for another");
}

#[tokio::test(start_paused = true)]
async fn what_waits_outlives_a_change_of_options_and_the_client() {
    let provider = Scripted::with(
        1,
        [
            unavailable(),
            unavailable(),
            unavailable(),
            Answer::After(Duration::ZERO),
        ],
    );
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(3), &[("failbacktasks", "1")]);
    reference.invoke(invocation()).await.expect("goes on");
    // The options change: another reference of the same cluster takes over.
    let changed = estate.join(Some(3), &[("failbacktasks", "2")]);
    drop(reference);
    changed.invoke(invocation()).await.expect("goes on");
    let reply = changed.invoke(invocation()).await.expect("goes on");
    let text = reply.trailers.get(IGNORED);
    assert!(text.is_some_and(|text| text.contains("no more calls can wait")));
    drop(changed);
    let Estate { letters, .. } = estate;
    sleep(AGES).await;
    letters.settled().await;
    assert_eq!(
        provider.calls().len(),
        5,
        "both were made again, and worked"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_finds_what_waits_when_nobody_has_its_client() {
    let provider = down();
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(-1), &[]);
    reference.invoke(invocation()).await.expect("goes on");
    drop(reference);
    let Estate {
        letters, failback, ..
    } = estate;
    drop(failback);
    letters.drain(Instant::now() + Duration::from_secs(1)).await;
    letters.close(Instant::now()).await;
    assert_eq!(provider.calls().len(), 2, "a last attempt");
    let left = letters.list(&Filter::default(), Page::default()).await;
    assert_eq!(left.expect("in memory").letters.len(), 1);
}
