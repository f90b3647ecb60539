//! `invoke`: a call of a service of this program, typed in.

use std::time::Duration;

use dubbo_core::attachments::Attachments;
use tokio::time::Instant;

use super::{
    super::command::{Answer, Asked, Failure},
    counts::service_called,
};

/// Calls `<service>.<method>(<JSON>, …)` of this program, through the filters that every call goes through.
pub(in crate::admin) async fn invoke(asked: &Asked<'_>) -> Answer {
    let text = asked.argument(0, "a call such as `shop.Users.find({\"id\": 7})`")?;
    asked.at_most(1)?;
    let (name, method, arguments) = parts(text).ok_or_else(|| {
        Failure::Bad(format!(
            "expected a call such as `shop.Users.find({{\"id\": 7}})`, found `{text}`"
        ))
    })?;
    let served = asked.instance()?.served();
    let service = service_called(&served, name)?;
    let Some(found) = service.descriptor.find(method) else {
        let known = service.descriptor.method_names().join(", ");
        return Err(Failure::NotFound(format!(
            "{name} has no method `{method}`; it has {known}"
        )));
    };
    let mut attachments = Attachments::new();
    if let Some(token) = service.url.param("token") {
        attachments.insert("token", token.to_owned());
    }
    let began = Instant::now();
    let key = service.url.service_key();
    let deadline = began + PATIENCE;
    let called = dubbo_protocol::qos::call_json(
        &*service.invoker,
        &key,
        found,
        arguments,
        attachments,
        deadline,
    );
    match called.await {
        Ok(json) => Ok(format!(
            "result: {json}\nelapsed: {} ms.",
            began.elapsed().as_millis()
        )),
        Err(status) => Err(Failure::Failed(status.to_string())),
    }
}

/// The service, the method and the arguments.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (called, rest) = text.split_once('(')?;
    let arguments = rest.trim_end().strip_suffix(')')?;
    // A version may have dots in it, the name of a method has none.
    let (service, method) = called.trim().rsplit_once('.')?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    (is_name(service) && is_name(method)).then_some((service, method, arguments))
}

/// Less than an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_service_a_method_and_arguments() {
        for (text, want) in [
            ("a.B.c()", Some(("a.B", "c", ""))),
            (
                "g/a.B:1.0.c(1, \"x)(\")",
                Some(("g/a.B:1.0", "c", "1, \"x)(\"")),
            ),
            (
                "a.B.c({\"d\": \"e.f\"}) ",
                Some(("a.B", "c", "{\"d\": \"e.f\"}")),
            ),
            ("c()", None),
            ("a.B.c", None),
            ("a.B.(1)", None),
            ("a B.c(1)", None),
            ("", None),
        ] {
            assert_eq!(parts(text), want, "{text:?}");
        }
    }
}
