//! From the configuration to what steers migrations.

use std::{path::PathBuf, sync::Arc, time::Duration};

use dubbo_cluster::migration::{Center, Controller, ControllerOptions, LocalFile};
use dubbo_core::{config_center::ConfigCenter, extension::Extensions};

use super::{NamedRegistry, url};
use crate::{config::Config, error::Error, instance::export::application_name};

/// The controller of this application. Nobody is asked for rules where there is nothing to migrate.
pub(super) fn controller(
    config: &Config,
    extensions: &Extensions,
    registries: &[Arc<NamedRegistry>],
) -> Result<Arc<Controller>, Error> {
    let own = &config.application.migration;
    let mut options = ControllerOptions::new(application_name(config), fastrand::u64(..));
    options.configured = own.terms();
    options.comparators = config.migration.comparators.unwrap_or_default();
    if registries
        .iter()
        .any(|registry| registry.only_path().is_none())
    {
        for registry in registries {
            let Some(configured) = config.registries.get(&registry.id) else {
                continue;
            };
            if configured.is_config_center(extensions) {
                let url = url::of(&registry.id, configured, &config.metadata);
                let center = extensions.create::<dyn ConfigCenter>(url.protocol(), &url)?;
                options.centers.push(Center {
                    center,
                    patience: registry.timeout.now(),
                });
            }
        }
        options.file = (config.migration.file_enable == Some(true)).then(|| LocalFile {
            path: config
                .migration
                .file
                .clone()
                .unwrap_or_else(|| PathBuf::from(FILE)),
            wait: own.delay.unwrap_or(FILE_WAIT),
        });
    }
    Ok(Controller::new(options))
}

const FILE: &str = "dubbo-migration.yaml";
const FILE_WAIT: Duration = Duration::from_mins(1);
