//! A conversation: each request is sent when the one before has been answered.

use std::sync::atomic::{AtomicUsize, Ordering};

use dubbo::{
    Call, Response, Status, Streaming,
    stream::{self, Feed},
};

use super::{
    call::{pause, unsent, with_options},
    outcome::Outcome,
    timing::Timing,
};
use crate::suite::{
    BidiStreamRequest, BidiStreamResponse, ClientCompatRequest, ConformanceServiceClient,
};

/// Has it with `requests`, then reads what is left of the answers.
pub(super) async fn full(
    client: &ConformanceServiceClient,
    asked: &ClientCompatRequest,
    timing: Timing,
    requests: Vec<BidiStreamRequest>,
) -> Outcome {
    let (feed, stream) = stream::channel(1);
    let sent = AtomicUsize::new(0);
    let call = with_options(client.bidi_stream(stream), asked);
    let mut outcome = Outcome::default();
    let conversation = Conversation {
        call: Some(call),
        replies: None,
        outcome: &mut outcome,
        timing,
    };
    match conversation.run(feed, requests, asked, &sent).await {
        Ok(End::Answers) => {}
        Ok(End::GivenUp) => outcome.give_up(),
        Err(status) => outcome.fail(&status),
    }
    outcome.0.num_unsent_requests = unsent(asked, &sent);
    outcome
}

/// How it ended.
enum End {
    /// With the last answer.
    Answers,
    /// By the caller.
    GivenUp,
}

struct Conversation<'a, 'c> {
    /// Until it has begun.
    call: Option<Call<'c, Response<Streaming<BidiStreamResponse>>>>,
    replies: Option<Streaming<BidiStreamResponse>>,
    outcome: &'a mut Outcome,
    timing: Timing,
}

impl Conversation<'_, '_> {
    async fn run(
        mut self,
        feed: Feed<BidiStreamRequest>,
        requests: Vec<BidiStreamRequest>,
        asked: &ClientCompatRequest,
        sent: &AtomicUsize,
    ) -> Result<End, Status> {
        for request in requests {
            pause(asked).await;
            // When nobody reads any more, the answers say why.
            if feed.send(request).await.is_ok() {
                sent.fetch_add(1, Ordering::Relaxed);
            }
            if !self.next().await? {
                return Ok(End::Answers);
            }
            if self.outcome.is_time(self.timing) {
                return Ok(End::GivenUp);
            }
        }
        if self.timing == Timing::BeforeEnd {
            return Ok(End::GivenUp);
        }
        drop(feed);
        let timing = self.timing;
        tokio::select! {
            end = self.rest() => end,
            () = timing.wait() => Ok(End::GivenUp),
        }
    }

    async fn rest(&mut self) -> Result<End, Status> {
        while self.next().await? {
            if self.outcome.is_time(self.timing) {
                return Ok(End::GivenUp);
            }
        }
        Ok(End::Answers)
    }

    /// Reads an answer; false at their end. A server may answer nothing at all before it has a request.
    async fn next(&mut self) -> Result<bool, Status> {
        if let Some(call) = self.call.take() {
            let response = call.await?;
            self.replies = Some(self.outcome.begin(response));
        }
        let Some(replies) = &mut self.replies else {
            return Ok(false);
        };
        if let Some(message) = replies.message().await? {
            self.outcome.add(message.payload);
            return Ok(true);
        }
        self.outcome.end(replies);
        Ok(false)
    }
}
