//! Replaying letters.

use std::time::Duration;

use super::*;
use crate::{resend::dead_letter::clock, testing::Answer};

fn results(replays: &[Replay]) -> Vec<&'static str> {
    let names = replays.iter().map(|replay| match &replay.result {
        Replayed::Done => "done",
        Replayed::Expired => "expired",
        Replayed::Failed(_) => "failed",
        Replayed::Held => "held",
        Replayed::Impossible(_) => "impossible",
        Replayed::Refused(_) => "refused",
        Replayed::TooEarly => "too early",
        Replayed::Underway => "underway",
    });
    names.collect()
}

async fn left(letters: &DeadLetters) -> Vec<Arc<DeadLetter>> {
    let listing = letters.list(&Filter::default(), Page::default()).await;
    listing.expect("in memory").letters
}

#[tokio::test(start_paused = true)]
async fn what_works_is_gone_and_what_fails_stays_with_what_it_said() {
    let letters = letters();
    let provider = Scripted::with(
        1,
        [
            Answer::Fail(Status::unavailable("refused")),
            Answer::After(Duration::from_millis(10)),
        ],
    );
    let _reference = refer(&letters, &provider);
    let kept = letter("First", Reason::Shutdown);
    let (id, request) = (kept.id, kept.request_id.clone());
    letters.keep(None, kept).await.expect("room");
    // The cluster suppresses failures, but not from who replays.
    let replays = letters.replay(&Filter::default()).await.expect("in memory");
    assert_eq!(results(&replays), ["failed"]);
    let stays = left(&letters).await;
    assert_eq!(stays[0].id, id);
    assert_eq!(stays[0].attempts.len(), 1);
    assert!(stays[0].attempts[0].message.contains("refused"));
    assert_eq!(stays[0].failed_in.len(), 1);
    let replays = letters.replay(&Filter::id(id)).await.expect("in memory");
    assert_eq!(results(&replays), ["done"]);
    assert!(left(&letters).await.is_empty());
    let calls = provider.calls();
    assert_eq!(calls.len(), 2);
    let values = |name| calls.iter().map(move |got| got.attachments.get(name));
    assert!(values("dubbo-request-id").all(|id| id == Some(&request)));
    assert!(values("tenant").all(|tenant| tenant == Some("a")));
}

#[tokio::test(start_paused = true)]
async fn letters_that_may_not_be_replayed_stay() {
    let letters = letters();
    let provider = Scripted::at(1);
    let _reference = refer(&letters, &provider);
    let now = clock::now();
    for (change, want) in [
        ((|letter| letter.held = true) as fn(&mut DeadLetter), "held"),
        (|letter| letter.expires_at = Some(1), "expired"),
        (|letter| letter.not_before = Some(u64::MAX), "too early"),
        (|letter| letter.method = "Gone".to_owned(), "impossible"),
        (
            |letter| letter.service = "a.C".parse().expect("a key"),
            "impossible",
        ),
    ] {
        let mut letter = letter("First", Reason::Exhausted);
        letter.expires_at = Some(now + 60_000);
        letter.not_before = Some(now - 60_000);
        change(&mut letter);
        let id = letter.id;
        letters.keep(None, letter).await.expect("room");
        let replays = letters.replay(&Filter::id(id)).await.expect("in memory");
        assert_eq!(results(&replays), [want]);
    }
    assert_eq!(left(&letters).await.len(), 5);
    assert!(provider.calls().is_empty());
    let other = Filter::default().service("a.C".parse().expect("a key"));
    let none = letters.replay(&other).await.expect("in memory");
    let Replayed::Impossible(why) = &none[0].result else {
        panic!("{none:?}");
    };
    assert_eq!(
        why,
        "this program has no reference of a.C: refer to it first"
    );
}

