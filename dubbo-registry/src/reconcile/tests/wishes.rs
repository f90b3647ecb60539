//! What was wished for is there, whatever happens.

use std::{sync::Arc, time::Duration};

use dubbo_core::registry::RegistryErrorKind;

use super::{LONGEST_PAUSE, Rig, TIMING, entry, instance, known, place, takes};
use crate::{
    backend::Client as _,
    flaky::{Fate, Flaky},
    memory::Store,
    reconcile::Handle,
};

#[tokio::test(start_paused = true)]
async fn a_wish_is_fulfilled_once_the_server_is_reached() {
    let rig = Rig::new();
    rig.client.not_yet();
    let wish = rig.handle.show(&place("p"), entry("a"));
    tokio::time::sleep(Duration::from_secs(90)).await;
    rig.client.lose();
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(
        rig.client.asked(),
        [""; 0],
        "nothing is asked of who is not reached"
    );
    rig.client.reconnect();
    let (outcome, took) = takes(wish).await;
    outcome.expect("answered").expect("shown");
    assert_eq!(
        (rig.visible("p"), took),
        (vec!["a".to_owned()], Duration::ZERO)
    );
}

#[tokio::test(start_paused = true)]
async fn a_wish_outlives_whoever_waited_for_it() {
    let rig = Rig::new();
    rig.client.lose();
    drop(rig.handle.show(&place("p"), entry("a")));
    rig.client.reconnect();
    rig.shows("p", &["a"]).await;
}

