//! Bytes that are no frames, and where a stream of frames may be cut.

use dubbo_hessian2::Value;
use dubbo_test::peer::dubbo::{Answer, Call};

use crate::provider::{Provider, greeter};

#[tokio::test]
async fn what_is_no_frame_ends_the_connection_after_the_calls_before_it() {
    let provider = Provider::of(greeter()).await;
    for bad in [
        &b"\x00\x01\xda\xbb"[..],
        b"\xda\xda",
        b"\xbb\xda",
        b"ls\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xda\xbb\xc2\0\0\0\0\0\0\0\0\x01\xff\xff\xff\xff",
    ] {
        let mut connection = provider.connect().await;
        assert_eq!(
            connection.ask(&Call::greet("x")).await.value(),
            Value::from("hello x")
        );
        connection.send_bytes(bad).await;
        connection.closed().await;
    }
    let mut other = provider.connect().await;
    assert_eq!(
        other.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
}

#[tokio::test]
async fn two_frames_and_a_part_of_a_third_are_two_answers_and_then_one() {
    let provider = Provider::of(greeter()).await;
    let mut connection = provider.connect().await;
    let [one, two, three] = [1, 2, 3].map(|id| Call::greet("x").frame(id).encode());
    for cut in [1, 2, 15, 16, 17, three.len() - 1] {
        connection
            .send_bytes(&[&one[..], &two, &three[..cut]].concat())
            .await;
        let mut ids = [0; 2];
        for id in &mut ids {
            *id = Answer::of(&connection.frame().await).id;
        }
        ids.sort_unstable();
        assert_eq!(ids, [1, 2]);
        connection.send_bytes(&three[cut..]).await;
        assert_eq!(Answer::of(&connection.frame().await).id, 3);
    }
}

#[tokio::test]
async fn a_peer_that_goes_in_the_middle_of_a_frame_does_no_harm() {
    let provider = Provider::of(greeter()).await;
    let frame = Call::greet("x").frame(1).encode();
    for cut in [1, 10, 16, frame.len() - 1] {
        let mut connection = provider.connect().await;
        connection.send_bytes(&frame[..cut]).await;
    }
    let mut other = provider.connect().await;
    assert_eq!(
        other.ask(&Call::greet("x")).await.value(),
        Value::from("hello x")
    );
}
