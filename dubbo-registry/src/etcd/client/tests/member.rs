//! Members of a cluster that are played: they speak gRPC over pipes, and do what the world says.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
};

use bytes::{Buf as _, Bytes, BytesMut};
use dubbo_test::peer::h2::envelope;
use futures_util::FutureExt as _;
use h2::{RecvStream, SendStream, server::SendResponse};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use prost::Message;
use tokio::{
    io::{DuplexStream, duplex},
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::super::{
    link::{Dial, method},
    messages::{
        AuthenticateRequest, AuthenticateResponse, Event, KeyValue, LeaseGrantRequest,
        LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
        LeaseRevokeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, WatchOrder,
        WatchRequest, WatchResponse,
    },
};

/// What all members have in common, and what happened.
#[derive(Default)]
pub(super) struct World {
    pub(super) state: Mutex<State>,
    /// Each change ends all connections.
    cuts: watch::Sender<u64>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Default)]
pub(super) struct State {
    /// Members that nobody can connect to.
    pub(super) away: BTreeSet<String>,
    /// Whether members answer nothing.
    pub(super) is_silent: bool,
    pub(super) leases: BTreeSet<i64>,
    last_lease: i64,
    pub(super) items: BTreeMap<Bytes, KeyValue>,
    /// Who may log in, when nobody else may ask.
    pub(super) login: Option<(String, String)>,
    /// The token that is good; each login makes a new one.
    pub(super) token: u64,
    /// Whether each list ends with this key and goes on.
    pub(super) circles: Option<KeyValue>,
    /// Why no watch is armed.
    pub(super) refuses_watches: Option<String>,
    last_watch: i64,
    watchers: BTreeMap<i64, mpsc::UnboundedSender<WatchResponse>>,
    /// What was asked, in order.
    pub(super) log: Vec<String>,
}

impl World {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The way to the members.
    pub(super) fn dial(self: &Arc<Self>) -> Dial {
        let world = Arc::clone(self);
        Arc::new(move |endpoint| {
            let world = Arc::clone(&world);
            async move {
                let member = endpoint.uri().authority().expect("has one").to_string();
                let connect = tower::service_fn(move |_| {
                    let pipe = world.connect(&member);
                    async move { pipe.map(TokioIo::new) }
                });
                endpoint.connect_with_connector(connect).await
            }
            .boxed()
        })
    }

