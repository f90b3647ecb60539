//! Services that come and go.

use std::time::Duration;

use dubbo_core::{
    protocol::{Drained, Protocol, ProtocolError},
    status::{Code, Retry},
};
use tokio::time::Instant;

use super::{
    Subject,
    rig::{Events, Rig, export, stub, unary},
};
use crate::{PATIENCE, soon};

/// What is not exported any more is unknown, and can be exported again.
pub async fn an_unexported_service_is_called_no_more(subject: Subject) {
    let rig = Rig::new(subject).await;
    soon("an answer", rig.unary("a")).await.expect("it works");
    let url = rig.exporter.url().clone();
    rig.exporter.unexport().await;
    let status = soon("an answer", unary(&rig.stub, "b"))
        .await
        .expect_err("it is gone");
    assert_eq!(status.code(), Code::Unimplemented, "{status}");

    let again = export(&*rig.protocol, &url, &rig.events).await;
    let _again = again.expect("the key is free again");
    let reply = soon("an answer", unary(&rig.stub, "c"))
        .await
        .expect("it works");
    assert_eq!(reply.message(), "c");
}

/// A second export of one key is refused, and the first one goes on.
pub async fn a_key_is_exported_once(subject: Subject) {
    let rig = Rig::new(subject).await;
    let second = export(&*rig.protocol, rig.exporter.url(), &rig.events).await;
    match second.map(|exporter| exporter.url().clone()) {
        Err(ProtocolError::Duplicate { service, .. }) => {
            assert_eq!(service, rig.exporter.url().service_key().to_string());
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
    soon("an answer", rig.unary("a")).await.expect("it works");
}

/// One interface, several services: each call finds its own.
pub async fn groups_and_versions_are_services_of_their_own(subject: Subject) {
    let rig = Rig::new(subject).await;
    let url = rig
        .exporter
        .url()
        .with_params([("group", "g"), ("version", "1.0")]);
    let status = soon("an answer", rig.unary("a").group("g").version("1.0")).await;
    let status = status.expect_err("not exported yet");
    assert_eq!(status.code(), Code::Unimplemented, "{status}");

    let events = Events::new();
    let _grouped = export(&*rig.protocol, &url, &events)
        .await
        .expect("another key");
    soon("an answer", rig.unary("a").group("g").version("1.0"))
        .await
        .expect("it works");
    let grouped = stub(&*rig.protocol, &url).await;
    tokio::select! {
        reply = async { unary(&grouped, "hang").await } => panic!("it never ends: {reply:?}"),
        permit = soon("the other handler", events.started.acquire()) => drop(permit),
    }
    let other = soon("an answer", rig.unary("a").group("other")).await;
    assert_eq!(other.expect_err("not exported").code(), Code::Unimplemented);
}

/// Calls under way get their answers; later ones are refused in a way that makes trying elsewhere safe.
pub async fn a_shutdown_lets_calls_finish_and_takes_no_new_ones(subject: Subject) {
    let rig = Rig::new(subject).await;
    let protocol = &rig.protocol;
    let shutdown = async {
        rig.started().await;
        protocol.announce_shutdown().await;
        end(&**protocol, Instant::now() + Duration::from_mins(1)).await
    };
    let refused = async {
        // From some point on, and from then on always.
        let status = loop {
            match rig.unary("late").await {
                Ok(_) => tokio::task::yield_now().await,
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert_eq!(status.retry(), Retry::Safe, "{status:?}");
        rig.events.gate.notify_one();
    };
    let gated = async { rig.unary("gate").await };
    let all = async { tokio::join!(gated, shutdown, refused) };
    let (reply, drained, ()) = soon("the end of the shutdown", all).await;
    assert_eq!(reply.expect("it was under way").message(), "opened");
    assert_eq!(drained.aborted, 0);
    let export = export(&*rig.protocol, rig.exporter.url(), &rig.events).await;
    match export.map(|exporter| exporter.url().clone()) {
        Err(ProtocolError::ShutDown) => {}
        other => panic!("expected a refusal, got {other:?}"),
    }
}

/// A shutdown does not wait longer than it may.
pub async fn a_shutdown_cuts_what_is_left_at_its_deadline(subject: Subject) {
    let rig = Rig::new(subject).await;
    let shutdown = async {
        rig.started().await;
        let deadline = Instant::now() + Duration::from_millis(50);
        end(&*rig.protocol, deadline).await
    };
    let hanging = async { rig.unary("hang").await };
    let both = async { tokio::join!(hanging, shutdown) };
    let (reply, drained) = soon("the end of the shutdown", both).await;
    let status = reply.expect_err("it was cut");
    assert_eq!(status.code(), Code::Unavailable, "{status}");
    assert_ne!(status.retry(), Retry::Safe, "the handler had begun");
    assert!(drained.aborted >= 1, "{drained:?}");
    rig.dropped().await;
}

/// Two values of one protocol know nothing of each other: not the keys, not the connections, not the end.
pub async fn two_protocols_share_nothing(subject: Subject) {
    let (one, other) = (Rig::new(subject.clone()).await, Rig::new(subject).await);
    let hanging = async { one.unary("gate").await };
    let shutdown = async {
        one.started().await;
        let drained = end(&*other.protocol, Instant::now() + PATIENCE).await;
        let late = soon("an answer", other.unary("late")).await;
        assert_eq!(late.expect_err("it is shut down").code(), Code::Unavailable);
        one.events.gate.notify_one();
        drained
    };
    let both = async { tokio::join!(hanging, shutdown) };
    let (reply, drained) = soon("an answer", both).await;
    assert_eq!(reply.expect("nobody shut it down").message(), "opened");
    assert_eq!(drained.aborted, 0, "no call was under way there");
    soon("an answer", one.unary("more"))
        .await
        .expect("it works");
}

/// The last two steps of a shutdown.
async fn end(protocol: &dyn Protocol, deadline: Instant) -> Drained {
    let served = protocol.drain(deadline).await;
    let called = protocol.close(deadline).await;
    Drained {
        aborted: served.aborted + called.aborted,
    }
}
