//! The metadata report on any store of texts.

use std::{fmt, sync::Arc, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::RegistryError,
    subscription::Subscription,
    url::Url,
};

use crate::{
    backend::{Text, TextKey, TextStore},
    errors,
    layout::TextLayout,
    reconcile::Texts,
};

/// A [`MetadataReport`] that writes and reads `L` in `S`.
pub(crate) struct Report<S: TextStore, L> {
    url: Url,
    texts: Texts<S>,
    layout: L,
}

impl<S: TextStore, L: TextLayout> Report<S, L> {
    /// The report of `url` in `store`.
    pub(crate) fn new(url: Url, store: Arc<S>, layout: L) -> Self {
        Self {
            url,
            texts: Texts::new(store),
            layout,
        }
    }

    /// `bytes` as the text that stores keep.
    fn text<'a>(&self, operation: &str, bytes: &'a Bytes) -> Result<&'a str, RegistryError> {
        std::str::from_utf8(bytes).map_err(|error| {
            RegistryError::new(operation, self.texts.address(), "it is not UTF-8")
                .refused()
                .with_source(error)
        })
    }

    async fn read(
        &self,
        operation: String,
        keys: &[TextKey],
    ) -> Result<Option<Bytes>, RegistryError> {
        let text = self.texts.first(keys).await;
        let text = text.map_err(|error| errors::during(operation, error))?;
        Ok(text.map(|text| Bytes::copy_from_slice(text.content.as_bytes())))
    }
}

#[async_trait]
impl<S: TextStore, L: TextLayout> MetadataReport for Report<S, L> {
    fn url(&self) -> &Url {
        &self.url
    }

    async fn app(&self, application: &str, revision: &str) -> Result<Option<Bytes>, RegistryError> {
        let operation = format!("read the metadata of {application} at {revision}");
        self.read(operation, &self.layout.app(application, revision))
            .await
    }

    async fn publish_app(
        &self,
        application: &str,
        revision: &str,
        metadata: Bytes,
    ) -> Result<(), RegistryError> {
        let operation = format!("publish the metadata of {application} at {revision}");
        let text = self.text(&operation, &metadata)?;
        let keys = self.layout.app(application, revision);
        let put = self.texts.put(&keys, text).await;
        put.map_err(|error| errors::during(operation, error))
    }

    async fn remove_app(&self, application: &str, revision: &str) -> Result<(), RegistryError> {
        let keys = self.layout.app(application, revision);
        self.texts.remove(&keys).await.map_err(|error| {
            let operation = format!("remove the metadata of {application} at {revision}");
            errors::during(operation, error)
        })
    }

    async fn list_app(
        &self,
        application: &str,
    ) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        let operation = || format!("list the revisions of {application}");
        let Some(group) = self.layout.revisions(application) else {
            let reason = "this kind of server cannot list them";
            return Err(RegistryError::new(operation(), self.texts.address(), reason).refused());
        };
        let names = self.texts.names(&group).await;
        let names = names.map_err(|error| errors::during(operation(), error))?;
        Ok(names.iter().map(|name| (name.to_string(), None)).collect())
    }

    async fn mapping(&self, interface: &str) -> Result<(Mapping, Ticket), RegistryError> {
        let mut all = Mapping::default();
        let mut ticket = Ticket::default();
        for (index, key) in self.layout.mapping(interface).iter().enumerate() {
            let text = self.texts.get(key).await.map_err(|error| {
                errors::during(format!("read the mapping of {interface}"), error)
            })?;
            if let Some(text) = text {
                add(&mut all, &text);
                if index == 0 {
                    ticket = text.ticket;
                }
            }
        }
        Ok((all, ticket))
    }

    async fn cas_mapping(
        &self,
        interface: &str,
        mapping: &Mapping,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let operation = format!("write the mapping of {interface}");
        let keys = self.layout.mapping(interface);
        let Some(key) = keys.first() else {
            let reason = "there is no place for it on this kind of server";
            return Err(RegistryError::new(operation, self.texts.address(), reason).refused());
        };
        let text = mapping.to_string();
        let outcome = self.texts.compare_and_put(key, &text, &ticket).await;
        outcome.map_err(|error| errors::during(operation, error))
    }

    async fn watch_mapping(
        &self,
        interface: &str,
    ) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        let operation = format!("follow the mapping of {interface}");
        let keys = self.layout.mapping(interface);
        self.texts.subscribe(&keys, operation, union).await
    }

    async fn store_definition(&self, id: &str, definition: Bytes) -> Result<(), RegistryError> {
        let operation = format!("store the definition {id}");
        let text = self.text(&operation, &definition)?;
        let put = self.texts.put(&[self.layout.definition(id)], text).await;
        put.map_err(|error| errors::during(operation, error))
    }

    async fn definition(&self, id: &str) -> Result<Option<Bytes>, RegistryError> {
        let operation = format!("read the definition {id}");
        self.read(operation, &[self.layout.definition(id)]).await
    }

    async fn last_collection(
        &self,
        application: &str,
    ) -> Result<(Option<u64>, Ticket), RegistryError> {
        let key = self.layout.collection(application);
        let text = self.texts.get(&key).await.map_err(|error| {
            let operation = format!("read when stale metadata of {application} was looked for");
            errors::during(operation, error)
        })?;
        // What is no time is written over.
        Ok(text.map_or_else(Default::default, |text| {
            (text.content.trim().parse().ok(), text.ticket)
        }))
    }

    async fn cas_last_collection(
        &self,
        application: &str,
        now_ms: u64,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        let key = self.layout.collection(application);
        let text = now_ms.to_string();
        let outcome = self.texts.compare_and_put(&key, &text, &ticket).await;
        outcome.map_err(|error| {
            let operation = format!("write when stale metadata of {application} is looked for");
            errors::during(operation, error)
        })
    }

    async fn close(&self) {
        self.texts.close().await;
    }
}

