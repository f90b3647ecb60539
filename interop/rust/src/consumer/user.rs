//! Calls of the service without protobuf.

use std::time::Duration;

use dubbo::{
    Call, Response,
    config::ReferenceConfig,
    hessian2::{Shared, ToHessian, java::Date},
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{
    Target,
    cases::PATIENT,
    outcome::{Fault, Outcome},
    text,
};
use crate::{
    headers, pattern,
    user::{User, UserServiceClient, UserStreamServiceClient},
};

pub(super) async fn get(target: &Target<'_>) -> Result<Value, Fault> {
    let user = target.label(target.user().await?.get_user("A1".to_owned()));
    Ok(show(user.await?.message()))
}

pub(super) async fn get_many(target: &Target<'_>) -> Result<Value, Fault> {
    let users = target.label(target.user().await?.get_users(ids(&["A", "B"])));
    Ok(users.await?.message().iter().map(show).collect())
}

pub(super) async fn get_map(target: &Target<'_>) -> Result<Value, Fault> {
    let users = target.label(target.user().await?.get_user_map(ids(&["A"])));
    let users = users.await?.into_message();
    Ok(users
        .iter()
        .map(|(id, user)| (id.clone(), show(user)))
        .collect())
}

pub(super) async fn mix(target: &Target<'_>, base: Option<User>) -> Result<User, Fault> {
    let user = target.label(target.user().await?.mix("new".to_owned(), 9, base));
    Ok(user.await?.into_message())
}

pub(super) async fn null(target: &Target<'_>) -> Result<Value, Fault> {
    let user = target.label(target.user().await?.echo_user(None));
    Ok(user
        .await?
        .message()
        .as_ref()
        .map_or(Value::Null, |_| "a user".into()))
}

/// A user that is its own friend.
pub(super) async fn cycle(target: &Target<'_>) -> Result<Value, Fault> {
    let user = Shared::cyclic(|itself| User {
        friend: Some(itself.clone()),
        ..User::sample("A")
    });
    let back = target.label(target.user().await?.echo_user(Some(user.clone())));
    Ok(equal(&Some(user), back.await?.message()))
}

pub(super) async fn hello(target: &Target<'_>, name: &str) -> Result<Value, Fault> {
    let greeting = target.label(target.user().await?.hello(name.to_owned()));
    Ok(greeting.await?.into_message().into())
}

/// Says hello through a reference whose options differ.
pub(super) async fn hello_as(
    target: &Target<'_>,
    change: impl FnOnce(ReferenceConfig) -> ReferenceConfig,
) -> Result<Value, Fault> {
    let client: UserServiceClient = target.refer(change).await?;
    let greeting = target.label(client.hello("x".to_owned())).await?;
    Ok(greeting.into_message().into())
}

pub(super) async fn overload(target: &Target<'_>) -> Result<Value, Fault> {
    let user = target.user().await?;
    let text = target.label(user.overload("a".to_owned())).await?;
    let int = target.label(user.overload_int(3)).await?;
    let both = target.label(user.overload_both("a".to_owned(), 3)).await?;
    Ok(json!([text.message(), int.message(), both.message()]))
}

pub(super) async fn three(target: &Target<'_>) -> Result<Value, Fault> {
    let user = target.user().await?;
    let full = user.three(Some("a".to_owned()), 2, Some(User::sample("u")));
    let full = target.label(full).await?;
    let nulls = target.label(user.three(None, 2, None)).await?;
    Ok(json!([full.message(), nulls.message()]))
}

/// How many calls without an answer have reached the provider.
pub(super) async fn oneway(target: &Target<'_>) -> Result<Value, Fault> {
    let user = target.user().await?;
    let before = target.label(user.oneway_count()).await?.into_message();
    target.label(user.oneway("x".to_owned())).await?;
    sleep(Duration::from_millis(200)).await;
    let after = target.label(user.oneway_count()).await?.into_message();
    Ok((after - before).into())
}

/// Sends as much as it gets.
pub(super) async fn big(target: &Target<'_>, size: usize) -> Result<Value, Fault> {
    let client: UserServiceClient = target.refer(|options| options.timeout(PATIENT)).await?;
    let wanted = i32::try_from(size).unwrap_or(i32::MAX);
    let back = target.label(client.big(pattern(size), wanted)).await?;
    Ok(json!({"as_asked": *back.message() == pattern(size)}))
}

pub(super) async fn service_echo(target: &Target<'_>) -> Result<Value, Fault> {
    let back = target.generic().await?;
    let back = target.label(back.echo("OK")).await?;
    Ok(back.message().as_str().into())
}

pub(super) async fn timeout(target: &Target<'_>, timeout: Duration) -> Result<Value, Fault> {
    let client: UserServiceClient = target.refer(|options| options.timeout(timeout)).await?;
    Ok(target
        .label(client.sleep(1000))
        .await?
        .into_message()
        .into())
}

pub(super) async fn after_timeout(target: &Target<'_>) -> Result<Value, Fault> {
    sleep(Duration::from_secs(1)).await;
    hello(target, "again").await
}

pub(super) async fn attachments(
    target: &Target<'_>,
    sent: &[(&'static str, &'static str)],
) -> Result<Value, Fault> {
    let user = target.user().await?;
    let call = target.label(user.attachments("reply".to_owned()));
    let call = sent
        .iter()
        .fold(call, |call, (name, value)| call.attach(*name, *value));
    let response = call.await?;
    let mut back = headers::lines(response.headers());
    back.extend(headers::lines(response.trailers()));
    let seen = response.message().iter();
    let seen = seen.map(|(name, value)| {
        let text = value
            .as_str()
            .map_or_else(|| format!("{value:?}"), str::to_owned);
        format!("{}: {text}", name.to_lowercase())
    });
    Ok(json!({"seen": seen.collect::<Vec<_>>(), "back": back}))
}

pub(super) async fn server_stream(target: &Target<'_>, prefix: &str) -> Outcome {
    let stream = async {
        let client: UserStreamServiceClient = target.refer(|options| options).await?;
        Ok::<_, Fault>(
            target
                .label(client.server_stream(prefix.to_owned()))
                .await?,
        )
    };
    names(stream.await).await
}

pub(super) async fn bidi(target: &Target<'_>) -> Outcome {
    let users = futures_util::stream::iter(["1", "2", "3"].map(User::sample));
    let stream = async {
        let client: UserStreamServiceClient = target.refer(|options| options).await?;
        Ok::<_, Fault>(target.label(client.bi_stream(users)).await?)
    };
    names(stream.await).await
}

/// The names of the users of a stream.
async fn names(stream: Result<Response<dubbo::Streaming<User>>, Fault>) -> Outcome {
    let mut users = match stream {
        Ok(response) => response.into_message(),
        Err(fault) => return Err::<Value, _>(fault).into(),
    };
    let mut names = Vec::new();
    while let Some(user) = users.next().await {
        match user {
            Ok(user) => names.push(user.name),
            Err(status) => {
                return Outcome {
                    got: json!(names),
                    fault: Some(status.into()),
                };
            }
        }
    }
    Outcome {
        got: json!(names),
        fault: None,
    }
}

/// Makes a call that gives back what it was given.
pub(super) async fn echo<T: ToHessian + Clone>(
    target: &Target<'_>,
    sent: T,
    call: impl for<'c> FnOnce(&'c UserServiceClient, T) -> Call<'c, Response<T>>,
) -> Result<Value, Fault> {
    let client = target.user().await?;
    let back = target.label(call(client, sent.clone())).await?;
    Ok(equal(&sent, back.message()))
}

