//! What is counted of registries, config centers and metadata reports (`docs/spec/config.md` §5.2), under dubbo-go's names,
//! where `metrics.enable-registry`, `metrics.enable-config-center` and `metrics.enable-metadata` say so.

mod center;
mod follow;
mod report;

use std::{sync::Arc, time::Duration};

#[cfg(feature = "prometheus")]
use dubbo_core::cluster::Directory;
use dubbo_core::{
    config_center::ConfigCenter, metadata::MetadataReport, registry::RegistrySnapshot,
    subscription::Subscription,
};
use metrics::{Label, counter, gauge, histogram};

use self::{center::CountedCenter, follow::follow, report::CountedReport};

use super::application::Application;
use crate::config::Config;

/// Counts what an instance asks of its registries and reports, and what they and config centers tell it; nothing by default.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    registries: Option<Arc<[Label]>>,
    centers: Option<Arc<[Label]>>,
    reports: Option<Arc<[Label]>>,
}

/// What is asked of a registry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    /// To list a service of this instance.
    Register,
    /// To list this instance.
    RegisterApplication,
    /// For the providers of a service.
    Subscribe,
    /// For the instances that have a service.
    SubscribeApplication,
}

impl Tally {
    pub(crate) fn of(config: &Config, application: &Application) -> Self {
        let metrics = &config.metrics;
        let is_on = |switch| metrics.enable == Some(true) && switch == Some(true);
        let labels = application.labels().into_iter();
        let labels: Vec<_> = labels
            .map(|(name, value)| Label::new(name, value))
            .collect();
        // Those of config centers say less of their application.
        let few = labels
            .iter()
            .filter(|label| matches!(label.key(), "application_name" | "hostname" | "ip"));
        Self {
            centers: is_on(metrics.enable_config_center).then(|| few.cloned().collect()),
            reports: is_on(metrics.enable_metadata).then(|| labels.clone().into()),
            registries: is_on(metrics.enable_registry).then(|| labels.into()),
        }
    }

    /// Counts what changes in what a registry shows, and that it shows anything.
    pub(crate) fn follow(
        &self,
        shown: Subscription<RegistrySnapshot>,
    ) -> Subscription<RegistrySnapshot> {
        let Some(labels) = self.registries.clone() else {
            return shown;
        };
        let notified = counter!("dubbo_registry_notify_requests_total", labels.iter());
        follow(shown, move |state| {
            if state.is_ok() {
                notified.increment(1);
            }
        })
    }

    /// Says that what a registry showed has been taken in, which took `took`, as dubbo-go says it.
    pub(crate) fn taken_in(&self, took: Duration) {
        let Some(labels) = &self.registries else {
            return;
        };
        let took = took.as_secs_f64() * 1e3;
        gauge!("dubbo_registry_notify_num_last", labels.iter()).set(took);
        histogram!("dubbo_notify_rt_milliseconds", labels.iter()).record(took);
    }

    /// Counts what changes in `center`.
    pub(crate) fn center(&self, center: Arc<dyn ConfigCenter>) -> Arc<dyn ConfigCenter> {
        match &self.centers {
            Some(labels) => Arc::new(CountedCenter::new(center, Arc::clone(labels))),
            None => center,
        }
    }

    /// Counts what is read in `report`.
    pub(crate) fn report(&self, report: Arc<dyn MetadataReport>) -> Arc<dyn MetadataReport> {
        match &self.reports {
            Some(labels) => Arc::new(CountedReport::new(report, Arc::clone(labels))),
            None => report,
        }
    }

    /// Counts a question that took `took`, about `interface` if it was about one.
    pub(crate) fn asked(&self, what: Asked, interface: &str, took: Duration, worked: bool) {
        let Some(labels) = &self.registries else {
            return;
        };
        let (all, of) = match what {
            Asked::Register => ("register_requests_total", "register_requests"),
            Asked::RegisterApplication => ("register_service_total", "register_service"),
            Asked::Subscribe => ("subscribe_num_total", "subscribe_num"),
            Asked::SubscribeApplication => ("subscribe_service_num_total", "subscribe_service_num"),
        };
        counter!(format!("dubbo_registry_{all}"), labels.iter()).increment(1);
        // Both are there from the first question on, so that a rate of failures has a beginning.
        for (outcome, is_it) in [("succeed", worked), ("failed", !worked)] {
            counter!(
                format!("dubbo_registry_{of}_{outcome}_total"),
                labels.iter()
            )
            .increment(u64::from(is_it));
        }
        let took = took.as_secs_f64() * 1e3;
        match what {
            Asked::Register => {
                histogram!("dubbo_register_rt_milliseconds", labels.iter()).record(took);
            }
            Asked::RegisterApplication => {
                histogram!("dubbo_register_service_rt_milliseconds", labels.iter()).record(took);
            }
            // dubbo-go has none for it.
            Asked::Subscribe => {}
            Asked::SubscribeApplication => {
                let labels = with(labels, interface);
                histogram!("dubbo_subscribe_service_rt_milliseconds", labels.iter()).record(took);
            }
        }
    }

    /// Says how many providers the directories of one interface know, and in what state they are.
    #[cfg(feature = "prometheus")]
    pub(crate) fn directories(&self, interface: &str, directories: &[Arc<dyn Directory>]) {
        let Some(labels) = &self.registries else {
            return;
        };
        let labels = with(labels, interface);
        let (mut all, mut valid, mut connecting) = (0_u32, 0_u32, 0_u32);
        for nodes in directories.iter().map(|directory| directory.nodes()) {
            for node in nodes.iter() {
                all += 1;
                if node.invoker.is_available() {
                    valid += 1;
                } else if node.invoker.is_connecting() {
                    connecting += 1;
                }
            }
        }
        for (name, number) in [
            ("dubbo_registry_directory_num_all", all),
            ("dubbo_registry_directory_num_valid_total", valid),
            (
                "dubbo_registry_directory_num_to_reconnect_total",
                connecting,
            ),
            (
                "dubbo_registry_directory_num_disable_total",
                all - valid - connecting,
            ),
        ] {
            gauge!(name, labels.iter()).set(number);
        }
    }
}

fn with(labels: &[Label], interface: &str) -> Vec<Label> {
    let own = Label::new("interface", interface.to_owned());
    labels.iter().cloned().chain([own]).collect()
}
