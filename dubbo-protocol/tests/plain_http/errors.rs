//! Calls that fail (`docs/spec/triple.md` §5.2, §5.3; §12, TV2).

use std::time::Duration;

use dubbo_core::status::{Code, Status};

use crate::{
    greeter::{GreetRequest, Provider, unary},
    support::{Caller, GREET},
};

impl prost::Name for GreetRequest {
    const NAME: &'static str = "GreetRequest";
    const PACKAGE: &'static str = "greet";
}

/// A service that fails with whatever `status` makes of a name.
async fn failing(status: fn(&str) -> Status) -> Provider {
    Provider::of(unary(move |request| async move {
        Err(status(&request.message().name))
    }))
    .await
}

#[tokio::test]
async fn every_code_has_its_name_and_its_status() {
    let provider = failing(|name| {
        let number = name.parse().expect("a number");
        Status::new(Code::from_number(number), format!("because of {name}"))
    })
    .await;
    for mut caller in Caller::both(provider.address).await {
        for (number, name, http) in [
            (1, "canceled", 408),
            (2, "unknown", 500),
            (3, "invalid_argument", 400),
            (4, "deadline_exceeded", 408),
            (5, "not_found", 404),
            (6, "already_exists", 409),
            (7, "permission_denied", 403),
            (8, "resource_exhausted", 429),
            (9, "failed_precondition", 412),
            (10, "aborted", 409),
            (11, "out_of_range", 400),
            (12, "unimplemented", 404),
            (13, "internal", 500),
            (14, "unavailable", 503),
            (15, "data_loss", 500),
            (16, "unauthenticated", 401),
            // Codes of Dubbo alone.
            (17, "unknown", 500),
            (99, "unknown", 500),
        ] {
            let body = format!("{{\"name\":\"{number}\"}}");
            let answer = caller.json(GREET, &body).await;
            let want = (http, name.to_owned(), format!("because of {number}"));
            assert_eq!(answer.refused(), want);
        }
    }
}

#[tokio::test]
async fn an_error_of_the_application_has_its_code_for_those_who_know_it() {
    let provider = failing(|_| Status::business("boom")).await;
    for mut caller in Caller::both(provider.address).await {
        for (agent, code, exception) in [
            ("triple-go/0.1.0 (go1.26.8)", "code_17", None),
            ("dubbo-rust/1.0.0", "code_17", None),
            ("curl/8.5.0", "unknown", Some("3")),
        ] {
            let headers = [("user-agent", agent)];
            let answer = caller.json_with(GREET, &headers, "{\"name\":\"x\"}").await;
            let want = (500, code.to_owned(), "boom".to_owned());
            assert_eq!(answer.refused(), want, "{agent}");
            assert_eq!(answer.header("tri-exception-code"), exception, "{agent}");
        }
    }
}

#[tokio::test]
async fn details_attachments_and_a_wait_go_along() {
    let provider = failing(|_| {
        let mut status = Status::invalid_argument("bad name")
            .with_detail(&GreetRequest {
                name: "x".to_owned(),
            })
            .with_pushback(Duration::from_millis(1_500));
        status.attachments_mut().insert("k", "v");
        status
    })
    .await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller
            .call("POST", GREET, &[("content-type", "application/proto")], "")
            .await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("k"), Some("v"));
        assert_eq!(answer.header("retry-after"), Some("2"));
        assert_eq!(
            answer.text(),
            "{\"code\":\"invalid_argument\",\"message\":\"bad name\",\
             \"details\":[{\"type\":\"greet.GreetRequest\",\"value\":\"CgF4\"}]}"
        );
    }
}

#[tokio::test]
async fn the_text_of_an_error_arrives_as_it_was() {
    let provider = failing(|name| Status::internal(name.to_owned())).await;
    let text =
        "\u{4e00}\u{884c} 50% +x\n\u{4e8c}\u{884c} \u{1f923}\n\u{4e09}\u{884c} \"</script>\"";
    for mut caller in Caller::both(provider.address).await {
        let body = serde_json::json!({ "name": text }).to_string();
        let (status, code, message) = caller.json(GREET, &body).await.refused();
        assert_eq!((status, &*code, &*message), (500, "internal", text));
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_the_connection_goes_on() {
    let provider = Provider::of(unary(|request| async move {
        assert_ne!(request.message().name, "secret", "never told");
        Ok(crate::greeter::hello("you").into())
    }))
    .await;
    for mut caller in Caller::both(provider.address).await {
        let answer = caller.json(GREET, "{\"name\":\"secret\"}").await;
        let want = (
            500,
            "internal".to_owned(),
            "the handler panicked".to_owned(),
        );
        assert_eq!(answer.refused(), want);
        assert_eq!(caller.json(GREET, "{\"name\":\"x\"}").await.status, 200);
    }
}
