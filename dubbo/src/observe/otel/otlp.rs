//! Spans to a collector, by OTLP: protobuf over HTTP/1.1, or gRPC.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, TE},
};
use opentelemetry_proto::{
    tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    transform::{
        common::tonic::ResourceAttributesWithSchema,
        trace::tonic::group_spans_by_resource_and_scope,
    },
};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{SpanData, SpanExporter},
};
use prost::Message as _;
use tokio::{runtime::Handle, time::sleep};

use crate::{
    config::observe::Endpoint,
    observe::client::{Answer, Client, Version},
};

/// Sends spans to a collector, from a runtime that is not that of calls.
#[derive(Debug)]
pub(super) struct Otlp {
    collector: Arc<Collector>,
    handle: Handle,
    resource: ResourceAttributesWithSchema,
}

impl Otlp {
    pub(super) fn new(collector: Collector, handle: Handle) -> Self {
        Self {
            collector: collector.into(),
            handle,
            resource: ResourceAttributesWithSchema::default(),
        }
    }
}

impl SpanExporter for Otlp {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        let request = ExportTraceServiceRequest { resource_spans };
        let collector = Arc::clone(&self.collector);
        let sent = self
            .handle
            .spawn(async move { collector.send(&request).await });
        let sent = sent
            .await
            .unwrap_or_else(|_| Err("the program ends".to_owned()));
        sent.map_err(|reason| {
            tracing::warn!(
                spans,
                reason,
                "spans are lost: the collector did not take them"
            );
            OTelSdkError::InternalFailure(reason)
        })
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

/// How a collector is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Grpc,
    Http,
}

/// A collector of OpenTelemetry.
#[derive(Debug)]
pub(super) struct Collector {
    client: Client,
    protocol: Protocol,
    headers: HeaderMap,
}

/// What became of spans.
enum Sent {
    Done,
    /// They may be taken later.
    Later(String),
    /// They never will.
    Refused(String),
}

impl Collector {
    /// # Errors
    ///
    /// It cannot be spoken to by TLS.
    pub(super) fn new(
        endpoint: Endpoint,
        protocol: Protocol,
        authorities: Option<&Path>,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        let (version, content) = match protocol {
            Protocol::Grpc => {
                headers.insert(TE, HeaderValue::from_static("trailers"));
                (Version::Http2, "application/grpc")
            }
            Protocol::Http => (Version::Http1, "application/x-protobuf"),
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
        Ok(Self {
            client: Client::new(endpoint, version, authorities)?,
            protocol,
            headers,
        })
    }

    /// Sends spans, again where that may help.
    async fn send(&self, request: &ExportTraceServiceRequest) -> Result<(), String> {
        let body = self.body(request);
        let mut wait = FIRST_WAIT;
        for attempt in 1..=ATTEMPTS {
            match self.attempt(body.clone()).await {
                Sent::Done => return Ok(()),
                Sent::Later(reason) if attempt == ATTEMPTS => {
                    return Err(format!("{reason} (tried {ATTEMPTS} times)"));
                }
                Sent::Later(_) => {
                    sleep(wait).await;
                    wait *= 2;
                }
                Sent::Refused(reason) => return Err(reason),
            }
        }
        Ok(())
    }

    fn body(&self, request: &ExportTraceServiceRequest) -> Bytes {
        let length = request.encoded_len();
        let mut body = BytesMut::with_capacity(length + 5);
        if self.protocol == Protocol::Grpc {
            body.put_u8(0);
            body.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        }
        body.put(&*request.encode_to_vec());
        body.freeze()
    }

    async fn attempt(&self, body: Bytes) -> Sent {
        let path = match self.protocol {
            Protocol::Grpc => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Protocol::Http => "/v1/traces",
        };
        let answer = self.client.post(path, &self.headers, body, PATIENCE).await;
        match (answer, self.protocol) {
            (Err(error), _) => Sent::Later(error.to_string()),
            (Ok(answer), Protocol::Grpc) => of_grpc(&answer),
            (Ok(answer), Protocol::Http) => of_http(&answer),
        }
    }
}

fn of_http(answer: &Answer) -> Sent {
    let status = answer.status;
    let said = || format!("the collector answered {status}");
    match status {
        _ if status.is_success() => taken(&answer.body),
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Sent::Later(said()),
        _ => Sent::Refused(said()),
    }
}

fn of_grpc(answer: &Answer) -> Sent {
    if answer.status != StatusCode::OK {
        return of_http(answer);
    }
    let find = |name: &str| answer.told.get(name).and_then(|value| value.to_str().ok());
    let code = find("grpc-status").unwrap_or("missing");
    let message = find("grpc-message").unwrap_or_default();
    let said = format!("the collector answered with gRPC status {code}: {message}");
    match code {
        "0" => taken(answer.body.get(5..).unwrap_or_default()),
        // Those that OTLP says may be tried again; of 8 only with a hint when, which is rare.
        "1" | "4" | "10" | "11" | "14" | "15" => Sent::Later(said),
        _ => Sent::Refused(said),
    }
}

/// A collector may take some spans and not others.
fn taken(body: &[u8]) -> Sent {
    let answer = ExportTraceServiceResponse::decode(body).unwrap_or_default();
    match answer.partial_success {
        Some(part) if part.rejected_spans > 0 => Sent::Refused(format!(
            "the collector did not take {} of the spans: {}",
            part.rejected_spans, part.error_message
        )),
        _ => Sent::Done,
    }
}

/// What a collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

const ATTEMPTS: u32 = 4;

const FIRST_WAIT: Duration = Duration::from_millis(500);
