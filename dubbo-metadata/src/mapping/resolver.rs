//! Which applications provide an interface, for those who consume it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use dubbo_core::{
    metadata::{Mapping, MetadataReport},
    registry::RegistryError,
};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{
    consumer::{Running, Shared, Source, metrics},
    jitter::EqualJitter,
    mapping::MappingView,
};

/// One interface, looked up once for all groups and versions of it (`docs/spec/metadata.md` §5.2). It ends when nobody
/// needs it any more.
///
/// What was known before counts at once, until a report answers. Then the registry's own report is believed, or the
/// first other one that has names; where none has, the `subscribed-services` of the registry are. As long as there is
/// nothing, the reports are asked again, beside being watched.
#[derive(Debug)]
pub(crate) struct Resolver {
    interface: Arc<str>,
    resolutions: watch::Receiver<Arc<Resolution>>,
    /// When the last change was heard, and how long it took until it was seen in lists of providers.
    lag: Mutex<Option<(Instant, Duration)>>,
    _answers: Arc<Mutex<Answers>>,
    shared: Weak<Shared>,
    _running: Vec<Running>,
}

impl Resolver {
    pub(crate) fn start(interface: Arc<str>, shared: &Arc<Shared>) -> Arc<Self> {
        let reports = shared.reports.in_order().map(|(id, _)| Heard::nothing(id));
        let mut answers = Answers {
            interface: Arc::clone(&interface),
            remembered: shared.remembered(&interface),
            subscribed_services: Arc::clone(&shared.subscribed_services),
            heard: reports.collect(),
            pending: Pending {
                shared: Arc::clone(shared),
                is_pending: false,
            },
        };
        let resolution = answers.resolve();
        answers.pending.set(&resolution);
        let (publish, resolutions) = watch::channel(Arc::new(resolution));
        let answers = Arc::new(Mutex::new(answers));
        let running = shared
            .reports
            .in_order()
            .enumerate()
            .map(|(index, (_, report))| {
                let follower = Follower {
                    index,
                    report: Arc::clone(report),
                    answers: Arc::clone(&answers),
                    publish: publish.clone(),
                    shared: Arc::clone(shared),
                };
                shared.tasks.spawn(follower.run())
            });
        Arc::new(Self {
            _running: running.collect(),
            interface,
            resolutions,
            lag: Mutex::default(),
            _answers: answers,
            shared: Arc::downgrade(shared),
        })
    }

    /// The newest answer, and changes of it.
    pub(crate) fn resolutions(&self) -> watch::Receiver<Arc<Resolution>> {
        self.resolutions.clone()
    }

    /// Notes that the change that was heard at `since` is in a list of providers now.
    pub(crate) fn is_seen(&self, since: Instant) {
        let took = since.elapsed();
        let mut lag = self.lag.lock();
        // The slowest subscription counts.
        match &mut *lag {
            Some((last, longest)) if *last == since => *longest = took.max(*longest),
            _ => *lag = Some((since, took)),
        }
        metrics::mapping_lag(&self.interface, took);
    }

    pub(crate) fn view(&self) -> MappingView {
        let resolution = Arc::clone(&self.resolutions.borrow());
        MappingView {
            interface: self.interface.to_string(),
            applications: resolution.applications.to_vec(),
            evidence: resolution.evidence.clone(),
            lag: self.lag.lock().map(|(_, took)| took),
        }
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.forget_resolver(&self.interface);
        }
    }
}

/// The applications that provide an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolution {
    /// Their names, in the mapping's order.
    pub(crate) applications: Arc<[String]>,
    /// How they were found, or why there are none.
    pub(crate) evidence: String,
    /// Whether there is no use in waiting for a better answer now.
    pub(crate) is_answer: bool,
    /// Whether there are none because nobody could be asked.
    pub(crate) is_uncertain: bool,
    /// Why a report could not be asked, if one could not.
    pub(crate) failing: Option<String>,
    /// When these applications took the place of others that were known.
    pub(crate) changed: Option<Instant>,
}

