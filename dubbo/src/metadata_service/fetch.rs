//! Asking an instance for its metadata.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use dubbo_core::{
    call::{Client as _, Stub},
    discovery::ServiceInstance,
    protocol::Protocol,
    request::Request,
    service::{ServiceDescriptor, ServiceKey},
    status::{Code, Origin, Status},
    url::Url,
};
use dubbo_metadata::{
    consumer::{Fetch, FetchError},
    model::MetadataInfo,
};
use dubbo_protocol::java::{Args, Ret};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{
    access::TOKEN,
    proto::{
        METADATA_SERVICE_V2_DESCRIPTOR, MetadataInfoV2, MetadataRequest, MetadataServiceV2Client,
    },
    target::{Target, Way},
    v1, v2,
};

/// Asks instances for their metadata, by the protocol and the version of the metadata service that each of them names.
///
/// It calls apart from the application's own references: no filter sees it, and no cluster repeats it. A connection is
/// there as long as somebody asks the instance for something, and is shared with whoever does.
pub(crate) struct RpcFetch {
    protocols: HashMap<String, Arc<dyn Protocol>>,
    options: FetchOptions,
    v1: Arc<ServiceDescriptor>,
    /// The metadata services that said they are to have the second version, and have the first one only.
    pub(super) first_only: Mutex<HashSet<Asked>>,
}

/// The application, and the address of its metadata service.
type Asked = (String, String);

/// How [`RpcFetch`] asks.
#[derive(Debug, Clone)]
pub(crate) struct FetchOptions {
    /// How long one instance may take, all that is tried included. Nothing that an instance says changes it.
    pub(crate) timeout: Duration,
    /// The port of the metadata service of an instance that says nothing about it, which Dubbo Java takes to be that of
    /// its own; without it, the instance's.
    pub(crate) port_without_metadata: Option<u16>,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(5),
            port_without_metadata: None,
        }
    }
}

impl RpcFetch {
    /// Asks by `protocols`, which are known by the lower-case names that their plugins are linked under.
    pub(crate) fn new(
        protocols: HashMap<String, Arc<dyn Protocol>>,
        options: FetchOptions,
    ) -> Self {
        Self {
            protocols,
            options,
            v1: Arc::new(v1::consumed()),
            first_only: Mutex::default(),
        }
    }
}

#[async_trait]
impl Fetch for RpcFetch {
    /// # Cancel safety
    ///
    /// Dropping the future cancels the call.
    async fn fetch(
        &self,
        instance: &ServiceInstance,
        revision: &str,
    ) -> Result<MetadataInfo, FetchError> {
        let target = Target::of(instance, self.options.port_without_metadata)
            .map_err(FetchError::Unsupported)?;
        let Some(protocol) = self.protocols.get(target.way.protocol()) else {
            return Err(FetchError::Unsupported(format!(
                "its metadata service is served by `{}`, and no such protocol is linked",
                target.way.protocol()
            )));
        };
        let question = Question {
            protocol,
            url: target.url(),
            token: target.token.as_deref(),
            application: &instance.application,
            revision,
            deadline: Instant::now() + self.options.timeout,
        };
        let answer = match target.way {
            Way::DubboV1 | Way::TripleV1 => self.first(&question).await,
            Way::TripleV2 => self.second_or_first(&question).await,
        };
        match answer {
            Ok(Some(info)) => Ok(info),
            Ok(None) => Err(FetchError::UnknownRevision),
            Err(status) => Err(FetchError::Unavailable(status.into())),
        }
    }
}

/// The metadata of a revision, or nothing, where the instance does not have it.
type Found = Result<Option<MetadataInfo>, Status>;

/// One fetch.
struct Question<'a> {
    protocol: &'a Arc<dyn Protocol>,
    url: Url,
    token: Option<&'a str>,
    application: &'a str,
    revision: &'a str,
    deadline: Instant,
}

