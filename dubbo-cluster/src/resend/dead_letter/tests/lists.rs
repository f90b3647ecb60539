//! Listing, holding and purging.

use super::*;

async fn filled() -> DeadLetters {
    let letters = letters();
    for number in 0..1_000 {
        let method = if number % 2 == 0 { "First" } else { "Second" };
        let reason = Reason::ALL[number % 3];
        let mut letter = letter(method, reason);
        letter.held = number % 5 == 0;
        letter.pool = if number % 7 == 0 { "gray" } else { "" }.to_owned();
        letters.keep(None, letter).await.expect("room");
    }
    letters
}

#[tokio::test]
async fn pages_of_a_filter_come_to_all_that_it_means_each_once() {
    let letters = filled().await;
    for (filter, want) in [
        (Filter::default(), 1_000),
        (Filter::default().method("First"), 500),
        (Filter::default().held(true), 200),
        (Filter::default().held(false), 800),
        (Filter::default().reason(Reason::Budget), 334),
        (Filter::default().reason(Reason::Shutdown), 0),
        (Filter::default().pool("gray"), 143),
        (Filter::default().policy("none"), 0),
        (
            Filter::default().service("a.B".parse().expect("a key")),
            1_000,
        ),
        (Filter::default().service("a.C".parse().expect("a key")), 0),
        (Filter::default().method("First").held(true), 100),
    ] {
        for limit in [1_000, 300, 100, 7] {
            let mut ids = Vec::new();
            let mut page = Page { after: None, limit };
            loop {
                let listing = letters.list(&filter, page).await.expect("in memory");
                assert!(listing.letters.len() <= limit);
                assert!(listing.letters.iter().all(|letter| filter.accepts(letter)));
                ids.extend(listing.letters.iter().map(|letter| letter.id));
                page.after = listing.next;
                if page.after.is_none() {
                    break;
                }
            }
            assert_eq!(ids.len(), want, "{filter:?} by {limit}");
            assert!(ids.is_sorted_by(|a, b| a < b), "each once, in order");
        }
    }
}

#[tokio::test]
async fn letters_of_all_stores_are_one_list() {
    let letters = letters();
    letters.add("other", Arc::new(MemoryStore::new(10)));
    let mut ids = Vec::new();
    for store in ["memory", "other", "MEMORY"] {
        let letter = letter("First", Reason::Exhausted);
        ids.push(letter.id);
        letters.keep(Some(store), letter).await.expect("room");
    }
    ids.sort_unstable();
    let listing = letters.list(&Filter::default(), Page::default()).await;
    let listed = listing.expect("in memory").letters;
    assert!(
        listed
            .iter()
            .map(|letter| letter.id)
            .eq(ids.iter().copied())
    );
    let named = letters.get(ids[1]).await.expect("in memory");
    assert_eq!(named.expect("is there").id, ids[1]);
    let nobody = letters.get(LetterId::of_number(1)).await;
    assert_eq!(nobody.expect("in memory"), None);
    let error = letters
        .keep(Some("nope"), letter("First", Reason::Budget))
        .await;
    let text = error.expect_err("unknown").to_string();
    assert_eq!(
        text,
        r#"there is no store of dead letters `nope`: there are ["memory", "other"]"#
    );
}

#[tokio::test]
async fn what_is_held_is_released_and_what_is_purged_is_gone() {
    let letters = filled().await;
    let second = Filter::default().method("Second");
    assert_eq!(letters.hold(&second).await.expect("in memory"), 500);
    let held = Filter::default().held(true);
    let count = |filter: Filter| {
        let letters = letters.clone();
        async move {
            let page = Page {
                limit: 10_000,
                ..Page::default()
            };
            letters
                .list(&filter, page)
                .await
                .expect("in memory")
                .letters
                .len()
        }
    };
    assert_eq!(count(held.clone()).await, 600);
    assert_eq!(letters.release(&held).await.expect("in memory"), 600);
    assert_eq!(count(held).await, 0);
    assert_eq!(letters.purge(&second).await.expect("in memory"), 500);
    assert_eq!(count(Filter::default()).await, 500);
    assert_eq!(
        letters.purge(&Filter::default()).await.expect("in memory"),
        500
    );
    assert_eq!(count(Filter::default()).await, 0);
}

#[tokio::test]
async fn a_full_store_refuses_and_keeps_what_it_has() {
    let letters = DeadLetters::default();
    let mut first = letter("First", Reason::Budget);
    letters.keep(None, first.clone()).await.expect("room");
    for _ in 1..100 {
        let letter = letter("First", Reason::Budget);
        letters
            .keep(None, letter)
            .await
            .expect("a hundred by default");
    }
    let error = letters.keep(None, letter("First", Reason::Budget)).await;
    let text = error.expect_err("full").to_string();
    assert!(
        text.contains("`memory` is full (100): replay or purge some"),
        "{text}"
    );
    first.held = true;
    letters
        .keep(None, first.clone())
        .await
        .expect("it is there already");
    let kept = letters.get(first.id).await.expect("in memory");
    assert!(kept.expect("is there").held);
}
