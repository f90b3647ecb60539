//! Frames that cost the sender nothing.

use dubbo_test::{
    attack::{Heard, bad_frames, flood::Flood, rapid_reset, streams},
    peer::h2::code,
};

use crate::{
    process::Server,
    service::{ECHO, HANG},
};

fn told_to_calm_down(heard: &Heard, why: &str) {
    let told = (code::ENHANCE_YOUR_CALM, why.to_owned());
    assert_eq!(heard.go_away, Some(told), "{heard:?}");
}

/// Clients of gRPC ping every ten seconds, which is never too often here.
#[tokio::test]
async fn frames_that_are_answered_are_answered_however_many_there_are() {
    const COUNT: usize = 100_000;
    let server = Server::start("").await;
    let heard = server
        .under(Flood::Ping.run(server.address, ECHO, COUNT))
        .await;
    let heard = heard.within(4 << 20);
    assert_eq!((heard.pongs, heard.code()), (COUNT + 1, None));
    let heard = server
        .under(Flood::Settings.run(server.address, ECHO, COUNT))
        .await;
    let heard = heard.within(4 << 20);
    assert_eq!((heard.settings, heard.code()), (COUNT + 1, None));
}

#[tokio::test]
async fn frames_that_nobody_has_to_answer_are_passed_over() {
    let server = Server::start("").await;
    for flood in [Flood::Priority, Flood::WindowUpdate] {
        let attack = flood.run(server.address, ECHO, 100_000);
        let heard = server.under(attack).await.within(4 << 20);
        assert_eq!((heard.pongs, heard.code()), (1, None), "{flood:?}");
    }
}

#[tokio::test]
async fn answers_that_nobody_reads_are_not_heaped_up() {
    let server = Server::start("").await;
    for flood in [Flood::Ping, Flood::Settings] {
        let attack = flood.run_deaf(server.address, ECHO, 4_000_000);
        let taken = server.under(attack).await.within(4 << 20);
        assert!(taken < 3_000_000, "{flood:?}: {taken}");
    }
}

#[tokio::test]
async fn data_in_crumbs_ends_the_connection() {
    let server = Server::start("").await;
    for flood in [Flood::EmptyData, Flood::TinyData] {
        let attack = flood.run(server.address, HANG, 100_000);
        let heard = server.under(attack).await.within(16 << 20);
        told_to_calm_down(&heard, "too_many_data_frames");
    }
}

#[tokio::test]
async fn streams_that_are_reset_at_once_end_the_connection() {
    let server = Server::start(".max-concurrent-streams=10").await;
    let attack = rapid_reset::run(server.address, ECHO, 10_000);
    let heard = server.under(attack).await.within(8 << 20);
    told_to_calm_down(&heard, "too_many_resets");
}

/// Whether or not it comes to the limit, which is ten times as many streams as a connection can have.
#[tokio::test]
async fn streams_that_are_reset_at_once_cost_little_before_it_is_too_many() {
    let server = Server::start("").await;
    let attack = rapid_reset::run(server.address, ECHO, 40_000);
    let heard = server.under(attack).await.within(32 << 20);
    assert!(matches!(heard.code(), None | Some(code::ENHANCE_YOUR_CALM)));
}

#[tokio::test]
async fn frames_that_have_streams_reset_end_the_connection() {
    let server = Server::start("").await;
    let attack = async {
        let (mut wire, _) = bad_frames::run(server.address, ECHO, 200_000).await;
        let over = |heard: &Heard| heard.closed;
        wire.hear("the end of the connection", over).await.clone()
    };
    let heard = server.under(attack).await.within(32 << 20);
    // What it says last may not get through to a peer that has not been read to its end.
    assert!(matches!(heard.code(), None | Some(code::ENHANCE_YOUR_CALM)));
    let resets = heard.resets.values().sum::<usize>();
    assert!((1..=100_000).contains(&resets), "{heard:?}");
}

#[tokio::test]
async fn streams_beyond_the_limit_are_refused_and_the_others_stay() {
    let server = Server::start(".max-concurrent-streams=100").await;
    let attack = streams::run(server.address, HANG, 2_000, 100);
    let heard = server.under(attack).await.within(8 << 20);
    assert_eq!(heard.code(), None);
    assert_eq!(heard.resets.get(&code::REFUSED_STREAM), Some(&1_900));
    assert_eq!(heard.resets.len(), 1, "{heard:?}");
}
