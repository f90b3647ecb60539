//! What is followed is up to date, and never empty by mistake.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{LONGEST_PAUSE, Rig, TIMING, entry, known, place, takes};
use crate::{
    backend::{Place, Timing},
    flaky::Fate,
};

/// Waits until `seen` says `want`.
macro_rules! sees {
    ($seen:expr, $want:expr) => {{
        let want: Vec<String> = $want.iter().map(|name: &&str| (*name).to_owned()).collect();
        let what = format!("{want:?}");
        let found = $seen.wait_for(|seen| known(seen) == Ok(want.clone()));
        drop(dubbo_test::soon(&what, found).await.expect("it goes on"));
    }};
}

#[tokio::test(start_paused = true)]
async fn changes_of_others_are_seen_at_once() {
    let rig = Rig::new();
    let others = Rig::on(&rig.store, TIMING);
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    sees!(seen, [""; 0]);
    let start = Instant::now();
    for (show, want) in [("a", &["a"][..]), ("b", &["a", "b"])] {
        let wish = others.handle.show(&place("p"), entry(show));
        wish.await.expect("answered").expect("shown");
        sees!(seen, want);
    }
    others.handle.hide(&place("p"), &entry("a").id);
    sees!(seen, ["b"]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_an_error_and_what_changed_in_it_is_seen_afterwards() {
    for renews in [false, true] {
        let rig = Rig::new();
        let others = Rig::on(&rig.store, TIMING);
        let wish = others.handle.show(&place("p"), entry("a"));
        wish.await.expect("answered").expect("shown");
        let followed = rig.reconciler.follow(&place("p"));
        let mut seen = followed.seen();
        sees!(seen, ["a"]);
        rig.client.lose();
        let lost = seen
            .wait_for(|seen| seen.error.is_some())
            .await
            .expect("told");
        assert_eq!(
            known(&lost),
            Err("connect at flaky://server: lost".to_owned())
        );
        assert!(lost.last.is_some(), "the last list stays");
        drop(lost);
        let wish = others.handle.show(&place("p"), entry("b"));
        wish.await.expect("answered").expect("shown");
        if renews {
            rig.client.renew();
        } else {
            rig.client.reconnect();
        }
        sees!(seen, ["a", "b"]);
        others.handle.hide(&place("p"), &entry("a").id);
        sees!(seen, ["b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_or_hangs_is_an_error_until_one_works() {
    for (fate, want, within) in [
        (
            Fate::Fail,
            "read p at flaky://server: failed",
            Duration::ZERO,
        ),
        (
            Fate::Hang,
            "read p at flaky://server: no answer within 5s",
            TIMING.limit,
        ),
        (
            Fate::Refuse,
            "read p at flaky://server: refused",
            Duration::ZERO,
        ),
    ] {
        let rig = Rig::new();
        let others = Rig::on(&rig.store, TIMING);
        let followed = rig.reconciler.follow(&place("p"));
        let mut seen = followed.seen();
        sees!(seen, [""; 0]);
        rig.client.behave(move |request| match request {
            "read p" => fate,
            _ => Fate::Work,
        });
        let wish = others.handle.show(&place("p"), entry("a"));
        wish.await.expect("answered").expect("shown");
        let (error, took) = takes(async {
            let failed = seen.wait_for(|seen| seen.error.is_some()).await;
            known(&failed.expect("told"))
        })
        .await;
        assert_eq!((error, took), (Err(want.to_owned()), within));
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert!(
            !seen.has_changed().expect("open"),
            "the same error is no news"
        );
        rig.client.behave(|_| Fate::Work);
        tokio::time::sleep(LONGEST_PAUSE).await;
        sees!(seen, ["a"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_equal_list_is_no_news() {
    let rig = Rig::new();
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    sees!(seen, ["a"]);
    for _ in 0..10 {
        rig.client.reconnect();
        tokio::time::sleep(Duration::from_secs(100)).await;
    }
    let reads = rig.client.asked().iter().filter(|r| *r == "read p").count();
    assert!(reads > 10, "{reads}");
    assert!(!seen.has_changed().expect("open"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_session_that_is_over_is_not_believed() {
    let rig = Rig::new();
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    sees!(seen, ["a"]);
    let others = Rig::on(&rig.store, TIMING);
    rig.client.behave(|request| match request {
        "read p" => Fate::Hold,
        _ => Fate::Work,
    });
    let wish = others.handle.show(&place("p"), entry("ghost"));
    wish.await.expect("answered").expect("shown");
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The list with the ghost is on its way when the ghost goes and the session ends.
    others.handle.close().await;
    rig.client.renew();
    rig.client.behave(|_| Fate::Work);
    rig.client.release();
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert!(
        !seen.has_changed().expect("open"),
        "the ghost was never shown"
    );
    assert_eq!(known(&seen.borrow_and_update()), Ok(vec!["a".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_is_given_up_with_its_connection() {
    let rig = Rig::new();
    rig.client.behave(|_| Fate::Hang);
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    let wish = rig.handle.show(&place("p"), entry("a"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    rig.client.lose();
    let (error, took) = takes(async {
        let lost = seen.wait_for(|seen| seen.error.is_some()).await;
        known(&lost.expect("told"))
    })
    .await;
    assert_eq!(error, Err("connect at flaky://server: lost".to_owned()));
    rig.client.behave(|_| Fate::Work);
    rig.client.reconnect();
    let (outcome, again) = takes(wish).await;
    outcome.expect("answered").expect("shown");
    sees!(seen, ["a"]);
    assert_eq!((took, again), (Duration::ZERO, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_believed_when_it_lasts() {
    let s = Duration::from_secs;
    // How long after a connection lists are doubted, how long an empty one must last, how long nobody is there, and when
    // that is told.
    for (grace, confirm, away, want) in [
        (s(0), s(0), s(100), Some(s(0))),
        (s(0), s(1), s(100), Some(s(1))),
        (s(0), s(1), Duration::from_millis(900), None),
        (s(6), s(1), s(100), Some(s(6))),
        (s(6), s(1), s(4), None),
        (s(2), s(5), s(100), Some(s(5))),
    ] {
        let rig = Rig::with(Timing {
            grace,
            confirm_empty: confirm,
            ..TIMING
        });
        let others = Rig::on(&rig.store, TIMING);
        let wish = others.handle.show(&place("p"), entry("a"));
        wish.await.expect("answered").expect("shown");
        let followed = rig.reconciler.follow(&place("p"));
        let mut seen = followed.seen();
        sees!(seen, ["a"]);
        others.handle.hide(&place("p"), &entry("a").id);
        others.shows("p", &[]).await;
        rig.client.reconnect();
        let start = Instant::now();
        let empty = async {
            let empty = seen.wait_for(|seen| known(seen) == Ok(Vec::new())).await;
            drop(empty.expect("open"));
            start.elapsed()
        };
        let told = tokio::time::timeout(away, empty).await.ok();
        // The other one notices by a sleep of its own, a millisecond late at most.
        let told = told.map(|after| Duration::from_secs(after.as_secs()));
        assert_eq!(told, want, "grace {grace:?}, confirm {confirm:?}");
        let wish = others.handle.show(&place("p"), entry("a"));
        wish.await.expect("answered").expect("shown");
        sees!(seen, ["a"]);
    }
}

/// A server that has forgotten everybody: they come back one by one, and until then nobody is alone with all calls.
#[tokio::test(start_paused = true)]
async fn who_is_missing_after_an_outage_is_kept_for_a_while() {
    let rig = Rig::with(Timing {
        grace: Duration::from_secs(30),
        ..TIMING
    });
    let others = Rig::on(&rig.store, TIMING);
    let show = async |name: &str| {
        let wish = others.handle.show(&place("p"), entry(name));
        wish.await.expect("answered").expect("shown");
    };
    let hide = async |name: &str, rest: &[&str]| {
        others.handle.hide(&place("p"), &entry(name).id);
        others.shows("p", rest).await;
    };
    for name in ["a", "b", "c"] {
        show(name).await;
    }
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    sees!(seen, ["a", "b", "c"]);
    // Without an outage they go at once.
    tokio::time::sleep(Duration::from_secs(40)).await;
    hide("c", &["a", "b"]).await;
    sees!(seen, ["a", "b"]);

    rig.client.lose();
    hide("a", &["b"]).await;
    hide("b", &[]).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    rig.client.renew();
    let back = Instant::now();
    sees!(seen, ["a", "b"]);
    // Whoever is new is there at once, and whoever is back may go again: it may be on its way from one session to the next.
    show("new").await;
    sees!(seen, ["a", "b", "new"]);
    show("a").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    hide("a", &["new"]).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!seen.has_changed().expect("open"), "nothing is missed yet");
    show("a").await;
    let (after, left) = takes(async {
        let left = seen.wait_for(|seen| known(seen) == Ok(vec!["a".to_owned(), "new".to_owned()]));
        drop(left.await.expect("open"));
        back.elapsed()
    })
    .await;
    assert_eq!(after.as_secs(), 30, "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_list_is_believed_whatever_it_is() {
    let rig = Rig::with(Timing {
        grace: Duration::from_mins(1),
        ..TIMING
    });
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    let ((), took) = takes(async { sees!(seen, [""; 0]) }).await;
    assert_eq!(took, Duration::ZERO, "it takes nothing away");
}

#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_hint_at_is_seen_by_looking() {
    let rig = Rig::new();
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    sees!(seen, [""; 0]);
    rig.client.deafen();
    let others = Rig::on(&rig.store, TIMING);
    let wish = others.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    let ((), took) = takes(async {
        let found = seen.wait_for(|seen| known(seen) == Ok(vec!["a".to_owned()]));
        drop(found.await.expect("open"));
    })
    .await;
    assert!(
        took > TIMING.poll / 2 && took <= TIMING.poll.mul_f64(1.2),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn many_changes_are_few_reads() {
    let rig = Rig::new();
    let followed = rig.reconciler.follow(&place("p"));
    let mut seen = followed.seen();
    sees!(seen, [""; 0]);
    let others: Vec<_> = (0..50).map(|_| Rig::on(&rig.store, TIMING)).collect();
    for (number, other) in others.iter().enumerate() {
        for host in 0..20 {
            other
                .handle
                .show(&place("p"), entry(&format!("h{number:02}-{host:02}")));
        }
    }
    let all: Vec<_> = (0..1000)
        .map(|n| format!("h{:02}-{:02}", n / 20, n % 20))
        .collect();
    let found = seen.wait_for(|seen| known(seen).as_ref() == Ok(&all));
    drop(dubbo_test::soon("all of them", found).await.expect("open"));
    let reads = rig.client.asked().len();
    assert!(reads < 200, "{reads} reads");
}

#[tokio::test(start_paused = true)]
async fn those_who_follow_the_same_share_it_and_the_last_one_ends_it() {
    let rig = Rig::new();
    let first = rig.reconciler.follow(&place("p"));
    let second = rig.reconciler.follow(&place("p"));
    let mut seen = second.seen();
    sees!(seen, [""; 0]);
    assert_eq!(rig.client.asked(), ["watch p", "read p"]);
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.client.watches(), 1);
    drop(second);
    rig.idles().await;
    let third = rig.reconciler.follow(&place("p"));
    let mut seen = third.seen();
    sees!(seen, [""; 0]);
    assert_eq!(rig.client.asked(), ["watch p", "read p"], "anew");
}

#[tokio::test(start_paused = true)]
async fn names_in_a_folder_are_followed_as_well() {
    let rig = Rig::new();
    let others = Rig::on(&rig.store, TIMING);
    let folder = Place("f".into());
    let followed = rig.reconciler.follow_names(&folder);
    let mut seen = followed.seen();
    let mut wait = async |want: &[&str]| {
        let found = seen.wait_for(|seen| {
            let names: Option<&[Arc<str>]> = seen.last.as_deref();
            names.is_some_and(|names| names.iter().map(|n| &**n).eq(want.iter().copied()))
        });
        drop(dubbo_test::soon("names", found).await.expect("open"));
    };
    wait(&[]).await;
    others.handle.show(&place("f/x/providers"), entry("a"));
    wait(&["x"]).await;
    others.handle.show(&place("f/w/providers"), entry("a"));
    wait(&["w", "x"]).await;
    others.handle.hide(&place("f/x/providers"), &entry("a").id);
    wait(&["w"]).await;
    drop(followed);
    rig.idles().await;
}
