//! Writing metadata into a report, and counting it (`docs/spec/metadata.md` §6.6).

use bytes::Bytes;
use dubbo_core::{metadata::MetadataReport, registry::RegistryError};
use tokio::time::Instant;

/// Publishes the metadata of `application` at `revision`: [`MetadataReport::publish_app`].
pub(crate) async fn push(
    report: &dyn MetadataReport,
    application: &str,
    revision: &str,
    json: Bytes,
) -> Result<(), RegistryError> {
    let started = Instant::now();
    let pushed = report.publish_app(application, revision, json).await;
    let outcome = match &pushed {
        Ok(()) => "dubbo_metadata_push_num_succeed_total",
        Err(_) => "dubbo_metadata_push_num_failed_total",
    };
    for name in ["dubbo_metadata_push_num_total", outcome] {
        metrics::counter!(name, "app" => application.to_owned()).increment(1);
    }
    metrics::histogram!("dubbo_push_rt_milliseconds", "app" => application.to_owned())
        .record(started.elapsed().as_secs_f64() * 1000.0);
    pushed
}
