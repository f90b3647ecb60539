//! Calls that work, and the errors that handlers mean.

use bytes::Bytes;
use dubbo_core::{
    attachments::AttachmentValue,
    codegen::Proto,
    status::{Code, Origin, Retry},
    stream,
};

use super::{
    Subject,
    rig::{BIDI, CLIENT_STREAM, Rig},
};
use crate::soon;

/// One request, one response; an empty message and a large one too.
pub async fn a_unary_call_is_answered(subject: Subject) {
    let rig = Rig::new(subject).await;
    let long = "x".repeat(1_000_000);
    for text in ["hello", "", "\u{4e2d}\u{6587} \u{1f600}", &long] {
        let reply = soon("an answer", rig.unary(text)).await.expect("it works");
        assert_eq!(reply.message(), text);
    }
}

/// Items in order, then trailers: the handler's own and those of the response.
pub async fn a_server_stream_ends_with_its_trailers(subject: Subject) {
    let rig = Rig::new(subject).await;
    for words in ["a b c", ""] {
        let call = rig.server_stream(words);
        let reply = soon("headers", call).await.expect("it works");
        assert_eq!(reply.headers().get("x-early"), Some("1"));
        let mut replies = reply.into_message();
        let mut got = Vec::new();
        while let Some(item) = soon("an item", replies.message()).await.expect("it works") {
            got.push(item);
        }
        assert_eq!(got.join(" "), words);
        let trailers = replies.trailers().expect("it has ended");
        assert_eq!(trailers.get("x-late"), Some("2"), "{words:?}");
        assert_eq!(trailers.get("x-trailer"), Some("3"), "{words:?}");
        assert!(replies.message().await.expect("it stays ended").is_none());
    }
}

/// Many requests, one response.
pub async fn a_client_stream_is_answered_once(subject: Subject) {
    let rig = Rig::new(subject).await;
    for words in [&["a", "b", "c"][..], &[]] {
        let requests = stream::iter(
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>(),
        );
        let call = rig
            .stub
            .client_stream::<Proto<String>, Proto<String>>(CLIENT_STREAM, requests);
        let reply = soon("an answer", call).await.expect("it works");
        assert_eq!(*reply.message(), words.join(" "));
    }
}

/// The next request is made only when the last answer is there: neither side waits for the other's end.
pub async fn a_bidi_stream_goes_both_ways_in_turn(subject: Subject) {
    let rig = Rig::new(subject).await;
    let (feed, requests) = stream::channel(1);
    feed.send("0".to_owned()).await.expect("it is read");
    let call = rig
        .stub
        .bidi_stream::<Proto<String>, Proto<String>>(BIDI, requests);
    let mut replies = soon("headers", call)
        .await
        .expect("it works")
        .into_message();
    for turn in 0..50 {
        let item = soon("an item", replies.message()).await.expect("it works");
        assert_eq!(item, Some(turn.to_string()));
        let next = (turn + 1).to_string();
        feed.send(next).await.expect("it is read");
    }
    drop(feed);
    let last = soon("an item", replies.message()).await.expect("it works");
    assert_eq!(last.as_deref(), Some("50"));
    assert!(
        soon("the end", replies.message())
            .await
            .expect("it works")
            .is_none()
    );
}

/// Both ways, under names in any case, with several values and with bytes.
pub async fn attachments_headers_and_trailers_arrive(subject: Subject) {
    let rig = Rig::new(subject).await;
    let blob = Bytes::from_static(&[0, 1, 0xfe]);
    let call = rig
        .unary("meta")
        .attach("plain", "\u{4e2d}")
        .attach("multi", "a")
        .attach("multi", "b")
        .attach("blob", AttachmentValue::from(blob));
    let reply = soon("an answer", call).await.expect("it works");
    assert_eq!(reply.message(), "\u{4e2d},a+b,Some([0, 1, 254])");
    assert_eq!(reply.headers().get("x-early"), Some("1"));
    assert_eq!(reply.headers().get("X-Header"), Some("\u{e9}"));
    assert_eq!(reply.trailers().get("x-late"), Some("2"));
    let trailer = reply.trailers().get_bin("x-trailer");
    assert_eq!(trailer.as_deref(), Some(&[0, 255][..]));
}

/// What a handler says about its failure is what the caller reads.
pub async fn an_error_keeps_code_text_details_and_trailers(subject: Subject) {
    let rig = Rig::new(subject).await;
    let status = soon("an answer", rig.unary("fail"))
        .await
        .expect_err("it fails");
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(status.message(), "no such thing: 50% + \u{e9}\n");
    assert_eq!(status.origin(), Origin::Remote);
    assert_eq!(status.detail::<String>().as_deref(), Some("which"));
    assert_eq!(status.attachments().get("x-why"), Some("because"));

    let status = soon("an answer", rig.unary("business"))
        .await
        .expect_err("it fails");
    assert_eq!(status.code(), Code::Business);
    assert_eq!(status.message(), "out of stock");
    assert_eq!(status.origin(), Origin::Business);
    assert_eq!(status.retry(), Retry::Never);
}

/// Items that came before an error are not lost with it.
pub async fn a_failed_stream_gives_its_items_first(subject: Subject) {
    let rig = Rig::new(subject).await;
    let call = rig.server_stream("a b fail c");
    let mut replies = soon("headers", call)
        .await
        .expect("it works")
        .into_message();
    for want in ["a", "b"] {
        let item = soon("an item", replies.message()).await.expect("it works");
        assert_eq!(item.as_deref(), Some(want));
    }
    let status = soon("an error", replies.message())
        .await
        .expect_err("it fails");
    assert_eq!(status.code(), Code::DataLoss);
    assert_eq!(status.message(), "the rest is gone");
    assert!(replies.message().await.expect("nothing follows").is_none());
}

/// The others go on, and the next call works.
pub async fn a_panic_ends_its_own_call_only(subject: Subject) {
    let rig = Rig::new(subject).await;
    let status = soon("an answer", rig.unary("panic"))
        .await
        .expect_err("it fails");
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        "the handler panicked",
        "its text is for the log"
    );
    let reply = soon("an answer", rig.unary("after"))
        .await
        .expect("it works");
    assert_eq!(reply.message(), "after");
}

/// Answers are never mixed up.
pub async fn many_calls_at_once_get_their_own_answers(subject: Subject) {
    let rig = Rig::new(subject).await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..200 {
        let stub = rig.stub.clone();
        calls.spawn(async move {
            let text = number.to_string();
            let reply = super::rig::unary(&stub, &text).await.expect("it works");
            assert_eq!(*reply.message(), text);
        });
    }
    soon("all answers", async {
        while let Some(done) = calls.join_next().await {
            done.expect("it works");
        }
    })
    .await;
}