/// T16: what was taken back while nobody could hear it does not come back.
#[tokio::test(start_paused = true)]
async fn what_is_taken_back_during_an_outage_stays_away() {
    let [goes_on, is_over]: [fn(&Flaky); 2] = [Flaky::reconnect, Flaky::renew];
    for (name, back) in [("it goes on", goes_on), ("it is over", is_over)] {
        let rig = Rig::new();
        for host in ["a", "b"] {
            let wish = rig.handle.show(&place("p"), entry(host));
            wish.await.expect("answered").expect("shown");
        }
        rig.client.lose();
        let gone = rig
            .handle
            .hide(&place("p"), &entry("a").id)
            .expect("was shown");
        tokio::time::sleep(Duration::from_mins(1)).await;
        back(&rig.client);
        gone.await.expect(name);
        assert_eq!(rig.visible("p"), ["b"], "{name}");
        rig.client.lose();
        back(&rig.client);
        rig.shows("p", &["b"]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_never_shown_needs_no_server_to_go() {
    let rig = Rig::new();
    rig.client.lose();
    let wish = rig.handle.show(&place("p"), entry("a"));
    assert!(rig.handle.hide(&place("p"), &entry("a").id).is_none());
    assert!(wish.await.is_err(), "given up");
    rig.client.reconnect();
    rig.idles().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_session_gets_everything_again_before_anything_is_read() {
    let rig = Rig::new();
    for (name, host) in [("p", "a"), ("q", "b")] {
        let wish = rig.handle.show(&place(name), entry(host));
        wish.await.expect("answered").expect("shown");
    }
    let followed = rig.handle.reconciler().follow(&place("p"));
    let mut seen = followed.seen();
    seen.wait_for(|seen| seen.last.is_some())
        .await
        .expect("read");
    rig.client.asked();

    rig.client.lose();
    tokio::time::sleep(Duration::from_secs(9)).await;
    rig.client.renew();
    seen.wait_for(|seen| seen.error.is_none())
        .await
        .expect("read again");
    let mut asked = rig.client.asked();
    asked[..2].sort();
    assert_eq!(asked, ["show p a", "show q b", "watch p", "read p"]);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_hangs_holds_up_lists_in_a_new_session_for_one_request_only() {
    let rig = Rig::new();
    let wish = rig.handle.show(&place("q"), entry("b"));
    wish.await.expect("answered").expect("shown");
    let followed = rig.handle.reconciler().follow(&place("p"));
    let mut seen = followed.seen();
    seen.wait_for(|seen| seen.last.is_some())
        .await
        .expect("read");
    rig.client.behave(|request| match request {
        "show q b" => Fate::Hang,
        _ => Fate::Work,
    });
    rig.client.lose();
    seen.wait_for(|seen| seen.error.is_some())
        .await
        .expect("noticed");
    rig.client.renew();
    let ((), took) = takes(async {
        let news = seen.wait_for(|seen| seen.error.is_none()).await;
        drop(news.expect("read again"));
    })
    .await;
    assert_eq!(took, TIMING.limit);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_holds_up_its_own_place_and_is_made_again() {
    let rig = Rig::new();
    rig.client.behave(|request| match request {
        "show p a" => Fate::Hang,
        _ => Fate::Work,
    });
    let hangs = rig.handle.show(&place("p"), entry("a"));
    let works = rig.handle.show(&place("q"), entry("b"));
    let (outcome, took) = takes(works).await;
    outcome.expect("answered").expect("shown");
    assert_eq!(took, Duration::ZERO);
    tokio::time::sleep(Duration::from_mins(1)).await;
    rig.client.behave(|_| Fate::Work);
    let (outcome, took) = takes(hangs).await;
    outcome.expect("answered").expect("shown");
    assert!(took <= TIMING.limit + LONGEST_PAUSE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn failures_are_tried_again_for_ever_and_ever_more_seldom() {
    let rig = Rig::new();
    rig.client.behave(|_| Fate::Fail);
    let wish = rig.handle.show(&place("p"), entry("a"));
    tokio::time::sleep(Duration::from_hours(1)).await;
    let asked = rig.client.asked().len();
    // 3,600 s in pauses of 30 s, half of it more or less, and the first ones shorter.
    assert!((80..240).contains(&asked), "{asked} attempts in an hour");
    rig.client.behave(|_| Fate::Work);
    let (outcome, took) = takes(wish).await;
    outcome.expect("answered").expect("shown");
    assert!(took <= LONGEST_PAUSE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_goes_back_to_who_wished_for_it_and_harms_nobody_else() {
    // What the server shows, what is wished for on top of it in one go, what of that is refused, and what is left.
    for (before, wished, refused, left) in [
        (&[][..], &["x"][..], &["x"][..], &[][..]),
        (&["a"], &["x"], &["x"], &["a"]),
        (&["a"], &["b", "x", "c"], &["x"], &["a", "b", "c"]),
        (&["a"], &["x", "y"], &["x", "y"], &["a"]),
    ] {
        let rig = Rig::new();
        for host in before {
            let wish = rig.handle.show(&place("p"), entry(host));
            wish.await.expect("answered").expect("shown");
        }
        rig.client.behave(|request| {
            let refused = request.split(' ').any(|word| ["x", "y"].contains(&word));
            if refused { Fate::Refuse } else { Fate::Work }
        });
        let wishes: Vec<_> = wished
            .iter()
            .map(|host| (host, rig.handle.show(&place("p"), entry(host))))
            .collect();
        for (host, wish) in wishes {
            let outcome = wish.await.expect("answered");
            let kind = outcome.map_err(|error| error.kind);
            let want = if refused.contains(host) {
                Err(RegistryErrorKind::Refused)
            } else {
                Ok(())
            };
            assert_eq!(kind, want, "{host} of {wished:?}");
        }
        rig.shows("p", left).await;
        rig.client.lose();
        rig.client.renew();
        rig.shows("p", left).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        rig.client.asked();
        tokio::time::sleep(TIMING.poll / 2).await;
        assert_eq!(
            rig.client.asked(),
            [""; 0],
            "and there is nothing more to do"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_half_done_is_cleared_away() {
    let rig = Rig::new();
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    rig.client.behave(|request| {
        let spoils = request.split(' ').any(|word| word == "x");
        if spoils { Fate::Spoil } else { Fate::Work }
    });
    let wish = rig.handle.show(&place("p"), entry("x"));
    wish.await.expect("answered").expect_err("refused");
    rig.shows("p", &["a"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_that_is_repeated_in_a_new_session_waits_until_it_is_there_again() {
    let rig = Rig::new();
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    rig.client.behave(|_| Fate::Hang);
    rig.client.renew();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let again = rig.handle.show(&place("p"), entry("a"));
    rig.client.behave(|_| Fate::Work);
    again.await.expect("answered").expect("shown");
    assert_eq!(rig.visible("p"), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_change_leaves_what_was_there() {
    let rig = Rig::new();
    let weight = |rig: &Rig| {
        let found = rig.store.read(&place("p"));
        found[0].value.param("weight").map(str::to_owned)
    };
    let wish = rig.handle.show(&place("p"), instance("a", 1));
    wish.await.expect("answered").expect("shown");
    rig.client.behave(|request| match request {
        "show p a" => Fate::Refuse,
        _ => Fate::Work,
    });
    let change = rig.handle.show(&place("p"), instance("a", 2));
    tokio::time::sleep(Duration::from_millis(1)).await;
    rig.client.behave(|_| Fate::Work);
    change.await.expect("answered").expect_err("refused");
    assert_eq!(weight(&rig).as_deref(), Some("1"));
    rig.client.lose();
    rig.client.renew();
    rig.shows("p", &["a"]).await;
    assert_eq!(weight(&rig).as_deref(), Some("1"), "also in a new session");
    let change = rig.handle.show(&place("p"), instance("a", 3));
    change.await.expect("answered").expect("taken");
    assert_eq!(weight(&rig).as_deref(), Some("3"));
}

#[tokio::test(start_paused = true)]
async fn what_was_taken_once_is_wished_for_even_when_it_is_refused_later() {
    let rig = Rig::new();
    for host in ["a", "b"] {
        let wish = rig.handle.show(&place("p"), entry(host));
        wish.await.expect("answered").expect("shown");
    }
    rig.client.behave(|request| {
        let refused = request.split(' ').any(|word| word == "a");
        if refused { Fate::Refuse } else { Fate::Work }
    });
    rig.client.lose();
    rig.client.renew();
    rig.shows("p", &["b"]).await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(rig.visible("p"), ["b"]);
    rig.client.behave(|_| Fate::Work);
    tokio::time::sleep(LONGEST_PAUSE).await;
    rig.shows("p", &["a", "b"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_wish_of_two_goes_with_the_second() {
    let rig = Rig::new();
    let other = Handle::new(Arc::clone(&rig.reconciler));
    for handle in [&rig.handle, &other] {
        let wish = handle.show(&place("p"), entry("a"));
        wish.await.expect("answered").expect("shown");
    }
    assert!(rig.handle.hide(&place("p"), &entry("a").id).is_none());
    other.close().await;
    assert_eq!(rig.visible("p"), [""; 0]);
    assert!(
        !rig.client.asked().contains(&"close".to_owned()),
        "one is left"
    );
    rig.handle.close().await;
    assert_eq!(rig.client.asked(), ["close"]);
}

#[tokio::test(start_paused = true)]
async fn an_equal_wish_is_fulfilled_at_once_and_a_different_one_replaces_it() {
    let rig = Rig::new();
    for (weight, asked) in [(1, 1), (1, 0), (2, 1)] {
        let wish = rig.handle.show(&place("p"), instance("a", weight));
        wish.await.expect("answered").expect("shown");
        assert_eq!(rig.client.asked().len(), asked, "weight {weight}");
    }
    assert_eq!(rig.visible("p"), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_lost_by_itself_comes_back() {
    let rig = Rig::new();
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    rig.client.vandalise();
    tokio::time::sleep(TIMING.poll.mul_f64(1.2)).await;
    rig.shows("p", &["a"]).await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_takes_away_comes_back_soon_and_ever_less_soon_in_a_fight() {
    let rig = Rig::new();
    for host in ["a", "b"] {
        let wish = rig.handle.show(&place("p"), entry(host));
        wish.await.expect("answered").expect("shown");
    }
    let mut pauses = Vec::new();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        rig.client.rob();
        assert_eq!(rig.visible("p"), [""; 0]);
        let ((), took) = takes(rig.shows("p", &["a", "b"])).await;
        pauses.push(took);
    }
    let soon = TIMING.confirm_empty / 2;
    assert!(pauses[0] < soon, "{pauses:?}");
    assert!(
        pauses[7..].iter().sum::<Duration>() > soon * 12,
        "{pauses:?}"
    );
    // It is over, and soon is soon again.
    tokio::time::sleep(TIMING.poll.mul_f64(1.2)).await;
    rig.client.rob();
    let ((), took) = takes(rig.shows("p", &["a", "b"])).await;
    assert!(took < soon, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_watched_is_looked_after_now_and_then() {
    let rig = Rig::new();
    rig.client.behave(|request| match request {
        _ if request.starts_with("watch own") => Fate::Fail,
        _ => Fate::Work,
    });
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    rig.client.rob();
    tokio::time::sleep(TIMING.poll.mul_f64(1.2)).await;
    rig.shows("p", &["a"]).await;
    assert_eq!(rig.client.asked(), ["show p a", "show p a"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_lost_or_never_told_is_noticed_within_the_ttl() {
    let rig = Rig::new();
    let ttl = Duration::from_secs(5);
    rig.client.users().want_poll(ttl);
    let wish = rig.handle.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    let followed = rig.reconciler.follow(&place("q"));
    let mut seen = followed.seen();
    let empty = seen.wait_for(|seen| known(seen) == Ok(Vec::new())).await;
    drop(empty.expect("goes on"));
    rig.client.vandalise();
    rig.client.deafen();
    let others = Rig::on(&rig.store, TIMING);
    let wish = others.handle.show(&place("q"), entry("b"));
    wish.await.expect("answered").expect("shown");
    let found = seen.wait_for(|seen| known(seen) == Ok(vec!["b".to_owned()]));
    let (found, took) = takes(found).await;
    drop(found.expect("goes on"));
    let (least, most) = (ttl.mul_f64(0.8), ttl.mul_f64(1.2));
    assert!((least..=most).contains(&took), "{took:?}");
    tokio::time::sleep(most.saturating_sub(took)).await;
    rig.shows("p", &["a"]).await;
}

#[tokio::test(start_paused = true)]
async fn closing_takes_everything_back_and_leaves_nothing_behind() {
    let rig = Rig::new();
    for host in ["a", "b", "c"] {
        let wish = rig.handle.show(&place(host), entry(host));
        wish.await.expect("answered").expect("shown");
    }
    let ((), took) = takes(rig.handle.close()).await;
    assert_eq!(took, Duration::ZERO);
    for host in ["a", "b", "c"] {
        assert_eq!(rig.visible(host), [""; 0]);
    }
    rig.idles().await;
    let error = rig
        .handle
        .open(|| "register x".to_owned())
        .expect_err("is closed");
    assert_eq!(
        error.to_string(),
        "register x at flaky://server: it is closed"
    );
}

#[tokio::test(start_paused = true)]
async fn closing_waits_no_longer_than_a_server_may_take() {
    let outage: fn(&Flaky) = Flaky::lose;
    let hangs: fn(&Flaky) = |client| client.behave(|_| Fate::Hang);
    for (way, limit) in [(outage, Duration::ZERO), (hangs, TIMING.limit)] {
        let rig = Rig::new();
        let wish = rig.handle.show(&place("p"), entry("a"));
        wish.await.expect("answered").expect("shown");
        way(&rig.client);
        let ((), took) = takes(rig.handle.close()).await;
        assert_eq!(took, limit);
        rig.idles().await;
    }
}

#[tokio::test(start_paused = true)]
async fn handles_that_close_at_the_same_time_leave_nothing_behind() {
    let rig = Rig::new();
    let other = Handle::new(Arc::clone(&rig.reconciler));
    for (handle, host) in [(&rig.handle, "a"), (&other, "b")] {
        let wish = handle.show(&place(host), entry(host));
        wish.await.expect("answered").expect("shown");
    }
    rig.client.behave(|_| Fate::Hang);
    tokio::join!(rig.handle.close(), other.close(), rig.handle.close());
    rig.idles().await;
    let asked = rig.client.asked();
    assert_eq!(
        asked.iter().filter(|a| *a == "close").count(),
        1,
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_nobody_closed_takes_its_wishes_with_it() {
    let store: Arc<Store> = Arc::default();
    let rig = Rig::on(&store, TIMING);
    let other = Handle::new(Arc::clone(&rig.reconciler));
    let wish = other.show(&place("p"), entry("a"));
    wish.await.expect("answered").expect("shown");
    drop(other);
    rig.shows("p", &[]).await;
    rig.idles().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_keeps_what_is_forgotten_ends_instead_of_trying_for_ever() {
    for fate in [Fate::Work, Fate::Fail, Fate::Refuse] {
        let rig = Rig::new();
        rig.client.behave(move |_| fate);
        let wish = rig.handle.show(&place("p"), entry("a"));
        tokio::time::sleep(Duration::from_millis(1)).await;
        rig.reconciler.core.shows.clear();
        drop(wish);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(rig.reconciler.tasks.running(), 0, "{fate:?}");
    }
}
