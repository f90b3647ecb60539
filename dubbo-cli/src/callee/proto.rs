//! Methods of proto files: messages go and come as their JSON.

use bytes::Bytes;
use dubbo::{Request, Stub, stream};
use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use serde_json::Value;

use super::{Beside, raw::Raw};
use crate::fail::{Class, Failure};

/// A method of a proto file.
pub(crate) struct ProtoMethod {
    stub: Stub,
    method: MethodDescriptor,
    options: SerializeOptions,
}

impl ProtoMethod {
    pub(super) fn new(stub: Stub, method: MethodDescriptor, defaults: bool) -> Self {
        let options = SerializeOptions::new().skip_default_fields(!defaults);
        Self {
            stub,
            method,
            options,
        }
    }

    pub(super) fn streams(&self) -> bool {
        self.method.is_server_streaming()
    }

    /// The messages of `text`; without any, a method that takes one gets an empty one.
    pub(super) fn input(&self, text: &str) -> Result<Vec<Bytes>, Failure> {
        let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        let mut messages = Vec::new();
        for (index, value) in values.enumerate() {
            let value =
                value.map_err(|error| self.unusable(index, &format!("it is no JSON: {error}")))?;
            // An array of messages is as good as one after another.
            match value {
                Value::Array(values) if self.method.is_client_streaming() => {
                    for value in values {
                        messages.push(self.message(messages.len(), value)?);
                    }
                }
                value => messages.push(self.message(index, value)?),
            }
        }
        if self.method.is_client_streaming() {
            return Ok(messages);
        }
        match messages.len() {
            0 => Ok(vec![Bytes::new()]),
            1 => Ok(messages),
            several => Err(Failure::usage(format!(
                "{} takes one message, and the input has {several}",
                self.method.full_name()
            ))),
        }
    }

    pub(super) async fn call(
        &self,
        messages: &[Bytes],
        attachments: &[(String, String)],
        mut each: impl FnMut(Value) -> Result<(), Failure>,
    ) -> Result<Beside, Failure> {
        let index = self.method.index();
        let stub = &self.stub;
        let one = || messages.first().cloned().unwrap_or_default();
        let many = || stream::iter(messages.to_vec());
        let mut single = None;
        let mut replies = None;
        /// Adds the attachments to a call, and makes it.
        macro_rules! made {
            ($call:expr) => {{
                let mut call = $call;
                for (name, value) in attachments {
                    call = call.attach(name.clone(), value.clone());
                }
                call.await?.into_parts()
            }};
        }
        let (is_many, is_streamed) = (
            self.method.is_client_streaming(),
            self.method.is_server_streaming(),
        );
        let (headers, trailers) = match (is_many, is_streamed) {
            (false, false) => {
                let call = stub.unary::<Raw, Raw>(index, Request::new(one()));
                let (message, headers, trailers) = made!(call);
                single = Some(message);
                (headers, trailers)
            }
            (true, false) => {
                let call = stub.client_stream::<Raw, Raw>(index, many());
                let (message, headers, trailers) = made!(call);
                single = Some(message);
                (headers, trailers)
            }
            (false, true) => {
                let call = stub.server_stream::<Raw, Raw>(index, Request::new(one()));
                let (stream, headers, trailers) = made!(call);
                replies = Some(stream);
                (headers, trailers)
            }
            (true, true) => {
                let call = stub.bidi_stream::<Raw, Raw>(index, many());
                let (stream, headers, trailers) = made!(call);
                replies = Some(stream);
                (headers, trailers)
            }
        };
        let mut beside = Beside { headers, trailers };
        if let Some(message) = single {
            each(self.json(message)?)?;
        }
        if let Some(mut replies) = replies {
            while let Some(message) = replies.message().await? {
                each(self.json(message)?)?;
            }
            if let Some(trailers) = replies.trailers() {
                beside.trailers = trailers.clone();
            }
        }
        Ok(beside)
    }

    fn message(&self, index: usize, value: Value) -> Result<Bytes, Failure> {
        let message = DynamicMessage::deserialize(self.method.input(), value);
        let message = message.map_err(|error| {
            let input = self.method.input();
            let fields = fields(&input);
            self.unusable(index, &format!("it is no {}: {error}", input.full_name()))
                .advise(format!("its fields are {fields}"))
        })?;
        Ok(message.encode_to_vec().into())
    }

    fn json(&self, message: Bytes) -> Result<Value, Failure> {
        let output = self.method.output();
        let unusable = |why: String| {
            let name = output.full_name();
            Failure::new(Class::Refused, format!("the answer is no {name}: {why}"))
                .advise("is the set of descriptors that of the provider?")
        };
        let message = DynamicMessage::decode(output.clone(), message)
            .map_err(|error| unusable(error.to_string()))?;
        message
            .serialize_with_options(serde_json::value::Serializer, &self.options)
            .map_err(|error| unusable(error.to_string()))
    }

    fn unusable(&self, index: usize, why: &str) -> Failure {
        let place = if self.method.is_client_streaming() {
            format!("message {} of the input", index + 1)
        } else {
            "the input".to_owned()
        };
        Failure::usage(format!(
            "{place} is of no use for {}: {why}",
            self.method.full_name()
        ))
    }
}

fn fields(message: &MessageDescriptor) -> String {
    let names: Vec<_> = message
        .fields()
        .map(|field| field.json_name().to_owned())
        .collect();
    match &names[..] {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}
