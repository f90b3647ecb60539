//! All that the server knows, and the clock that drives it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep_until},
};

use super::{
    answer::Refusal,
    auth::Auth,
    config::Configs,
    delays::Delays,
    gate::Gate,
    handler,
    key::ConnectionId,
    naming::Naming,
    traffic::{Message, Sender},
    wire::Payload,
};

/// The state of a server, shared by its connections and its handles.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    changes: watch::Sender<()>,
    pub(super) gate: Arc<Gate>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) naming: Naming,
    pub(super) configs: Configs,
    pub(super) auth: Auth,
    pub(super) delays: Delays,
    /// It listens, and refuses everything.
    pub(super) starting: bool,
    /// With the type of the requests that they are for.
    pub(super) refusals: VecDeque<(String, Refusal)>,
    pub(super) traffic: Vec<Message>,
    /// Every open connection.
    connections: BTreeMap<ConnectionId, Connection>,
    last: u64,
}

#[derive(Debug, Default)]
struct Connection {
    close: Arc<Notify>,
    /// Once it is set up.
    client: Option<Client>,
}

#[derive(Debug)]
struct Client {
    pushes: mpsc::UnboundedSender<Payload>,
    active: Instant,
    /// When it was asked whether it is there.
    asked: Option<Instant>,
}

impl Shared {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changes: watch::Sender::default(),
            gate: Arc::default(),
        })
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock())
    }

    pub(super) fn update<T>(&self, change: impl FnOnce(&mut State, Instant) -> T) -> T {
        let result = change(&mut self.state.lock(), Instant::now());
        self.changes.send_replace(());
        result
    }

    /// Sees every [`update`](Self::update) from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Does what is due when it is due, for ever.
    pub(super) async fn run(&self) {
        let mut changes = self.changes();
        loop {
            let due = self.read(State::due);
            if due.is_some_and(|due| due <= Instant::now()) {
                self.gate.open().await;
                self.update(State::advance);
                continue;
            }
            let sleep = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {}
                // This keeps the sender, so it does not end.
                _ = changes.changed() => {}
            }
        }
    }
}

impl State {
    /// A new connection, and the order to close it.
    pub(super) fn connect(&mut self) -> (ConnectionId, Arc<Notify>) {
        let id = self.reserve();
        let connection = Connection::default();
        let close = connection.close.clone();
        self.connections.insert(id, connection);
        (id, close)
    }

    /// A number for a connection that is not there.
    pub(super) fn reserve(&mut self) -> ConnectionId {
        self.last += 1;
        ConnectionId(self.last)
    }