impl<S: TextStore, L> fmt::Debug for Report<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A mapping that stands under several keys.
fn union(texts: &[Option<Text>]) -> Arc<Mapping> {
    let mut all = Mapping::default();
    for text in texts.iter().flatten() {
        add(&mut all, text);
    }
    Arc::new(all)
}

fn add(all: &mut Mapping, text: &Text) {
    for application in Mapping::parse(&text.content).applications() {
        all.add(application);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::{TextKey, Timing},
        flaky::{Fate, Flaky},
    };

    /// Mappings under two keys, as on a server where others write another spelling.
    struct Two;

    impl TextLayout for Two {
        fn app(&self, application: &str, revision: &str) -> Vec<TextKey> {
            vec![
                key("new", &format!("{application}-{revision}")),
                key("old", revision),
            ]
        }

        fn revisions(&self, _application: &str) -> Option<String> {
            None
        }

        fn mapping(&self, interface: &str) -> Vec<TextKey> {
            vec![key("mapping", interface), key("theirs", interface)]
        }

        fn collection(&self, application: &str) -> TextKey {
            key("metadata-gc", application)
        }

        fn definition(&self, id: &str) -> TextKey {
            key("definitions", id)
        }

        fn config(&self, name: &str, _group: &str) -> Vec<TextKey> {
            vec![key("config", name)]
        }
    }

    fn key(group: &str, name: &str) -> TextKey {
        TextKey {
            group: group.into(),
            name: name.into(),
        }
    }

    fn report() -> (Arc<Flaky>, Report<Flaky, Two>) {
        let client = Flaky::new(&Arc::default(), Timing::default());
        let url = Url::new("flaky", "server");
        (Arc::clone(&client), Report::new(url, client, Two))
    }

    #[tokio::test(start_paused = true)]
    async fn registry_t10_names_are_added_at_the_end_and_never_twice() {
        // What stands there, who is added, and what stands there then: nothing is written for who is there already.
        for (before, name, after) in [
            (Some("order-service"), "order", "order-service,order"),
            (None, "demo-app", "demo-app"),
            (Some(""), "demo-app", "demo-app"),
            (Some(",demo-app,,"), "demo-app", ",demo-app,,"),
            (Some("a, b"), "b", "a, b"),
        ] {
            let (client, report) = report();
            if let Some(text) = before {
                client.put(&key("mapping", "a.B"), text).await.expect("put");
            }
            let (mut mapping, ticket) = report.mapping("a.B").await.expect("reads");
            if mapping.add(name) {
                let outcome = report.cas_mapping("a.B", &mapping, ticket).await;
                assert_eq!(outcome.expect("writes"), CasOutcome::Written);
            }
            let text = client.get(&key("mapping", "a.B")).await.expect("reads");
            assert_eq!(
                text.map(|t| t.content).as_deref(),
                Some(after),
                "{before:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_mapping_is_the_union_of_all_spellings_and_written_to_the_first() {
        let (client, report) = report();
        for (group, text) in [("mapping", "a,b"), ("theirs", "b,c")] {
            client.put(&key(group, "a.B"), text).await.expect("put");
        }
        let (mut mapping, ticket) = report.mapping("a.B").await.expect("reads");
        assert_eq!(mapping.to_string(), "a,b,c");
        let mut watch = report.watch_mapping("a.B").await.expect("watches");
        assert_eq!(watch.current().state.expect("read").to_string(), "a,b,c");
        mapping.add("d");
        let outcome = report.cas_mapping("a.B", &mapping, ticket).await;
        assert_eq!(outcome.expect("writes"), CasOutcome::Written);
        client.put(&key("theirs", "a.B"), "e").await.expect("put");
        dubbo_test::soon("both", async {
            while watch.current().state.expect("read").to_string() != "a,b,c,d,e" {
                watch.changed().await.expect("goes on");
            }
        })
        .await;
        let theirs = client.get(&key("theirs", "a.B")).await.expect("reads");
        assert_eq!(&*theirs.expect("is there").content, "e");
    }

    #[tokio::test(start_paused = true)]
    async fn metadata_is_written_under_every_key_and_read_from_the_first_that_has_it() {
        let (client, report) = report();
        let published = report.publish_app("app", "r", Bytes::from_static(b"{}"));
        published.await.expect("publishes");
        client.remove(&key("new", "app-r")).await.expect("removes");
        let found = report.app("app", "r").await.expect("reads");
        assert_eq!(found.as_deref(), Some(&b"{}"[..]));
        report.remove_app("app", "r").await.expect("removes");
        assert_eq!(report.app("app", "r").await.expect("reads"), None);
        let error = report.list_app("app").await.expect_err("cannot be listed");
        assert!(error.reason.contains("cannot list"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_call_is_one_attempt_that_says_what_was_tried() {
        for (fate, want) in [
            (
                Fate::Fail,
                "read the mapping of a.B at flaky://server: get a.B in mapping: failed",
            ),
            (
                Fate::Hang,
                "read the mapping of a.B at flaky://server: read a.B in mapping: no answer within 5s",
            ),
        ] {
            let (client, report) = report();
            client.behave(move |_| fate);
            let error = report.mapping("a.B").await.expect_err("fails");
            assert_eq!(error.to_string(), want);
            assert_eq!(client.asked(), ["get a.B in mapping"]);
        }
    }
}
