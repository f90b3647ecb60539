//! Calls with streams.

use std::time::Duration;

use dubbo::{
    Streaming,
    stream::{self, Feed},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Target,
    calls::named,
    outcome::{Fault, Outcome},
};
use crate::{
    contract::{GreetRequest, GreetResponse},
    headers,
    health::{HealthCheckRequest, HealthCheckResponse, HealthClient},
};

pub(super) async fn server(target: &Target<'_>, request: GreetRequest) -> Outcome {
    collect(open(target, request, None).await).await
}

/// Waits until `deadline` for an item that comes later.
pub(super) async fn server_until(target: &Target<'_>, deadline: Instant) -> Outcome {
    let request = GreetRequest {
        count: 1,
        delay_millis: 1000,
        ..named("x")
    };
    collect(open(target, request, Some(deadline)).await).await
}

pub(super) async fn server_trailers(target: &Target<'_>) -> Result<Value, Fault> {
    let request = GreetRequest {
        count: 1,
        ..named("dubbo")
    };
    let mut items = open(target, request, None).await?;
    while items.message().await?.is_some() {}
    Ok(trailers(&items))
}

async fn open(
    target: &Target<'_>,
    request: GreetRequest,
    deadline: Option<Instant>,
) -> Result<Streaming<GreetResponse>, Fault> {
    let client = target.greeter().await?;
    let mut call = target.label(client.greet_server_stream(request));
    if let Some(deadline) = deadline {
        call = call.deadline(deadline);
    }
    Ok(call.await?.into_message())
}

async fn collect(stream: Result<Streaming<GreetResponse>, Fault>) -> Outcome {
    let mut greetings = Vec::new();
    let fault = match stream {
        Err(fault) => Some(fault),
        Ok(mut stream) => loop {
            match stream.message().await {
                Ok(Some(item)) => greetings.push(item.greeting),
                Ok(None) => break None,
                Err(status) => break Some(status.into()),
            }
        },
    };
    Outcome {
        got: greetings.into(),
        fault,
    }
}

pub(super) async fn client(
    target: &Target<'_>,
    fail_code: i32,
    names: Vec<String>,
) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let requests = names.into_iter().map(move |name| GreetRequest {
        fail_code,
        ..named(&name)
    });
    let requests = stream::iter(requests);
    let answer = target.label(client.greet_client_stream(requests)).await?;
    let GreetResponse { greeting, seq } = answer.into_message();
    Ok(json!({"greeting": greeting, "seq": seq}))
}

pub(super) async fn client_trailers(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let requests = stream::iter([named("a")]);
    let answer = target.label(client.greet_client_stream(requests)).await?;
    Ok(headers::lines(answer.trailers()).into())
}

pub(super) async fn bidi(target: &Target<'_>, code: i32, names: Vec<String>) -> Outcome {
    let mut greetings = Vec::new();
    let fault = converse(target, code, names, &mut greetings).await.err();
    Outcome {
        got: greetings.into(),
        fault,
    }
}

pub(super) async fn bidi_trailers(target: &Target<'_>) -> Result<Value, Fault> {
    let answers = converse(target, 0, vec!["a".to_owned()], &mut Vec::new()).await?;
    Ok(trailers(&answers))
}

/// Sends the next name when the last one is answered, until the answers end.
async fn converse(
    target: &Target<'_>,
    code: i32,
    names: Vec<String>,
    greetings: &mut Vec<String>,
) -> Result<Streaming<GreetResponse>, Fault> {
    let client = target.greeter().await?;
    let mut names = names.into_iter();
    let (feed, requests) = stream::channel(1);
    // The first one before the call: a provider may wait for it before it answers at all.
    let mut feed = send(Some(feed), names.next(), code).await;
    let mut answers = target
        .label(client.greet_bidi(requests))
        .await?
        .into_message();
    while let Some(answer) = answers.message().await? {
        greetings.push(answer.greeting);
        feed = send(feed, names.next(), code).await;
    }
    Ok(answers)
}

/// Sends a name; without one, and when nobody reads any more, ends the requests.
async fn send(
    feed: Option<Feed<GreetRequest>>,
    name: Option<String>,
    fail_code: i32,
) -> Option<Feed<GreetRequest>> {
    let (feed, name) = (feed?, name?);
    let request = GreetRequest {
        fail_code,
        ..named(&name)
    };
    feed.send(request).await.ok()?;
    Some(feed)
}

/// Keeps the number of items and the last one.
pub(super) fn last_of(outcome: Outcome) -> Outcome {
    let items = outcome.got.as_array();
    let last = items.and_then(|items| items.last());
    Outcome {
        got: json!({"count": items.map(Vec::len), "last": last}),
        ..outcome
    }
}

/// Drops the stream after two of a hundred items.
pub(super) async fn cancel_server(target: &Target<'_>) -> Result<Value, Fault> {
    let request = GreetRequest {
        count: 100,
        delay_millis: 50,
        ..named("x")
    };
    let mut items = open(target, request, None).await?;
    for read in 0..2 {
        if items.message().await?.is_none() {
            return Ok(read.into());
        }
    }
    Ok(2.into())
}

/// Drops the call after one request, while the provider waits for more.
pub(super) async fn cancel_client(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let (feed, requests) = stream::channel(1);
    let feed = send(Some(feed), Some("a".to_owned()), 0).await;
    let call = target.label(client.greet_client_stream(requests));
    let answered = tokio::time::timeout(Duration::from_millis(200), call).await;
    drop(feed);
    match answered {
        Ok(answer) => Ok(answer?.into_message().greeting.into()),
        Err(_) => Ok("dropped".into()),
    }
}

/// Drops the answers after one, while the provider waits for the next request.
pub(super) async fn cancel_bidi(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let (feed, requests) = stream::channel(1);
    let feed = send(Some(feed), Some("a".to_owned()), 0).await;
    let mut answers = target
        .label(client.greet_bidi(requests))
        .await?
        .into_message();
    let first = answers.message().await?.map(|answer| answer.greeting);
    drop(answers);
    // The requests have not ended when the cancellation goes out.
    drop(feed);
    Ok(json!([first]))
}

/// The first health status of `service`.
pub(super) async fn watch_once(target: &Target<'_>, service: &str) -> Result<Value, Fault> {
    let mut statuses = watch(target, service).await?;
    next_status(&mut statuses).await
}

pub(super) async fn watch(
    target: &Target<'_>,
    service: &str,
) -> Result<Streaming<HealthCheckResponse>, Fault> {
    let client: HealthClient = target.refer(|options| options).await?;
    let service = service.to_owned();
    let call = target.label(client.watch(HealthCheckRequest { service }));
    Ok(call.await?.into_message())
}

pub(super) async fn next_status(
    statuses: &mut Streaming<HealthCheckResponse>,
) -> Result<Value, Fault> {
    let status = statuses.message().await?;
    Ok(status.map(|answer| answer.status().as_str_name()).into())
}

fn trailers<T>(ended: &Streaming<T>) -> Value {
    ended.trailers().map(headers::lines).into()
}
