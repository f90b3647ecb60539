//! A provider that is told to end while it is used.

use std::time::Duration;

use dubbo_test::peer::h2::kind;

use crate::{
    messages,
    raw_client::{RawClient, Until},
    reading::answer,
    record::{RECORDINGS, Recording},
    server_side::serve,
    sheet::Sheet,
    table::Findings,
};

/// Replays a recording of a shutdown: once everything is under way our server is told to end, as the recorded one was.
pub(crate) async fn replay(recording: Recording, findings: &mut Findings) {
    let (instance, address) = serve(recording.grouped).await;
    let mut client = RawClient::connect(address).await;
    let streams = recording.streams();
    let mut exchanges = Vec::new();
    for stream in &streams {
        exchanges.push(client.replay(stream).await);
    }
    let watch = streams.iter().position(|s| s.path().ends_with("/Watch"));
    // It is answered on the connection of the others, and after they were begun.
    exchanges[watch.expect("it is watched")]
        .read(Until::Messages(1))
        .await;

    let shutdown = tokio::spawn(async move { instance.shutdown(GRACE).await });
    for (stream, mut exchange) in streams.iter().zip(exchanges) {
        let path = stream.path();
        let ours = exchange.read(stream.read_until()).await;
        let recorded = answer(&path, &stream.response);
        let differences = Sheet::differences(&recorded, &answer(&path, ours));
        findings.add(recording.name, &stream.label, differences);
    }
    shutdown.await.expect("no panic");
}

#[tokio::test]
async fn a_watch_hears_not_serving_before_goaway_and_calls_in_flight_finish_after_it() {
    let [call, watch] = &RECORDINGS[5].streams()[..] else {
        panic!("a call in flight and a watch");
    };
    let (instance, address) = serve(false).await;
    let mut client = RawClient::connect(address).await;
    let mut call = client.replay(call).await;
    let mut watch = client.replay(watch).await;
    watch.read(Until::Messages(1)).await;
    assert_eq!(
        client.next_of(&[kind::DATA]).await,
        (kind::DATA, watch.stream())
    );

    let shutdown = tokio::spawn(async move { instance.shutdown(GRACE).await });
    let told = [kind::DATA, kind::GOAWAY];
    assert_eq!(client.next_of(&told).await, (kind::DATA, watch.stream()));
    assert_eq!(client.next_of(&told).await, (kind::GOAWAY, 0));
    let said = watch.read(Until::Messages(2)).await;
    let said = messages::results("/grpc.health.v1.Health/Watch", said);
    assert_eq!(said[1], r#"{"status":"NOT_SERVING"}"#);

    let answer = call
        .read(Until::End)
        .await
        .trailers
        .clone()
        .expect("it finished");
    assert_eq!(answer.text("grpc-status").as_deref(), Some("0"));
    shutdown.await.expect("no panic");
    client.closed().await;
}

const GRACE: Duration = Duration::from_secs(10);
