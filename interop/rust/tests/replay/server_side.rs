//! The recorded requests against our server.

use std::{net::SocketAddr, time::Duration};

use dubbo::{
    Instance,
    config::{ProtocolConfig, ServiceConfig, ShutdownConfig, TripleConfig},
};
use dubbo_test::soon;
use interop::{
    contract::GreeterServer,
    provider::Greeter,
    user::{UserServiceServer, UserStreamServiceServer, UserStreams, Users},
};

use crate::{
    by_hand,
    raw_client::{RawClient, Until},
    reading::answer,
    record::{End, RECORDINGS, Recording, Stream},
    sheet::{Difference, Sheet},
    shutdown,
    table::{Findings, Side, TRIPLE},
};

/// Our server, as the provider of a recording served.
pub(crate) async fn serve(grouped: bool) -> (Instance, SocketAddr) {
    serve_with(grouped, TripleConfig::new()).await
}

/// Our server with these settings.
pub(crate) async fn serve_with(grouped: bool, settings: TripleConfig) -> (Instance, SocketAddr) {
    let options = if grouped {
        ServiceConfig::new().group("g1").version("1.0.0")
    } else {
        ServiceConfig::new()
    };
    let instance = Instance::builder()
        .application("replay-provider")
        .protocol("tri", ProtocolConfig::tri().port(0).triple(settings))
        // Nobody here needs time to notice that the provider leaves, or calls once more.
        .shutdown(
            ShutdownConfig::new()
                .consumer_update_wait_time(Duration::ZERO)
                .offline_request_window_timeout(Duration::ZERO)
                .step_timeout(Duration::ZERO),
        )
        .provide_with(GreeterServer::new(Greeter::plain()), options.clone())
        .provide_with(UserServiceServer::new(Users::plain()), options.clone())
        .provide_with(UserStreamServiceServer::new(UserStreams), options)
        .build()
        .expect("a valid configuration");
    instance.start().await.expect("a free port");
    let port = instance.exported()[0].port().expect("a port");
    (instance, ([127, 0, 0, 1], port).into())
}

#[tokio::test]
async fn recorded_requests_are_answered_as_recorded_or_as_the_table_says() {
    let mut findings = Findings::new(Side::Server);
    for recording in RECORDINGS {
        if recording.shut_down {
            shutdown::replay(recording, &mut findings).await;
        } else {
            replay(recording, &mut findings).await;
        }
    }
    findings.hold_against(TRIPLE, |key| {
        !key.is_of_a_connection() && !by_hand::is(&key.file)
    });
}

/// All calls of a recording go over one connection, which none of them may break.
async fn replay(recording: Recording, findings: &mut Findings) {
    let (instance, address) = serve(recording.grouped).await;
    let mut client = RawClient::connect(address).await;
    for stream in recording.streams() {
        let differences = soon(&stream.label, replay_one(&mut client, &stream)).await;
        findings.add(recording.name, &stream.label, differences);
    }
    instance.shutdown(Duration::ZERO).await;
}

async fn replay_one(client: &mut RawClient, stream: &Stream) -> Vec<Difference> {
    let mut exchange = client.replay(stream).await;
    exchange.read(stream.read_until()).await;
    let ours = match stream.response.end {
        End::Reset {
            by_client: true, ..
        } => exchange.cancel(),
        _ => exchange.read(Until::Nothing).await,
    };
    let path = stream.path();
    let recorded = answer(&path, &stream.response);
    Sheet::differences(&recorded, &answer(&path, ours))
}
