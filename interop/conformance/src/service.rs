//! The suite's service.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use dubbo::{CallContext, Request, Response, Status, Streaming};
use futures_util::{Stream, stream};

use tokio::time::{Instant, sleep};

use crate::{
    any::Any,
    metadata, rpc_error,
    suite::{
        BidiStreamRequest, BidiStreamResponse, ClientStreamRequest, ClientStreamResponse,
        ConformancePayload, ConformanceService, Error, Header, IdempotentUnaryRequest,
        IdempotentUnaryResponse, ServerStreamRequest, ServerStreamResponse,
        StreamResponseDefinition, UnaryRequest, UnaryResponse, UnaryResponseDefinition,
        UnimplementedRequest, UnimplementedResponse, conformance_payload::RequestInfo,
        unary_response_definition,
    },
};

/// Answers as requests ask for.
#[derive(Debug)]
pub(crate) struct Service;

impl ConformanceService for Service {
    async fn unary(
        &self,
        request: Request<UnaryRequest>,
    ) -> Result<Response<UnaryResponse>, Status> {
        let seen = seen(&request, [Any::of(request.message())]);
        let context = request.context().clone();
        let definition = request.into_message().response_definition;
        let payload = Some(one(definition, seen, &context).await?);
        Ok(UnaryResponse { payload }.into())
    }

    async fn idempotent_unary(
        &self,
        request: Request<IdempotentUnaryRequest>,
    ) -> Result<Response<IdempotentUnaryResponse>, Status> {
        let seen = seen(&request, [Any::of(request.message())]);
        let context = request.context().clone();
        let definition = request.into_message().response_definition;
        let payload = Some(one(definition, seen, &context).await?);
        Ok(IdempotentUnaryResponse { payload }.into())
    }

    async fn unimplemented(
        &self,
        _request: Request<UnimplementedRequest>,
    ) -> Result<Response<UnimplementedResponse>, Status> {
        Err(Status::unimplemented("nobody implements this rpc"))
    }

    async fn client_stream(
        &self,
        request: Request<Streaming<ClientStreamRequest>>,
    ) -> Result<Response<ClientStreamResponse>, Status> {
        let mut seen = seen(&request, []);
        let context = request.context().clone();
        let mut requests = request.into_message();
        let mut definition = None;
        while let Some(request) = requests.message().await? {
            seen.requests.push(Any::of(&request));
            if seen.requests.len() == 1 {
                definition = request.response_definition;
            }
        }
        let payload = Some(one(definition, seen, &context).await?);
        Ok(ClientStreamResponse { payload }.into())
    }

    async fn server_stream(
        &self,
        request: Request<ServerStreamRequest>,
    ) -> Result<Response<Streaming<ServerStreamResponse>>, Status> {
        let seen = seen(&request, [Any::of(request.message())]);
        let context = request.context().clone();
        let definition = request.into_message().response_definition;
        let answers = Answers::new(definition.unwrap_or_default(), seen, &context)?;
        let items = answers.into_stream(|payload| ServerStreamResponse {
            payload: Some(payload),
        });
        Ok(Response::stream(items))
    }

    async fn bidi_stream(
        &self,
        request: Request<Streaming<BidiStreamRequest>>,
    ) -> Result<Response<Streaming<BidiStreamResponse>>, Status> {
        let mut seen = seen(&request, []);
        let context = request.context().clone();
        let mut requests = request.into_message();
        let first = requests.message().await?;
        seen.requests.extend(first.as_ref().map(Any::of));
        let first = first.unwrap_or_default();
        if !first.full_duplex {
            while let Some(request) = requests.message().await? {
                seen.requests.push(Any::of(&request));
            }
        }
        let definition = first.response_definition.unwrap_or_default();
        let mut answers = Answers::new(definition, seen, &context)?;
        if first.full_duplex {
            answers.requests = Some(requests);
        }
        let items = answers.into_stream(|payload| BidiStreamResponse {
            payload: Some(payload),
        });
        Ok(Response::stream(items))
    }
}

