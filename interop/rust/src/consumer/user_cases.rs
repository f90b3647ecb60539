//! The cases of the service without protobuf, by name.

use dubbo::hessian2::{
    Value as Any,
    java::{BigDecimal, BigInteger},
};
use serde_json::{Value, json};

use super::{
    Target,
    cases::HASTY,
    generic, life,
    outcome::{Fault, Outcome},
    user, values,
};
use crate::{
    pattern,
    user::{Address, Bag, Child, Outcome as Data, User, UserServiceClient},
};

/// Runs the case of `target`, if it is one.
pub(super) async fn run(target: &Target<'_>) -> Option<Outcome> {
    Some(match target.case {
        "user_get" => user::get(target).await.into(),
        "user_get_many" => user::get_many(target).await.into(),
        "user_get_map" => user::get_map(target).await.into(),
        "user_echo" => user::echo(
            target,
            Some(User::sample("E").into()),
            UserServiceClient::echo_user,
        )
        .await
        .into(),
        "user_null" => user::null(target).await.into(),
        "user_cycle" => user::cycle(target).await.into(),
        "user_bag" => user::echo(target, bag(), UserServiceClient::echo_bag)
            .await
            .into(),
        "user_graph" => values::graph(target).await.into(),
        "user_child" => user::echo(target, child(), UserServiceClient::echo_child)
            .await
            .into(),
        "user_result" => results(target).await.into(),
        "user_hello" => user::hello(target, "é 中文 😀").await.into(),
        "user_nothing" => nothing(target).await.into(),
        "user_void" => user::plain(target, |c| c.fire("x".to_owned())).await.into(),
        "user_mix" => user::mix(target, Some(User::sample("A")))
            .await
            .map(|user| user::show(&user))
            .into(),
        "user_mix_null" => user::mix(target, None)
            .await
            .map(|user| json!([user.name, user.age]))
            .into(),
        "user_no_args" => user::plain(target, UserServiceClient::no_args).await.into(),
        "user_three" => user::three(target).await.into(),
        "user_overload" => user::overload(target).await.into(),
        "user_async" => user::plain(target, |c| c.say_async("x".to_owned()))
            .await
            .into(),
        "user_oneway" => user::oneway(target).await.into(),
        "user_decimal" => decimal(target).await.into(),
        "user_integer" => integer(target).await.into(),
        "user_ping" => user::echo(target, pattern(5), UserServiceClient::ping)
            .await
            .into(),
        "user_big_900k" => user::big(target, 900_000).await.into(),
        "user_big_2m" => user::big(target, 2 << 20).await.into(),
        "user_service_echo" => user::service_echo(target).await.into(),

        "user_group_version" => keyed(target, "g1", "1.0.0").await,
        "user_wrong_version" => keyed(target, "", "9.9.9").await,
        "user_wrong_group" => keyed(target, "nogroup", "").await,
        "user_unknown_service" => {
            let nobody = "org.apache.dubbo.interop.Nobody";
            user::hello_as(target, |options| options.interface(nobody))
                .await
                .into()
        }
        "user_unknown_method" => life::unknown_method(target).await.into(),
        "user_wrong_arguments" => life::wrong_arguments(target).await.into(),
        "user_wrong_type" => life::wrong_type(target).await.into(),

        "user_timeout" => user::timeout(target, HASTY).await.into(),
        "user_after_timeout" => user::after_timeout(target).await.into(),
        "user_attachments" => user::attachments(target, &[("userId", "7"), ("X-Mixed-Case", "v")])
            .await
            .into(),
        "user_attachments_nonascii" => user::attachments(target, &[("city", "Zürich 中")])
            .await
            .into(),
        "user_server_stream" => user::server_stream(target, "p").await,
        "user_server_stream_fail" => user::server_stream(target, "fail").await,
        "user_bidi" => user::bidi(target).await,

        "error_plain" => user::plain(target, |c| c.fail("boom".to_owned()))
            .await
            .into(),
        "error_text" => user::plain(target, |c| c.fail("50% + é\n\t中 end ".to_owned()))
            .await
            .into(),
        "error_status" => user::plain(target, |c| c.fail_status(3, "bad name".to_owned()))
            .await
            .into(),
        "error_checked" => user::plain(target, |c| c.throw_checked("checked".to_owned()))
            .await
            .into(),
        "error_runtime" => user::plain(target, |c| c.throw_runtime("runtime".to_owned()))
            .await
            .into(),
        "error_cause" => user::plain(target, |c| c.throw_undeclared("outer".to_owned()))
            .await
            .into(),
        "error_null_message" => user::plain(target, UserServiceClient::throw_null_message)
            .await
            .into(),

        "heartbeat" => life::heartbeat(target).await.into(),
        name if name.starts_with("generic_") => generic::run(target).await?,
        _ => values::run(target).await?.into(),
    })
}

async fn keyed(target: &Target<'_>, group: &str, version: &str) -> Outcome {
    user::hello_as(target, |options| options.group(group).version(version))
        .await
        .into()
}

async fn nothing(target: &Target<'_>) -> Result<Value, Fault> {
    let user = target
        .label(target.user().await?.nothing("x".to_owned()))
        .await?;
    Ok(user.message().as_ref().map_or(Value::Null, user::show))
}

async fn results(target: &Target<'_>) -> Result<Value, Fault> {
    let user = Data {
        code: 1,
        message: Some("m".to_owned()),
        data: Some(User::sample("r")),
    };
    let user = user::echo(target, user, UserServiceClient::echo_result).await?;
    let number = Data {
        code: 1,
        message: None,
        data: Some(5),
    };
    let number = user::echo(target, number, UserServiceClient::echo_long_result).await?;
    Ok(json!([user, number]))
}

async fn decimal(target: &Target<'_>) -> Result<Value, Fault> {
    let sent: BigDecimal = "-12345678901234567890.123456789"
        .parse()
        .map_err(Fault::local)?;
    let back = target.label(target.user().await?.decimal(sent)).await?;
    Ok(back.message().to_string().into())
}

async fn integer(target: &Target<'_>) -> Result<Value, Fault> {
    let sent: BigInteger = "-123456789012345678901234567890"
        .parse()
        .map_err(Fault::local)?;
    let back = target.label(target.user().await?.integer(sent)).await?;
    Ok(back.message().to_string().into())
}

fn bag() -> Bag {
    let user = Any::of(&User::sample("A")).unwrap_or(Any::Null);
    Bag {
        items: vec![1.into(), "two".into(), 3_i64.into(), Any::Null, user],
        map: Any::map([("a".into(), 1.into()), (2.into(), "b".into())]),
        address: Some(Address {
            city: "Zürich".to_owned(),
            zip: 8000,
        }),
        set: ["x".to_owned(), "y".to_owned()].into(),
    }
}

fn child() -> Child {
    Child {
        id: 7,
        name: Some("own".to_owned()),
        extra: 1 << 33,
    }
}
