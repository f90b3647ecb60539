//! Peers that do what no good one would, as tables: what the caller is told, whether the call may be made again, and
//! whether the connection lives on.

mod answers;
mod endings;

use bytes::Bytes;
use dubbo_core::{
    call::Stub,
    status::{Code, Retry, Status},
};
use dubbo_protocol::TripleProtocol;
use dubbo_test::{
    peer::h2::{
        Fields, Scripted,
        Step::{self, Data, Headers, LastHeaders, Request},
        envelope,
    },
    soon,
};

use crate::support::{greet, message, stub};

/// What comes of a call.
enum Want {
    /// This answer. The number of a connection is that of a plain peer.
    Done(&'static str),
    /// An error with these parts in its text.
    Fails(Code, Retry, &'static [&'static str]),
}
use Want::{Done, Fails};

/// What the peer does once it has the request, what comes of it, and whether the connection takes the next call.
type Row = (&'static str, Vec<Step>, Want, bool);

struct Peer {
    server: Scripted,
    stub: Stub,
    _protocol: TripleProtocol,
}

impl Peer {
    async fn new(steps: Vec<Step>, query: &str) -> Self {
        let (server, protocol) = (Scripted::start(steps).await, TripleProtocol::default());
        Self {
            stub: stub(&protocol, server.address(), query).await,
            server,
            _protocol: protocol,
        }
    }

    async fn greeted(&self) -> Result<String, Status> {
        let reply = soon("an answer", greet(&self.stub, "x")).await;
        reply.map(dubbo_core::request::Response::into_message)
    }

    /// What the peer is asked next comes over the first connection, or not.
    async fn check_life(&self, what: &str, lives: bool) {
        let next = self.greeted().await.expect(what);
        assert_eq!(
            next == "1",
            lives,
            "{what}: connection {next} was asked next"
        );
    }
}

async fn check(rows: impl IntoIterator<Item = Row>) {
    for (what, steps, want, lives) in rows {
        let steps = [vec![Request], steps].concat();
        let peer = Peer::new(steps, "").await;
        match (peer.greeted().await, want) {
            (Ok(answer), Done(want)) => assert_eq!(answer, want, "{what}"),
            (Err(status), Fails(code, retry, parts)) => {
                assert_eq!(
                    (status.code(), status.retry()),
                    (code, retry),
                    "{what}: {status}"
                );
                let address = peer.server.address().to_string();
                for part in parts.iter().chain(&["greet.Greeter/Greet", &*address]) {
                    assert!(
                        status.message().contains(part),
                        "{what}: {part} in {status}"
                    );
                }
            }
            (Ok(answer), Fails(..)) => panic!("{what}: answered {answer}"),
            (Err(status), Done(_)) => panic!("{what}: {status}"),
        }
        peer.check_life(what, lives).await;
    }
}

const OK: Fields = &[(":status", "200"), ("content-type", "application/grpc")];
const END: Fields = &[("grpc-status", "0")];

/// `a` in its envelope.
fn a() -> Bytes {
    envelope(&message("a"))
}

/// A whole answer.
fn answer() -> Vec<Step> {
    vec![Headers(OK), Data(a()), LastHeaders(END)]
}
