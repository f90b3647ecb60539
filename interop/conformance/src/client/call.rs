//! Making one call.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use dubbo::{
    Call, Response,
    stream::{self, Feed},
};
use prost::Name;
use tokio::time::sleep;

use super::{
    duplex,
    outcome::{Outcome, given_up},
    timing::Timing,
};
use crate::{
    any::Any,
    metadata,
    suite::{
        BidiStreamRequest, ClientCompatRequest, ClientResponseResult, ClientStreamRequest,
        ConformancePayload, ConformanceServiceClient, IdempotentUnaryRequest, ServerStreamRequest,
        StreamType, UnaryRequest, UnimplementedRequest,
    },
};

/// Makes the call and tells what became of it.
///
/// # Errors
///
/// In words: it was not made, because it is none that can be made.
pub(super) async fn make(
    client: &ConformanceServiceClient,
    asked: &ClientCompatRequest,
) -> Result<ClientResponseResult, String> {
    let timing = Timing::of(asked);
    let outcome = match asked.method() {
        "Unary" => {
            let call = |message: UnaryRequest| client.unary(message);
            unary(asked, timing, call, |m| m.payload).await?
        }
        "IdempotentUnary" => {
            let call = |message: IdempotentUnaryRequest| client.idempotent_unary(message);
            unary(asked, timing, call, |m| m.payload).await?
        }
        "Unimplemented" => {
            let call = |message: UnimplementedRequest| client.unimplemented(message);
            unary(asked, timing, call, |_| None).await?
        }
        "ServerStream" => server_stream(client, asked, timing).await?,
        "ClientStream" => client_stream(client, asked, timing).await?,
        "BidiStream" if asked.stream_type() == StreamType::FullDuplexBidiStream => {
            duplex::full(client, asked, timing, messages(asked)?).await
        }
        "BidiStream" => half_duplex(client, asked, timing).await?,
        other => return Err(format!("the suite's service has no method {other:?}")),
    };
    Ok(outcome.0)
}

async fn unary<'c, Req: Name + Default, Resp>(
    asked: &ClientCompatRequest,
    timing: Timing,
    call: impl FnOnce(Req) -> Call<'c, Response<Resp>>,
    payload: fn(Resp) -> Option<ConformancePayload>,
) -> Result<Outcome, String> {
    let call = with_options(call(only(asked)?), asked);
    let answered = tokio::select! {
        answered = call.into_future() => answered,
        () = timing.wait() => Err(given_up()),
    };
    Ok(Outcome::of(answered, payload))
}

async fn server_stream(
    client: &ConformanceServiceClient,
    asked: &ClientCompatRequest,
    timing: Timing,
) -> Result<Outcome, String> {
    let request: ServerStreamRequest = only(asked)?;
    let call = with_options(client.server_stream(request), asked);
    let mut outcome = Outcome::default();
    let answers = async {
        match call.await {
            Ok(response) => {
                let replies = outcome.begin(response);
                outcome.read(replies, |m| m.payload, timing).await;
            }
            Err(status) => outcome.fail(&status),
        }
    };
    tokio::select! {
        () = answers => {}
        () = timing.wait() => outcome.give_up(),
    }
    Ok(outcome)
}

async fn client_stream(
    client: &ConformanceServiceClient,
    asked: &ClientCompatRequest,
    timing: Timing,
) -> Result<Outcome, String> {
    let requests: Vec<ClientStreamRequest> = messages(asked)?;
    let (feed, stream) = stream::channel(1);
    let sent = AtomicUsize::new(0);
    let call = with_options(client.client_stream(stream), asked);
    let answered = tokio::select! {
        answered = call.into_future() => answered,
        () = send(feed, requests, asked, timing, &sent) => Err(given_up()),
    };
    let mut outcome = Outcome::of(answered, |m| m.payload);
    outcome.0.num_unsent_requests = unsent(asked, &sent);
    Ok(outcome)
}

async fn half_duplex(
    client: &ConformanceServiceClient,
    asked: &ClientCompatRequest,
    timing: Timing,
) -> Result<Outcome, String> {
    let requests: Vec<BidiStreamRequest> = messages(asked)?;
    let (feed, stream) = stream::channel(1);
    let sent = AtomicUsize::new(0);
    let call = with_options(client.bidi_stream(stream), asked);
    let mut outcome = Outcome::default();
    let answers = async {
        match call.await {
            Ok(response) => {
                let replies = outcome.begin(response);
                outcome.read(replies, |m| m.payload, timing).await;
            }
            Err(status) => outcome.fail(&status),
        }
    };
    tokio::select! {
        () = answers => {}
        () = send(feed, requests, asked, timing, &sent) => outcome.give_up(),
    }
    outcome.0.num_unsent_requests = unsent(asked, &sent);
    Ok(outcome)
}

/// The call with all that is said beside its requests.
pub(super) fn with_options<'c, T>(
    mut call: Call<'c, T>,
    asked: &ClientCompatRequest,
) -> Call<'c, T> {
    for (name, value) in metadata::values(&asked.request_headers) {
        call = call.attach(name, value);
    }
    match asked.timeout_ms {
        Some(millis) => call.timeout(Duration::from_millis(millis.into())),
        None => call,
    }
}

/// Waits as long as is asked for before each request of a stream.
pub(super) async fn pause(asked: &ClientCompatRequest) {
    if asked.request_delay_ms > 0 {
        sleep(Duration::from_millis(asked.request_delay_ms.into())).await;
    }
}

/// How many requests the call did without that should have been among them.
pub(super) fn unsent(asked: &ClientCompatRequest, sent: &AtomicUsize) -> i32 {
    let unsent = asked.request_messages.len() - sent.load(Ordering::Relaxed);
    i32::try_from(unsent).unwrap_or(i32::MAX)
}

/// Sends `requests`, counts them, and ends when the call is to be given up.
async fn send<M>(
    feed: Feed<M>,
    requests: Vec<M>,
    asked: &ClientCompatRequest,
    timing: Timing,
    sent: &AtomicUsize,
) {
    for request in requests {
        pause(asked).await;
        if feed.send(request).await.is_err() {
            break;
        }
        sent.fetch_add(1, Ordering::Relaxed);
    }
    timing.end(feed).await;
}

fn only<M: Name + Default>(asked: &ClientCompatRequest) -> Result<M, String> {
    match &asked.request_messages[..] {
        [message] => message.unpack(),
        messages => Err(format!(
            "{} takes one request, and there are {}",
            asked.method(),
            messages.len()
        )),
    }
}

fn messages<M: Name + Default>(asked: &ClientCompatRequest) -> Result<Vec<M>, String> {
    asked.request_messages.iter().map(Any::unpack).collect()
}
