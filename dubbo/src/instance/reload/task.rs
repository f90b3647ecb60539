//! What looks at the sources of a configuration while the instance runs.

use std::{
    path::PathBuf,
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use dubbo_core::{config_center::ConfigCenter, files::Watched};
use tokio::{
    sync::watch,
    time::{MissedTickBehavior, interval},
};

use super::News;
use crate::{
    config::CenterDocument,
    error::Error,
    instance::{Inner, Phase},
    observe::tally::Tally,
};

impl Inner {
    /// Follows files and config center until the end begins, unless that has begun already.
    ///
    /// # Errors
    ///
    /// The plugin of the config center refuses what the configuration says of it.
    pub(in crate::instance) fn follow_configuration(self: &Arc<Self>) -> Result<(), Error> {
        if self.reload.is_followed.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let mut tasks = self.last_tasks.lock();
        if !self.sources.files().is_empty() {
            tasks.spawn(follow_files(Arc::downgrade(self), self.phase.subscribe()));
        }
        if let Some(document) = self.sources.center() {
            let url = document.url();
            let center = self
                .extensions
                .create::<dyn ConfigCenter>(url.protocol(), url)?;
            let center = self.extensions.shared::<Tally>().center(center);
            let following = follow_center(Arc::downgrade(self), center, document.clone());
            let mut phases = self.phase.subscribe();
            tasks.spawn(async move {
                tokio::select! {
                    () = ending(&mut phases) => {}
                    () = following => {}
                }
            });
        }
        let (instance, mut phases) = (Arc::downgrade(self), self.phase.subscribe());
        tasks.spawn(async move {
            ending(&mut phases).await;
            if let Some(instance) = instance.upgrade() {
                instance.reload.end();
            }
        });
        Ok(())
    }
}

async fn follow_files(instance: Weak<Inner>, mut phases: watch::Receiver<Phase>) {
    let mut watched = Watched::default();
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = ending(&mut phases) => return,
            _ = ticks.tick() => {}
        }
        let Some(instance) = instance.upgrade() else {
            return;
        };
        let files = instance.reload.seen.lock().await.sources.files().to_vec();
        // A disk may take its time.
        let looked = tokio::task::spawn_blocking(move || {
            let shall_be_read = watched.look(files.iter().map(PathBuf::as_path));
            (watched, shall_be_read)
        });
        let Ok((back, shall_be_read)) = looked.await else {
            return;
        };
        watched = back;
        if shall_be_read {
            instance.reload(News::Files).await;
        }
    }
}

async fn follow_center(
    instance: Weak<Inner>,
    center: Arc<dyn ConfigCenter>,
    document: CenterDocument,
) {
    let mut news = match center.watch(document.data_id(), document.group()).await {
        Ok(news) => news,
        Err(error) => {
            tracing::warn!(%document, %error, "changes of the configuration in its center will not be seen");
            return;
        }
    };
    let mut update = news.current();
    let mut is_in_trouble = false;
    loop {
        match update.state {
            Ok(text) => {
                is_in_trouble = false;
                let Some(instance) = instance.upgrade() else {
                    return;
                };
                instance.reload(News::Center(text)).await;
            }
            Err(error) => {
                // Told of once, and not each time the center is tried again.
                if !is_in_trouble {
                    tracing::warn!(%document, %error, "the configuration stays what it is until its center answers");
                }
                is_in_trouble = true;
            }
        }
        let Some(next) = news.changed().await else {
            return;
        };
        update = next;
    }
}

/// Waits until the end begins. An instance that is not there any more has ended.
async fn ending(phases: &mut watch::Receiver<Phase>) {
    let _ = phases.wait_for(|phase| *phase >= Phase::ShuttingDown).await;
}

/// Between two looks. What is written must look the same twice and count within two seconds.
const PERIOD: Duration = Duration::from_millis(500);