impl Resolution {
    /// The applications that the consumer names itself.
    pub(crate) fn provided_by(names: &str) -> Option<Self> {
        let mapping = Mapping::parse(names);
        (!mapping.is_empty()).then(|| Self {
            applications: mapping.applications().into(),
            evidence: format!("provided-by names {}", listed(mapping.applications())),
            is_answer: true,
            is_uncertain: false,
            failing: None,
            changed: None,
        })
    }
}

/// What all reports have said.
#[derive(Debug)]
struct Answers {
    interface: Arc<str>,
    remembered: Option<Arc<Mapping>>,
    subscribed_services: Arc<[String]>,
    heard: Vec<Heard>,
    pending: Pending,
}

/// Counts the interface as long as it is mapped to nobody.
#[derive(Debug)]
struct Pending {
    shared: Arc<Shared>,
    is_pending: bool,
}

impl Pending {
    fn set(&mut self, resolution: &Resolution) {
        let is_pending = resolution.applications.is_empty();
        if std::mem::replace(&mut self.is_pending, is_pending) != is_pending {
            self.shared.count_pending(is_pending);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_pending {
            self.shared.count_pending(false);
        }
    }
}

/// What one report has said.
#[derive(Debug)]
struct Heard {
    report: String,
    mapping: Option<Arc<Mapping>>,
    /// How many names beside those were none.
    garbage: usize,
    failing: Option<Arc<RegistryError>>,
}

impl Heard {
    fn nothing(report: &str) -> Self {
        Self {
            report: report.to_owned(),
            mapping: None,
            garbage: 0,
            failing: None,
        }
    }

    /// Takes in what the report has. No application is called so that its name cannot be printed, whoever wrote it.
    fn take(&mut self, mapping: Arc<Mapping>) {
        let all = mapping.applications();
        let is_name = |name: &&String| !name.contains(char::is_control);
        let mut names = Mapping::default();
        for name in all.iter().filter(is_name) {
            names.add(name);
        }
        self.garbage = all.len() - names.applications().len();
        self.mapping = Some(if self.garbage == 0 {
            mapping
        } else {
            names.into()
        });
        self.failing = None;
    }

    fn failing(&self) -> Option<String> {
        let Self {
            report, failing, ..
        } = self;
        let error = failing.as_ref()?;
        Some(format!("metadata report {report} fails: {error}"))
    }

    fn names(&self) -> Option<&Arc<Mapping>> {
        self.mapping.as_ref().filter(|mapping| !mapping.is_empty())
    }
}

impl Answers {
    fn take(&mut self, index: usize, state: Result<Arc<Mapping>, Arc<RegistryError>>) {
        let heard = &mut self.heard[index];
        match state {
            Ok(mapping) => heard.take(mapping),
            // What it said last counts.
            Err(error) => heard.failing = Some(error),
        }
    }

    fn names(&self) -> Option<&Heard> {
        self.heard.iter().find(|heard| heard.names().is_some())
    }

    fn resolve(&self) -> Resolution {
        let interface = &self.interface;
        let failing = self.failing();
        let remarks = self.remarks();
        let found = |names: &[String], evidence: String| Resolution {
            applications: names.into(),
            evidence: evidence + &remarks,
            is_answer: true,
            is_uncertain: false,
            failing: failing.clone(),
            changed: None,
        };
        if let Some(heard) = self.names()
            && let Some(mapping) = heard.names()
        {
            let names = mapping.applications();
            let (names_text, report) = (listed(names), &heard.report);
            let evidence =
                format!("{interface} is provided by {names_text} (metadata report {report})");
            return found(names, evidence);
        }
        let all_heard = self
            .heard
            .iter()
            .all(|heard| heard.mapping.is_some() || heard.failing.is_some());
        let all_know = self.heard.iter().all(|heard| heard.failing.is_none());
        if let Some(mapping) = &self.remembered
            && !(all_heard && all_know)
        {
            let names = mapping.applications();
            let evidence = format!("{interface} was provided by {} before", listed(names));
            return found(names, evidence);
        }
        if !self.subscribed_services.is_empty() && all_heard {
            let names = &self.subscribed_services;
            let evidence = format!(
                "{interface} is mapped to no application; subscribed-services of the registry names {}",
                listed(names)
            );
            return found(names, evidence);
        }
        Resolution {
            applications: Arc::default(),
            evidence: self.why_nobody() + &remarks,
            is_answer: all_heard,
            is_uncertain: !(all_heard && all_know),
            failing,
            changed: None,
        }
    }

