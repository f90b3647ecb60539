//! All numbers of the process, by their names and labels.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder as Recording, SharedString, Unit,
};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use super::{
    cells::{Count, Level, Times},
    text,
    window::Window,
};
use crate::observe::application::Application;

/// Keeps what is counted, as Prometheus is told of it.
///
/// Whoever counts asks once for what it counts in, and touches nothing else afterwards.
pub(crate) struct Recorder {
    window: Window,
    families: RwLock<BTreeMap<String, Family>>,
    helps: Mutex<HashMap<String, String>>,
    applications: RwLock<BTreeMap<String, Application>>,
    /// Whether what is counted of metadata is shown.
    shows_metadata: AtomicBool,
    noted: Mutex<Instant>,
    collectors: Mutex<Vec<Weak<dyn Collect>>>,
}

/// Numbers that are looked up when they are asked for.
pub(crate) trait Collect: Send + Sync {
    /// Looks them up, and sets them.
    fn collect(&self);
}

/// All numbers of one name, by their labels as they are written.
pub(super) enum Family {
    Counts(Cells<Count>),
    Levels(Cells<Level>),
    Times(Cells<Times>),
}

pub(super) type Cells<T> = BTreeMap<String, Arc<T>>;

impl Recorder {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            families: RwLock::default(),
            helps: Mutex::default(),
            applications: RwLock::default(),
            shows_metadata: AtomicBool::new(false),
            noted: Mutex::new(Instant::now()),
            collectors: Mutex::default(),
        }
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Has the numbers of an application that are told by its name alone say all that there is to say about it. Those of
    /// metadata are shown from now on if `with_metadata` says so, of whatever application.
    pub(crate) fn know(&self, application: &Application, with_metadata: bool) {
        self.shows_metadata.fetch_or(with_metadata, Relaxed);
        let mut applications = self.applications.write();
        applications.insert(application.name.clone(), application.clone());
    }

    /// Asks `collector` whenever numbers are asked for, as long as it is there.
    pub(crate) fn ask(&self, collector: Weak<dyn Collect>) {
        let mut collectors = self.collectors.lock();
        collectors.retain(|known| known.strong_count() > 0);
        collectors.push(collector);
    }

    /// Moves the window on when a step is over. Several may do so.
    pub(crate) fn step(&self, now: Instant) {
        {
            let mut noted = self.noted.lock();
            // Timers are not exact.
            if now.saturating_duration_since(*noted) < self.window.step() * 9 / 10 {
                return;
            }
            *noted = now;
        }
        for (name, family) in &*self.families.read() {
            match family {
                Family::Counts(cells) if text::is_windowed(name) => {
                    for cell in cells.values() {
                        cell.note(now, self.window);
                    }
                }
                Family::Times(cells) => {
                    for cell in cells.values() {
                        cell.note(now, self.window);
                    }
                }
                Family::Counts(_) | Family::Levels(_) => {}
            }
        }
    }

    /// All numbers in the text format of Prometheus.
    pub(crate) fn text(&self, now: Instant) -> String {
        let collectors: Vec<_> = {
            let collectors = self.collectors.lock();
            collectors.iter().filter_map(Weak::upgrade).collect()
        };
        for collector in collectors {
            collector.collect();
        }
        let helps = self.helps.lock().clone();
        let mut page = text::Page::new(self.window, now, helps);
        for (name, family) in &*self.families.read() {
            page.family(name, family);
        }
        page.finish()
    }

    /// The labels of a number as they are written. What is told by the name of an application alone gets its other labels.
    fn labels(&self, key: &Key) -> String {
        let alone = key.labels().find(|label| label.key() == APPLICATION);
        let application = alone.filter(|_| text::is_of_application(key.name()));
        let application = application.and_then(|label| {
            let applications = self.applications.read();
            applications.get(label.value()).cloned()
        });
        let mut labels: Vec<(String, String)> = key
            .labels()
            .map(|label| (text::label(label.key()), label.value().to_owned()))
            .collect();
        if let Some(application) = application {
            labels.retain(|(name, _)| name != APPLICATION);
            let all = application.labels().into_iter();
            labels.extend(all.map(|(name, value)| (name.to_owned(), value)));
        }
        labels.sort();
        text::labels(&labels)
    }

    fn cell<T>(
        &self,
        key: &Key,
        make: impl FnOnce() -> T,
        family: fn() -> Family,
        among: fn(&mut Family) -> Option<&mut Cells<T>>,
    ) -> Option<Arc<T>> {
        if text::is_of_metadata(key.name()) && !self.shows_metadata.load(Relaxed) {
            return None;
        }
        let labels = self.labels(key);
        let name = text::name(key.name());
        let mut families = self.families.write();
        let family = families.entry(name).or_insert_with(family);
        let Some(cells) = among(family) else {
            tracing::debug!(
                name = key.name(),
                "two kinds of numbers have one name: the second is not shown"
            );
            return None;
        };
        let cell = cells.entry(labels).or_insert_with(|| Arc::new(make()));
        Some(Arc::clone(cell))
    }

    fn describe(&self, name: &KeyName, text: &SharedString) {
        if let Entry::Vacant(place) = self.helps.lock().entry(text::name(name.as_str())) {
            place.insert(text.to_string());
        }
    }
}

impl Recording for Recorder {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&name, &text);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&name, &text);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&name, &text);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let cell = self.cell(
            key,
            || Count::new(Instant::now()),
            || Family::Counts(BTreeMap::new()),
            |family| match family {
                Family::Counts(cells) => Some(cells),
                Family::Levels(_) | Family::Times(_) => None,
            },
        );
        cell.map_or_else(Counter::noop, Counter::from_arc)
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let cell = self.cell(
            key,
            Level::default,
            || Family::Levels(BTreeMap::new()),
            |family| match family {
                Family::Levels(cells) => Some(cells),
                Family::Counts(_) | Family::Times(_) => None,
            },
        );
        cell.map_or_else(Gauge::noop, Gauge::from_arc)
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let cell = self.cell(
            key,
            || Times::new(Instant::now()),
            || Family::Times(BTreeMap::new()),
            |family| match family {
                Family::Times(cells) => Some(cells),
                Family::Counts(_) | Family::Levels(_) => None,
            },
        );
        cell.map_or_else(Histogram::noop, Histogram::from_arc)
    }
}

/// The label of numbers that know no more of their application than its name.
const APPLICATION: &str = "app";

#[cfg(test)]
mod tests;
