//! Outcomes that keep a call, and the one that does not.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{
    extension::BoxError,
    url::{Key, Url},
};

use super::Outcome;
use crate::resend::dead_letter::{DeadLetters, Lost};

/// `fail`: the failure was told, and that is all.
#[derive(Debug)]
pub struct Fail;

#[async_trait]
impl Outcome for Fail {
    async fn settle(&self, _lost: Lost, _letters: &DeadLetters) -> Result<(), BoxError> {
        Ok(())
    }
}

/// `dead-letter` and `hold`: a letter is kept.
#[derive(Debug, Default)]
pub struct Keep {
    /// Where; `None`: where all others are.
    pub store: Option<String>,
    /// Whether replays leave it alone.
    pub held: bool,
}

impl Keep {
    pub(super) fn of(url: &Url) -> Result<Self, BoxError> {
        Ok(Self {
            store: url.get(&STORE)?,
            held: false,
        })
    }
}

#[async_trait]
impl Outcome for Keep {
    async fn settle(&self, lost: Lost, letters: &DeadLetters) -> Result<(), BoxError> {
        let mut letter = lost.letter()?;
        letter.held = self.held;
        Ok(letters.keep(self.store.as_deref(), letter).await?)
    }
}

/// `notify`: whoever listens is told, and a letter is kept.
#[derive(Debug, Default)]
pub struct Notify(pub Keep);

#[async_trait]
impl Outcome for Notify {
    async fn settle(&self, lost: Lost, letters: &DeadLetters) -> Result<(), BoxError> {
        let letter = lost.letter()?;
        tracing::error!(
            target: "dubbo::dead_letter", id = %letter.id, request = letter.request_id, service = %letter.service,
            method = letter.method, reason = letter.reason.name(), error = %lost.status, "a call was given up"
        );
        letters.tell(&letter);
        Ok(letters.keep(self.0.store.as_deref(), letter).await?)
    }
}

const STORE: Key<Option<String>> = Key {
    name: "dead-letter.store",
    default: || None,
};

dubbo_core::extension!(dyn super::Outcome, "dead-letter" | "dead_letter", |cx| Ok(
    Arc::new(Keep::of(cx.url)?)
));

dubbo_core::extension!(dyn super::Outcome, "fail", |_cx| Ok(Arc::new(Fail)));

dubbo_core::extension!(dyn super::Outcome, "hold", |cx| Ok(Arc::new(Keep {
    held: true,
    ..Keep::of(cx.url)?
})));

dubbo_core::extension!(dyn super::Outcome, "notify", |cx| Ok(Arc::new(Notify(
    Keep::of(cx.url)?
))));