    fn why_nobody(&self) -> String {
        let interface = &self.interface;
        if self.heard.is_empty() {
            return format!(
                "nobody says who provides {interface}: there is no metadata report, and neither provided-by of the \
                 reference nor subscribed-services of the registry names an application"
            );
        }
        let reports: Vec<_> = self
            .heard
            .iter()
            .map(|heard| heard.report.clone())
            .collect();
        let reports = listed(&reports);
        if self.heard.iter().all(|heard| heard.mapping.is_some()) {
            format!(
                "pending: metadata report {reports} maps {interface} to no application yet; it is watched and asked again"
            )
        } else {
            format!("pending: metadata report {reports} has not said yet who provides {interface}")
        }
    }

    fn failing(&self) -> Option<String> {
        self.heard.iter().find_map(Heard::failing)
    }

    /// What was not as it should be.
    fn remarks(&self) -> String {
        let mut text = String::new();
        for heard in &self.heard {
            if let Some(failing) = heard.failing() {
                text = format!("{text}; {failing}");
            }
            if heard.garbage > 0 {
                let (report, garbage) = (&heard.report, heard.garbage);
                text = format!(
                    "{text}; metadata report {report} has garbage in {garbage} of its names"
                );
            }
        }
        text
    }
}

/// The task that follows one report.
struct Follower {
    index: usize,
    report: Arc<dyn MetadataReport>,
    answers: Arc<Mutex<Answers>>,
    publish: watch::Sender<Arc<Resolution>>,
    shared: Arc<Shared>,
}

impl Follower {
    async fn run(self) {
        let interface = Arc::clone(&self.answers.lock().interface);
        let mut source = {
            let (report, interface) = (Arc::clone(&self.report), Arc::clone(&interface));
            Source::new(self.shared.random(), move || {
                let (report, interface) = (Arc::clone(&report), Arc::clone(&interface));
                Box::pin(async move { report.watch_mapping(&interface).await })
            })
        };
        let mut random = self.shared.random();
        let mut waits = EqualJitter::new(RETRY_BASE, RETRY_CAP);
        let mut ask_at = Instant::now() + waits.next_wait(&mut random);
        loop {
            let asks = self.answers.lock().names().is_none() || !source.is_open();
            let state = tokio::select! {
                state = source.next() => state,
                () = sleep_until(ask_at), if asks => {
                    let read = self.report.mapping(&interface).await;
                    ask_at = Instant::now() + waits.next_wait(&mut random);
                    read.map(|(mapping, _)| Arc::new(mapping)).map_err(Arc::new)
                }
            };
            if self.take(&interface, state) {
                waits.reset();
            }
        }
    }

    /// Takes in what the report says; whether that changed the applications.
    fn take(&self, interface: &Arc<str>, state: Result<Arc<Mapping>, Arc<RegistryError>>) -> bool {
        // The lock is held while it is published: the last answer is the last one published.
        let mut answers = self.answers.lock();
        answers.take(self.index, state);
        if let Some(mapping) = answers.names().and_then(Heard::names) {
            self.shared.remember(interface, mapping);
        }
        let mut resolution = answers.resolve();
        answers.pending.set(&resolution);
        let mut are_others = false;
        self.publish.send_if_modified(|last| {
            resolution.changed = if last.applications == resolution.applications {
                last.changed
            } else {
                last.is_answer.then(Instant::now)
            };
            let is_news = **last != resolution;
            if is_news {
                are_others = last.applications != resolution.applications;
                *last = Arc::new(resolution);
            }
            is_news
        });
        are_others
    }
}

fn listed(names: &[String]) -> String {
    names.join(", ")
}

const RETRY_BASE: Duration = Duration::from_secs(1);
const RETRY_CAP: Duration = Duration::from_secs(30);
