//! What calls of one reference have in common, and writing one (`docs/spec/dubbo-protocol.md` §4).

use std::{borrow::Cow, sync::Arc};

use bytes::{Bytes, BytesMut};
use dubbo_core::{
    attachments::Attachments,
    payload::{Codec, Payload},
    service::{MethodDescriptor, MethodRef, ServiceDescriptor, ServiceKey},
    status::Status,
    url::Url,
};
use tokio::time::Instant;

use super::super::{
    body::request,
    frame::{FrameWriteError, HEADER, Header},
    parameters::RAISE_PAYLOAD,
};

/// What does not change from call to call.
#[derive(Debug)]
pub(super) struct Terms {
    /// The path of the provider's URL, by which it finds the service.
    path: String,
    key: ServiceKey,
    service: Arc<ServiceDescriptor>,
    /// What begins the body of a call, by method.
    heads: Box<[Bytes]>,
    /// The name of this application.
    application: Option<String>,
    token: Option<String>,
    /// How many bytes a body may have.
    limit: usize,
}

/// One call, as it is written.
pub(super) struct Outgoing {
    pub(super) service: Arc<ServiceKey>,
    pub(super) method: MethodRef,
    pub(super) attachments: Attachments,
    pub(super) arguments: Payload,
    pub(super) until: Option<Instant>,
    /// No response is expected.
    pub(super) one_way: bool,
}

impl Terms {
    /// The terms of calls of `service` at `url`, with bodies of up to `limit` bytes.
    pub(super) fn new(url: &Url, service: &Arc<ServiceDescriptor>, limit: usize) -> Self {
        let key = url.service_key();
        let text = |name: &str| {
            let text = url.param(name).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        let path = match url.path() {
            "" => service.interface(),
            path => path,
        };
        let heads = service.methods().iter();
        Self {
            path: path.to_owned(),
            heads: heads.map(|method| head(&key, method)).collect(),
            key,
            service: Arc::clone(service),
            application: text("application"),
            token: text("token"),
            limit,
        }
    }

    /// Writes the frame of `call`.
    ///
    /// # Errors
    ///
    /// Nothing can be sent: an argument or attachment cannot be encoded (code 3), or the body is too large (11). It could
    /// not be sent anywhere else either, so these are codes that are never retried.
    pub(super) fn write(&self, call: &Outgoing, id: i64) -> Result<BytesMut, Status> {
        let head = self.head(call);
        let timeout = call.until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            // Rounded up: 0 would mean that there is none.
            left.as_nanos().div_ceil(NANOS_PER_MILLI).max(1).to_string()
        });
        let protocol: Vec<(&str, &str)> = [
            ("path", Some(&*self.path)),
            ("interface", Some(call.service.interface())),
            ("group", call.service.group()),
            ("version", Some(version(&call.service))),
            ("timeout", timeout.as_deref()),
            ("remote.application", self.application.as_deref()),
            ("token", self.token.as_deref()),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect();
        let known = call.arguments.encoded_len(Codec::Hessian2).unwrap_or(0);
        let mut frame = BytesMut::with_capacity(HEADER + head.len() + known + BESIDE);
        Header::request(id, !call.one_way)
            .write(self.limit, &mut frame, |body| {
                request::write(&head, &call.arguments, &protocol, &call.attachments, body)
            })
            .map_err(|error| {
                match &error {
                    FrameWriteError::Body(_) => {
                        Status::invalid_argument(format!("the request cannot be sent: {error}"))
                    }
                    FrameWriteError::TooLarge { .. } => Status::out_of_range(format!(
                        "the request cannot be sent: {error}; {RAISE_PAYLOAD}"
                    )),
                }
                .with_source(error)
            })?;
        Ok(frame)
    }

    fn head(&self, call: &Outgoing) -> Cow<'_, [u8]> {
        // The caller may choose another group or version than the reference has, and bring methods of its own.
        let usual = *call.service == self.key && Arc::ptr_eq(call.method.service(), &self.service);
        if usual && let Some(head) = self.heads.get(call.method.index()) {
            return Cow::Borrowed(head);
        }
        Cow::Owned(head(&call.service, call.method.descriptor()).to_vec())
    }
}

fn head(key: &ServiceKey, method: &MethodDescriptor) -> Bytes {
    let types = method.java.as_ref().map_or("", |java| java.descriptor());
    request::head(key.interface(), Some(version(key)), &method.name, types)
}

/// As Java writes it, and both read it.
fn version(key: &ServiceKey) -> &str {
    key.version().unwrap_or("0.0.0")
}

const NANOS_PER_MILLI: u128 = 1_000_000;

/// What attachments take, about.
const BESIDE: usize = 512;
