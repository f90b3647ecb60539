//! Asking for services.

use std::collections::BTreeSet;

use super::{
    Failure, Why,
    generation::Generation,
    shared::{Service, Shared},
};
use crate::nacos::instance::Instance;

impl Shared {
    /// Asks whether the server is there and answers us.
    pub(super) async fn beat(&self, generation: &Generation) -> Result<(), Failure> {
        let login = self.log_in().await;
        let (group, service) = probe();
        let operation = || "ask for a sign of life".to_owned();
        let asked = self.within(
            &generation.link,
            operation,
            generation
                .naming
                .get_all_instances(service, Some(group), Vec::new(), false),
        );
        let Err(failure) = asked.await else {
            return Ok(());
        };
        if failure.why != Why::Hidden {
            return Err(failure);
        }
        login?;
        // To leave where one is not does nothing, and is answered with a reason.
        let (group, service) = probe();
        let leave = generation
            .naming
            .batch_register_instance(service, Some(group), Vec::new());
        match self.within(&generation.link, operation, leave).await {
            Err(better) if better.why == Why::Refused => Err(better),
            _ => Err(failure),
        }
    }

    pub(super) async fn log_in(&self) -> Result<(), Failure> {
        let Some(login) = &self.login else {
            return Ok(());
        };
        login.refresh().await.map_err(|none| {
            let error = self.error("log in", none.reason);
            if none.is_final {
                Failure::refused(error)
            } else {
                Failure::unavailable(error)
            }
        })
    }

    /// Reads the instances of a service.
    pub(super) async fn read(&self, group: &str, service: &str) -> Result<Vec<Instance>, Failure> {
        let operation = || format!("read {service} in {group}");
        let found = self
            .request(operation, |naming| {
                let (group, service) = (group.to_owned(), service.to_owned());
                async move {
                    naming
                        .get_all_instances(service, Some(group), Vec::new(), false)
                        .await
                }
            })
            .await?;
        Ok(found.into_iter().filter_map(Instance::of_sdk).collect())
    }

    /// Reads the names of all services of `group`.
    pub(super) async fn services(&self, group: &str) -> Result<Vec<String>, Failure> {
        let mut names = BTreeSet::new();
        for page in 1.. {
            let operation = || format!("list the services of {group}");
            let (found, total) = self
                .request(operation, |naming| {
                    let group = group.to_owned();
                    async move { naming.get_service_list(page, PAGE, Some(group)).await }
                })
                .await?;
            let is_last = found.is_empty() || i64::from(page) * i64::from(PAGE) >= i64::from(total);
            names.extend(found);
            if is_last {
                break;
            }
        }
        Ok(names.into_iter().collect())
    }
}

/// Group and name of a service that nobody has.
fn probe() -> (String, String) {
    ("DEFAULT_GROUP".to_owned(), "dubbo-rust.probe".to_owned())
}

/// [`probe`], as others are called.
pub(super) fn probe_service() -> Service {
    let (group, service) = probe();
    (group.into(), service.into())
}

/// How many names come at once.
const PAGE: i32 = 100;
