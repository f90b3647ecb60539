//! What takes time, on a clock that the tests turn, over connections in memory.

use std::{
    io,
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    call::Stub,
    codegen::Proto,
    payload::Rules,
    protocol::ProtocolError,
    request::Request,
    service::{CallKind, MethodDescriptor, ServiceDescriptor},
    status::{Code, Retry, Status},
    stream,
};
use dubbo_test::{
    logs::Logs,
    peer::h2::{Frame, ServerConnection, code, kind},
};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    sync::mpsc,
    time::Instant,
};

use super::Client;
use crate::net::{Connector, Stream};

static GREETER: LazyLock<Arc<ServiceDescriptor>> = LazyLock::new(|| {
    let methods = [("Greet", CallKind::Unary), ("Talk", CallKind::BidiStream)];
    let methods = methods.map(|(name, kind)| MethodDescriptor::new(name, kind));
    Arc::new(ServiceDescriptor::new("greet.Greeter", methods.to_vec()))
});

/// Hands the other end of each connection to the test, or refuses.
struct InMemory {
    accepted: mpsc::UnboundedSender<DuplexStream>,
    refuses: Mutex<bool>,
    attempts: Mutex<Vec<Instant>>,
}

#[async_trait]
impl Connector for InMemory {
    fn prepare(&self) -> Result<bool, ProtocolError> {
        Ok(false)
    }

    async fn connect(&self, _address: &str) -> io::Result<Stream> {
        self.attempts.lock().push(Instant::now());
        if *self.refuses.lock() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let _ = self.accepted.send(theirs);
        Ok(Stream::Memory(ours))
    }
}

struct Rig {
    connector: Arc<InMemory>,
    connections: mpsc::UnboundedReceiver<DuplexStream>,
    client: Client,
}

impl Rig {
    fn new(refuses: bool) -> Self {
        let (accepted, connections) = mpsc::unbounded_channel();
        let connector = Arc::new(InMemory {
            accepted,
            refuses: Mutex::new(refuses),
            attempts: Mutex::default(),
        });
        let shared: Arc<dyn Connector> = Arc::<InMemory>::clone(&connector);
        Self {
            connector,
            connections,
            client: Client::with_connectors(Arc::clone(&shared), shared, Rules::NONE),
        }
    }

    fn stub(&self, query: &str) -> Stub {
        let url = format!("tri://peer:1/greet.Greeter?{query}");
        let url = url.parse().expect("a good URL");
        let invoker = self.client.refer(&url, &GREETER, 1).expect("a good URL");
        Stub::new(invoker, url.service_key(), Arc::clone(&GREETER))
    }

    async fn accept(&mut self) -> ServerConnection {
        let io = self.connections.recv().await.expect("the client lives");
        ServerConnection::over(io)
    }

    /// How long after the first attempt the others were, in milliseconds.
    fn attempts(&self) -> Vec<u128> {
        let attempts = self.connector.attempts.lock();
        let gaps = attempts.windows(2);
        gaps.map(|pair| (pair[1] - pair[0]).as_millis()).collect()
    }
}

async fn greet(stub: &Stub) -> Result<String, Status> {
    let call = stub.unary::<Proto<String>, Proto<String>>(0, Request::new("x".to_owned()));
    call.await.map(dubbo_core::request::Response::into_message)
}

fn is_ping(frame: &Frame) -> bool {
    frame.kind == kind::PING && !frame.is_ack()
}

fn is_settled(frame: &Frame) -> bool {
    frame.kind == kind::SETTINGS && frame.is_ack()
}

