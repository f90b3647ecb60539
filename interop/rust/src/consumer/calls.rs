//! Calls with one answer.

use std::time::Duration;

use bytes::Bytes;
use dubbo::{Call, Response, config::ReferenceConfig};
use serde_json::{Value, json};

use super::{Target, cases::PATIENT, outcome::Fault};
use crate::{
    contract::{
        Attachment, AttachmentsRequest, AttachmentsResponse, BigPayloadRequest, EchoMessage,
        FailRequest, GreetRequest, GreetResponse, GreeterClient, ShouterClient, SleepRequest,
        SleepResponse, StrangerClient, fail_request::Kind,
    },
    headers,
    health::{HealthCheckRequest, HealthClient},
    pattern,
};

pub(super) async fn greet(target: &Target<'_>, name: &str) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let response = target.label(client.greet(named(name))).await?;
    Ok(greeting(response))
}

/// Greets through a reference whose options differ.
pub(super) async fn greet_as(
    target: &Target<'_>,
    change: impl FnOnce(ReferenceConfig) -> ReferenceConfig,
) -> Result<Value, Fault> {
    let client: GreeterClient = target.refer(change).await?;
    let response = target.label(client.greet(named("dubbo"))).await?;
    Ok(greeting(response))
}

/// Calls the Greeter by a method name that the contract does not have.
pub(super) async fn stranger(
    target: &Target<'_>,
    call: impl for<'c> FnOnce(&'c StrangerClient, GreetRequest) -> Call<'c, Response<GreetResponse>>,
) -> Result<Value, Fault> {
    let client: StrangerClient = target.refer(as_greeter).await?;
    let response = target.label(call(&client, named("dubbo"))).await?;
    Ok(greeting(response))
}

pub(super) async fn shout(target: &Target<'_>) -> Result<Value, Fault> {
    let client: ShouterClient = target.refer(as_greeter).await?;
    let response = target.label(client.greet(named("dubbo"))).await?;
    Ok(greeting(response))
}

pub(super) async fn lower_case(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let response = target.label(client.lower_case(named("dubbo"))).await?;
    Ok(greeting(response))
}

pub(super) async fn echo(target: &Target<'_>, message: EchoMessage) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let answer = target.label(client.echo(message.clone())).await?;
    let answer = answer.into_message();
    if answer == message {
        Ok("equal".into())
    } else {
        Ok(json!(answer))
    }
}

pub(super) async fn big(
    target: &Target<'_>,
    request: usize,
    response: usize,
) -> Result<Value, Fault> {
    big_as(target, request, response, |options| options).await
}

/// The same through a reference whose options differ.
pub(super) async fn big_as(
    target: &Target<'_>,
    request: usize,
    response: usize,
    change: impl FnOnce(ReferenceConfig) -> ReferenceConfig,
) -> Result<Value, Fault> {
    let patient = |options: ReferenceConfig| change(options.timeout(PATIENT));
    let client: GreeterClient = target.refer(patient).await?;
    let message = BigPayloadRequest {
        payload: pattern(request).into(),
        response_size: i32::try_from(response).unwrap_or(i32::MAX),
    };
    let answer = target.label(client.big_payload(message)).await?;
    let answer = answer.message();
    let as_asked = answer.payload == pattern(response);
    Ok(json!({"received": answer.received, "as_asked": as_asked}))
}

pub(super) async fn fail(target: &Target<'_>, request: FailRequest) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    target.label(client.fail(request)).await?;
    Ok("no error".into())
}

/// Asks for an error that only the end of `timeout` brings.
pub(super) async fn fail_in_time(target: &Target<'_>, timeout: Duration) -> Result<Value, Fault> {
    let client: GreeterClient = target.refer(|options| options.timeout(timeout)).await?;
    let request = FailRequest {
        kind: Kind::Context.into(),
        ..FailRequest::default()
    };
    target.label(client.fail(request)).await?;
    Ok("no error".into())
}

