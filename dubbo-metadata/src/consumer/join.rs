//! One subscription: instances and metadata of its applications, joined into a list of providers.

use std::{
    collections::BTreeMap,
    future::pending,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use dubbo_core::{
    explain::Step,
    list::List,
    registry::{RegistryError, RegistrySnapshot},
    subscription::Update,
    url::Url,
};
use futures_util::future::select_all;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{attached::Attached, explain::Seen, request::Request, shared::Shared};
use crate::mapping::resolver::{Resolution, Resolver};

/// The task behind a subscription (`docs/spec/metadata.md` §5.4, §6.2).
///
/// Only what changed is made anew: an instance that stays as it is keeps its URLs.
pub(super) struct Join {
    shared: Arc<Shared>,
    request: Request,
    resolutions: watch::Receiver<Arc<Resolution>>,
    resolver: Option<Arc<Resolver>>,
    started: Instant,
    /// By name.
    apps: BTreeMap<Arc<str>, Attached>,
    publish: watch::Sender<Update<RegistrySnapshot>>,
    epoch: u64,
    /// The last list that was published.
    providers: Option<List<Url>>,
    /// What was made of the applications last, and whether others are among them since then.
    list: List<Url>,
    is_reshaped: bool,
    last: Option<Told>,
}

/// What was told last: how providers were found, or the text of an error and how far it came.
type Told = Result<Arc<[Step]>, (String, Arc<[Step]>)>;

impl Join {
    pub(super) fn new(
        request: Request,
        shared: &Arc<Shared>,
        publish: watch::Sender<Update<RegistrySnapshot>>,
    ) -> Self {
        let given = request
            .provided_by
            .as_deref()
            .and_then(Resolution::provided_by);
        let (resolutions, resolver) = if let Some(given) = given {
            (watch::channel(Arc::new(given)).1, None)
        } else {
            let resolver = shared.resolver(request.service.interface());
            (resolver.resolutions(), Some(resolver))
        };
        let mut join = Self {
            shared: Arc::clone(shared),
            request,
            resolutions,
            resolver,
            started: Instant::now(),
            apps: BTreeMap::new(),
            publish,
            epoch: 0,
            providers: None,
            list: List::default(),
            is_reshaped: false,
            last: None,
        };
        // Those that are known from before come first, whatever is heard until it runs.
        join.attach();
        join
    }

    /// Publishes a first state when all is known that can be known soon, and then whatever changes.
    pub(super) async fn run(mut self) {
        let deadline = Instant::now() + FIRST_WITHIN;
        loop {
            self.attach();
            if self.is_settled() {
                break;
            }
            tokio::select! {
                () = self.changed() => {}
                () = sleep_until(deadline) => break,
            }
        }
        for app in self.apps.values_mut() {
            app.admitted = app.heard.is_none();
        }
        self.admit();
        loop {
            self.publish();
            let deadline = self.deadline();
            tokio::select! {
                () = self.changed() => self.gather().await,
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {}
            }
            self.attach();
            self.admit();
            self.detach();
        }
    }

    /// Waits until something that it depends on changes.
    async fn changed(&mut self) {
        let apps = self.apps.values_mut().map(|app| next(&mut app.states));
        let waits = apps.chain([next(&mut self.resolutions)]);
        select_all(waits).await;
    }

    /// Waits for the changes that come along with one: one new list is better than many.
    async fn gather(&mut self) {
        let first = Instant::now();
        loop {
            self.attach();
            let until = if self.expects_more() {
                first + FIRST_WITHIN
            } else {
                (Instant::now() + COALESCE).min(first + COALESCE_AT_MOST)
            };
            tokio::select! {
                () = sleep_until(until) => return,
                () = self.changed() => {}
            }
        }
    }

    /// Whether metadata is on its way, and nobody is worse off for waiting for it: no instance has gone.
    fn expects_more(&self) -> bool {
        let mut admitted = self.apps.values().filter(|app| app.admitted);
        let is_loading = admitted.clone().any(|app| !app.is_settled());
        is_loading && !admitted.any(Attached::has_lost)
    }

    /// Follows the applications that are named now.
    fn attach(&mut self) {
        let resolution = Arc::clone(&self.resolutions.borrow_and_update());
        for app in self.apps.values_mut() {
            app.unmapped_since.get_or_insert_with(Instant::now);
        }
        for name in &*resolution.applications {
            if let Some(app) = self.apps.get_mut(name.as_str()) {
                app.unmapped_since = None;
            } else {
                // Changes that came before it are none for this subscription.
                let heard = resolution
                    .changed
                    .filter(|changed| *changed >= self.started);
                let app = Attached::new(self.shared.app(name), heard);
                self.apps.insert(name.as_str().into(), app);
            }
        }
    }

    /// Whether all is known that a first state should have. Those that a change has added in the meantime are not waited
    /// for, as long as there are others.
    fn is_settled(&self) -> bool {
        let all = self.apps.values();
        let is_late = |app: &Attached| app.heard.is_some();
        let all_late = all.clone().all(is_late);
        let mut first = all.filter(|app| all_late || !is_late(app));
        self.resolutions.borrow().is_answer && first.all(Attached::is_settled)
    }

    /// Lets those in that have been waited for: a new application appears with all that it has.
    fn admit(&mut self) {
        let now = Instant::now();
        for app in self.apps.values_mut() {
            app.admitted |= app.is_settled() || now >= app.since + FIRST_WITHIN;
        }
    }

    /// Lets those go that have not been named for a while and do not serve the interface any more.
    fn detach(&mut self) {
        let now = Instant::now();
        let before = self.apps.len();
        self.apps.retain(|name, app| {
            let is_over = app
                .unmapped_since
                .is_some_and(|since| now >= since + KEPT_UNMAPPED);
            let keep = !is_over || app.may_serve(&self.request);
            if !keep {
                tracing::info!(service = %self.request, application = &**name, "an application is followed no more");
            }
            keep
        });
        self.is_reshaped |= self.apps.len() < before;
    }

    /// When there is something to do without a change.
    fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let admission = self
            .apps
            .values()
            .filter(|app| !app.admitted)
            .map(|app| app.since + FIRST_WITHIN);
        let detachment = self
            .apps
            .values()
            .filter_map(|app| Some(app.unmapped_since? + KEPT_UNMAPPED));
        admission.chain(detachment).filter(|at| *at > now).min()
    }

    fn publish(&mut self) {
        self.refresh();
        let list = self.list.clone();
        let resolution = Arc::clone(&self.resolutions.borrow());
        let seen = Seen {
            request: &self.request,
            resolution: &resolution,
            apps: self
                .apps
                .iter()
                .map(|(name, app)| (&**name, Arc::clone(&app.state)))
                .collect(),
            instead: self.apps.values().flat_map(Attached::instead).collect(),
            portless: self.apps.values().map(Attached::portless).sum(),
            providers: list.len(),
        };
        let steps = seen.steps();
        let is_same_list = self.providers.as_ref() == Some(&list);
        let state = match seen.outage() {
            // An empty list is told only when it is certain that nobody is there.
            _ if list.is_empty() && seen.is_uncertain() => {
                Err(Arc::new(seen.pending(&steps, &self.shared.address)))
            }
            // Nobody knows of a better list.
            Some(error) if is_same_list => Err(Arc::clone(error)),
            _ => Ok(list),
        };
        self.tell(state, steps);
        self.note_seen();
    }

    /// Makes the list of what is known now.
    fn refresh(&mut self) {
        let mut others = Some(Vec::new()).filter(|_| !self.is_reshaped);
        let mut from = 0;
        // Nothing is made of those that are not admitted: nothing is known of them yet.
        for app in self.apps.values_mut().filter(|app| app.admitted) {
            let refreshed = app.refresh(&self.request);
            let portless = &self.shared.portless;
            portless.fetch_add(refreshed.portless, Ordering::Relaxed);
            match (&mut others, refreshed.others) {
                (Some(all), Some(others)) => {
                    all.extend(others.into_iter().map(|(at, url)| (from + at, url)));
                }
                _ => others = None,
            }
            from += app.providers();
        }
        self.is_reshaped = false;
        match others {
            Some(others) if others.is_empty() => {}
            Some(others) => self.list = self.list.with(others),
            None => {
                let list = self.apps.values().flat_map(Attached::urls);
                let list = list.cloned().collect();
                if self.list != list {
                    self.list = list;
                }
            }
        }
    }

    /// Notes which changes of the mapping are in the list that was told.
    fn note_seen(&mut self) {
        let admitted = self.apps.values_mut().filter(|app| app.admitted);
        for heard in admitted.filter_map(|app| app.heard.take()) {
            if let Some(resolver) = &self.resolver {
                resolver.is_seen(heard);
            }
        }
    }

    /// Publishes, unless it was just told.
    fn tell(&mut self, state: Result<List<Url>, Arc<RegistryError>>, steps: Vec<Step>) {
        let (told, state) = match state {
            Ok(list) => {
                let is_same_list = self.providers.as_ref() == Some(&list);
                let told = match &self.last {
                    Some(Ok(before)) if is_same_list && **before == *steps => return,
                    _ => Arc::<[Step]>::from(steps),
                };
                // A list that stays is the same allocation.
                let kept = self.providers.take().filter(|_| is_same_list);
                let list = kept.unwrap_or(list);
                self.providers = Some(list.clone());
                let mut snapshot = RegistrySnapshot::of_providers(list);
                snapshot.steps = Arc::clone(&told);
                (Ok(told), Ok(snapshot))
            }
            Err(error) => {
                let told = Err((error.to_string(), Arc::clone(&error.steps)));
                if self.last.as_ref() == Some(&told) {
                    return;
                }
                (told, Err(error))
            }
        };
        self.last = Some(told);
        self.epoch += 1;
        self.publish.send_replace(Update::new(self.epoch, state));
    }
}

/// Waits for a change. A source that has ended has none.
fn next<T>(states: &mut watch::Receiver<T>) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>
where
    T: Send + Sync,
{
    Box::pin(async move {
        if states.changed().await.is_err() {
            pending::<()>().await;
        }
    })
}

/// How long a subscription waits for what a first state should have.
const FIRST_WITHIN: Duration = Duration::from_secs(3);

/// How long it must be quiet before changes are told.
const COALESCE: Duration = Duration::from_millis(50);

/// How long changes are held back at most, however many come.
const COALESCE_AT_MOST: Duration = Duration::from_millis(500);

/// How long an application that is not mapped any more is followed.
const KEPT_UNMAPPED: Duration = Duration::from_mins(1);
