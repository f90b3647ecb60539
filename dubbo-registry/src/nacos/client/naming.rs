//! Keeping a connection for services.
//!
//! nacos-sdk connects again by itself, but does not say so, and under some conditions it never does. So a heartbeat asks
//! for a service that nobody has. What follows from its failure depends on what failed:
//!
//! - No answer: nacos-sdk is connecting again and holds back what is asked. Asking keeps it going. It waits twice as long
//!   after each attempt, up to 64 s, so that after an outage it may be back about as late as that was long.
//! - A failure of the connection: nacos-sdk has not noticed. It does when nothing was asked for 5 s, so nothing is.
//! - Neither helps although the port of the server can be reached: the client is given up for a new one.
//!
//! Each time that the heartbeat succeeds again there is a new session: the server may have lost what was shown, and
//! nacos-sdk may have shown again what was taken back meanwhile.

use std::{mem, sync::Arc, time::Duration};

use dubbo_core::{
    backoff::{Backoff, BackoffPolicy},
    registry::RegistryError,
};
use futures_util::future::{join, join_all};
use nacos_sdk::api::naming::{
    NamingChangeEvent, NamingEventListener, NamingService, NamingServiceBuilder,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Failure, Why,
    publications::Publications,
    shared::{Service, Shared},
    subscriptions::Listeners,
};
use crate::{backend::Session, nacos::instance::Instance};

/// Keeps a connection as long as it is let run.
pub(super) async fn drive(shared: Arc<Shared>) {
    let mut driver = Driver {
        shared,
        sessions: 0,
        backoff: Backoff::new(RECONNECT),
        patience: PATIENCE,
        retired: JoinSet::new(),
        said: String::new(),
    };
    loop {
        let failure = match driver.shared.connect().await {
            Ok(naming) => driver.follow(&naming).await,
            Err(failure) => failure,
        };
        driver.down(failure.into_error());
        sleep(driver.backoff.next_wait()).await;
    }
}

struct Driver {
    shared: Arc<Shared>,
    /// How many there were.
    sessions: u64,
    backoff: Backoff,
    /// How long a client may get no answer although a server is there.
    patience: Duration,
    /// Sees to those that were given up.
    retired: JoinSet<()>,
    /// The last failure.
    said: String,
}

impl Driver {
    /// Follows a connection until it is given up; why it is.
    async fn follow(&mut self, naming: &NamingService) -> Failure {
        let shared = Arc::clone(&self.shared);
        *shared.naming.lock() = Some(naming.clone());
        let mut is_up = false;
        let mut reachable_since = None;
        loop {
            let begun = Instant::now();
            let failure = match shared.beat(naming).await {
                Ok(()) => {
                    reachable_since = None;
                    // One that took so long was made on another connection.
                    if !is_up || begun.elapsed() > SLOW {
                        is_up = true;
                        shared.be_told(naming).await;
                        self.up();
                    }
                    shared.leave_again(naming).await;
                    tokio::select! {
                        () = sleep(BEAT.min(shared.options.poll)) => {}
                        () = shared.alarm.notified() => {}
                    }
                    continue;
                }
                Err(failure) => failure,
            };
            is_up = false;
            let why = failure.why;
            if matches!(why, Why::Broken | Why::Late) {
                reachable_since = match shared.reach().await {
                    Ok(()) => reachable_since.or(Some(begun)),
                    Err(_) => None,
                };
                let patience = match why {
                    // It was let rest, and has not noticed.
                    Why::Broken => self.patience / 12,
                    _ => self.patience,
                };
                if reachable_since.is_some_and(|since| since.elapsed() > patience) {
                    self.patience = (self.patience * 2).min(LONGEST_PATIENCE);
                    shared.naming.lock().take();
                    self.down(failure.into_error());
                    let held = shared.let_go();
                    let retiring = Arc::clone(&shared).retire(naming.clone(), held);
                    self.retired.spawn(retiring);
                    let reason =
                        "the client does not find back to the server and is given up for a new one";
                    return Failure::unavailable(shared.error("connect", reason.to_owned()));
                }
            }
            self.down(failure.into_error());
            let rest = match why {
                Why::Broken => REST,
                Why::Late => RECONNECT.initial,
                _ => self.backoff.next_wait(),
            };
            sleep(rest).await;
        }
    }

