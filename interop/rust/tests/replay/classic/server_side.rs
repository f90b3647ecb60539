//! The recorded requests against our server.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::SocketAddr,
    time::Duration,
};

use dubbo::{
    Instance,
    config::{ProtocolConfig, ServiceConfig, ShutdownConfig},
};
use dubbo_test::{
    PATIENCE,
    peer::dubbo::{Connection, Frame},
};
use interop::user::{UserServiceServer, Users};
use tokio::time::timeout;

use super::{
    calls::{Call, RECORDINGS, Recording, Request},
    reading::answer,
};
use crate::{
    sheet::Sheet,
    table::{DUBBO, Findings, Side},
};

#[tokio::test]
async fn recorded_requests_are_answered_as_recorded_or_as_the_table_says() {
    let mut findings = Findings::new(Side::Server);
    for recording in RECORDINGS {
        let (instance, address) = serve(recording).await;
        let mut connections: HashMap<u64, Client> = HashMap::new();
        for call in recording.calls() {
            let client = match connections.entry(call.connection) {
                Entry::Occupied(client) => client.into_mut(),
                Entry::Vacant(none) => none.insert(Client::connect(address).await),
            };
            let ours = client.make(&call).await;
            let recorded = answer(&call.request, call.answer.as_ref());
            let ours = answer(&call.request, ours.as_ref());
            let differences = Sheet::differences(&recorded, &ours);
            findings.add(recording.name, &call.label, differences);
        }
        instance.shutdown(Duration::ZERO).await;
    }
    findings.hold_against(DUBBO, |_| true);
}

async fn serve(recording: Recording) -> (Instance, SocketAddr) {
    let options = recording
        .group
        .map_or_else(ServiceConfig::new, |(group, version)| {
            ServiceConfig::new().group(group).version(version)
        });
    let instance = Instance::builder()
        .application("replay-provider")
        .protocol("dubbo", ProtocolConfig::new().name("dubbo").port(0))
        .shutdown(
            ShutdownConfig::new()
                .consumer_update_wait_time(Duration::ZERO)
                .offline_request_window_timeout(Duration::ZERO)
                .step_timeout(Duration::ZERO),
        )
        .provide_with(UserServiceServer::new(Users::plain()), options)
        .build()
        .expect("a valid configuration");
    instance.start().await.expect("a free port");
    let port = instance.exported()[0].port().expect("a port");
    (instance, ([127, 0, 0, 1], port).into())
}

/// A client that sends what was recorded.
struct Client {
    connection: Connection,
    heartbeats: i64,
}

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        Self {
            connection: Connection::connect(address).await,
            heartbeats: 0,
        }
    }

    /// What our server answers.
    async fn make(&mut self, call: &Call) -> Option<Frame> {
        let id = call.request.id;
        self.connection.send(call.request.clone()).await;
        if call.request.is_two_way() {
            return timeout(patience(&call.request), self.answer(id)).await.ok();
        }
        // What is answered at all is answered before what comes after it.
        self.heartbeats -= 1;
        self.connection
            .send(Frame::heartbeat(self.heartbeats))
            .await;
        let next = self.connection.frame().await;
        (next.id == id).then_some(next)
    }

    async fn answer(&mut self, id: i64) -> Frame {
        loop {
            let frame = self.connection.frame().await;
            if frame.id == id {
                return frame;
            }
        }
    }
}

/// How long an answer may take: what the caller gives it and a little more, for nothing may come at all.
fn patience(request: &Frame) -> Duration {
    let given = Request::of(request).and_then(|asked| asked.attachment("timeout")?.parse().ok());
    let given = given.filter(|millis| *millis > 0);
    given.map_or(PATIENCE, |millis| Duration::from_millis(millis) + SLACK)
}

const SLACK: Duration = Duration::from_millis(600);
