//! What the commands of operators do, by subject.

mod classes;
mod config;
mod counts;
mod invoke;
mod lifecycle;
mod listing;
mod logger;
mod ports;
mod presence;
mod routing;
mod snapshots;

pub(super) use self::{
    classes::{check_status, warned_classes},
    config::{Settings, get_config, metrics},
    counts::count,
    invoke::invoke,
    lifecycle::{graceful_shutdown, probe, publish_metadata, shutdown},
    listing::{help, ls, version},
    logger::{logger_info, set_log_level, switch_log_level},
    ports::ps,
    presence::move_services,
    routing::{explain, get_address, router_snapshot},
    snapshots::{
        disable_router_snapshot, enable_router_snapshot, enabled_router_snapshot,
        recent_router_snapshot,
    },
};

use super::command::{Asked, Failure};
use crate::instance::Instance;

impl Asked<'_> {
    /// The instance that is asked about.
    ///
    /// # Errors
    ///
    /// It is gone: the port outlives it by a moment.
    fn instance(&self) -> Result<Instance, Failure> {
        let instance = self.shared.instance();
        instance.ok_or_else(|| Failure::Failed("the instance has ended".to_owned()))
    }

    /// The argument at `index`, which has to be there.
    fn argument(&self, index: usize, what: &str) -> Result<&str, Failure> {
        let argument = self.arguments.get(index).map(String::as_str);
        argument.ok_or_else(|| Failure::Bad(format!("it takes {what}, which is not there")))
    }

    /// Refuses more than `most` arguments.
    fn at_most(&self, most: usize) -> Result<(), Failure> {
        match self.arguments.get(most) {
            None => Ok(()),
            Some(extra) => Err(Failure::Bad(format!(
                "it takes at most {most} arguments, and `{extra}` is one more"
            ))),
        }
    }
}
