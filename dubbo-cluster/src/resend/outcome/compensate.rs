//! `compensate`: what failed is undone by another call.

use std::sync::Arc;

use async_trait::async_trait;
use dubbo_core::{extension::BoxError, service::ServiceKey, url::Key};

use super::{Outcome, keep::Keep};
use crate::resend::dead_letter::{DeadLetters, Lost};

/// Calls a method with the arguments of the call that failed. Its answer is not looked at. If it fails, too, or cannot be
/// called, the call that failed is kept as a letter that is held, for nobody but a person can tell what is true then.
#[derive(Debug)]
pub struct Compensate {
    /// Of which service; `None`: of the one that was called. The program must have a reference of it.
    pub service: Option<ServiceKey>,
    /// Which method. It takes what the one that failed takes.
    pub method: String,
    /// Where letters are kept; `None`: where all others are.
    pub store: Option<String>,
}

#[async_trait]
impl Outcome for Compensate {
    async fn settle(&self, lost: Lost, letters: &DeadLetters) -> Result<(), BoxError> {
        let mut letter = lost.letter()?;
        let service = self.service.as_ref().unwrap_or(&letter.service);
        let called = letters.call(&letter, Some((service, &self.method))).await;
        let failure = match called {
            Ok(Ok(())) => None,
            Ok(Err(status)) => Some(status.to_string()),
            Err(reason) => Some(reason),
        };
        let result = if failure.is_some() { "failed" } else { "done" };
        metrics::counter!("dubbo_compensations_total", "result" => result).increment(1);
        let Some(error) = failure else {
            return Ok(());
        };
        tracing::error!(
            %service, method = self.method, failed = letter.method, request = letter.request_id, error,
            "a failed call could not be undone; it is held among the dead letters"
        );
        letter.held = true;
        Ok(letters.keep(self.store.as_deref(), letter).await?)
    }
}

const SERVICE: Key<Option<String>> = Key {
    name: "compensate.service",
    default: || None,
};

const METHOD: Key<Option<String>> = Key {
    name: "compensate.method",
    default: || None,
};

dubbo_core::extension!(dyn super::Outcome, "compensate", |cx| {
    let method = cx.url.get(&METHOD)?;
    let method = method.ok_or("it needs `compensate.method`: the method that undoes the call")?;
    let service = cx.url.get(&SERVICE)?;
    let service = service.map(|service| service.parse::<ServiceKey>());
    Ok(Arc::new(Compensate {
        service: service.transpose()?,
        method,
        store: Keep::of(cx.url)?.store,
    }))
});