    fn up(&mut self) {
        self.sessions += 1;
        self.backoff.reset();
        self.patience = PATIENCE;
        self.said.clear();
        let shared = &self.shared;
        shared.publications.lock().replaces = None;
        tracing::info!(address = shared.address, "is connected");
        shared.session.send_replace(Session::Up {
            session: self.sessions,
            connection: self.sessions,
        });
    }

    fn down(&mut self, error: RegistryError) {
        let text = error.to_string();
        if text == self.said {
            tracing::debug!(error = text, "still trying");
        } else {
            tracing::warn!(error = text, "trying again until it works");
            self.said = text;
        }
        self.shared.down(error);
    }
}

impl Shared {
    /// Makes a client.
    async fn connect(&self) -> Result<NamingService, Failure> {
        self.reach().await.map_err(Failure::unavailable)?;
        self.log_in().await?;
        let builder = NamingServiceBuilder::new(self.props());
        let builder = match &self.login {
            Some(login) => builder.with_auth_plugin(Arc::clone(login) as _),
            None => builder,
        };
        self.make("connect", builder.build()).await
    }

    /// Has the server say something on this connection, so that its end is noticed. nacos-sdk would see to it itself, if
    /// it noticed all of its connections.
    async fn be_told(&self, naming: &NamingService) {
        let (group, service) = probe();
        let listener = Arc::clone(&self.deaf) as _;
        let subscribed = naming.subscribe(service, Some(group), Vec::new(), listener);
        // That a subscription failed is never said; that it takes long, the next sign of life shows.
        let _ = self.within(|| "connect".to_owned(), subscribed).await;
    }

    /// Asks whether the server is there and answers us.
    async fn beat(&self, naming: &NamingService) -> Result<(), Failure> {
        let login = self.log_in().await;
        let (group, service) = probe();
        let ask = naming.get_all_instances(service, Some(group), Vec::new(), false);
        let operation = || "ask for a sign of life".to_owned();
        let Err(failure) = self.within(operation, ask).await else {
            return Ok(());
        };
        if failure.why != Why::Hidden {
            return Err(failure);
        }
        login?;
        // To leave where one is not does nothing, and is answered with a reason.
        let (group, service) = probe();
        let ask = naming.batch_register_instance(service, Some(group), Vec::new());
        match self.within(operation, ask).await {
            Err(better) if better.why == Why::Refused => Err(better),
            _ => Err(failure),
        }
    }

    async fn log_in(&self) -> Result<(), Failure> {
        let Some(login) = &self.login else {
            return Ok(());
        };
        login.refresh().await.map_err(|none| {
            let error = self.error("log in", none.reason);
            if none.is_final {
                Failure::refused(error)
            } else {
                Failure::unavailable(error)
            }
        })
    }

    /// Reads the instances of a service.
    pub(super) async fn read(&self, group: &str, service: &str) -> Result<Vec<Instance>, Failure> {
        let operation = || format!("read {service} in {group}");
        let found = self
            .request(operation, |naming| {
                let (group, service) = (group.to_owned(), service.to_owned());
                async move {
                    naming
                        .get_all_instances(service, Some(group), Vec::new(), false)
                        .await
                }
            })
            .await?;
        Ok(found.into_iter().filter_map(Instance::of_sdk).collect())
    }

