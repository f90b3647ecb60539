//! What is counted of definitions that a provider stores (`docs/spec/config.md` §5.2).

use std::time::Duration;

/// Counts that a definition of `interface`, which `application` provides, was stored in `took`, or was not.
pub(super) fn stored(application: &str, interface: &str, took: Duration, worked: bool) {
    let labels = [("app", application.to_owned())];
    metrics::counter!("dubbo_metadata_store_provider_total", &labels).increment(1);
    for (name, is_it) in [
        ("dubbo_metadata_store_provider_succeed_total", worked),
        ("dubbo_metadata_store_provider_failed_total", !worked),
    ] {
        metrics::counter!(name, &labels).increment(u64::from(is_it));
    }
    let [app] = labels;
    let labels = [app, ("interface", interface.to_owned())];
    metrics::histogram!("dubbo_store_provider_interface_rt_milliseconds", &labels)
        .record(took.as_secs_f64() * 1e3);
}