    /// Ends all connections.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// What was asked since the last look.
    pub(super) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().log)
    }

    /// Tells all who watch.
    pub(super) fn tell(&self, event: &Event) {
        for (watch_id, watcher) in &self.state.lock().watchers {
            let _ = watcher.send(WatchResponse {
                watch_id: *watch_id,
                events: vec![event.clone()],
                ..WatchResponse::default()
            });
        }
    }

    /// Ends all watches, though not their streams.
    pub(super) fn end_watches(&self) {
        for (watch_id, watcher) in std::mem::take(&mut self.state.lock().watchers) {
            let _ = watcher.send(WatchResponse {
                watch_id,
                canceled: true,
                cancel_reason: "why not".to_owned(),
                ..WatchResponse::default()
            });
        }
    }

    pub(super) fn put(&self, path: &str, value: &str) {
        let key = Bytes::copy_from_slice(path.as_bytes());
        let item = KeyValue {
            key: key.clone(),
            value: Bytes::copy_from_slice(value.as_bytes()),
            ..KeyValue::default()
        };
        self.state.lock().items.insert(key, item);
    }

    fn connect(self: &Arc<Self>, member: &str) -> io::Result<DuplexStream> {
        self.note(format!("connect {member}"));
        if self.state.lock().away.contains(member) {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "nobody is there",
            ));
        }
        let (near, far) = duplex(64 << 10);
        let (world, mut cuts) = (Arc::clone(self), self.cuts.subscribe());
        self.tasks.lock().spawn(async move {
            tokio::select! {
                () = serve(far, world) => {}
                _ = cuts.changed() => {}
            }
        });
        Ok(near)
    }

    fn note(&self, what: String) {
        self.state.lock().log.push(what);
    }

    /// The answer to a request that has one; the code and the message of a refusal.
    fn answer(&self, path: &str, question: Bytes) -> Result<Vec<u8>, (&'static str, &'static str)> {
        let mut state = self.state.lock();
        match path {
            method::AUTHENTICATE => {
                let AuthenticateRequest { name, password } = of(question);
                state.log.push("log in".to_owned());
                match &state.login {
                    None => Err(("9", "etcdserver: authentication is not enabled")),
                    Some(login) if *login == (name, password) => {
                        state.token += 1;
                        let token = state.token.to_string();
                        Ok(AuthenticateResponse { token }.encode_to_vec())
                    }
                    Some(_) => Err((
                        "3",
                        "etcdserver: authentication failed, invalid user ID or password",
                    )),
                }
            }
            method::GRANT => {
                let LeaseGrantRequest { ttl } = of(question);
                state.last_lease += 1;
                let id = state.last_lease;
                state.leases.insert(id);
                state.log.push(format!("grant {id}"));
                Ok(LeaseGrantResponse { id, ttl }.encode_to_vec())
            }
            method::REVOKE => {
                let LeaseRevokeRequest { id } = of(question);
                state.leases.remove(&id);
                state.log.push(format!("revoke {id}"));
                Ok(LeaseRevokeResponse {}.encode_to_vec())
            }
            method::RANGE => {
                let range: RangeRequest = of(question);
                let key = String::from_utf8_lossy(&range.key).into_owned();
                state.log.push(format!("range {key}"));
                let end = if range.range_end.is_empty() {
                    [&range.key[..], b"\0"].concat().into()
                } else {
                    range.range_end
                };
                let mut kvs: Vec<_> = state.items.range(range.key..end).collect();
                let limit = usize::try_from(range.limit).expect("a size");
                if let Some(item) = &state.circles {
                    let (kvs, more) = (vec![item.clone()], true);
                    return Ok(RangeResponse { kvs, more }.encode_to_vec());
                }
                let more = limit > 0 && kvs.len() > limit;
                if more {
                    kvs.truncate(limit);
                }
                let kvs = kvs.into_iter().map(|(_, item)| item.clone()).collect();
                Ok(RangeResponse { kvs, more }.encode_to_vec())
            }
            method::PUT => {
                let PutRequest { key, .. } = of(question);
                let key = String::from_utf8_lossy(&key).into_owned();
                state.log.push(format!("put {key}"));
                Ok(PutResponse::default().encode_to_vec())
            }
            _ => Err(("12", "unknown method")),
        }
    }

    fn beat(&self, LeaseKeepAliveRequest { id }: LeaseKeepAliveRequest) -> LeaseKeepAliveResponse {
        let mut state = self.state.lock();
        state.log.push(format!("beat {id}"));
        let ttl = if state.leases.contains(&id) { TTL } else { 0 };
        LeaseKeepAliveResponse { ttl }
    }

    fn watch(&self, request: WatchRequest, watcher: &mpsc::UnboundedSender<WatchResponse>) {
        let mut state = self.state.lock();
        match request.order.expect("one order") {
            WatchOrder::Create(create) => {
                let key = String::from_utf8_lossy(&create.key).into_owned();
                state.log.push(format!("watch {key}"));
                if let Some(reason) = state.refuses_watches.clone() {
                    let _ = watcher.send(WatchResponse {
                        watch_id: -1,
                        created: true,
                        canceled: true,
                        cancel_reason: reason,
                        ..WatchResponse::default()
                    });
                    return;
                }
                let watch_id = state.last_watch;
                state.last_watch += 1;
                state.watchers.insert(watch_id, watcher.clone());
                let _ = watcher.send(WatchResponse {
                    watch_id,
                    created: true,
                    ..WatchResponse::default()
                });
            }
            WatchOrder::Cancel(cancel) => {
                state.log.push("cancel".to_owned());
                state.watchers.remove(&cancel.watch_id);
            }
        }
    }

    /// Whether the request comes with what it has to.
    fn lets_in(&self, path: &str, token: Option<&str>) -> bool {
        let state = self.state.lock();
        state.login.is_none()
            || path == method::AUTHENTICATE
            || token == Some(&*state.token.to_string())
    }
}

