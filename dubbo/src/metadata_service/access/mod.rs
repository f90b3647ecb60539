//! Who may ask the metadata services, and how often (`docs/spec/metadata.md` §7.2).

mod rate;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dubbo_core::{
    filter::{Filter, Next},
    invocation::{Invocation, RpcResult},
    status::Status,
};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

use self::rate::RateLimit;
use crate::config::{MetadataConfig, Secret, defaults};

/// The filter before all metadata services of an application, which have one limit in common.
///
/// With a certificate of the caller's on the port, the metadata services are behind that as every service is.
pub(crate) struct Access {
    application: String,
    token: Option<Secret>,
    limit: Option<RateLimit>,
}

impl Access {
    /// What `config` says for the metadata services of `application`.
    pub(crate) fn of(application: &str, config: &MetadataConfig) -> Arc<Self> {
        let rate = config.rate_limit.unwrap_or(defaults::METADATA_RATE_LIMIT);
        Arc::new(Self {
            application: application.to_owned(),
            token: config.token.clone(),
            limit: RateLimit::new(rate),
        })
    }

    /// What callers have to send, for those who are to be told.
    pub(crate) fn token(&self) -> Option<&str> {
        self.token.as_ref().map(Secret::expose)
    }

    /// Who asks too often is not told whether the token was the right one.
    fn admit(&self, call: &Invocation) -> Result<(), Status> {
        self.check_rate(call)?;
        self.check_token(call)
    }

    /// Nobody limits calls from within the process.
    fn check_rate(&self, call: &Invocation) -> Result<(), Status> {
        let (Some(limit), Some(peer)) = (&self.limit, &call.peer) else {
            return Ok(());
        };
        let address = peer.remote.ip();
        limit.admit(address, Instant::now()).map_err(|wait| {
            Status::resource_exhausted(format!(
                "`{}` answers {limit} for metadata from {address}, and there were more: try again in {} ms \
                 (`dubbo.metadata.rate-limit` of the provider)",
                self.application,
                wait.as_millis().max(1)
            ))
            .with_pushback(wait)
        })
    }

    fn check_token(&self, call: &Invocation) -> Result<(), Status> {
        let Some(token) = self.token() else {
            return Ok(());
        };
        let sent = call.attachments.get(TOKEN);
        let is_it = sent.is_some_and(|sent| sent.as_bytes().ct_eq(token.as_bytes()).into());
        if is_it {
            return Ok(());
        }
        let from = match &call.peer {
            Some(peer) => peer.remote.to_string(),
            None => "this process".to_owned(),
        };
        let fault = match sent {
            Some(_) => "another one",
            None => "none",
        };
        Err(Status::unauthenticated(format!(
            "`{}` answers for its metadata with the attachment `{TOKEN}` that its instances name in the registry \
             (`dubbo.metadata.token` of the provider); the call from {from} has {fault}",
            self.application
        )))
    }
}

#[async_trait]
impl Filter for Access {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        self.admit(&invocation)?;
        next.run(invocation).await
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("application", &self.application)
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// The attachment by which every Dubbo proves that it was told of a provider.
pub(super) const TOKEN: &str = "token";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dubbo_core::{
        invocation::{Body, Peer},
        payload::{Codec, Payload},
        service::{CallKind, MethodDescriptor, ServiceDescriptor, ServiceKey},
        status::Code,
    };

    use super::*;

    fn call(token: Option<&str>, from: Option<&str>) -> Invocation {
        let methods = vec![MethodDescriptor::new("M", CallKind::Unary)];
        let method = Arc::new(ServiceDescriptor::new("a.B", methods)).find("M");
        let body = Body::Unary(Payload::encoded(Codec::Protobuf, bytes::Bytes::new()));
        let key = Arc::new(ServiceKey::new("a.B"));
        let mut call = Invocation::new(key, method.expect("is there"), body);
        if let Some(token) = token {
            call.attachments.insert(TOKEN, token.to_owned());
        }
        call.peer = from.map(|from| {
            let address = from.parse().expect("an address");
            Arc::new(Peer::new(address, address))
        });
        call
    }

    #[tokio::test(start_paused = true)]
    async fn who_does_not_send_the_token_is_refused_and_the_token_stays_unsaid() {
        let access = Access::of("app", &MetadataConfig::new().token("s3cret"));
        for (token, why) in [
            (Some("s3cret"), None),
            (Some("s3cres"), Some("another one")),
            (Some("s3cre"), Some("another one")),
            (Some(""), Some("another one")),
            (None, Some("has none")),
        ] {
            let admitted = access.admit(&call(token, Some("10.0.0.9:1")));
            let Some(why) = why else {
                admitted.expect("it is the one");
                continue;
            };
            let status = admitted.expect_err("it is not the one");
            assert_eq!(status.code(), Code::Unauthenticated);
            let text = status.message();
            assert!(text.contains(why) && text.contains("10.0.0.9:1"), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        assert!(!format!("{access:?}").contains("s3cret"));
    }

    #[tokio::test(start_paused = true)]
    async fn each_peer_has_a_rate_of_its_own_and_is_told_how_long_to_wait() {
        let access = Access::of("app", &MetadataConfig::new().rate_limit(2));
        let ask = |from| access.admit(&call(None, from));
        for _ in 0..2 {
            ask(Some("10.0.0.9:1")).expect("within the rate");
        }
        let status = ask(Some("10.0.0.9:2")).expect_err("another port is the same peer");
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert_eq!(status.pushback(), Some(Duration::from_millis(500)));
        assert_eq!(
            status.message(),
            "`app` answers 2 requests a second for metadata from 10.0.0.9, and there were more: try again in 500 ms \
             (`dubbo.metadata.rate-limit` of the provider)"
        );
        ask(Some("10.0.0.10:1")).expect("another peer");
        ask(None).expect("within the process");
        tokio::time::advance(Duration::from_millis(500)).await;
        ask(Some("10.0.0.9:1")).expect("it waited");
    }

    #[tokio::test(start_paused = true)]
    async fn without_keys_there_are_two_hundred_a_second_and_with_zero_no_limit() {
        for (config, want) in [
            (MetadataConfig::new(), 200),
            (MetadataConfig::new().rate_limit(0), 1_000),
        ] {
            let access = Access::of("app", &config);
            let asked = (0..1_000).map(|_| access.admit(&call(None, Some("10.0.0.9:1"))));
            assert_eq!(asked.flatten().count(), want);
        }
    }
}
