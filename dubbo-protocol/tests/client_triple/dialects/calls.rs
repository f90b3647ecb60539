//! Calls that work.

use std::time::Duration;

use dubbo_core::stream;
use dubbo_test::soon;

use super::rig::{Rig, STREAMING_WAYS, Text, WAYS, all, greet, many};

#[tokio::test]
async fn a_unary_call_takes_attachments_there_and_headers_and_trailers_back() {
    for rig in [Rig::plain().await, Rig::secure().await] {
        for way in WAYS {
            for more in ["", "&serialization=json"] {
                let stub = rig.stub(&format!("{way}{more}")).await;
                let call = greet(&stub, "you").attach("userId", "7");
                let reply = soon("an answer", call).await.expect("it works");
                assert_eq!(reply.message(), "hello you", "{way}{more}");
                assert_eq!(reply.headers().get("x-head"), Some("7"), "{way}{more}");
                assert_eq!(reply.trailers().get("x-tail"), Some("t"), "{way}{more}");
                let names: Vec<_> = reply
                    .headers()
                    .iter()
                    .chain(reply.trailers().iter())
                    .collect();
                assert_eq!(names.len(), 2, "{way}{more}: {names:?}");
            }
        }
    }
}

#[tokio::test]
async fn messages_are_compressed_both_ways() {
    let rig = Rig::of(".compression.send=gzip&.compression.min-size=0").await;
    let text = "a".repeat(10_000);
    for way in WAYS {
        for compression in ["gzip", "deflate", "zstd"] {
            let query = format!("{way}&compression.send={compression}&compression.min-size=10");
            let stub = rig.stub(&query).await;
            for text in [&text[..], "x"] {
                let reply = soon("an answer", greet(&stub, text)).await;
                let reply = reply.expect("it works").into_message();
                assert_eq!(reply, format!("hello {text}"), "{query}");
            }
        }
    }
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let rig = Rig::plain().await;
    let text = "b".repeat(3 << 20);
    for way in WAYS {
        let stub = rig.stub(way).await;
        let reply = soon("an answer", greet(&stub, &text)).await;
        assert_eq!(
            reply.expect("it fits").message().len(),
            text.len() + 6,
            "{way}"
        );
    }
}

#[tokio::test]
async fn the_time_that_is_left_goes_along() {
    let rig = Rig::plain().await;
    for way in WAYS {
        let stub = rig.stub(way).await;
        let with = greet(&stub, "deadline").timeout(Duration::from_mins(1));
        assert_eq!(with.await.expect("it works").message(), "true", "{way}");
        let without = greet(&stub, "deadline");
        assert_eq!(without.await.expect("it works").message(), "false", "{way}");
    }
}

#[tokio::test]
async fn grpc_web_has_streams_of_all_kinds() {
    for rig in [Rig::plain().await, Rig::secure().await] {
        for way in STREAMING_WAYS {
            let stub = rig.stub(way).await;
            let reply = soon("an answer", many(&stub, "x")).await.expect("it works");
            assert_eq!(reply.headers().get("x-head"), Some("h"), "{way}");
            let mut replies = reply.into_message();
            assert_eq!(all(&mut replies).await.expect("whole"), ["m0", "m1", "m2"]);
            let trailers = replies.trailers().expect("it has ended");
            assert_eq!(trailers.get("x-tail"), Some("t"), "{way}");

            let texts = ["a", "b", "c"].map(str::to_owned);
            let join = stub.client_stream::<Text, Text>(2, futures_util::stream::iter(texts));
            let reply = soon("an answer", join).await.expect("it works");
            assert_eq!(reply.message(), "a+b+c", "{way}");
        }
    }
}

#[tokio::test]
async fn a_conversation_of_grpc_web_goes_over_http_2() {
    let rig = Rig::plain().await;
    let stub = rig.stub(STREAMING_WAYS[0]).await;
    let (feed, requests) = stream::channel(1);
    let talk = stub.bidi_stream::<Text, Text>(3, requests);
    feed.send("a".to_owned()).await.expect("somebody reads");
    let mut replies = soon("an answer", talk)
        .await
        .expect("it works")
        .into_message();
    for text in ["a", "b"] {
        if text != "a" {
            feed.send(text.to_owned()).await.expect("somebody reads");
        }
        let reply = soon("an answer", replies.message()).await;
        assert_eq!(reply.expect("open"), Some(format!("re {text}")));
    }
    drop(feed);
    assert_eq!(all(&mut replies).await.expect("whole"), [""; 0]);
}
