//! Pushing to a gateway: again and again, and once more in the end.

use std::{path::Path, sync::Arc, time::Duration};

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use http::{
    HeaderMap, HeaderValue,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use tokio::time::Instant;

use super::{Recorder, page::TEXT};
use crate::{
    config::{PushgatewayConfig, Secret, observe::Endpoint},
    observe::client::{Client, Version},
};

/// A gateway, and what is pushed to it.
#[derive(Clone)]
pub(crate) struct Push(Arc<Pushing>);

struct Pushing {
    recorder: Arc<Recorder>,
    client: Client,
    path: String,
    headers: HeaderMap,
    every: Duration,
}

impl Push {
    /// # Errors
    ///
    /// What cannot be pushed to.
    pub(crate) fn new(
        config: &PushgatewayConfig,
        authorities: Option<&Path>,
        recorder: Arc<Recorder>,
    ) -> Result<Self, String> {
        let endpoint = Endpoint::of_url(config.base_url.as_deref().unwrap_or_default())?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(TEXT));
        if let Some(user) = &config.username {
            let password = config.password.as_ref().map_or("", Secret::expose);
            let said = BASE64_STANDARD.encode(format!("{user}:{password}"));
            let mut said =
                HeaderValue::try_from(format!("Basic {said}")).map_err(|e| e.to_string())?;
            said.set_sensitive(true);
            headers.insert(AUTHORIZATION, said);
        }
        let job = config.job.as_deref().filter(|job| !job.is_empty());
        Ok(Self(Arc::new(Pushing {
            recorder,
            client: Client::new(endpoint, Version::Http1, authorities)?,
            path: format!("/metrics/{}", group(job.unwrap_or(JOB))),
            headers,
            every: config.push_interval.unwrap_or(INTERVAL),
        })))
    }

    /// Pushes again and again, and never ends.
    pub(crate) async fn go_on(self) {
        let mut is_failing = false;
        loop {
            tokio::time::sleep(self.0.every).await;
            let pushed = self.once(PATIENCE).await;
            match &pushed {
                // A gateway that is away is told of once.
                Err(reason) if !is_failing => {
                    tracing::warn!(
                        reason,
                        "what is counted cannot be pushed; it will be tried again"
                    );
                }
                Ok(()) if is_failing => tracing::info!("what is counted is pushed again"),
                Err(_) | Ok(()) => {}
            }
            is_failing = pushed.is_err();
        }
    }

    /// Pushes all numbers as they are now.
    ///
    /// # Errors
    ///
    /// They did not arrive.
    pub(crate) async fn once(&self, patience: Duration) -> Result<(), String> {
        let text = self.0.recorder.text(Instant::now());
        let (path, headers) = (&self.0.path, &self.0.headers);
        let answer = self
            .0
            .client
            .post(path, headers, text.into(), patience)
            .await;
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status.is_success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&answer.body);
        let said: String = said.trim().chars().take(LONGEST_REASON).collect();
        Err(format!(
            "the gateway answered {} for {path}: {said}",
            answer.status
        ))
    }
}

/// The group of `job` as it stands in the path of a gateway.
fn group(job: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~');
    if job.chars().all(is_plain) {
        format!("job/{job}")
    } else {
        format!("job@base64/{}", BASE64_URL_SAFE.encode(job))
    }
}

/// dubbo-go's.
const JOB: &str = "default_dubbo_job";
const INTERVAL: Duration = Duration::from_secs(30);

/// What a gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

const LONGEST_REASON: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_any_name_stands_in_a_path() {
        for (job, want) in [
            ("default_dubbo_job", "job/default_dubbo_job"),
            ("shop/eu", "job@base64/c2hvcC9ldQ=="),
            ("a b", "job@base64/YSBi"),
        ] {
            assert_eq!(group(job), want);
        }
    }
}
