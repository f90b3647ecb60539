//! An application as one subscription sees it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use dubbo_core::url::Url;
use smallvec::SmallVec;
use tokio::{sync::watch, time::Instant};

use super::{
    app::AppWatch,
    request::{Matched, Request},
    view::{AppState, InstanceView, Serves},
};
use crate::model::MetadataInfo;

/// An application as one subscription sees it.
pub(super) struct Attached {
    _watch: Arc<AppWatch>,
    pub(super) states: watch::Receiver<Arc<AppState>>,
    pub(super) since: Instant,
    /// When the change of the mapping was heard that named it, until it is in a list.
    pub(super) heard: Option<Instant>,
    /// Whether its providers count.
    pub(super) admitted: bool,
    /// Since when the mapping does not name it.
    pub(super) unmapped_since: Option<Instant>,
    /// What was looked at last.
    pub(super) state: Arc<AppState>,
    /// What each of its instances stands for, by id.
    made: Vec<Made>,
    /// How many providers that makes, and how often there is no port for one.
    providers: usize,
    portless: usize,
    /// What answers the request, by the address of the metadata, which is kept with it.
    matched: HashMap<usize, (Arc<MetadataInfo>, Arc<Matched>)>,
}

/// The providers that one instance stands for.
struct Made {
    view: Arc<InstanceView>,
    urls: SmallVec<[Url; 1]>,
    /// How many services it has no port for.
    portless: u32,
}