#[tokio::test(start_paused = true)]
async fn the_precondition_is_asked_before_each_replay() {
    let letters = letters();
    let provider = Scripted::at(1);
    let _reference = refer(&letters, &provider);
    letters.set_precondition(|letter: &DeadLetter| match &*letter.method {
        "First" => Ok(()),
        _ => Err("the coupon is spent".to_owned()),
    });
    for method in ["First", "Second"] {
        letters
            .keep(None, letter(method, Reason::Exhausted))
            .await
            .expect("room");
    }
    let mut replays = letters.replay(&Filter::default()).await.expect("in memory");
    replays.sort_by_key(|replay| results(std::slice::from_ref(replay))[0]);
    assert_eq!(results(&replays), ["done", "refused"]);
    assert_eq!(provider.calls().len(), 1);
    assert_eq!(left(&letters).await[0].method, "Second");
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_fails_in_three_processes_is_held() {
    let store = Arc::new(MemoryStore::new(10));
    let provider = Scripted::with(1, [Answer::Fail(Status::unavailable("refused"))]);
    let mut references = Vec::new();
    let mut process = |number| {
        let letters = DeadLetters::of_process(number);
        letters.add("memory", Arc::clone(&store) as _);
        references.push(refer(&letters, &provider));
        letters
    };
    let first = process(1);
    first
        .keep(None, letter("First", Reason::Exhausted))
        .await
        .expect("room");
    for _ in 0..5 {
        let replays = first.replay(&Filter::default()).await.expect("in memory");
        assert_eq!(
            results(&replays),
            ["failed"],
            "as often as one process likes"
        );
    }
    for (number, held) in [(2, false), (3, true)] {
        let letters = process(number);
        let replays = letters.replay(&Filter::default()).await.expect("in memory");
        assert_eq!(results(&replays), ["failed"]);
        assert_eq!(left(&letters).await[0].held, held, "process {number}");
    }
    let calls = provider.calls().len();
    let replays = first.replay(&Filter::default()).await.expect("in memory");
    assert_eq!(results(&replays), ["held"]);
    assert_eq!(provider.calls().len(), calls);
    assert_eq!(
        first.release(&Filter::default()).await.expect("in memory"),
        1
    );
    let replays = first.replay(&Filter::default()).await.expect("in memory");
    assert_eq!(
        results(&replays),
        ["failed"],
        "as if none had failed before"
    );
    assert!(!left(&first).await[0].held);
}

#[tokio::test(start_paused = true)]
async fn two_who_replay_one_letter_make_one_call() {
    let letters = letters();
    let provider = Scripted::with(1, [Answer::After(Duration::from_millis(100))]);
    let _reference = refer(&letters, &provider);
    for _ in 0..40 {
        letters
            .keep(None, letter("First", Reason::Exhausted))
            .await
            .expect("room");
    }
    let all = Filter::default();
    let (one, two) = tokio::join!(letters.replay(&all), letters.replay(&all));
    assert_eq!(provider.calls().len(), 40);
    let both = [one.expect("in memory"), two.expect("in memory")].concat();
    let done = results(&both)
        .iter()
        .filter(|result| **result == "done")
        .count();
    assert_eq!(done, 40);
    assert!(left(&letters).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_urgent_are_replayed_first() {
    let letters = letters();
    let provider = Scripted::with(1, [Answer::After(Duration::from_millis(100))]);
    let _reference = refer(&letters, &provider);
    for priority in (1..=10).cycle().take(160) {
        let mut letter = letter("First", Reason::Exhausted);
        letter.priority = Priority::new(priority);
        letter.request_id = format!("{priority}-{}", letter.id);
        letters.keep(None, letter).await.expect("room");
    }
    letters.replay(&Filter::default()).await.expect("in memory");
    let calls = provider.calls();
    let order: Vec<u8> = calls
        .iter()
        .filter_map(|got| got.attachments.get("dubbo-request-id"))
        .filter_map(|id| id.split_once('-')?.0.parse().ok())
        .collect();
    assert_eq!(order.len(), 160);
    assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
}
