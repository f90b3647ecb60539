//! A config center whose changes are counted.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    config_center::ConfigCenter, registry::RegistryError, subscription::Subscription, url::Url,
};
use metrics::{Label, counter};

use super::follow;

type Content = Option<Arc<str>>;

/// `dubbo_configcenter_total`, for each document that is followed.
pub(super) struct CountedCenter {
    center: Arc<dyn ConfigCenter>,
    labels: Arc<[Label]>,
}

impl CountedCenter {
    pub(super) fn new(center: Arc<dyn ConfigCenter>, labels: Arc<[Label]>) -> Self {
        Self { center, labels }
    }
}

#[async_trait]
impl ConfigCenter for CountedCenter {
    fn url(&self) -> &Url {
        self.center.url()
    }

    async fn get(&self, key: &str, group: &str) -> Result<Content, RegistryError> {
        self.center.get(key, group).await
    }

    async fn publish(&self, key: &str, group: &str, content: &str) -> Result<(), RegistryError> {
        self.center.publish(key, group, content).await
    }

    async fn watch(&self, key: &str, group: &str) -> Result<Subscription<Content>, RegistryError> {
        let shown = self.center.watch(key, group).await?;
        let own = [
            ("key", key.to_owned()),
            ("group", group.to_owned()),
            ("config_center", self.center.url().protocol().to_owned()),
        ];
        let own = own.into_iter().map(|(name, value)| Label::new(name, value));
        let labels: Vec<_> = self.labels.iter().cloned().chain(own).collect();
        // What could not be read in between is neither there nor gone.
        let mut known: Content = None;
        Ok(follow(shown, move |now| {
            let Ok(now) = now else { return };
            if let Some(change) = change(known.as_deref(), now.as_deref()) {
                let kind = Label::new("change_type", change);
                let labels = labels.iter().cloned().chain([kind]);
                counter!("dubbo_configcenter_total", labels.collect::<Vec<_>>()).increment(1);
            }
            known.clone_from(now);
        }))
    }

    async fn remove(&self, key: &str, group: &str) -> Result<(), RegistryError> {
        self.center.remove(key, group).await
    }

    async fn close(&self) {
        self.center.close().await;
    }
}

fn change(before: Option<&str>, now: Option<&str>) -> Option<&'static str> {
    match (before, now) {
        (None, Some(_)) => Some("added"),
        (Some(_), None) => Some("deleted"),
        (Some(before), Some(now)) if before != now => Some("modified"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_of_what_is_there_before_and_after() {
        for (before, now, want) in [
            (None, Some("a"), Some("added")),
            (Some("a"), Some("b"), Some("modified")),
            (Some("a"), None, Some("deleted")),
            (Some("a"), Some("a"), None),
            (None, None, None),
        ] {
            assert_eq!(change(before, now), want, "{before:?} {now:?}");
        }
    }
}
