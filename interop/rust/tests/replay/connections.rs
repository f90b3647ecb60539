//! The recorded connections, with our server and with our client on one end of them.

use std::{sync::mpsc, time::Duration};

use dubbo::config::{ReferenceConfig, TripleConfig};
use dubbo_test::{
    PATIENCE,
    peer::h2::{Frame, Server, code, kind},
};
use interop::contract::GreeterClient;
use tokio::time::{Instant, advance};

use crate::{
    client_side::consumer,
    party::{Connection, Party, Ping},
    record::{RECORDINGS, Recording},
    server_side::serve,
    sheet::Sheet,
    table::{CONNECTION, Findings, Key, Side, TRIPLE},
    wire::{Wire, push, settings},
};

#[tokio::test]
async fn our_server_treats_connections_as_recorded_or_as_the_table_says() {
    let mut findings = Findings::new(Side::Server);
    for recording in RECORDINGS {
        for connection in recording.connections() {
            let ours = server_on(recording, &connection).await;
            add(
                &mut findings,
                recording,
                &connection,
                &connection.server,
                &ours,
            );
        }
    }
    findings.hold_against(TRIPLE, Key::is_of_a_connection);
}

/// The clock stands unless it is moved, so that nothing is late however slow the machine is.
#[tokio::test(start_paused = true)]
async fn our_client_treats_connections_as_recorded_or_as_the_table_says() {
    // While something blocks, the clock does not run on to the next timer by itself. It does in the end, if what is
    // waited for does not come.
    let (_unblock, blocked) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || blocked.recv_timeout(STANDSTILL));
    let mut findings = Findings::new(Side::Client);
    for recording in RECORDINGS {
        for connection in recording.connections() {
            let ours = client_on(&connection).await;
            add(
                &mut findings,
                recording,
                &connection,
                &connection.client,
                &ours,
            );
        }
    }
    findings.hold_against(TRIPLE, Key::is_of_a_connection);
}

/// Does to our server what the recorded client did.
async fn server_on(recording: Recording, connection: &Connection) -> Conduct {
    let (instance, address) = serve(recording.grouped).await;
    let mut wire = Wire::connect(address).await;
    open(&mut wire, &connection.client).await;
    let pings: Vec<_> = connection.client.own_pings().collect();
    for ping in &pings {
        wire.write(&Frame::ping(false, ping.payload())).await;
    }
    let mut conduct = Conduct::default();
    conduct
        .watch(&mut wire, |seen| {
            seen.settings_acks > 0 && seen.pongs.len() == pings.len()
        })
        .await;
    if recording.shut_down {
        tokio::join!(
            instance.shutdown(PATIENCE),
            conduct.watch(&mut wire, |_| false)
        );
    } else {
        if connection.client.goaway.is_some() {
            wire.write(&Frame::go_away(0, code::NO_ERROR, "")).await;
        }
        wire.finish().await;
        conduct.watch(&mut wire, |_| false).await;
        instance.shutdown(Duration::ZERO).await;
    }
    conduct
}

/// Does to our client what the recorded server did, until the client leaves.
async fn client_on(connection: &Connection) -> Conduct {
    let server = Server::bind().await;
    let due: Vec<_> = connection.client.own_pings().map(Ping::seconds).collect();
    let interval = Duration::from_secs(due.first().copied().unwrap_or(0));
    let mut options = ReferenceConfig::new()
        .url([format!("tri://{}", server.address())])
        // It would look again and again, for which the clock has to go.
        .check(false);
    if !interval.is_zero() && interval != DEFAULT_INTERVAL {
        options = options.triple(TripleConfig::new().keep_alive_interval(interval));
    }
    let instance = consumer();
    let start = Instant::now();
    let mut conduct = Conduct::default();
    let serve = async {
        let mut wire = Wire::accept(&server).await;
        open(&mut wire, &connection.server).await;
        conduct
            .watch(&mut wire, |seen| seen.settings_acks > 0)
            .await;
        wire
    };
    let (client, mut wire) = tokio::join!(instance.refer_with::<GreeterClient>(options), serve);
    for nth in 1..=due.len() {
        conduct.catch_up(&mut wire).await;
        advance(interval).await;
        conduct.watch(&mut wire, |seen| seen.pings >= nth).await;
        conduct.asked_after.push(start.elapsed().as_secs());
    }
    drop(client.expect("a server listens"));
    tokio::join!(
        instance.shutdown(PATIENCE),
        conduct.watch(&mut wire, |_| false)
    );
    conduct
}

