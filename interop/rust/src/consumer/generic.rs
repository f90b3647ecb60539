//! Calls without the interface.

use dubbo::hessian2::Value as Any;
use serde_json::{Value, json};

use super::{
    Target,
    outcome::{Fault, Outcome},
};
use crate::user::User;

/// Runs the case of `target`, if it is one.
pub(super) async fn run(target: &Target<'_>) -> Option<Outcome> {
    let x = || vec!["x".into()];
    Some(match target.case {
        "generic_hello" => text(target, "hello", Some(&[STRING]), x()).await.into(),
        "generic_user" => invoke(target, "getUser", Some(&[STRING]), vec!["A".into()])
            .await
            .map(|user| fields(&user, &["name", "age"]))
            .into(),
        "generic_bean_argument" => bean_argument(target).await.into(),
        "generic_list" => {
            let ids = Any::list(["A".into(), "B".into()]);
            let users = invoke(target, "getUsers", Some(&["java.util.List"]), vec![ids]).await;
            users
                .map(|users| {
                    let users = users.as_list().unwrap_or_default().iter();
                    users
                        .map(|user| fields(user, &["name", "age"]))
                        .collect::<Value>()
                })
                .into()
        }
        "generic_null" => text(target, "nothing", Some(&[STRING]), vec!["A".into()])
            .await
            .into(),
        "generic_overload" => overload(target).await.into(),
        "generic_no_types" => text(target, "hello", None, x()).await.into(),
        "generic_error" => text(target, "fail", Some(&[STRING]), vec!["boom".into()])
            .await
            .into(),
        "generic_error_checked" => text(
            target,
            "throwChecked",
            Some(&[STRING]),
            vec!["checked".into()],
        )
        .await
        .into(),
        "generic_unknown_method" => text(target, "noSuchMethod", Some(&[STRING]), x())
            .await
            .into(),
        "generic_typed" => typed(target).await.into(),
        "generic_json" => json_call(target).await.into(),
        _ => return None,
    })
}

async fn invoke(
    target: &Target<'_>,
    method: &str,
    types: Option<&[&str]>,
    arguments: Vec<Any>,
) -> Result<Any, Fault> {
    let client = target.generic().await?;
    let result = target
        .label(client.invoke(method, types, arguments))
        .await?;
    Ok(result.into_message())
}

async fn text(
    target: &Target<'_>,
    method: &str,
    types: Option<&[&str]>,
    arguments: Vec<Any>,
) -> Result<Value, Fault> {
    let result = invoke(target, method, types, arguments).await?;
    Ok(show(&result))
}

/// The enum is given by its name.
async fn bean_argument(target: &Target<'_>) -> Result<Value, Fault> {
    let user = Any::map([
        ("class".into(), "org.apache.dubbo.interop.User".into()),
        ("id".into(), "A".into()),
        ("name".into(), "old".into()),
        ("age".into(), 1.into()),
        ("gender".into(), "MALE".into()),
    ]);
    let types = [STRING, "int", "org.apache.dubbo.interop.User"];
    let arguments = vec!["new".into(), 9.into(), user];
    let user = invoke(target, "mix", Some(&types), arguments).await?;
    Ok(fields(&user, &["id", "name", "age", "gender"]))
}

async fn overload(target: &Target<'_>) -> Result<Value, Fault> {
    let one = text(target, "overload", Some(&[STRING]), vec!["a".into()]).await?;
    let two = text(target, "overload", Some(&["int"]), vec![3.into()]).await?;
    let both = text(
        target,
        "overload",
        Some(&[STRING, "int"]),
        vec!["a".into(), 3.into()],
    )
    .await?;
    Ok(json!([one, two, both]))
}

/// The result as a type of ours.
async fn typed(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.generic().await?;
    let call = client.invoke_as::<User>("getUser", Some(&[STRING]), vec!["A".into()]);
    let user = target.label(call).await?.into_message();
    Ok(json!([user.name, user.age]))
}

/// Arguments and result as JSON.
async fn json_call(target: &Target<'_>) -> Result<Value, Fault> {
    let client = target.generic().await?;
    let call = client.invoke_json("getUser", Some(&[STRING]), r#"["A"]"#)?;
    let json = target.label(call).await?.into_message();
    let user: Value = serde_json::from_str(&json).map_err(Fault::local)?;
    Ok(json!([user["name"], user["age"]]))
}

/// Fields of an object, which comes as a map.
fn fields(object: &Any, names: &[&str]) -> Value {
    let entries = object.as_map().unwrap_or_default();
    let field = |name: &&str| {
        let entry = entries.iter().find(|(key, _)| key.as_str() == Some(name));
        entry.map_or(Value::Null, |(_, value)| show(value))
    };
    names.iter().map(field).collect()
}

fn show(value: &Any) -> Value {
    match value {
        Any::Null => Value::Null,
        Any::String(text) => (**text).into(),
        other => other
            .as_i64()
            .map_or_else(|| format!("{other:?}").into(), Value::from),
    }
}

const STRING: &str = "java.lang.String";
