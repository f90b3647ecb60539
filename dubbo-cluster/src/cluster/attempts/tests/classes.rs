//! What is tried again: by class, by idempotency, by what a policy names.

use super::*;
use crate::{cluster::End, testing::invocation_of};

#[tokio::test(start_paused = true)]
async fn cluster_t16_an_error_of_the_application_has_one_attempt() {
    let business = [
        Status::new(Code::Business, "17").with_origin(Origin::Business),
        Status::unknown("tri-exception-code 3").with_origin(Origin::Business),
        Status::business("an exception in a classic response"),
    ];
    for status in business {
        for document in ["mode: compat", "mode: strict"] {
            let rig = Rig::new(document, &providers(3, &Answer::Fail(status.clone())));
            let got = rig.fails().await;
            assert_eq!(rig.made(), 1, "{document}: {status}");
            assert_eq!(got.message(), status.message(), "as it came");
            assert_eq!(got.origin(), Origin::Business);
        }
    }
    let unknown = fail(Code::Unknown, Origin::Remote);
    for (document, params, want) in [
        ("mode: compat", &[][..], 3),
        ("mode: strict", &[], 1),
        ("mode: strict", &[("idempotent", "true")], 2),
    ] {
        let rig = Rig::of(&Failover, document, &providers(3, &unknown), params);
        rig.fails().await;
        assert_eq!(rig.made(), want, "{document} {params:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t35_what_is_tried_again_depends_on_class_and_idempotency() {
    let remote = |code| fail(code, Origin::Remote);
    let refused = Status::unavailable("closing").with_origin(Origin::Remote);
    let refused = Answer::Fail(refused.not_processed());
    for (answer, unsafe_, safe) in [
        (unsent(), 3, 3),
        (refused, 3, 3),
        (broken(), 1, 3),
        (Answer::Hang, 1, 3),
        (remote(Code::Unavailable), 1, 3),
        (remote(Code::Canceled), 1, 3),
        (remote(Code::Aborted), 1, 3),
        (remote(Code::ResourceExhausted), 3, 3),
        (remote(Code::Internal), 1, 2),
        (remote(Code::InvalidArgument), 1, 1),
        (remote(Code::Unimplemented), 1, 1),
        (remote(Code::Unauthenticated), 1, 1),
        (remote(Code::DataLoss), 1, 1),
        (Answer::Fail(Status::canceled("the caller left")), 1, 1),
        (
            Answer::Fail(Status::unavailable("no answer can be had").done()),
            1,
            1,
        ),
    ] {
        for (params, want) in [(&[][..], unsafe_), (&[("First.idempotent", "true")], safe)] {
            let rig = Rig::of(&Failover, "mode: strict", &providers(3, &answer), params);
            let status = rig.fails().await;
            assert_eq!(rig.made(), want, "{answer:?} {params:?}: {status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t35_a_call_with_a_key_is_tried_again_with_the_same_key() {
    let rig = Rig::new("mode: strict", &providers(3, &Answer::Hang));
    let mut call = invocation();
    call.attachments.insert("dubbo-idempotency-key", "order-7");
    rig.fails_with(call).await;
    assert_eq!(rig.made(), 3);
    for got in rig.providers.iter().flat_map(|provider| provider.calls()) {
        assert_eq!(
            got.attachments.get("dubbo-idempotency-key"),
            Some("order-7")
        );
    }
    let document = "policies: { all: { idempotency: keyed } }";
    let rig = Rig::new(document, &providers(3, &Answer::Hang));
    rig.fails().await;
    let calls = rig.providers.iter().flat_map(|provider| provider.calls());
    let keys: Vec<Option<String>> = calls
        .map(|got| {
            got.attachments
                .get("dubbo-idempotency-key")
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(keys.len(), 3);
    assert!(
        keys[0].is_some() && keys.iter().all(|key| *key == keys[0]),
        "{keys:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_policy_says_which_calls_may_be_repeated() {
    for (idempotency, params, key, want) in [
        ("declared", &[][..], false, 1),
        ("declared", &[("idempotent", "true")], false, 3),
        ("assume", &[], false, 3),
        ("never", &[("idempotent", "true")], true, 1),
    ] {
        let document = format!("policies: {{ all: {{ idempotency: {idempotency} }} }}");
        let rig = Rig::of(&Failover, &document, &providers(3, &broken()), params);
        let mut call = invocation();
        if key {
            call.attachments.insert("dubbo-idempotency-key", "k");
        }
        let status = rig.fails_with(call).await;
        assert_eq!(rig.made(), want, "{idempotency} {params:?}: {status}");
        if want == 1 {
            assert_eq!(told(&status).end, End::NotRepeatable);
            let why = "it may have been done, and `First` is not idempotent";
            assert!(status.message().contains(why), "{status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_names_what_is_tried_again() {
    let busy = Answer::Fail(Status::business("com.x.Busy: try later"));
    let late = fail(Code::DeadlineExceeded, Origin::Remote);
    for (retry_on, answer, want) in [
        ("{}", &late, 3),
        ("{ codes: [unavailable] }", &late, 1),
        ("{ codes: [unavailable, deadline-exceeded] }", &late, 3),
        ("{ codes: [deadline-exceeded] }", &unsent(), 3),
        ("{ not-sent: never }", &unsent(), 1),
        ("{ biz: false }", &busy, 1),
        ("{ biz: true }", &busy, 3),
        ("{ biz: [com.x.Busy] }", &busy, 3),
        ("{ biz: [com.x.Other] }", &busy, 1),
    ] {
        let document =
            format!("policies: {{ all: {{ retry-on: {retry_on}, idempotency: assume }} }}");
        let rig = Rig::new(&document, &providers(3, answer));
        let status = rig.fails().await;
        assert_eq!(rig.made(), want, "{retry_on} {answer:?}: {status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_requests_has_one_attempt_with_a_policy_too() {
    let rig = Rig::new("mode: strict", &providers(3, &unsent()));
    let status = rig.fails_with(invocation_of("Upload")).await;
    assert_eq!(rig.made(), 1);
    assert!(
        status.message().contains("requests are a stream"),
        "{status}"
    );
}

#[tokio::test(start_paused = true)]
async fn cluster_t18_a_policy_counts_before_retries_and_a_call_before_both() {
    let policy = "policies: { all: { max-attempts: 5, idempotency: assume } }";
    for (document, params, asked, want) in [
        (policy, &[][..], None, 5),
        (policy, &[("retries", "0")], None, 5),
        (policy, &[], Some("2"), 3),
        (policy, &[], Some("0"), 1),
        (policy, &[], Some("-1"), 1),
        (policy, &[], Some("abc"), 5),
        ("mode: strict", &[("idempotent", "true")], None, 3),
    ] {
        let rig = Rig::of(&Failover, document, &providers(6, &broken()), params);
        let mut call = invocation();
        if let Some(asked) = asked {
            call.attachments.insert("retries", asked);
        }
        rig.fails_with(call).await;
        assert_eq!(rig.made(), want, "{document} {params:?} {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_has_the_policy_that_it_names_or_that_its_method_and_colour_have() {
    let document = "
policies:
  common: { max-attempts: 2, idempotency: assume }
  first: { match: { methods: [Fir*] }, max-attempts: 3, idempotency: assume }
  gray: { match: { service: a.B, methods: [First], tag: gray* }, max-attempts: 4, idempotency: assume }
  named: { match: { service: other }, max-attempts: 5, idempotency: assume }
";
    for (method, attachments, want) in [
        ("Second", &[][..], 2),
        ("First", &[], 3),
        ("First", &[("dubbo.tag", "gray-7")], 4),
        ("First", &[("x-env-tag", "gray")], 4),
        ("First", &[("dubbo.tag", "blue")], 3),
        ("Second", &[("dubbo.tag", "gray")], 2),
        ("First", &[("dubbo-retry-policy", "named")], 5),
        ("First", &[("dubbo-retry-policy", "unknown")], 3),
    ] {
        let rig = Rig::new(document, &providers(6, &broken()));
        let mut call = invocation_of(method);
        for (name, value) in attachments {
            call.attachments.insert(*name, *value);
        }
        rig.fails_with(call).await;
        assert_eq!(rig.made(), want, "{method} {attachments:?}");
        let mut calls = rig.providers.iter().flat_map(|provider| provider.calls());
        assert!(calls.all(|got| !got.attachments.contains("dubbo-retry-policy")));
    }
}
