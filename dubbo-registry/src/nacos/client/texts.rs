//! Texts: read and written through one client of nacos-sdk, listened to through another.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use nacos_sdk::api::{
    config::{ConfigChangeListener, ConfigResponse, ConfigService, ConfigServiceBuilder},
    error::Error,
};
use parking_lot::Mutex;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    Failure, Why, digest,
    shared::{Chore, Shared},
};
use crate::backend::{Guard, Hint, TextKey};

/// One client of nacos-sdk for texts. It is made when it is first needed.
#[derive(Default)]
pub(super) struct Line {
    service: tokio::sync::Mutex<Option<ConfigService>>,
    /// Until when nothing is asked, and why.
    rest: Mutex<Option<(Instant, String)>>,
}

/// Listens to one text, for one who wants to know.
pub(super) struct Ear(Hint);

impl ConfigChangeListener for Ear {
    /// On the only thread of nacos-sdk.
    fn notify(&self, _text: ConfigResponse) {
        self.0.give();
    }
}

impl Shared {
    /// Reads the text under `key`.
    pub(super) async fn get(&self, key: &TextKey) -> Result<String, Failure> {
        let (name, group) = names(key);
        let ask = |service: ConfigService| async move { service.get_config(name, group).await };
        let operation = || format!("read {key}");
        let text = self.ask(&self.reading, operation, ask).await?;
        Ok(text.content().clone())
    }

    /// Writes the text under `key`, if what is there has the digest `was` where one is given.
    pub(super) async fn put(
        &self,
        key: &TextKey,
        text: &str,
        was: Option<&str>,
    ) -> Result<(), Failure> {
        let (name, group) = names(key);
        let (content, was) = (text.to_owned(), was.map(ToOwned::to_owned));
        let ask = |service: ConfigService| async move {
            match was {
                Some(was) => {
                    let compared = service.publish_config_cas(name, group, content, None, was);
                    compared.await
                }
                None => service.publish_config(name, group, content, None).await,
            }
        };
        let operation = || format!("write {key}");
        self.ask(&self.reading, operation, ask).await?;
        let want = digest(text);
        self.until_read(key, |read| read.is_ok_and(|text| digest(text) == want))
            .await;
        Ok(())
    }

    /// Takes the text under `key` away, if there is one.
    pub(super) async fn remove(&self, key: &TextKey) -> Result<(), Failure> {
        let (name, group) = names(key);
        let ask = |service: ConfigService| async move { service.remove_config(name, group).await };
        let operation = || format!("remove {key}");
        self.ask(&self.reading, operation, ask).await?;
        let is_absent =
            |read: Result<&String, &Failure>| matches!(read, Err(f) if f.why == Why::Absent);
        self.until_read(key, is_absent).await;
        Ok(())
    }

    /// Waits until what was written is read, as the server takes its time; but not for long, as somebody else may have
    /// written meanwhile.
    async fn until_read(&self, key: &TextKey, is_so: impl Fn(Result<&String, &Failure>) -> bool) {
        let end = Instant::now() + DUMPED;
        while Instant::now() < end && !is_so(self.get(key).await.as_ref()) {
            sleep(LOOK).await;
        }
    }

    /// Forgets a listener, of which the server is not told: it cannot be.
    pub(super) async fn unlisten(&self, key: &TextKey, ear: Arc<Ear>) {
        let service = self.listening.service.lock().await.clone();
        if let Some(service) = service {
            let (name, group) = names(key);
            let gone = service.remove_listener(name, group, ear);
            if let Err(failure) = self
                .within(|| format!("stop listening to {key}"), gone)
                .await
            {
                let error = failure.into_error();
                tracing::debug!(%error, "a listener stays, and does nothing");
            }
        }
    }

