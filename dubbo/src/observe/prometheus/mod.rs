//! What is counted, for Prometheus (`docs/spec/config.md` §5.1, §5.2): shown on a page, and pushed.
//!
//! The numbers are those of the process, for so the crate `metrics` has it; what is of one instance says so by its label
//! `application_name`.

mod cells;
mod page;
mod push;
mod recorder;
mod sketch;
mod text;
mod window;

use std::sync::{Arc, OnceLock};

pub(crate) use self::{
    page::NumbersPage,
    push::Push,
    recorder::{Collect, Recorder},
    window::Window,
};

/// The recorder of the process, installed when this is called first; `None` if the program has one of its own.
pub(crate) fn install(window: Window) -> Option<Arc<Recorder>> {
    static INSTALLED: OnceLock<Option<Arc<Recorder>>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let recorder = Arc::new(Recorder::new(window));
        let installed = metrics::set_global_recorder(Arc::clone(&recorder));
        if installed.is_err() {
            tracing::debug!("the program has a recorder of its own; what is counted is left to it");
        }
        installed.is_ok().then_some(recorder)
    });
    let recorder = installed.clone()?;
    if recorder.window() != window {
        tracing::warn!(
            used = ?recorder.window(),
            ignored = ?window,
            "`metrics.aggregation` holds for the process, and another instance has said it first"
        );
    }
    Some(recorder)
}