#[tokio::test(start_paused = true)]
async fn an_idle_peer_is_asked_for_a_sign_of_life_at_each_interval() {
    let mut rig = Rig::new(false);
    let _stub = rig.stub("");
    let mut connection = rig.accept().await;
    let start = Instant::now();
    for pings in 1..=5 {
        connection.frame("a PING", is_ping).await;
        let due = Duration::from_secs(10) * pings;
        let took = start.elapsed();
        assert!(
            took.abs_diff(due) < Duration::from_millis(100),
            "{took:?} for {due:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn traffic_is_a_sign_of_life() {
    let mut rig = Rig::new(false);
    let stub = rig.stub("keep-alive-interval=4s");
    let mut connection = rig.accept().await;
    let start = Instant::now();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let peer = async { connection.request().await.reply(b"") };
        tokio::join!(greet(&stub), peer).0.expect("it worked");
    }
    connection.frame("a PING", is_ping).await;
    let took = start.elapsed();
    assert!(
        took.abs_diff(Duration::from_secs(13)) < Duration::from_millis(100),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_given_up_with_its_calls_and_replaced() {
    let mut rig = Rig::new(false);
    let stub = rig.stub("");
    let mut connection = rig.accept().await;
    let start = Instant::now();
    let call = greet(&stub);
    let silent = async {
        let request = connection.request().await;
        connection.mute();
        request
    };
    let (reply, _request) = tokio::join!(call, silent);
    let status = reply.expect_err("nobody answers");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Ambiguous)
    );
    for part in [
        "keep-alive PING within 20s",
        "greet.Greeter/Greet at peer:1",
    ] {
        assert!(status.message().contains(part), "{part} in {status}");
    }
    let took = start.elapsed();
    assert!(
        took.abs_diff(Duration::from_secs(30)) < Duration::from_millis(100),
        "{took:?}"
    );

    let mut connection = rig.accept().await;
    let peer = async { connection.request().await.reply(b"") };
    tokio::join!(greet(&stub), peer)
        .0
        .expect("the next one answers");
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_that_went_silent_costs_no_call_and_no_word() {
    let (logs, _logging) = Logs::record();
    let mut rig = Rig::new(false);
    let stub = rig.stub("");
    let mut silent = rig.accept().await;
    silent.frame("an answer to SETTINGS", is_settled).await;
    // Whatever is between drops all that comes, and says so to neither side.
    silent.mute();
    let start = Instant::now();
    let mut next = rig.accept().await;
    let took = start.elapsed();
    assert!(
        took.abs_diff(Duration::from_secs(30)) < Duration::from_millis(100),
        "{took:?} to notice"
    );
    next.frame("an answer to SETTINGS", is_settled).await;
    tokio::time::sleep(Duration::from_hours(2)).await;
    let peer = async { next.request().await.reply(b"") };
    tokio::join!(greet(&stub), peer).0.expect("it is answered");

    // One that is closed in good order is no more than that either.
    drop(next);
    let mut last = rig.accept().await;
    let peer = async { last.request().await.reply(b"") };
    tokio::join!(greet(&stub), peer).0.expect("it is answered");
    let mut told = logs.with("");
    told.retain(|line| !line.starts_with("DEBUG") && !line.starts_with("TRACE"));
    assert_eq!(told, [""; 0], "nothing to tell of");
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_one_deadline_for_all_of_it_or_lives_as_long_as_its_connection() {
    let mut rig = Rig::new(false);
    let stub = rig.stub("");
    let mut connection = rig.accept().await;
    for deadline in [Some(Duration::from_millis(1_050)), None] {
        let start = Instant::now();
        let (feed, requests) = stream::channel::<String>(1);
        let call = async {
            let call = stub.bidi_stream::<Proto<String>, Proto<String>>(1, requests);
            let call = match deadline {
                Some(deadline) => call.timeout(deadline),
                None => call,
            };
            call.await.expect("it begins").into_message()
        };
        let begun = async {
            let mut request = connection.request().await;
            request.accept();
            request
        };
        let (mut replies, mut request) = tokio::join!(call, begun);
        let ended = loop {
            let (sent, reply) = tokio::join!(
                async {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    if feed.send("x".to_owned()).await.is_ok() && request.message().await.is_some()
                    {
                        request.send_message(b"");
                    }
                },
                replies.message()
            );
            let () = sent;
            match reply {
                Ok(reply) => assert_eq!(reply.as_deref(), Some("")),
                Err(status) => break Some(status),
            }
            if start.elapsed() > Duration::from_secs(3) {
                break None;
            }
        };
        let Some(deadline) = deadline else {
            assert!(ended.is_none(), "nothing ends it: {ended:?}");
            // The peer answers PINGs, and that is all.
            tokio::time::sleep(Duration::from_mins(10)).await;
            request.send_message(b"");
            let reply = replies.message().await.expect("it lives");
            assert_eq!(reply.as_deref(), Some(""));
            continue;
        };
        let status = ended.expect("its time is over");
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
        let took = start.elapsed();
        assert!(
            took.abs_diff(deadline) < Duration::from_millis(110),
            "{took:?}"
        );
        assert_eq!(request.reset_by_client().await, code::CANCEL);
    }
}

#[tokio::test(start_paused = true)]
async fn probing_can_be_switched_off() {
    let mut rig = Rig::new(false);
    let stub = rig.stub("keep-alive-interval=0");
    let mut connection = rig.accept().await;
    connection.frame("an answer to SETTINGS", is_settled).await;
    connection.mute();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert!(stub.invoker().is_available());
    assert_eq!(rig.attempts(), []);
}

#[tokio::test(start_paused = true)]
async fn why_it_failed_last_is_known_until_it_works_or_is_closed() {
    let mut rig = Rig::new(true);
    let stub = rig.stub("connect.timeout=1000");
    let why = || stub.invoker().why_unavailable();
    let refused = Some("cannot connect to peer:1: connection refused".to_owned());
    assert_eq!(
        why().as_deref(),
        Some("connecting to peer:1: no answer yet")
    );
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(why(), refused);

    *rig.connector.refuses.lock() = false;
    let silent = rig.connections.recv().await.expect("it tries again");
    assert_eq!(why(), refused, "no answer yet");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let silence = Some("cannot connect to peer:1: no answer within 1s".to_owned());
    assert_eq!(why(), silence);
    drop(silent);

    let mut connection = rig.accept().await;
    connection.frame("an answer to SETTINGS", is_settled).await;
    assert_eq!(why(), None);
    rig.client.shut_down(Instant::now()).await;
    assert_eq!(
        why().as_deref(),
        Some("the client of peer:1 has been closed")
    );
}

#[tokio::test(start_paused = true)]
async fn attempts_come_at_growing_intervals_and_end_with_the_reference() {
    let mut rig = Rig::new(true);
    let stub = rig.stub("");
    tokio::time::sleep(Duration::from_mins(1)).await;
    let gaps = rig.attempts();
    assert!((200..=300).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps.len() > 12, "{gaps:?}");
    assert!(gaps.iter().all(|&gap| gap <= 6_000), "{gaps:?}");
    assert!(gaps[7..].iter().all(|&gap| gap >= 4_000), "{gaps:?}");

    *rig.connector.refuses.lock() = false;
    let mut connection = rig.accept().await;
    let peer = async { connection.request().await.reply(b"") };
    tokio::join!(greet(&stub), peer).0.expect("it is back");

    // The next outage starts over.
    *rig.connector.refuses.lock() = true;
    drop(connection);
    let before = rig.connector.attempts.lock().len();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let gaps = rig.attempts();
    assert!((200..=300).contains(&gaps[before]), "{gaps:?}");

    drop(stub);
    let before = rig.connector.attempts.lock().len();
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(
        rig.connector.attempts.lock().len(),
        before,
        "nobody refers to it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_closed_reference_is_not_kept_up_either() {
    let rig = Rig::new(true);
    let (one, other) = (rig.stub(""), rig.stub(""));
    one.invoker().close().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let before = rig.connector.attempts.lock().len();
    assert!(before > 3, "the other reference is kept up");
    other.invoker().close().await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(rig.connector.attempts.lock().len(), before);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_takes_connections_and_no_calls_is_not_pestered() {
    let mut rig = Rig::new(false);
    let stub = rig.stub("");
    let start = Instant::now();
    let mut accepted = 0;
    let hanging_up = async {
        loop {
            let mut connection = rig.accept().await;
            accepted += 1;
            connection.frame("an answer to SETTINGS", is_settled).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_mins(1), hanging_up).await;
    assert_eq!(start.elapsed().as_secs(), 60);
    assert!(
        (10..40).contains(&accepted),
        "{accepted} connections in a minute"
    );
    let status = greet(&stub).await.expect_err("it takes no calls");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::Unavailable, Retry::Safe)
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_comes_with_the_deadline_is_the_deadline() {
    let mut rig = Rig::new(false);
    let stub = rig.stub("");
    let mut connection = rig.accept().await;
    let deadline = Instant::now() + Duration::from_secs(1);
    let request = Request::new("x".to_owned());
    let call = stub.unary::<Proto<String>, Proto<String>>(0, request);
    let call = async { call.deadline(deadline).await };
    let peer = async {
        let mut request = connection.request().await;
        tokio::time::sleep_until(deadline).await;
        // What dubbo-go makes of a handler that returns the error of its context.
        request.send_only_headers(200, &[("grpc-status", "17")]);
        request
    };
    // The peer is polled first.
    let (_request, reply) = tokio::join!(peer, call);
    let status = reply.expect_err("it is late");
    assert_eq!(
        (status.code(), status.retry()),
        (Code::DeadlineExceeded, Retry::Ambiguous)
    );
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_calls_until_its_deadline() {
    for answers in [true, false] {
        let mut rig = Rig::new(false);
        let stub = rig.stub("");
        let mut connection = rig.accept().await;
        let peer = async {
            let mut request = connection.request().await;
            let start = Instant::now();
            let deadline = start + Duration::from_secs(5);
            let answer = async {
                tokio::time::sleep(Duration::from_secs(3)).await;
                if answers {
                    request.reply(b"");
                }
                connection.closed().await;
            };
            let (cut, ()) = tokio::join!(rig.client.shut_down(deadline), answer);
            (cut, start.elapsed().as_secs())
        };
        let (reply, outcome) = tokio::join!(greet(&stub), peer);
        if answers {
            assert_eq!(outcome, (0, 3));
            reply.expect("it was under way");
        } else {
            assert_eq!(outcome, (1, 5));
            let status = reply.expect_err("it was cut");
            assert_eq!(
                (status.code(), status.retry()),
                (Code::Unavailable, Retry::Ambiguous)
            );
            assert!(
                status.message().contains("the client was shut down"),
                "{status}"
            );
        }
    }
}

/// Reads one request of HTTP/1.1 and answers it as Connect does.
async fn answer_one(io: &mut DuplexStream) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\n\x01x") {
        assert!(io.read_buf(&mut seen).await.expect("open") > 0, "it ended");
    }
    let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 0\r\n\r\n";
    io.write_all(answer).await.expect("open");
}

#[tokio::test(start_paused = true)]
async fn a_connection_of_http_1_that_was_silent_for_long_is_replaced_before_it_gets_a_call() {
    const CONNECT: &str = "triple.dialect=connect&triple.http-version=1.1";
    for (query, pause, replaced) in [
        ("", 9, false),
        ("", 11, true),
        ("&keep-alive-interval=2s", 3, true),
        ("&keep-alive-interval=0", 3_600, false),
    ] {
        let mut rig = Rig::new(false);
        let stub = rig.stub(&format!("{CONNECT}{query}"));
        let mut first = rig.connections.recv().await.expect("it connects");
        tokio::join!(greet(&stub), answer_one(&mut first))
            .0
            .expect("it works");
        tokio::time::sleep(Duration::from_secs(pause)).await;
        let second = async {
            if replaced {
                let mut second = rig.connections.recv().await.expect("it connects");
                answer_one(&mut second).await;
                // Nobody waits for an answer on the old one.
                let mut rest = Vec::new();
                first.read_to_end(&mut rest).await.expect("an end");
                assert_eq!(rest, b"");
                second
            } else {
                answer_one(&mut first).await;
                first
            }
        };
        // Whoever hangs up is connected to again.
        let (answer, _open) = tokio::join!(greet(&stub), second);
        answer.expect("it works");
        assert_eq!(rig.attempts().len(), usize::from(replaced), "{query}");
    }
}
