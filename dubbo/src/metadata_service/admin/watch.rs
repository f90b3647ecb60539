//! What changes, as streams: each begins with what is there, and ends with the application.

use std::{collections::VecDeque, sync::Arc};

use dubbo_core::{discovery::ServiceInstance, status::Status};
use dubbo_metadata::published::Published;
use futures_util::stream::{Stream, unfold};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{AdminContent, nothing};
use crate::metadata::admin as proto;

/// The place of one call among those that watch.
pub(super) type Place = Arc<OwnedSemaphorePermit>;

/// The changes of the metadata for one registry.
pub(super) struct MetadataWatch {
    content: Arc<dyn AdminContent>,
    /// Which registry of the content.
    index: usize,
    registry: String,
    signs: Signs<u64>,
    /// What the watcher knows: one for each instance.
    known: Vec<Arc<Published>>,
    /// What it is still to be told.
    events: VecDeque<proto::MetadataEvent>,
    _place: Place,
}

impl MetadataWatch {
    /// Watches registry number `index` of `content`.
    pub(super) fn new(
        content: &Arc<dyn AdminContent>,
        index: usize,
        registry: String,
        place: Place,
    ) -> Self {
        let histories = content.histories();
        let (_, history) = histories[index];
        // Listened for first: what comes after that is news.
        let signs = Signs::new(history.changes(), content.over());
        let known = history.current();
        let mut watch = Self {
            content: Arc::clone(content),
            index,
            registry,
            signs,
            known: Vec::new(),
            events: VecDeque::new(),
            _place: place,
        };
        let first = known
            .iter()
            .map(|published| proto::Revision::from(&*published.info));
        let mut first: Vec<_> = first.collect();
        if first.is_empty() {
            first.push(proto::Revision::from(&nothing()));
        }
        watch.events = (0..)
            .zip(first)
            .map(|(instance, now)| watch.event(instance, now))
            .collect();
        watch.known = known;
        watch
    }

    /// The events, the current state first.
    pub(super) fn events(self) -> impl Stream<Item = Result<proto::MetadataEvent, Status>> + Send {
        unfold(self, async |mut watch| {
            let event = watch.next().await?;
            Some((Ok(event), watch))
        })
    }

    async fn next(&mut self) -> Option<proto::MetadataEvent> {
        while self.events.is_empty() {
            self.signs.next().await?;
            let histories = self.content.histories();
            let now = histories[self.index].1.current();
            self.compare(now);
        }
        self.events.pop_front()
    }

    fn compare(&mut self, now: Vec<Arc<Published>>) {
        let nothing = Arc::new(Published::new(nothing()));
        let instances = now.len().max(self.known.len());
        for (instance, index) in (0..).zip(0..instances) {
            let newer = now.get(index).unwrap_or(&nothing);
            let older = self.known.get(index).unwrap_or(&nothing);
            if newer.revision() == older.revision() {
                continue;
            }
            let event = proto::MetadataEvent {
                previous: older.revision().to_owned(),
                diff: Some(newer.info.describe(&older.info).into()),
                ..self.event(instance, (&*newer.info).into())
            };
            self.events.push_back(event);
        }
        self.known = now;
    }

    fn event(&self, instance: u32, now: proto::Revision) -> proto::MetadataEvent {
        proto::MetadataEvent {
            registry: self.registry.clone(),
            instance,
            now: Some(now),
            previous: String::new(),
            diff: None,
        }
    }
}

/// The changes of what one registry was told about the instances.
pub(super) struct InstancesWatch {
    registry: String,
    signs: Signs<Arc<[ServiceInstance]>>,
    has_begun: bool,
    _place: Place,
}

impl InstancesWatch {
    /// Watches `instances` of `registry` until it is `over`.
    pub(super) fn new(
        registry: &str,
        instances: watch::Receiver<Arc<[ServiceInstance]>>,
        over: watch::Receiver<bool>,
        place: Place,
    ) -> Self {
        Self {
            registry: registry.to_owned(),
            signs: Signs::new(instances, over),
            has_begun: false,
            _place: place,
        }
    }

    /// The events, the current state first.
    pub(super) fn events(self) -> impl Stream<Item = Result<proto::InstancesEvent, Status>> + Send {
        unfold(self, async |mut watch| {
            let event = watch.next().await?;
            Some((Ok(event), watch))
        })
    }

    async fn next(&mut self) -> Option<proto::InstancesEvent> {
        if std::mem::replace(&mut self.has_begun, true) {
            self.signs.next().await?;
        }
        let instances = self.signs.changes.borrow_and_update();
        Some(proto::InstancesEvent {
            registry: self.registry.clone(),
            instances: instances.iter().map(Into::into).collect(),
        })
    }
}

/// Signs that something has changed, as long as the application runs.
struct Signs<T> {
    changes: watch::Receiver<T>,
    over: watch::Receiver<bool>,
}

impl<T> Signs<T> {
    fn new(changes: watch::Receiver<T>, over: watch::Receiver<bool>) -> Self {
        Self { changes, over }
    }

    /// Waits for a change that has not been looked at; `None` when there will be none.
    async fn next(&mut self) -> Option<()> {
        tokio::select! {
            // What has changed before the end is still told.
            biased;
            changed = self.changes.changed() => changed.ok(),
            _ = self.over.wait_for(|over| *over) => None,
        }
    }
}
