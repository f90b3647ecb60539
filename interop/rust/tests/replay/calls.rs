//! The recorded calls, made through generated clients.

use std::{net::SocketAddr, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use dubbo::{
    AttachmentValue, Call, Client, Instance, Response, Streaming,
    config::{ReferenceConfig, Serialization},
};
use futures_util::{StreamExt as _, stream};
use interop::{
    contract::{
        AttachmentsRequest, BigPayloadRequest, EchoMessage, FailRequest, GreetRequest,
        GreeterClient, PingMessage, ShouterClient, SleepRequest, StrangerClient,
    },
    health::{HealthCheckRequest, HealthClient},
    reflection::ServerReflectionClient,
};
use prost::Message;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

use crate::{
    body,
    messages::{self, shown},
    raw_client::Until,
    reading::attachments,
    record::Stream,
    reflected,
    told::{Told, lists},
    users,
};

/// A call as a record has it.
pub(crate) struct Plan {
    pub(crate) scheme: &'static str,
    pub(crate) path: String,
    /// Its messages are JSON.
    pub(crate) json: bool,
    /// The mode of a generic call.
    pub(crate) generic: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) messages: Vec<Vec<u8>>,
    pub(crate) attachments: Vec<(String, AttachmentValue)>,
    pub(crate) timeout: Option<Duration>,
    /// The request is not half-closed.
    pub(crate) stays_open: bool,
    pub(crate) until: Until,
    /// When a call is given up that nothing comes back of.
    pub(crate) give_up: oneshot::Receiver<()>,
}

impl Plan {
    pub(crate) fn of(stream: &Stream, give_up: oneshot::Receiver<()>) -> Self {
        let headers = &stream.request.headers;
        let timeout = stream.timeout();
        let until = match stream.read_until() {
            // It ends by itself, when its time is over.
            Until::Nothing if timeout.is_some_and(|timeout| timeout < SHORT) => Until::End,
            // Nothing follows that could be read.
            Until::Messages(_) if headers_alone_tell(stream) => Until::End,
            until => until,
        };
        Self {
            scheme: "tri",
            path: stream.path(),
            json: messages::are_json(headers),
            generic: headers.text("generic"),
            group: headers.text("tri-service-group"),
            version: headers.text("tri-service-version"),
            messages: body::messages(&stream.request.data),
            attachments: attachments(headers)
                .into_iter()
                // The generic client says it.
                .filter(|(name, _)| name != "generic")
                .flat_map(attachment)
                .collect(),
            timeout,
            stays_open: !stream.half_closes(),
            until,
            give_up,
        }
    }

    pub(crate) fn service(&self) -> &str {
        self.path[1..].rsplit_once('/').expect("a path").0
    }

    /// The mode of a generic call.
    pub(crate) fn generic_mode(&self) -> &str {
        self.generic.as_deref().unwrap_or_default()
    }

    pub(crate) fn ends(&self) -> bool {
        self.until == Until::End
    }

