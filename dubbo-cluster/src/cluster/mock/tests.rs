//! When a call is mocked, and what its caller is told.

use std::{error::Error, sync::Arc};

use dubbo_core::{
    cluster::Mock,
    invocation::{Body, Invocation, RpcResult},
    invoker::Invoker,
    status::{Code, Origin, Status},
};
use futures_util::StreamExt as _;

use super::{MockRule, around};
use crate::{
    cluster::Failover,
    testing::{Answer, Fixed, Scripted, asking, invocation, invocation_of, join},
};

/// Calls `method` of a provider that answers with `answer`, mocked as `mock` says; what came of it, and whether the provider
/// was asked.
async fn call(mock: &str, method: &str, answer: Option<Status>) -> (RpcResult, bool) {
    let provider = Scripted::with(1, answer.map(Answer::Fail));
    let params = [("mock", mock), ("retries", "0")];
    let config = asking(&params);
    let mut extensions = config.extensions.clone();
    extensions.register::<dyn Mock>("given-back", |_| {
        Ok(Arc::new(
            |call: Invocation, failure: Option<Status>| async move {
                match failure {
                    Some(_) => Err(Status::aborted("the mock fails, too")),
                    None => Ok(dubbo_core::invocation::Reply::new(call.body)),
                }
            },
        ))
    });
    extensions.register::<dyn Mock>("sold-out", |_| {
        Ok(Arc::new(|_: Invocation, _: Option<Status>| async {
            Err(Status::business("sold out"))
        }))
    });
    let config = Arc::into_inner(config).expect("ours alone");
    let config = Arc::new(config.with_extensions(extensions));
    let rule = MockRule::read(&config, method).expect("valid");
    let cluster = join(&Failover, Fixed::of(&[Arc::clone(&provider)]), config);
    let mocked = around(cluster, rule.as_ref());
    let result = mocked.invoke(invocation_of(method)).await;
    (result, !provider.calls().is_empty())
}

fn down() -> Status {
    Status::unavailable("down").with_origin(Origin::Transport)
}

#[tokio::test]
async fn a_failure_is_mocked_and_an_answer_is_not() {
    let answers = [
        Status::business("no such user"),
        Status::not_found("no such user"),
        Status::invalid_argument("what?"),
    ];
    for answer in answers {
        let (result, _) = call("return empty", "First", Some(answer)).await;
        let status = result.expect_err("it is the application's word");
        assert!(!status.message().contains("mock"), "{status}");
    }
    for failure in [
        Status::unavailable("down"),
        Status::resource_exhausted("busy"),
        Status::deadline_exceeded("slow"),
        Status::unknown("boom"),
        Status::canceled("draining").not_processed(),
    ] {
        let (result, was_asked) = call("fail: return empty", "First", Some(failure)).await;
        assert!(result.is_ok() && was_asked);
    }
    let (result, was_asked) = call("return empty", "First", None).await;
    assert!(result.is_ok() && was_asked);
}

#[tokio::test]
async fn a_forced_mock_asks_nobody() {
    for (mock, code) in [
        ("force: return empty", None),
        ("force: throw", Some(Code::Unknown)),
        ("force: throw x.SoldOut", Some(Code::Business)),
        ("force: given-back", None),
        ("force: sold-out", Some(Code::Business)),
    ] {
        let (result, was_asked) = call(mock, "First", Some(down())).await;
        assert_eq!(result.err().map(|status| status.code()), code, "{mock}");
        assert!(!was_asked, "{mock}");
    }
}

#[tokio::test]
async fn a_mock_that_fails_tells_of_the_call_as_well_unless_it_is_the_applications_word() {
    let (result, _) = call("given-back", "First", Some(down())).await;
    let status = result.expect_err("both fail");
    assert_eq!(status.code(), Code::Aborted);
    let text = status.message();
    assert!(
        text.starts_with(
            "the mock fails, too (mocked, because the call failed: unavailable: down ("
        ),
        "{text}"
    );
    assert!(
        status.source().is_some_and(<dyn Error>::is::<Status>),
        "the call is behind it"
    );

    for mock in ["sold-out", "throw x.SoldOut"] {
        let (result, _) = call(mock, "First", Some(down())).await;
        let status = result.expect_err("thrown");
        assert_eq!(status.origin(), Origin::Business);
        assert!(!status.message().contains("down"), "{status}");
    }
}

#[tokio::test]
async fn streams_are_mocked_as_far_as_they_can_be() {
    for (mock, items) in [
        ("force: return {}", 1),
        ("force: return null", 0),
        ("force: return empty", 0),
    ] {
        let (result, _) = call(mock, "Download", None).await;
        let Body::Stream(stream) = result.expect(mock).body else {
            panic!("a stream is due");
        };
        assert_eq!(stream.count().await, items, "{mock}");
    }
    let (result, _) = call("given-back", "Upload", Some(down())).await;
    let status = result.expect_err("its requests are gone");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(
        status
            .message()
            .starts_with("the mock cannot have its requests, which are a stream: down"),
        "{status}"
    );
    assert!(call("return {}", "Upload", Some(down())).await.0.is_ok());
}

#[tokio::test]
async fn each_method_has_the_mock_that_the_settings_name_for_it() {
    use crate::cluster::{LiveCluster, SettingsMaker};
    use dubbo_core::{extension::Extensions, service::ServiceKey};

    let extensions = Extensions::linked().expect("no duplicates");
    let service = crate::testing::service();
    let maker = SettingsMaker::new(extensions, ServiceKey::new("a.B"), service, None);
    let url = crate::testing::consumer().with_param("retries", "0");
    let mocked = url.with_param("methods.First.mock", "return {}");
    let provider = Scripted::with(1, [Answer::Fail(down())]);
    let directory = Fixed::of(&[Arc::clone(&provider)]);
    let settings = maker.resolve(&mocked).expect("valid");
    let live = LiveCluster::new(directory, &settings).expect("joins");
    assert!(live.invoke(invocation()).await.is_ok());
    assert!(live.invoke(invocation_of("Second")).await.is_err());
    live.exchange(&maker.resolve(&url).expect("valid"))
        .expect("joins");
    assert!(
        live.invoke(invocation()).await.is_err(),
        "it is taken back while calls run"
    );
    live.exchange(&settings).expect("joins");
    live.close().await;
    let error = maker
        .resolve(&url.with_param("mock", "true"))
        .expect_err("nobody");
    assert_eq!(error.to_string(), "no mock is called `a.BMock`; linked: []");
}