    /// Reads the names of all services of `group`.
    pub(super) async fn services(&self, group: &str) -> Result<Vec<String>, Failure> {
        let mut names = std::collections::BTreeSet::new();
        for page in 1.. {
            let operation = || format!("list the services of {group}");
            let (found, total) = self
                .request(operation, |naming| {
                    let group = group.to_owned();
                    async move { naming.get_service_list(page, PAGE, Some(group)).await }
                })
                .await?;
            let is_last = found.is_empty() || i64::from(page) * i64::from(PAGE) >= i64::from(total);
            names.extend(found);
            if is_last {
                break;
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Makes a client that is given up harmless, for it lives on: it would show again what it has shown, should it ever
    /// connect.
    async fn retire(self: Arc<Self>, naming: NamingService, held: Held) {
        let (mut places, topics) = held;
        loop {
            places = self.take_back(&naming, places).await;
            if places.is_empty() {
                break;
            }
            sleep(REST).await;
        }
        self.end_all(&naming, topics).await;
    }

    /// What this client of nacos-sdk shows and is subscribed to, which it is not asked for any more.
    fn let_go(&self) -> Held {
        let Publications { shown, left, .. } = mem::take(&mut *self.publications.lock());
        let left = left.into_iter().map(|(place, left)| (place, left.gone));
        (
            shown.into_iter().chain(left).collect(),
            self.topics.forget_all(),
        )
    }

    /// Takes all back through this client of nacos-sdk.
    pub(super) async fn abandon(&self, naming: &NamingService) {
        let (places, topics) = self.let_go();
        join(self.take_back(naming, places), self.end_all(naming, topics)).await;
    }

    /// Leaves `places`; those of which it is not sure that nacos-sdk knows it.
    async fn take_back(&self, naming: &NamingService, places: Places) -> Places {
        let leaving = places.into_iter().map(|(place, gone)| async move {
            let failure = self.leave(naming, &place, &gone).await.err()?;
            let is_late = failure.why == Why::Late;
            said(&self.address, failure);
            is_late.then_some((place, gone))
        });
        join_all(leaving).await.into_iter().flatten().collect()
    }

    async fn end_all(&self, naming: &NamingService, topics: Listeners) {
        let deaf: Arc<dyn NamingEventListener> = Arc::clone(&self.deaf) as _;
        let ending = topics.into_iter().chain([(probe_service(), deaf)]);
        let ending = ending.map(|((group, service), listener)| async move {
            let (group, service) = (group.to_string(), service.to_string());
            let ended = naming.unsubscribe(service, Some(group), Vec::new(), listener);
            if let Err(failure) = self.within(|| "unsubscribe".to_owned(), ended).await {
                said(&self.address, failure);
            }
        });
        join_all(ending).await;
    }
}

/// What a client of nacos-sdk shows, and whom it tells.
type Held = (Places, Listeners);

type Places = Vec<(Service, Vec<Instance>)>;

/// Nobody can do anything about it any more.
fn said(address: &str, failure: Failure) {
    let error = failure.into_error();
    tracing::debug!(address, %error, "was not taken back");
}

/// Hears of the service of the heartbeat.
pub(super) struct Deaf;

impl NamingEventListener for Deaf {
    fn event(&self, _event: Arc<NamingChangeEvent>) {}
}

/// Group and name of the service that nobody has.
pub(super) fn probe() -> (String, String) {
    ("DEFAULT_GROUP".to_owned(), "dubbo-rust.probe".to_owned())
}

/// [`probe`], as others are called.
pub(super) fn probe_service() -> Service {
    let (group, service) = probe();
    (group.into(), service.into())
}

/// How often a sign of life is asked for. nacos-sdk begins to connect again when something is asked.
const BEAT: Duration = Duration::from_secs(3);

/// Before it connects again nacos-sdk waits for 2 s.
const SLOW: Duration = Duration::from_millis(1500);

/// nacos-sdk looks after its connection every 5 s, if nothing was answered for as long.
const REST: Duration = Duration::from_secs(12);

/// How long a client may get no answer although a server is there. nacos-sdk waits for up to 64 s between two attempts to
/// connect.
const PATIENCE: Duration = Duration::from_mins(2);

const LONGEST_PATIENCE: Duration = Duration::from_hours(1);

/// How long to wait before connecting again.
const RECONNECT: BackoffPolicy = BackoffPolicy {
    initial: Duration::from_millis(500),
    max: Duration::from_secs(30),
    multiplier: 1.5,
    jitter: 0.5,
};

/// How many names come at once.
const PAGE: i32 = 100;