    async fn ask<T, F>(
        &self,
        line: &Line,
        operation: impl Fn() -> String,
        make: impl FnOnce(ConfigService) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.reached(&operation)?;
        if let Some(reason) = line.resting() {
            return Err(Failure::unavailable(self.error(&operation(), reason)));
        }
        let service = self.line(line).await?;
        let answer = self.within(&operation, make(service)).await;
        if let Err(failure) = &answer
            && failure.why == Why::Broken
        {
            *line.rest.lock() = Some((Instant::now() + REST, failure.reason().to_owned()));
        }
        answer
    }

    /// The client of `line`.
    async fn line(&self, line: &Line) -> Result<ConfigService, Failure> {
        let mut service = line.service.lock().await;
        if let Some(service) = &*service {
            return Ok(service.clone());
        }
        let builder = ConfigServiceBuilder::new(self.props());
        let builder = match &self.login {
            Some(login) => builder.with_auth_plugin(Arc::clone(login) as _),
            None => builder,
        };
        let made = self.make("connect for texts", builder.build()).await?;
        *service = Some(made.clone());
        Ok(made)
    }
}

impl Line {
    /// Why nothing is asked now.
    fn resting(&self) -> Option<String> {
        let mut rest = self.rest.lock();
        let (until, reason) = rest.as_ref()?;
        let now = Instant::now();
        if now < *until {
            let left = (*until - now).as_secs() + 1;
            return Some(format!(
                "the connection for texts was lost, and is let rest for {left} s so that it is made again: {reason}"
            ));
        }
        *rest = None;
        None
    }
}

/// Gives hints of changes of the text under `key` as long as the guard lives.
pub(super) fn watch(shared: &Arc<Shared>, key: &TextKey, hint: Hint) -> Guard {
    let watching = Watching {
        shared: Arc::downgrade(shared),
        key: key.clone(),
        ear: Arc::new(Ear(hint)),
    };
    let mut task = JoinSet::new();
    task.spawn(watching.run());
    Guard::new(task)
}

struct Watching {
    shared: Weak<Shared>,
    key: TextKey,
    ear: Arc<Ear>,
}

impl Watching {
    /// Has nacos-sdk listen, and looks now and then for what it does not tell: that a text is new, or deleted.
    async fn run(self) {
        let mut listens = false;
        let mut last = None;
        let mut wait = FIRST_LOOK;
        loop {
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let poll = shared.options.poll;
            if !listens {
                listens = shared.listen(&self.key, &self.ear).await;
            }
            drop(shared);
            sleep(wait.min(poll)).await;
            let Some(shared) = self.shared.upgrade() else {
                return;
            };
            let now = match shared.get(&self.key).await {
                Ok(text) => Some(digest(&text)),
                Err(failure) if failure.why == Why::Absent => None,
                Err(_) => continue,
            };
            // What is not there is likely to come.
            let longest = if now.is_some() { poll } else { poll / 3 };
            wait = (wait * 2).min(longest);
            if last.as_ref() != Some(&now) {
                last = Some(now);
                self.ear.0.give();
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            // If nobody does them any more, all was taken back.
            let _ = shared
                .chores
                .send(Chore::Unlisten(self.key.clone(), Arc::clone(&self.ear)));
        }
    }
}

impl Shared {
    /// Whether nacos-sdk listens to the text under `key` from now on.
    async fn listen(&self, key: &TextKey, ear: &Arc<Ear>) -> bool {
        let (name, group) = names(key);
        let ear = Arc::clone(ear);
        let ask =
            |service: ConfigService| async move { service.add_listener(name, group, ear).await };
        let operation = || format!("listen to {key}");
        let listens = self.ask(&self.listening, operation, ask).await;
        if let Err(failure) = &listens {
            tracing::debug!(%key, why = ?failure.why, "is looked at now and then instead");
        }
        listens.is_ok()
    }
}

fn names(key: &TextKey) -> (String, String) {
    (key.name.to_string(), key.group.to_string())
}

/// nacos-sdk looks after its connection every 5 s, if nothing was answered for as long.
const REST: Duration = Duration::from_secs(12);

/// How long a server may take until it reads what was written.
const DUMPED: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(50);

/// When a text is first looked at again.
const FIRST_LOOK: Duration = Duration::from_secs(2);
