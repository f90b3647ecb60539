//! Messages that are too large, before and after they are inflated.

use dubbo_test::attack::{
    bomb::Bomb,
    messages::{promised, sent},
};

use crate::{process::Server, service::ECHO};

#[tokio::test]
async fn a_bomb_is_refused_when_it_has_inflated_to_the_limit() {
    let server = Server::start("").await;
    for bomb in Bomb::ALL {
        let attack = bomb.run(server.address, ECHO, 64);
        let answer = server.under(attack).await.within(16 << 20);
        let (code, text) = (answer.code(), answer.message());
        if bomb == Bomb::ZstdWindow {
            // What it asks for is refused before there is anything to measure.
            assert!(matches!(code, Some(3 | 8)), "{text}");
        } else {
            assert_eq!(code, Some(8), "{bomb:?}: {text}");
            assert!(text.contains("4194304"), "{bomb:?}: {text}");
        }
    }
}

#[tokio::test]
async fn so_is_one_in_a_body_of_plain_http() {
    let server = Server::start("").await;
    for bomb in Bomb::ALL {
        let attack = bomb.run_plain(server.address, ECHO, 64);
        let answer = server.under(attack).await.within(16 << 20);
        let text = String::from_utf8_lossy(&answer.body);
        if bomb == Bomb::ZstdWindow {
            assert!(matches!(answer.status, 400 | 413), "{answer:?}");
        } else {
            assert_eq!(answer.status, 413, "{bomb:?}: {text}");
            assert!(text.contains("4194304"), "{bomb:?}: {text}");
        }
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_when_it_is_promised() {
    let server = Server::start("").await;
    let attack = promised(server.address, ECHO, u32::MAX);
    let answer = server.under(attack).await.within(4 << 20);
    assert_eq!(answer.code(), Some(8));
    let text = answer.message();
    assert!(text.contains("4294967295 bytes"), "{text}");
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_however_it_is_sent() {
    let server = Server::start("max-server-recv-msg-size=1mib").await;
    let answer = sent(server.address, ECHO, 1 << 20).await;
    assert_ne!(answer.code(), Some(8), "at the limit");
    let attack = sent(server.address, ECHO, 3 << 20);
    let answer = server.under(attack).await.within(8 << 20);
    assert_eq!(answer.code(), Some(8));
    assert!(answer.message().contains("1048576"), "{answer:?}");
}
