//! Leases that are kept, lost, and begun again; members that come and go.

use std::time::Duration;

use dubbo_core::registry::RegistryErrorKind;
use tokio::time::{Instant, sleep};

use super::{connection, down, member::World, up};
use crate::backend::Session;

const ONE: &str = "etcdv3://a:1?session=3s&timeout=1s";
const TWO: &str = "etcdv3://a:1?backup=b:2&session=3s&timeout=1s";

#[tokio::test(start_paused = true)]
async fn a_session_is_a_lease_that_is_kept_alive() {
    let world = World::new();
    let client = connection(&world, ONE);
    assert_eq!(up(&client).await, (1, 1));
    assert_eq!(world.log(), ["connect a:1", "grant 1"]);
    sleep(Duration::from_millis(5500)).await;
    assert_eq!(world.log(), ["beat 1"; 5]);
    assert_eq!(up(&client).await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_made_again_with_the_next_member_and_the_same_lease() {
    let world = World::new();
    let client = connection(&world, TWO);
    assert_eq!(up(&client).await, (1, 1));
    let before = Instant::now();
    world.cut();
    // So soon that nobody may see it down.
    let mut sessions = client.session();
    let second = Session::Up {
        session: 1,
        connection: 2,
    };
    let is_second = |state: &Session| format!("{state:?}") == format!("{second:?}");
    sessions.wait_for(is_second).await.expect("goes on");
    assert!(before.elapsed() < Duration::from_millis(10));
    assert_eq!(
        world.log(),
        ["connect a:1", "grant 1", "connect b:2", "beat 1"]
    );
    // The last member of a round is followed by the first, after a pause.
    world.cut();
    down(&client).await;
    assert_eq!(up(&client).await, (1, 3));
    assert_eq!(world.log(), ["connect a:1", "beat 1"]);
    assert!(before.elapsed() > Duration::from_millis(90));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_over_is_a_new_session() {
    let world = World::new();
    let client = connection(&world, ONE);
    assert_eq!(up(&client).await, (1, 1));
    world.state.lock().leases.clear();
    let error = down(&client).await;
    assert!(error.to_string().contains("the lease is over"), "{error}");
    assert_eq!(up(&client).await, (2, 2));
    // As well when it was over unseen.
    world.state.lock().leases.clear();
    world.cut();
    down(&client).await;
    assert_eq!(up(&client).await, (3, 3));
    let log = world.log();
    assert_eq!(
        log.iter().filter(|line| line.starts_with("grant")).count(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn a_member_that_keeps_silent_is_left_within_a_third_of_the_lease_and_a_timeout() {
    let world = World::new();
    let client = connection(&world, TWO);
    up(&client).await;
    world.state.lock().is_silent = true;
    let before = Instant::now();
    let error = down(&client).await;
    assert!(error.to_string().contains("no answer within 1s"), "{error}");
    assert!(
        before.elapsed() <= Duration::from_millis(2100),
        "{:?}",
        before.elapsed()
    );
    world.state.lock().is_silent = false;
    assert_eq!(up(&client).await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_makes_one_look_after_the_session() {
    let world = World::new();
    let client = connection(&world, "etcdv3://a:1?backup=b:2&session=1h&timeout=1s");
    up(&client).await;
    // The next beat is due in twenty minutes.
    world.state.lock().is_silent = true;
    let before = Instant::now();
    let error = client.get("/a").await.expect_err("nobody answers");
    assert!(error.to_string().contains("no answer within 1s"), "{error}");
    assert_eq!(error.kind, RegistryErrorKind::Unavailable);
    down(&client).await;
    assert!(
        before.elapsed() <= Duration::from_millis(2100),
        "{:?}",
        before.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_reached_is_tried_for_ever_and_not_too_often() {
    let world = World::new();
    let all = ["a:1", "b:2"].map(str::to_owned);
    world.state.lock().away.extend(all);
    let client = connection(&world, TWO);
    let error = down(&client).await;
    let text = error.to_string();
    assert!(text.contains("etcdv3://a:1,b:2"), "{text}");
    for member in ["a:1: nobody is there; ", "b:2: nobody is there"] {
        assert!(text.contains(member), "{text}");
    }
    sleep(Duration::from_mins(10)).await;
    let attempts = world.log().len();
    assert!((120..600).contains(&attempts), "{attempts}");
    world.state.lock().away.remove("b:2");
    let before = Instant::now();
    assert_eq!(up(&client).await, (1, 1));
    assert!(
        before.elapsed() < Duration::from_secs(8),
        "{:?}",
        before.elapsed()
    );
    assert_eq!(world.log().last().expect("connects"), "grant 1");
}

#[tokio::test(start_paused = true)]
async fn closing_gives_the_lease_back() {
    let world = World::new();
    let client = connection(&world, ONE);
    up(&client).await;
    client.close().await;
    assert_eq!(world.log().last().expect("revokes"), "revoke 1");
    let error = client.get("/a").await.expect_err("closed");
    assert!(error.to_string().contains("closed"), "{error}");
    sleep(Duration::from_mins(1)).await;
    assert_eq!(world.log(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_a_member_that_keeps_silent() {
    let world = World::new();
    let client = connection(&world, ONE);
    up(&client).await;
    world.state.lock().is_silent = true;
    let before = Instant::now();
    client.close().await;
    assert!(
        before.elapsed() <= Duration::from_millis(1010),
        "{:?}",
        before.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_not_accepted_is_refused_and_told() {
    let world = World::new();
    world.state.lock().login = Some(("u".to_owned(), "right".to_owned()));
    let client = connection(&world, "etcdv3://u:wrong@a:1");
    let error = down(&client).await;
    assert_eq!(error.kind, RegistryErrorKind::Refused);
    let text = error.to_string();
    assert!(text.contains("look at `username` and `password`"), "{text}");
    assert!(!text.contains("wrong"), "{text}");
    // An administrator may mend it.
    world.state.lock().login = Some(("u".to_owned(), "wrong".to_owned()));
    assert_eq!(up(&client).await, (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_lets_everybody_in_needs_no_login() {
    let world = World::new();
    let client = connection(&world, "etcdv3://u:p@a:1");
    assert_eq!(up(&client).await, (1, 1));
    assert_eq!(world.log(), ["connect a:1", "log in", "grant 1"]);
}

#[tokio::test(start_paused = true)]
async fn one_member_that_may_come_back_is_hope_and_the_others_say_what_they_mind() {
    let world = World::new();
    {
        let mut state = world.state.lock();
        state.login = Some(("u".to_owned(), "right".to_owned()));
        state.away.insert("b:2".to_owned());
    }
    let client = connection(&world, "etcdv3://u:wrong@a:1?backup=b:2");
    let error = down(&client).await;
    assert_eq!(error.kind, RegistryErrorKind::Unavailable);
    let text = error.to_string();
    assert!(
        text.contains("a:1: it does not accept this login"),
        "{text}"
    );
    assert!(text.contains("b:2: nobody is there"), "{text}");
    world.state.lock().away.clear();
    let mut sessions = client.session();
    let refused = sessions.wait_for(|state| {
        matches!(state, Session::Down(Some(error)) if error.kind == RegistryErrorKind::Refused)
    });
    refused.await.expect("goes on");
}