/// What the service sees of a call with these requests so far.
fn seen<T>(request: &Request<T>, requests: impl Into<Vec<Any>>) -> RequestInfo {
    let left = request.context().deadline().map(|at| {
        let left = at.saturating_duration_since(Instant::now());
        i64::try_from(left.as_millis()).unwrap_or(i64::MAX)
    });
    RequestInfo {
        request_headers: metadata::headers(request.attachments()),
        timeout_ms: left,
        requests: requests.into(),
        connect_get_info: None,
    }
}

/// One answer as `definition` asks for, or the error.
async fn one(
    definition: Option<UnaryResponseDefinition>,
    seen: RequestInfo,
    context: &CallContext,
) -> Result<ConformancePayload, Status> {
    let definition = definition.unwrap_or_default();
    set_metadata(
        context,
        &definition.response_headers,
        &definition.response_trailers,
    )?;
    pause(definition.response_delay_ms).await;
    let data = match definition.response {
        Some(unary_response_definition::Response::Error(error)) => {
            return Err(rpc_error::status(error, Some(Any::of(&seen))));
        }
        Some(unary_response_definition::Response::ResponseData(data)) => data,
        None => Bytes::new(),
    };
    Ok(ConformancePayload {
        data,
        request_info: Some(seen),
    })
}

fn set_metadata(
    context: &CallContext,
    headers: &[Header],
    trailers: &[Header],
) -> Result<(), Status> {
    for (name, value) in metadata::values(headers) {
        let set = context.reply().header(name, value);
        set.map_err(|error| Status::internal(error.to_string()))?;
    }
    for (name, value) in metadata::values(trailers) {
        context.reply().trailer(name, value);
    }
    Ok(())
}

/// The answers of a stream that are still to be given.
struct Answers {
    data: VecDeque<Bytes>,
    delay: u32,
    error: Option<Error>,
    /// For the first answer, or for the error if there is none.
    seen: Option<RequestInfo>,
    /// In full duplex, the requests after the first: each is answered as it comes.
    requests: Option<Streaming<BidiStreamRequest>>,
    /// The requests since the last answer.
    unanswered: Vec<Any>,
}

impl Answers {
    fn new(
        definition: StreamResponseDefinition,
        seen: RequestInfo,
        context: &CallContext,
    ) -> Result<Self, Status> {
        set_metadata(
            context,
            &definition.response_headers,
            &definition.response_trailers,
        )?;
        Ok(Self {
            data: definition.response_data.into(),
            delay: definition.response_delay_ms,
            error: definition.error,
            seen: Some(seen),
            requests: None,
            unanswered: Vec::new(),
        })
    }

    /// All of them, as `wrap` makes them.
    fn into_stream<M>(
        self,
        wrap: impl Fn(ConformancePayload) -> M + Copy + Send + 'static,
    ) -> impl Stream<Item = Result<M, Status>> + Send + 'static
    where
        M: Send + 'static,
    {
        stream::try_unfold(self, move |mut answers| async move {
            let next = answers.next().await?;
            Ok(next.map(|payload| (wrap(payload), answers)))
        })
    }

    async fn next(&mut self) -> Result<Option<ConformancePayload>, Status> {
        self.await_request().await?;
        let Some(data) = self.data.pop_front() else {
            let Some(error) = self.error.take() else {
                return Ok(None);
            };
            let seen = self.seen.take().map(|seen| Any::of(&seen));
            return Err(rpc_error::status(error, seen));
        };
        let request_info = self.seen.take().or_else(|| {
            self.requests.as_ref()?;
            Some(RequestInfo {
                requests: std::mem::take(&mut self.unanswered),
                ..RequestInfo::default()
            })
        });
        pause(self.delay).await;
        Ok(Some(ConformancePayload { data, request_info }))
    }

    /// In full duplex, waits for the request that comes before the next answer. The first has been read.
    async fn await_request(&mut self) -> Result<(), Status> {
        if self.seen.is_none()
            && let Some(requests) = &mut self.requests
        {
            match requests.message().await? {
                Some(request) => self.unanswered.push(Any::of(&request)),
                None => self.requests = None,
            }
        }
        Ok(())
    }
}

async fn pause(millis: u32) {
    if millis > 0 {
        sleep(Duration::from_millis(millis.into())).await;
    }
}
