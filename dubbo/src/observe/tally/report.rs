//! A metadata report whose answers are counted.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use dubbo_core::{
    metadata::{CasOutcome, Mapping, MetadataReport, Ticket},
    registry::RegistryError,
    subscription::Subscription,
    url::Url,
};
use metrics::{Label, counter, histogram};
use tokio::time::Instant;

/// `dubbo_metadata_subscribe_num_*` and `dubbo_subscribe_rt_milliseconds`: dubbo-go calls it so when it reads the metadata of
/// an application.
pub(super) struct CountedReport {
    report: Arc<dyn MetadataReport>,
    labels: Arc<[Label]>,
}

impl CountedReport {
    pub(super) fn new(report: Arc<dyn MetadataReport>, labels: Arc<[Label]>) -> Self {
        Self { report, labels }
    }
}

#[async_trait]
impl MetadataReport for CountedReport {
    fn url(&self) -> &Url {
        self.report.url()
    }

    async fn app(&self, application: &str, revision: &str) -> Result<Option<Bytes>, RegistryError> {
        let began = Instant::now();
        let read = self.report.app(application, revision).await;
        let took = began.elapsed().as_secs_f64() * 1e3;
        let labels = || self.labels.iter();
        counter!("dubbo_metadata_subscribe_num_total", labels()).increment(1);
        let (succeed, failed) = (u64::from(read.is_ok()), u64::from(read.is_err()));
        counter!("dubbo_metadata_subscribe_num_succeed_total", labels()).increment(succeed);
        counter!("dubbo_metadata_subscribe_num_failed_total", labels()).increment(failed);
        histogram!("dubbo_subscribe_rt_milliseconds", labels()).record(took);
        read
    }

    async fn publish_app(
        &self,
        application: &str,
        revision: &str,
        metadata: Bytes,
    ) -> Result<(), RegistryError> {
        self.report
            .publish_app(application, revision, metadata)
            .await
    }

    async fn remove_app(&self, application: &str, revision: &str) -> Result<(), RegistryError> {
        self.report.remove_app(application, revision).await
    }

    async fn list_app(
        &self,
        application: &str,
    ) -> Result<Vec<(String, Option<SystemTime>)>, RegistryError> {
        self.report.list_app(application).await
    }

    async fn mapping(&self, interface: &str) -> Result<(Mapping, Ticket), RegistryError> {
        self.report.mapping(interface).await
    }

    async fn cas_mapping(
        &self,
        interface: &str,
        mapping: &Mapping,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        self.report.cas_mapping(interface, mapping, ticket).await
    }

    async fn watch_mapping(
        &self,
        interface: &str,
    ) -> Result<Subscription<Arc<Mapping>>, RegistryError> {
        self.report.watch_mapping(interface).await
    }

    async fn store_definition(&self, id: &str, definition: Bytes) -> Result<(), RegistryError> {
        self.report.store_definition(id, definition).await
    }

    async fn definition(&self, id: &str) -> Result<Option<Bytes>, RegistryError> {
        self.report.definition(id).await
    }

    async fn last_collection(
        &self,
        application: &str,
    ) -> Result<(Option<u64>, Ticket), RegistryError> {
        self.report.last_collection(application).await
    }

    async fn cas_last_collection(
        &self,
        application: &str,
        now_ms: u64,
        ticket: Ticket,
    ) -> Result<CasOutcome, RegistryError> {
        self.report
            .cas_last_collection(application, now_ms, ticket)
            .await
    }

    async fn close(&self) {
        self.report.close().await;
    }
}

#[cfg(test)]
mod tests {
    use dubbo_core::extension::Extensions;
    use dubbo_test::metrics::Numbers;

    use super::*;

    #[tokio::test]
    async fn each_reading_of_what_an_application_serves_is_counted() {
        let numbers = Numbers::default();
        let _recording = metrics::set_default_local_recorder(&numbers);
        let extensions = Extensions::linked().expect("no duplicates");
        let report = |url: Url| {
            let report = extensions.create(url.protocol(), &url).expect("linked");
            CountedReport::new(report, [Label::new("application_name", "shop")].into())
        };
        let works = report(Url::new("memory", "counted"));
        let json = Bytes::from_static(b"{}");
        let written = works.publish_app("users", "r1", json.clone()).await;
        written.expect("written");
        for (revision, want) in [("r1", Some(json)), ("r2", None)] {
            let read = works.app("users", revision).await;
            assert_eq!(read.expect("it answers"), want);
        }
        let broken = report(Url::new("file", "/dev/null/no"));
        broken.app("users", "r1").await.expect_err("no folder");
        let counted = ["num_total", "num_succeed_total", "num_failed_total"];
        let counted = counted.map(|name| {
            let name = format!("dubbo_metadata_subscribe_{name}{{application_name=shop}}");
            numbers.get(&name).to_string()
        });
        assert_eq!(counted, ["3", "2", "1"]);
        let times = numbers.get("dubbo_subscribe_rt_milliseconds{application_name=shop}");
        assert_eq!(times.to_string(), "3");
    }
}
