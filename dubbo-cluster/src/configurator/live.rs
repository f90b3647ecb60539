//! Overrides as they change.

use std::{fmt, sync::Arc};

use dubbo_core::{service::ServiceKey, url::Url};
use tokio::sync::watch;

use super::{Amendment, Configurators};
use crate::rules::{
    Followed, RuleBook,
    key::{self, Subject},
};

/// All that overrides the URLs of one reference or one exported service, in layers (`docs/spec/cluster.md` §5): what the
/// registry holds, then the rule of the application, then that of the service. Later ones win. Beneath them is what the
/// configuration has become since the URL was made ([`amend`](Self::amend)).
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    amendment: Arc<Amendment>,
    registry: Arc<Configurators>,
    rules: Arc<[Arc<Configurators>]>,
}

impl Overrides {
    /// Overrides by `rules` alone, the weakest first.
    pub fn of_rules(rules: impl Into<Arc<[Arc<Configurators>]>>) -> Self {
        Self {
            rules: rules.into(),
            ..Self::default()
        }
    }

    /// The URL that the reference or the service has by itself, as the configuration says it now. It goes before
    /// [`apply`](Self::apply), and for a reference before what its providers say.
    pub fn amend(&self, own: &Url) -> Url {
        self.amendment.apply(own)
    }

    /// What `url` says once they are applied. `local` is the host of this program, as it shows itself.
    ///
    /// The parameter `side` says whose URL it is. With `consumer` it is either that of a reference, with the protocol
    /// `consumer`, or what a reference made of a provider's.
    pub fn apply(&self, url: &Url, local: &str) -> Url {
        let layers = [&self.registry].into_iter().chain(&*self.rules);
        let overrides = layers.flat_map(|layer| &layer.overrides);
        overrides.fold(url.clone(), |url, it| it.apply(url, local))
    }

    /// Whether they change nothing, whatever the URL.
    pub fn is_empty(&self) -> bool {
        self.amendment.is_empty()
            && self.registry.is_empty()
            && self.rules.iter().all(|layer| layer.is_empty())
    }

    fn is_same(&self, other: &Self) -> bool {
        let is_same = |a: &Arc<Configurators>, b: &Arc<Configurators>| {
            Arc::ptr_eq(a, b) || (a.is_empty() && b.is_empty())
        };
        self.amendment == other.amendment
            && is_same(&self.registry, &other.registry)
            && self.rules.len() == other.rules.len()
            && self
                .rules
                .iter()
                .zip(&*other.rules)
                .all(|(a, b)| is_same(a, b))
    }
}

/// What overrides the URLs of one reference at one source, as it changes: those who follow rules and registries say it,
/// and those who have URLs go by it. A clone is the same.
#[derive(Clone, Default)]
pub struct LiveOverrides(Arc<watch::Sender<Overrides>>);

impl LiveOverrides {
    /// Overrides that begin with `rules`, the weakest first.
    pub fn new(rules: Vec<Arc<Configurators>>) -> Self {
        Self(Arc::new(watch::Sender::new(Overrides::of_rules(rules))))
    }

    /// What holds now.
    pub fn current(&self) -> Overrides {
        self.0.borrow().clone()
    }

    /// What holds, as it changes.
    pub fn subscribe(&self) -> watch::Receiver<Overrides> {
        self.0.subscribe()
    }

    /// Takes in what the configuration has become.
    pub fn set_amendment(&self, amendment: Arc<Amendment>) {
        self.change(|overrides| overrides.amendment = amendment);
    }

    /// Takes in what rules say from now on, the weakest first.
    pub fn set_rules(&self, rules: Vec<Arc<Configurators>>) {
        self.change(|overrides| overrides.rules = rules.into());
    }

    /// Takes in what the registry says from now on.
    pub fn set_registry(&self, configurators: Configurators) {
        self.change(|overrides| overrides.registry = Arc::new(configurators));
    }

    fn change(&self, change: impl FnOnce(&mut Overrides)) {
        self.0.send_if_modified(|overrides| {
            let before = overrides.clone();
            change(overrides);
            !before.is_same(overrides)
        });
    }
}

impl fmt::Debug for LiveOverrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveOverrides")
            .field(&*self.0.borrow())
            .finish()
    }
}

/// The rules that override one reference or one exported service, followed: that of its application and those of its
/// service.
#[derive(Debug)]
pub struct OverrideRules {
    /// The weakest first.
    followed: Vec<Followed<Configurators>>,
}

impl OverrideRules {
    /// Follows what `book` knows for `service` of this program, which is `application`.
    pub fn follow(book: &RuleBook, application: &str, service: &ServiceKey) -> Self {
        let name = application.to_owned();
        let of_application = book.follow(
            &key::configurators(Subject::Application(application)),
            move |text| Configurators::parse(Subject::Application(&name), text),
        );
        let mut followed = vec![of_application];
        // Consoles write the one, dubbo-go looks at the other; they are the same for no service.
        for key in [
            key::service_key_configurators(service),
            key::configurators(Subject::Service(service)),
        ] {
            let service = service.clone();
            followed.push(book.follow(&key, move |text| {
                Configurators::parse(Subject::Service(&service), text)
            }));
        }
        Self { followed }
    }

    /// What they say now, the weakest first.
    pub fn current(&self) -> Vec<Arc<Configurators>> {
        let followed = self.followed.iter();
        followed.filter_map(Followed::current).collect()
    }

    /// Waits until one of them changes.
    ///
    /// # Cancel safety
    ///
    /// Safe: a change that was not told of is told of next time.
    pub async fn changed(&mut self) {
        let changes = self
            .followed
            .iter_mut()
            .map(|followed| Box::pin(followed.changed()));
        futures_util::future::select_all(changes).await;
    }
}
