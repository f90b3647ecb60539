//! The cases by name. The names, and what they mean, are shared by the consumers of all languages.

use std::time::Duration;

use dubbo::config::{Compression, CompressionConfig, ReferenceConfig, TripleConfig};

use super::{Target, calls, messages, outcome::Outcome, shutdown, streams};
use crate::contract::{EchoMessage, FailRequest, GreetRequest, StrangerClient, fail_request::Kind};

/// Runs the case of `target`, if it is one.
#[expect(clippy::too_many_lines, reason = "a table: a few lines for each case")]
pub(super) async fn run(target: &Target<'_>) -> Option<Outcome> {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let many = || (0..500).map(|n| n.to_string()).collect::<Vec<_>>();
    Some(match target.case {
        "greet" => calls::greet(target, "dubbo").await.into(),
        "greet_empty" => calls::greet(target, "").await.into(),
        "greet_unicode" => calls::greet(target, "é 中文 😀").await.into(),
        "echo_all" => calls::echo(target, messages::full()).await.into(),
        "echo_zero" => calls::echo(target, EchoMessage::default()).await.into(),
        "big_2m" => calls::big(target, 2 << 20, 2 << 20).await.into(),
        "big_request_over" => calls::big(target, 5 << 20, 1).await.into(),
        "big_response_over" => calls::big(target, 1, 5 << 20).await.into(),
        "gzip" => calls::greet_as(target, compressed).await.into(),
        "gzip_big" => calls::big_as(target, 2 << 20, 2 << 20, compressed)
            .await
            .into(),

        "server_stream" => streams::server(target, wanted(3)).await,
        "server_stream_none" => streams::server(target, wanted(0)).await,
        "server_stream_fail_first" => {
            let request = GreetRequest {
                fail_after: 2,
                fail_code: 9,
                ..wanted(5)
            };
            streams::server(target, request).await
        }
        "server_stream_many" => streams::last_of(streams::server(target, wanted(2000)).await),
        "server_stream_attachments" => streams::server_trailers(target).await.into(),
        "client_stream" => streams::client(target, 0, names(&["a", "b", "c"]))
            .await
            .into(),
        "client_stream_none" => streams::client(target, 0, names(&[])).await.into(),
        "client_stream_fail" => streams::client(target, 7, names(&["a", "fail"]))
            .await
            .into(),
        "client_stream_many" => streams::client(target, 0, many()).await.into(),
        "client_stream_attachments" => streams::client_trailers(target).await.into(),
        "bidi" => streams::bidi(target, 0, names(&["a", "b", "c"])).await,
        "bidi_none" => streams::bidi(target, 0, names(&[])).await,
        "bidi_fail" => streams::bidi(target, 7, names(&["a", "fail"])).await,
        "bidi_many" => streams::last_of(streams::bidi(target, 0, many()).await),
        "bidi_attachments" => streams::bidi_trailers(target).await.into(),

        "fail_plain" => fail(target, Kind::Plain, "boom").await,
        "fail_plain_percent" => fail(target, Kind::Plain, "50% + é\n\t中 end ").await,
        "fail_plain_empty" => fail(target, Kind::Plain, "").await,
        "fail_panic" => fail(target, Kind::Panic, "panicked").await,
        "fail_context" => calls::fail_in_time(target, HASTY).await.into(),

        "sleep_ok" => calls::sleep(target, PATIENT, 100).await.into(),
        "sleep_timeout" => calls::sleep(target, HASTY, 1000).await.into(),
        "sleep_call_timeout" => {
            calls::sleep_with(target, |call| call.timeout(Duration::from_millis(200)))
                .await
                .into()
        }
        "sleep_ctx_deadline" => calls::sleep_with(target, |call| call.deadline(soon()))
            .await
            .into(),
        "stream_ctx_deadline" => streams::server_until(target, soon()).await,
        "cancel" => calls::cancel(target).await.into(),
        "cancel_stream" => streams::cancel_server(target).await.into(),
        "cancel_client_stream" => streams::cancel_client(target).await.into(),
        "cancel_bidi" => streams::cancel_bidi(target).await.into(),

        "unknown_method" => calls::stranger(target, StrangerClient::no_such_method)
            .await
            .into(),
        "unknown_service" => calls::greet_as(target, |options| {
            options.interface("dubbo.interop.v1.Nobody")
        })
        .await
        .into(),
        "method_case_lower" => calls::stranger(target, StrangerClient::greet).await.into(),
        "method_case_upper" => calls::stranger(target, StrangerClient::lower_case)
            .await
            .into(),
        "method_case_exact" => calls::lower_case(target).await.into(),
        "method_case_wrong" => calls::shout(target).await.into(),
        "group_version" => keyed(target, "g1", "1.0.0").await,
        "group_wrong_version" => keyed(target, "g1", "9.9.9").await,
        "group_without_version" => keyed(target, "g1", "").await,
        "wrong_version" => keyed(target, "", "9.9.9").await,
        "wrong_group" => keyed(target, "nogroup", "").await,

        "attachments_map" => calls::attachments_map(target).await.into(),
        "attachments_header" => calls::attachments_header(target).await.into(),
        "attachments_nonascii" => calls::attachments_non_ascii(target).await.into(),
        "attachments_newline" => calls::attachments_newline(target).await.into(),

        "health_check" => calls::health(target, "").await.into(),
        "health_check_service" => calls::health(target, GREETER).await.into(),
        "health_check_group" => {
            let service = format!("g1/{GREETER}:1.0.0");
            calls::health(target, &service).await.into()
        }
        "health_check_unknown" => calls::health(target, "no.such.Service").await.into(),
        "health_watch" => streams::watch_once(target, GREETER).await.into(),
        "health_watch_unknown" => streams::watch_once(target, "no.such.Service").await.into(),

        "shutdown_inflight" if target.protocol == "tri" => {
            shutdown::in_flight_watched(target).await.into()
        }
        "shutdown_inflight" => shutdown::in_flight(target).await.into(),
        "shutdown_after" => shutdown::call_until(target, Result::is_err).await.into(),
        "shutdown_reconnect" => shutdown::call_until(target, Result::is_ok).await.into(),

        other => {
            let (code, details) = match other.strip_prefix("fail_details_") {
                Some(code) => (code, names(&["one", "two"])),
                None => (other.strip_prefix("fail_code_")?, names(&[])),
            };
            let request = FailRequest {
                code: code.parse().ok()?,
                message: "status as asked".to_owned(),
                details,
                ..FailRequest::default()
            };
            calls::fail(target, request).await.into()
        }
    })
}

/// Sends every request compressed.
fn compressed(options: ReferenceConfig) -> ReferenceConfig {
    let gzip = CompressionConfig::new()
        .send(vec![Compression::Gzip])
        .min_size(0);
    options.triple(TripleConfig::new().compression(gzip))
}

fn wanted(count: i32) -> GreetRequest {
    GreetRequest {
        name: "dubbo".to_owned(),
        count,
        ..GreetRequest::default()
    }
}

async fn fail(target: &Target<'_>, kind: Kind, message: &str) -> Outcome {
    let request = FailRequest {
        kind: kind.into(),
        message: message.to_owned(),
        ..FailRequest::default()
    };
    calls::fail(target, request).await.into()
}

async fn keyed(target: &Target<'_>, group: &str, version: &str) -> Outcome {
    let change = |options: ReferenceConfig| options.group(group).version(version);
    calls::greet_as(target, change).await.into()
}

fn soon() -> tokio::time::Instant {
    tokio::time::Instant::now() + Duration::from_millis(250)
}

/// The service's full name.
pub(super) const GREETER: &str = "dubbo.interop.v1.Greeter";
pub(super) const HASTY: Duration = Duration::from_millis(300);
pub(super) const PATIENT: Duration = Duration::from_secs(10);