impl Attached {
    pub(super) fn new(watch: Arc<AppWatch>, heard: Option<Instant>) -> Self {
        Self {
            heard,
            states: watch.states(),
            _watch: watch,
            since: Instant::now(),
            admitted: false,
            unmapped_since: None,
            state: Arc::default(),
            made: Vec::new(),
            providers: 0,
            portless: 0,
            matched: HashMap::new(),
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.states.borrow().is_settled()
    }

    /// Whether an instance that providers were made of is not there any more.
    pub(super) fn has_lost(&self) -> bool {
        let state = Arc::clone(&self.states.borrow());
        if Arc::ptr_eq(&state, &self.state)
            || state
                .instances
                .differing(&self.state.instances)
                .is_some_and(|positions| {
                    let is_same =
                        |at: &usize| state.instances[*at].id == self.state.instances[*at].id;
                    positions.iter().all(is_same)
                })
        {
            return false;
        }
        // Both are in the order of ids.
        let mut now = state.instances.iter().peekable();
        self.made.iter().any(|made| {
            if now.next_if(|view| Arc::ptr_eq(view, &made.view)).is_some() {
                return false;
            }
            while now.next_if(|view| view.id < made.view.id).is_some() {}
            now.next_if(|view| view.id == made.view.id).is_none()
        })
    }

    /// Whether an instance serves the interface, or may do so for all that is known.
    pub(super) fn may_serve(&self, request: &Request) -> bool {
        let state = Arc::clone(&self.states.borrow());
        state.instances.iter().any(|view| match &view.serves {
            Serves::Unknown => true,
            Serves::Nothing => false,
            Serves::Known(info) | Serves::Stale(info) => {
                self.matched.get(&address(info)).map_or_else(
                    || request.matched(info).has_interface(),
                    |(_, matched)| matched.has_interface(),
                )
            }
        })
    }

    /// How many providers there are.
    pub(super) fn providers(&self) -> usize {
        self.providers
    }

    /// How often an instance has no port for what is asked for.
    pub(super) fn portless(&self) -> usize {
        self.portless
    }

    /// The match keys of the same interface that are not asked for.
    pub(super) fn instead(&self) -> impl Iterator<Item = &str> {
        let matched = self.matched.values();
        matched.flat_map(|(_, matched)| matched.instead.iter().map(String::as_str))
    }

    /// The providers.
    pub(super) fn urls(&self) -> impl Iterator<Item = &Url> {
        self.made.iter().flat_map(|made| &made.urls)
    }

    /// Takes in the newest state.
    pub(super) fn refresh(&mut self, request: &Request) -> Refreshed {
        let state = Arc::clone(&self.states.borrow_and_update());
        if Arc::ptr_eq(&state, &self.state) {
            return Refreshed::nothing();
        }
        let old = std::mem::replace(&mut self.state, Arc::clone(&state));
        // With other revisions there are others to be matched, and others not any more.
        let same_revisions = Arc::ptr_eq(&state.revisions, &old.revisions);
        let positions = state.instances.differing(&old.instances);
        match positions.filter(|_| same_revisions) {
            Some(positions) => self.change(&positions, &state, request),
            None => self.replace(&state, request),
        }
    }

    /// Those at `positions` may say something else; they have the revisions that they had.
    fn change(&mut self, positions: &[usize], state: &AppState, request: &Request) -> Refreshed {
        let mut refreshed = Refreshed::nothing();
        let (mut from, mut counted) = (0, 0);
        for &at in positions {
            let view = &state.instances[at];
            if Arc::ptr_eq(view, &self.made[at].view) {
                continue;
            }
            let found = view.serves.info().map(|info| self.matched(info, request));
            let made = Made::new(view, found.as_deref(), None);
            refreshed.portless += u64::from(made.portless);
            self.portless += made.portless as usize;
            self.portless -= self.made[at].portless as usize;
            from += counts(&self.made[counted..at]);
            counted = at;
            let old = std::mem::replace(&mut self.made[at], made);
            let made = &mut self.made[at];
            if old.urls.len() != made.urls.len() {
                self.providers = counts(&self.made);
                refreshed.others = None;
            } else if old.urls == made.urls {
                made.urls = old.urls;
            } else if let Some(others) = &mut refreshed.others {
                let urls = made.urls.iter().cloned().enumerate();
                others.extend(urls.map(|(nth, url)| (from + nth, url)));
            }
        }
        refreshed
    }

    fn replace(&mut self, state: &AppState, request: &Request) -> Refreshed {
        let mut portless = 0;
        let mut before = std::mem::take(&mut self.made).into_iter().peekable();
        self.made.reserve_exact(state.instances.len());
        // Both are in the order of ids.
        for view in &state.instances {
            if let Some(made) = before.next_if(|made| Arc::ptr_eq(&made.view, view)) {
                self.made.push(made);
                continue;
            }
            let found = view.serves.info().map(|info| self.matched(info, request));
            while before.next_if(|made| made.view.id < view.id).is_some() {}
            let old = before.next_if(|made| made.view.id == view.id);
            let made = Made::new(view, found.as_deref(), old);
            portless += u64::from(made.portless);
            self.made.push(made);
        }
        let served = state.instances.iter().filter_map(|view| view.serves.info());
        let served: HashSet<_> = served.map(address).collect();
        self.matched.retain(|address, _| served.contains(address));
        self.providers = counts(&self.made);
        self.portless = self.made.iter().map(|made| made.portless as usize).sum();
        Refreshed {
            portless,
            others: None,
        }
    }

    fn matched(&mut self, info: &Arc<MetadataInfo>, request: &Request) -> Arc<Matched> {
        let known = self
            .matched
            .entry(address(info))
            .or_insert_with(|| (Arc::clone(info), Arc::new(request.matched(info))));
        Arc::clone(&known.1)
    }
}

impl Made {
    /// The providers of `view`; those of `old` that are the same stay.
    fn new(view: &Arc<InstanceView>, matched: Option<&Matched>, old: Option<Self>) -> Self {
        let offers = matched.map_or(&[][..], |matched| &matched.offers);
        let urls: SmallVec<_> = offers.iter().filter_map(|offer| offer.url(view)).collect();
        Self {
            view: Arc::clone(view),
            portless: u32::try_from(offers.len() - urls.len()).unwrap_or(u32::MAX),
            urls: match old {
                Some(old) if old.urls == urls => old.urls,
                _ => urls,
            },
        }
    }
}

/// What has come of a look at the newest state.
pub(super) struct Refreshed {
    /// How often an instance that is new or changed has no port for a service.
    pub(super) portless: u64,
    /// The providers that are others now, with their positions, if all else is as it was.
    pub(super) others: Option<Vec<(usize, Url)>>,
}

impl Refreshed {
    fn nothing() -> Self {
        Self {
            portless: 0,
            others: Some(Vec::new()),
        }
    }
}

fn counts(made: &[Made]) -> usize {
    made.iter().map(|made| made.urls.len()).sum()
}

fn address(info: &Arc<MetadataInfo>) -> usize {
    Arc::as_ptr(info).addr()
}