impl RpcFetch {
    /// Asks the second version, and the first one where the instance does not have the other after all. Which of them it
    /// has is remembered.
    async fn second_or_first(&self, question: &Question<'_>) -> Found {
        let place = (question.application.to_owned(), question.url.address());
        let first_only = self.first_only.lock().contains(&place);
        if first_only {
            match self.first(question).await {
                // It has been replaced.
                Err(status) if is_missing(&status) => drop(self.first_only.lock().remove(&place)),
                answer => return answer,
            }
        }
        // Held until the other has been asked, which then goes over the same connection.
        let second = question
            .refer(&METADATA_SERVICE_V2_DESCRIPTOR, v2::VERSION)
            .await?;
        let missing = match question.ask_second(second.clone()).await {
            Err(status) if is_missing(&status) && !first_only => status,
            answer => return answer,
        };
        tracing::debug!(
            application = question.application,
            address = question.url.address(),
            %missing,
            "asking the first version of the metadata service instead of the second"
        );
        let answer = self.first(question).await;
        match answer {
            Ok(found) => {
                let mut first_only = self.first_only.lock();
                if first_only.len() >= REMEMBERED {
                    first_only.clear();
                }
                first_only.insert(place);
                Ok(found)
            }
            Err(status) => Err(status.context(missing)),
        }
    }

    async fn first(&self, question: &Question<'_>) -> Found {
        let stub = question.refer(&self.v1, v1::VERSION).await?;
        let request = question.request((question.revision.to_owned(),));
        let response = stub
            .unary::<Args<(String,)>, Ret<Option<MetadataInfo>>>(GET_METADATA_INFO, request)
            .deadline(question.deadline)
            .await?;
        Ok(response.into_message())
    }
}

impl Question<'_> {
    /// Refers to `service` at the instance, in the group of its application.
    async fn refer(&self, service: &Arc<ServiceDescriptor>, version: &str) -> Result<Stub, Status> {
        let interface = service.interface();
        let key = ServiceKey::new(interface)
            .with_group(self.application)
            .with_version(version);
        let url = self.url.with_path(interface).with_params([
            ("interface", interface),
            ("group", self.application),
            ("version", version),
        ]);
        let invoker = self.protocol.refer(&url, Arc::clone(service)).await;
        let invoker = invoker.map_err(|error| {
            Status::failed_precondition(format!("cannot refer to {key}: {error}"))
                .with_source(error)
        })?;
        Ok(Stub::new(invoker, key, Arc::clone(service)))
    }

    /// A request with what lets it in.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = self.token {
            request.attachments_mut().insert(TOKEN, token.to_owned());
        }
        request
    }

    async fn ask_second(&self, stub: Stub) -> Found {
        let client = MetadataServiceV2Client::from_stub(stub);
        let request = MetadataRequest {
            revision: self.revision.to_owned(),
        };
        let request = self.request(request);
        let answer = client.get_metadata_info(request).deadline(self.deadline);
        match answer.await {
            Ok(response) => {
                let message = response.into_message();
                let is_something = message != MetadataInfoV2::default();
                Ok(is_something.then(|| message.into()))
            }
            Err(status) if says_unknown(&status) => {
                tracing::debug!(address = self.url.address(), %status, "it does not have the revision");
                Ok(None)
            }
            Err(status) => Err(status),
        }
    }
}

/// Whether there is no such service.
fn is_missing(status: &Status) -> bool {
    status.code() == Code::Unimplemented && status.origin() != Origin::Framework
}

/// How the second version says that it does not have a revision: ours by code 5, Dubbo Java's by 2, and dubbo-go's by a
/// handler that dies and with it the stream (`docs/spec/metadata.md` §3.2).
fn says_unknown(status: &Status) -> bool {
    let code = matches!(
        status.code(),
        Code::Canceled | Code::Internal | Code::NotFound | Code::Unknown
    );
    code && status.origin() != Origin::Framework
}

const GET_METADATA_INFO: usize = 0;

/// More instances that do not have what they say than there are anywhere.
const REMEMBERED: usize = 4096;