/// How long leases are here, in seconds: a beat a second.
pub(super) const TTL: i64 = 3;

async fn serve(io: DuplexStream, world: Arc<World>) {
    let Ok(mut connection) = h2::server::handshake(io).await else {
        return;
    };
    let mut tasks = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            let (head, body) = request.into_parts();
            let token = head
                .headers
                .get("token")
                .and_then(|token| token.to_str().ok());
            // A stream that is gone is nobody's concern.
            let _ = handle(&world, head.uri.path(), token, Messages::of(body), respond).await;
        });
    }
}

async fn handle(
    world: &World,
    path: &str,
    token: Option<&str>,
    mut questions: Messages,
    mut respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let first = questions.next().await;
    if world.state.lock().is_silent {
        return std::future::pending().await;
    }
    if !world.lets_in(path, token) {
        return refuse(&mut respond, "16", "etcdserver: invalid auth token");
    }
    match path {
        method::KEEP_ALIVE => {
            let mut answers = respond.send_response(head(), false)?;
            let mut next = first;
            while let Some(question) = next {
                if world.state.lock().is_silent {
                    return std::future::pending().await;
                }
                send(&mut answers, &world.beat(of(question)).encode_to_vec())?;
                next = questions.next().await;
            }
            Ok(())
        }
        method::WATCH => {
            let mut answers = respond.send_response(head(), false)?;
            let (watcher, mut told) = mpsc::unbounded_channel();
            if let Some(question) = first {
                world.watch(of(question), &watcher);
            }
            loop {
                tokio::select! {
                    Some(answer) = told.recv() => send(&mut answers, &answer.encode_to_vec())?,
                    question = questions.next() => match question {
                        Some(question) => world.watch(of(question), &watcher),
                        None => return Ok(()),
                    },
                }
            }
        }
        _ => match world.answer(path, first.unwrap_or_default()) {
            Ok(answer) => {
                let mut answers = respond.send_response(head(), false)?;
                send(&mut answers, &answer)?;
                let mut trailers = http::HeaderMap::new();
                trailers.insert("grpc-status", "0".parse().expect("legal"));
                answers.send_trailers(trailers)
            }
            Err((code, message)) => refuse(&mut respond, code, message),
        },
    }
}

fn refuse(respond: &mut SendResponse<Bytes>, code: &str, message: &str) -> Result<(), h2::Error> {
    let mut head = head();
    let headers = head.headers_mut();
    headers.insert("grpc-status", code.parse().expect("legal"));
    headers.insert("grpc-message", message.parse().expect("legal"));
    respond.send_response(head, true)?;
    Ok(())
}

fn head() -> http::Response<()> {
    let head = http::Response::builder().header("content-type", "application/grpc");
    head.body(()).expect("legal")
}

fn send(answers: &mut SendStream<Bytes>, message: &[u8]) -> Result<(), h2::Error> {
    answers.send_data(envelope(message), false)
}

fn of<M: Message + Default>(question: Bytes) -> M {
    M::decode(question).expect("a message of that kind")
}

/// Messages of a request, without their envelopes.
struct Messages {
    body: RecvStream,
    bytes: BytesMut,
}

impl Messages {
    fn of(body: RecvStream) -> Self {
        Self {
            body,
            bytes: BytesMut::new(),
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.bytes.len() >= 5 {
                let length = (&self.bytes[1..5]).get_u32() as usize;
                if self.bytes.len() >= 5 + length {
                    self.bytes.advance(5);
                    return Some(self.bytes.split_to(length).freeze());
                }
            }
            let chunk = self.body.data().await?.ok()?;
            let _ = self.body.flow_control().release_capacity(chunk.len());
            self.bytes.extend_from_slice(&chunk);
        }
    }
}