async fn open(wire: &mut Wire, party: &Party) {
    for values in &party.settings {
        wire.write(&settings(values)).await;
    }
    let window = party.conn_window_updates[0].to_be_bytes().to_vec();
    wire.write(&Frame::new(kind::WINDOW_UPDATE, 0, 0, window))
        .await;
}

fn add(
    findings: &mut Findings,
    recording: Recording,
    connection: &Connection,
    recorded: &Party,
    ours: &Conduct,
) {
    let differences = Sheet::differences(&recorded.sheet(), &ours.sheet());
    let label = format!("{CONNECTION}{}", connection.number);
    findings.add(recording.name, &label, differences);
}

/// What our side does.
#[derive(Debug, Default)]
struct Conduct {
    settings: usize,
    settings_acks: usize,
    push: Option<u32>,
    pings: usize,
    pongs: Vec<Vec<u8>>,
    /// When its own PINGs came, in seconds.
    asked_after: Vec<u64>,
    goaways: Vec<u32>,
    closed: &'static str,
}

impl Conduct {
    /// Watches until `enough` or the end of the connection, and acknowledges what has to be.
    async fn watch(&mut self, wire: &mut Wire, enough: impl Fn(&Self) -> bool) {
        while self.closed.is_empty() && !enough(self) {
            match wire.read().await {
                Ok(Some(frame)) => self.note(wire, &frame).await,
                Ok(None) => self.closed = "fin",
                Err(_) => self.closed = "reset",
            }
        }
    }

    /// Waits until the other side has taken in everything that was sent to it: an answer comes as soon as it has read
    /// that far, a second one when it has been at work again since.
    async fn catch_up(&mut self, wire: &mut Wire) {
        let before = self.pongs.len();
        for nth in 1..=2 {
            wire.write(&Frame::ping(false, *b"caughtup")).await;
            self.watch(wire, |seen| seen.pongs.len() == before + nth)
                .await;
        }
        self.pongs.truncate(before);
    }

    async fn note(&mut self, wire: &mut Wire, frame: &Frame) {
        match frame.kind {
            kind::SETTINGS if frame.is_ack() => self.settings_acks += 1,
            kind::SETTINGS => {
                self.settings += 1;
                self.push = push(frame);
                wire.write(&Frame::new(kind::SETTINGS, 1, 0, "")).await;
            }
            kind::PING if frame.is_ack() => self.pongs.push(frame.payload.to_vec()),
            kind::PING => {
                let payload = frame.payload[..].try_into().expect("eight bytes");
                wire.write(&Frame::ping(true, payload)).await;
                self.pings += 1;
            }
            kind::GOAWAY => self.goaways.extend(frame.code()),
            _ => {}
        }
    }

    fn sheet(&self) -> Sheet {
        let mut goaways = self.goaways.clone();
        // A server that drains says it twice.
        goaways.dedup();
        let goaways = goaways.iter().map(|code| match code {
            0 => "NO_ERROR".to_owned(),
            other => other.to_string(),
        });
        let mut sheet = Sheet::default();
        sheet.put("settings", self.settings);
        sheet.put("settings acknowledged", self.settings_acks);
        sheet.put("push", format!("{:?}", self.push));
        sheet.put_all(
            "ping acknowledged",
            self.pongs.iter().map(|data| format!("{data:02x?}")),
        );
        sheet.put_all("ping after second", &self.asked_after);
        sheet.put_all("goaway", goaways);
        sheet.put("closed", self.closed);
        sheet
    }
}

/// Longer than the test takes on a machine with much else to do.
const STANDSTILL: Duration = Duration::from_mins(1);

/// As dubbo-go's (`docs/spec/triple.md` §9.3).
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);
