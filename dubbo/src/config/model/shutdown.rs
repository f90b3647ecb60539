use std::time::Duration;

use dubbo_core::{units, yaml::Section};

use super::settings;

settings! {
    /// `dubbo.shutdown`: how this program ends (`docs/spec/config.md` §1.21, §4.2).
    pub struct ShutdownConfig {
        /// `timeout`, by default 1 min: how long all of it may take when a signal begins it. Unlike in dubbo-go, less than a minute is possible.
        timeout: Option<Duration>,
        /// `step-timeout`, by default 3 s: how long after `consumer-update-wait-time` new calls are still taken, until none
        /// is in flight and none comes. Calls in flight have until `timeout`. 0 or a negative duration does not wait.
        step_timeout: Option<Duration>,
        /// `notify-timeout`, by default 5 s: how long telling the consumers may take.
        notify_timeout: Option<Duration>,
        /// `consumer-update-wait-time`, by default 3 s: how long consumers get to notice that the program has left the
        /// registries. A program that was in none does not wait.
        consumer_update_wait_time: Option<Duration>,
        /// `offline-request-window-timeout`, by default 3 s: how long after the last request none may come before the
        /// program counts as idle.
        offline_request_window_timeout: Option<Duration>,
        /// `closing-invoker-expire-time`, by default 30 s: how long references prefer other providers to one that has said
        /// that it is about to end.
        closing_invoker_expire_time: Option<Duration>,
        /// `reject-handler`, by default `default`: what the caller of a call gets that comes too late.
        reject_handler: Option<String>,
        /// `internal-signal`, by default true: whether SIGINT and SIGTERM begin the shutdown.
        internal_signal: Option<bool>,
    }
}

impl ShutdownConfig {
    pub(super) fn read(s: &mut Section<'_, '_>) -> Self {
        Self {
            timeout: s.duration("timeout"),
            step_timeout: read_step_timeout(s),
            notify_timeout: s.duration("notify-timeout"),
            consumer_update_wait_time: s.duration("consumer-update-wait-time"),
            offline_request_window_timeout: s.duration("offline-request-window-timeout"),
            closing_invoker_expire_time: s.duration("closing-invoker-expire-time"),
            reject_handler: s.string("reject-handler"),
            internal_signal: s.bool("internal-signal"),
        }
    }
}

/// Below zero means what zero means, as in dubbo-go.
fn read_step_timeout(s: &mut Section<'_, '_>) -> Option<Duration> {
    let text = s.string("step-timeout")?;
    match text.strip_prefix('-').map(units::parse_duration) {
        Some(Ok(_)) => Some(Duration::ZERO),
        _ => s.duration("step-timeout"),
    }
}