    /// Makes the call at `address`, once.
    pub(crate) async fn make(self, instance: &Instance, address: SocketAddr) -> Told {
        let (service, method) = self.path[1..].rsplit_once('/').expect("a path");
        let mut options = ReferenceConfig::new()
            .url([format!("{}://{address}", self.scheme)])
            .interface(service)
            .retries(0);
        if let Some(group) = &self.group {
            options = options.group(group);
        }
        if let Some(version) = &self.version {
            options = options.version(version);
        }
        if self.json {
            options = options.serialization(Serialization::Json);
        }
        if messages::are_wrapped(&self.path) {
            let method = method.to_owned();
            return users::make(self, instance, options, &method).await;
        }
        match method.to_owned().as_str() {
            "GREET" => {
                let client: ShouterClient = refer(instance, options).await;
                one(client.greet(self.request::<GreetRequest>()), self, shown).await
            }
            "LowerCase" => {
                let client: StrangerClient = refer(instance, options).await;
                one(
                    client.lower_case(self.request::<GreetRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "NoSuchMethod" => {
                let client: StrangerClient = refer(instance, options).await;
                one(
                    client.no_such_method(self.request::<GreetRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "greet" => {
                let client: StrangerClient = refer(instance, options).await;
                one(client.greet(self.request::<GreetRequest>()), self, shown).await
            }
            "Check" => {
                let client: HealthClient = refer(instance, options).await;
                one(
                    client.check(self.request::<HealthCheckRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "Watch" => {
                let client: HealthClient = refer(instance, options).await;
                many(
                    client.watch(self.request::<HealthCheckRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "ServerReflectionInfo" => {
                let client: ServerReflectionClient = refer(instance, options).await;
                let call = client.server_reflection_info(self.requests());
                many(call, self, reflected::shown).await
            }
            method => {
                let client: GreeterClient = refer(instance, options).await;
                self.greeter(&client, method).await
            }
        }
    }

    async fn greeter(self, client: &GreeterClient, method: &str) -> Told {
        match method {
            "Attachments" => {
                one(
                    client.attachments(self.request::<AttachmentsRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "BigPayload" => {
                one(
                    client.big_payload(self.request::<BigPayloadRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "Echo" => one(client.echo(self.request::<EchoMessage>()), self, shown).await,
            "Fail" => one(client.fail(self.request::<FailRequest>()), self, shown).await,
            "Greet" => one(client.greet(self.request::<GreetRequest>()), self, shown).await,
            "GreetBidi" => many(client.greet_bidi(self.requests()), self, shown).await,
            "GreetClientStream" => {
                one(client.greet_client_stream(self.requests()), self, shown).await
            }
            "GreetServerStream" => {
                many(
                    client.greet_server_stream(self.request::<GreetRequest>()),
                    self,
                    shown,
                )
                .await
            }
            "Ping" => one(client.ping(self.request::<PingMessage>()), self, shown).await,
            "Sleep" => one(client.sleep(self.request::<SleepRequest>()), self, shown).await,
            "lowerCase" => {
                one(
                    client.lower_case(self.request::<GreetRequest>()),
                    self,
                    shown,
                )
                .await
            }
            other => panic!("no client calls {other}"),
        }
    }

    /// The one request. A recorded caller that was answered too soon may not have sent it.
    fn request<M: Message + Default + DeserializeOwned>(&self) -> M {
        let bytes = self.messages.first().map(Vec::as_slice).unwrap_or_default();
        self.read(bytes)
    }

    fn requests<M: Message + Default + DeserializeOwned + 'static>(
        &self,
    ) -> impl futures_util::Stream<Item = M> + Send + use<M> {
        let messages = self.messages.iter();
        let messages: Vec<_> = messages.map(|bytes| self.read(bytes)).collect();
        let then = if self.stays_open {
            stream::pending().left_stream()
        } else {
            stream::empty().right_stream()
        };
        stream::iter(messages).chain(then)
    }

    fn read<M: Message + Default + DeserializeOwned>(&self, bytes: &[u8]) -> M {
        if self.json {
            messages::from_json(bytes)
        } else {
            M::decode(bytes).expect("the contract's message")
        }
    }

    fn options<'c, O>(&mut self, call: Call<'c, O>) -> Call<'c, O> {
        let call = std::mem::take(&mut self.attachments)
            .into_iter()
            .fold(call, |call, (name, value)| call.attach(name, value));
        match self.timeout {
            Some(timeout) => call.timeout(timeout),
            None => call,
        }
    }
}

impl Stream {
    /// How long its caller waits.
    fn timeout(&self) -> Option<Duration> {
        let value = self.request.headers.text("grpc-timeout")?;
        let micros = value.strip_suffix('u').expect("microseconds").parse();
        Some(Duration::from_micros(micros.expect("a number")))
    }
}

/// Whether an answer is none of gRPC's, so that a caller need not read on.
pub(crate) fn headers_alone_tell(stream: &Stream) -> bool {
    let headers = &stream.response.headers;
    headers.value(":status") != Some(b"200") && headers.value("grpc-status").is_none()
}

pub(crate) async fn refer<C: Client>(instance: &Instance, options: ReferenceConfig) -> C {
    instance
        .refer_with(options)
        .await
        .expect("a server listens")
}

/// Makes a call that is answered once. `show` makes text of the answer.
pub(crate) async fn one<M>(
    call: Call<'_, Response<M>>,
    mut plan: Plan,
    show: impl Fn(&M) -> String,
) -> Told {
    let call = plan.options(call).into_future();
    tokio::select! {
        result = call => match result {
            Ok(response) => Told {
                messages: vec![show(response.message())],
                attachments: lists(&[response.headers(), response.trailers()]),
                outcome: Some(Ok(())),
            },
            Err(status) => Told::failed(status),
        },
        _ = plan.give_up, if plan.until == Until::Nothing => Told::default(),
    }
}

/// Makes a call that is answered any number of times. `show` makes text of each answer.
pub(crate) async fn many<M: Send + 'static>(
    call: Call<'_, Response<Streaming<M>>>,
    mut plan: Plan,
    show: impl Fn(&M) -> String,
) -> Told {
    let (mut items, headers, trailers) = match plan.options(call).await {
        Ok(response) => response.into_parts(),
        Err(status) => return Told::failed(status),
    };
    let mut told = Told::default();
    let mut ends = Vec::new();
    while plan.until != Until::Messages(told.messages.len()) {
        match items.message().await {
            Ok(Some(message)) => told.messages.push(show(&message)),
            Ok(None) => told.outcome = Some(Ok(())),
            Err(status) => {
                ends.push(status.attachments().clone());
                told.outcome = Some(Err(status));
            }
        }
        if told.outcome.is_some() {
            break;
        }
    }
    ends.extend(items.trailers().cloned());
    let all: Vec<_> = [&headers, &trailers].into_iter().chain(&ends).collect();
    told.attachments = lists(&all);
    told
}

/// What a recorded attachment was before it was sent.
fn attachment(
    (name, values): (String, Vec<String>),
) -> impl Iterator<Item = (String, AttachmentValue)> {
    values
        .into_iter()
        .map(move |value| match name.strip_suffix("-bin") {
            Some(plain) => {
                let bytes = STANDARD_NO_PAD.decode(value).expect("base64");
                (plain.to_owned(), AttachmentValue::Binary(bytes.into()))
            }
            None => (name.clone(), value.into()),
        })
}

/// Recorded callers who lost patience had less than this; the others had seconds, and were answered at once.
const SHORT: Duration = Duration::from_secs(1);