/// Makes a call, and takes its result as it is.
pub(super) async fn plain<T: Into<Value>>(
    target: &Target<'_>,
    call: impl for<'c> FnOnce(&'c UserServiceClient) -> Call<'c, Response<T>>,
) -> Result<Value, Fault> {
    let client = target.user().await?;
    Ok(target.label(call(client)).await?.into_message().into())
}

/// "equal", or what came back instead.
pub(super) fn equal<T: ToHessian>(sent: &T, back: &T) -> Value {
    let back = text::of(back);
    if text::of(sent) == back {
        "equal".into()
    } else {
        back.into()
    }
}

/// A user as every consumer prints it.
pub(super) fn show(user: &User) -> Value {
    let attrs = user.attrs.iter().flatten().map(|(name, value)| {
        let value = value
            .as_i64()
            .map_or_else(|| json!(value.as_str()), Value::from);
        (name.clone(), value)
    });
    let photo: Vec<_> = user
        .photo
        .iter()
        .flatten()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    json!({
        "id": user.id, "name": user.name, "age": user.age, "score": user.score, "rate": user.rate,
        "active": user.active, "birth": user.birth.map(Date::millis),
        "gender": user.gender.map(crate::user::Gender::name), "tags": user.tags,
        "attrs": attrs.collect::<serde_json::Map<_, _>>(),
        "friend": user.friend.as_ref().and_then(|friend| friend.get()?.id.clone()),
        "photo": photo.concat(),
    })
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|&id| id.to_owned()).collect()
}