pub(super) async fn sleep(
    target: &Target<'_>,
    timeout: Duration,
    millis: i64,
) -> Result<Value, Fault> {
    let client: GreeterClient = target.refer(|options| options.timeout(timeout)).await?;
    let answer = target.label(client.sleep(SleepRequest { millis })).await?;
    Ok(answer.message().slept_millis.into())
}

/// Sleeps a second in a call with options of its own.
pub(super) async fn sleep_with(
    target: &Target<'_>,
    options: impl for<'c> FnOnce(Call<'c, Response<SleepResponse>>) -> Call<'c, Response<SleepResponse>>,
) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let call = target.label(client.sleep(SleepRequest { millis: 1000 }));
    Ok(options(call).await?.message().slept_millis.into())
}

/// Drops a call under way, which is how a Rust caller cancels.
pub(super) async fn cancel(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let call = target.label(client.sleep(SleepRequest { millis: 1000 }));
    match tokio::time::timeout(Duration::from_millis(200), call).await {
        Ok(answer) => Ok(answer?.message().slept_millis.into()),
        Err(_) => Ok("dropped".into()),
    }
}

pub(super) async fn attachments_map(target: &Target<'_>) -> Result<Value, Fault> {
    let request = replying(&[
        ("reply-one", "1"),
        ("Reply-Two", "2a"),
        ("Reply-Two", "2b"),
        ("reply-bin", "AAH+/w"),
    ]);
    attachments(target, request, |call| {
        call.attach("userId", "7")
            .attach("multi", "a")
            .attach("multi", "b")
            .attach("X-Mixed-Case", "v")
            .attach("blob", Bytes::from_static(&[0x00, 0x01, 0xfe, 0xff]))
    })
    .await
}

pub(super) async fn attachments_header(target: &Target<'_>) -> Result<Value, Fault> {
    let request = AttachmentsRequest {
        as_header: true,
        ..replying(&[("reply-header", "1")])
    };
    attachments(target, request, |call| {
        call.attach("userId", "7")
            .attach("multi", "a")
            .attach("multi", "b")
    })
    .await
}

pub(super) async fn attachments_non_ascii(target: &Target<'_>) -> Result<Value, Fault> {
    let request = replying(&[("reply-city", "Zürich 中")]);
    attachments(target, request, |call| call.attach("city", "Zürich 中")).await
}

pub(super) async fn attachments_newline(target: &Target<'_>) -> Result<Value, Fault> {
    attachments(target, replying(&[]), |call| call.attach("bad", "a\nb")).await
}

pub(super) async fn health(target: &Target<'_>, service: &str) -> Result<Value, Fault> {
    let client: HealthClient = target.refer(|options| options).await?;
    let service = service.to_owned();
    let answer = target
        .label(client.check(HealthCheckRequest { service }))
        .await?;
    Ok(answer.message().status().as_str_name().into())
}

async fn attachments(
    target: &Target<'_>,
    request: AttachmentsRequest,
    attach: impl for<'c> FnOnce(
        Call<'c, Response<AttachmentsResponse>>,
    ) -> Call<'c, Response<AttachmentsResponse>>,
) -> Result<Value, Fault> {
    let client = target.greeter().await?;
    let call = attach(target.label(client.attachments(request)));
    let response = call.await?;
    let seen = response.message().seen.iter();
    Ok(json!({
        "seen": seen.map(|a| format!("{}: {}", a.key, a.value)).collect::<Vec<_>>(),
        "header": headers::lines(response.headers()),
        "trailer": headers::lines(response.trailers()),
    }))
}

fn replying(pairs: &[(&str, &str)]) -> AttachmentsRequest {
    let reply = pairs.iter().map(|&(key, value)| Attachment {
        key: key.to_owned(),
        value: value.to_owned(),
    });
    AttachmentsRequest {
        reply: reply.collect(),
        as_header: false,
    }
}

pub(super) fn named(name: &str) -> GreetRequest {
    GreetRequest {
        name: name.to_owned(),
        ..GreetRequest::default()
    }
}

fn greeting(response: Response<GreetResponse>) -> Value {
    response.into_message().greeting.into()
}

fn as_greeter(options: ReferenceConfig) -> ReferenceConfig {
    options.interface(super::cases::GREETER)
}