    /// From now on requests are answered and pushes sent, unless the server refuses.
    pub(super) fn set_up(
        &mut self,
        id: ConnectionId,
        pushes: mpsc::UnboundedSender<Payload>,
        now: Instant,
    ) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if self.starting {
            connection.close.notify_one();
            return;
        }
        connection.client = Some(Client {
            pushes,
            active: now,
            asked: None,
        });
    }

    /// The answer to `request`.
    pub(super) fn answer(&mut self, id: ConnectionId, request: &Payload, now: Instant) -> Payload {
        self.heard(id, request, now);
        let answer = handler::answer(self, id, request, now);
        self.log(Message::new(now, id, Sender::Server, &answer));
        answer
    }

    /// The client is there.
    pub(super) fn heard(&mut self, id: ConnectionId, message: &Payload, now: Instant) {
        self.log(Message::new(now, id, Sender::Client, message));
        if let Some(client) = self.client(id) {
            client.active = now;
            client.asked = None;
        }
    }

    pub(super) fn is_set_up(&self, id: ConnectionId) -> bool {
        let connection = self.connections.get(&id);
        connection.is_some_and(|connection| connection.client.is_some())
    }

    /// What a test wants the next request of this type to be refused with.
    pub(super) fn take_refusal(&mut self, kind: &str) -> Option<Refusal> {
        let next = self.refusals.iter().position(|(of, _)| of == kind)?;
        self.refusals.remove(next).map(|(_, refusal)| refusal)
    }

    pub(super) fn clients(&self) -> impl Iterator<Item = ConnectionId> {
        let set_up = self.connections.iter();
        let set_up = set_up.filter(|(_, connection)| connection.client.is_some());
        set_up.map(|(id, _)| *id)
    }

    pub(super) fn is_open(&self, id: ConnectionId) -> bool {
        self.connections.contains_key(&id)
    }

    /// Ends every connection, without a word: these will be closed.
    pub(super) fn drop_connections(&self) -> Vec<ConnectionId> {
        for connection in self.connections.values() {
            connection.close.notify_one();
        }
        self.connections.keys().copied().collect()
    }

    pub(super) fn disconnect(&mut self, id: ConnectionId, now: Instant) {
        self.connections.remove(&id);
        self.forget(id, now);
    }

    /// What is on no disk is gone.
    pub(super) fn crash(&mut self) {
        self.naming.crash();
        self.configs.crash();
    }

    fn forget(&mut self, id: ConnectionId, now: Instant) {
        self.naming.disconnect(id, now, self.delays);
        self.configs.disconnect(id);
    }

    fn due(&self) -> Option<Instant> {
        let clients = self.connections.values();
        let clients = clients.filter_map(|connection| connection.client.as_ref());
        let patience = clients.map(|client| client.due(self.delays));
        let naming = self.naming.due(self.delays).into_iter();
        naming.chain(self.configs.due()).chain(patience).min()
    }

    fn advance(&mut self, now: Instant) {
        for (id, key, service_info) in self.naming.advance(now, self.delays) {
            let request = json!({
                "headers": {},
                "requestId": self.request_id(),
                "module": "naming",
                "namespace": key.namespace,
                "groupName": key.group,
                "serviceName": key.name,
                "serviceInfo": service_info,
            });
            self.push(id, &Payload::new("NotifySubscriberRequest", &request), now);
        }
        for (id, key) in self.configs.advance(now) {
            let request = json!({
                "headers": {},
                "requestId": self.request_id(),
                "module": "config",
                "tenant": key.namespace,
                "group": key.group,
                "dataId": key.data_id,
            });
            self.push(
                id,
                &Payload::new("ConfigChangeNotifyRequest", &request),
                now,
            );
        }
        self.look_for_silent_clients(now);
    }

    fn look_for_silent_clients(&mut self, now: Instant) {
        let delays = self.delays;
        let silent: Vec<_> = self
            .clients()
            .filter(|id| self.connections[id].due(delays) <= Some(now))
            .collect();
        for id in silent {
            let Some(connection) = self.connections.get_mut(&id) else {
                continue;
            };
            let asked = connection.client.as_ref().and_then(|client| client.asked);
            if asked.is_some() {
                connection.client = None;
                connection.close.notify_one();
                self.forget(id, now);
                continue;
            }
            if let Some(client) = &mut connection.client {
                client.asked = Some(now);
            }
            let request =
                json!({"headers": {}, "requestId": self.request_id(), "module": "internal"});
            self.push(id, &Payload::new("ClientDetectionRequest", &request), now);
        }
    }

    fn push(&mut self, id: ConnectionId, push: &Payload, now: Instant) {
        let Some(client) = self.client(id) else {
            return;
        };
        // The receiver is gone when the connection is about to be.
        let _ = client.pushes.send(push.clone());
        self.log(Message::new(now, id, Sender::Server, push));
    }

    fn client(&mut self, id: ConnectionId) -> Option<&mut Client> {
        self.connections.get_mut(&id)?.client.as_mut()
    }

    fn log(&mut self, message: Message) {
        self.traffic.push(message);
    }

    fn request_id(&self) -> String {
        self.traffic.len().to_string()
    }
}

impl Connection {
    fn due(&self, delays: Delays) -> Option<Instant> {
        self.client.as_ref().map(|client| client.due(delays))
    }
}

impl Client {
    /// When patience with it ends.
    fn due(&self, delays: Delays) -> Instant {
        match self.asked {
            Some(asked) => asked + delays.detection,
            None => self.active + delays.silence,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_silent_client_is_asked_and_then_given_up() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut state = State::default();
        let (id, close) = state.connect();
        let (sender, mut pushes) = mpsc::unbounded_channel();
        state.set_up(id, sender, at(0));
        let mut asked = |state: &mut State, seconds| {
            assert_eq!(state.due(), Some(at(seconds)));
            state.advance(at(seconds));
            let push = pushes.try_recv().ok();
            push.map(|push| push.kind().to_owned())
        };
        let question = Some("ClientDetectionRequest".to_owned());
        assert_eq!(asked(&mut state, 20), question);
        let answer = Payload::new("ClientDetectionResponse", &json!({}));
        state.heard(id, &answer, at(21));
        assert_eq!(asked(&mut state, 41), question);
        assert!(state.is_set_up(id));
        assert_eq!(asked(&mut state, 46), None);
        assert!(!state.is_set_up(id));
        close.notified().await;
    }
}
