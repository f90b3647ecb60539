//! What became of a call, in the suite's words.

use dubbo::{Response, Status, Streaming};

use super::timing::Timing;
use crate::{
    metadata, rpc_error,
    suite::{ClientResponseResult, ConformancePayload},
};

/// Collects it.
#[derive(Debug, Default)]
pub(super) struct Outcome(pub(super) ClientResponseResult);

impl Outcome {
    /// The call had one answer, or none.
    pub(super) fn of<T>(
        answered: Result<Response<T>, Status>,
        payload: fn(T) -> Option<ConformancePayload>,
    ) -> Self {
        let mut outcome = Self::default();
        match answered {
            Ok(response) => {
                let (message, headers, trailers) = response.into_parts();
                outcome.0.response_headers = metadata::headers(&headers);
                outcome.0.response_trailers = metadata::headers(&trailers);
                outcome.add(payload(message));
            }
            Err(status) => outcome.fail(&status),
        }
        outcome
    }

    /// Notes the headers of a stream.
    pub(super) fn begin<T>(&mut self, response: Response<Streaming<T>>) -> Streaming<T> {
        self.0.response_headers = metadata::headers(response.headers());
        response.into_message()
    }

    /// Reads answers to their end, or until it is time to give the call up.
    pub(super) async fn read<T>(
        &mut self,
        mut replies: Streaming<T>,
        payload: fn(T) -> Option<ConformancePayload>,
        timing: Timing,
    ) {
        while !self.is_time(timing) {
            match replies.message().await {
                Ok(Some(message)) => self.add(payload(message)),
                Ok(None) => return self.end(&replies),
                Err(status) => return self.fail(&status),
            }
        }
        self.give_up();
    }

    /// Whether the call is to be given up with the answers that have come.
    pub(super) fn is_time(&self, timing: Timing) -> bool {
        timing == Timing::AfterResponses(self.0.payloads.len())
    }

    /// One more answer. A message without a payload counts as an empty one.
    pub(super) fn add(&mut self, payload: Option<ConformancePayload>) {
        self.0.payloads.push(payload.unwrap_or_default());
    }

    /// The answers are over.
    pub(super) fn end<T>(&mut self, replies: &Streaming<T>) {
        let trailers = replies.trailers().map(metadata::headers);
        self.0.response_trailers = trailers.unwrap_or_default();
    }

    /// The call has failed.
    pub(super) fn fail(&mut self, status: &Status) {
        self.0.error = Some(rpc_error::error(status));
        self.0.response_trailers = metadata::headers(status.attachments());
    }

    /// The caller gave up, which in Rust is to drop the call: nobody is there to be told of the error that others get.
    pub(super) fn give_up(&mut self) {
        self.fail(&given_up());
    }
}

/// What the suite expects of a call that its caller gave up.
pub(super) fn given_up() -> Status {
    Status::canceled("the caller gave the call up")
}
