//! How often calls are made again, and what is counted.

use std::{sync::Arc, time::Duration};

use dubbo_core::{
    invocation::{Body, Reply},
    payload::Codec,
    status::{Code, Origin, Status},
};
use tokio::time::{Instant, advance, sleep};

use super::{AGES, Estate, down, times, unavailable};
use crate::{
    cluster::IGNORED,
    resend::{Switches, dead_letter::Reason, queue::Priority},
    testing::{Answer, Fixed, Scripted, invocation, invocation_of},
};

fn ignored(reply: &Reply) -> &str {
    reply.trailers.get(IGNORED).expect("the answer is none")
}

#[tokio::test(start_paused = true)]
async fn cluster_t21_each_call_is_made_again_as_often_as_retries_say() {
    // Configured, attached to the call, how many attempts of it there are.
    for (configured, own, want) in [
        (Some(3), None, 4),
        (None, None, 4),
        (Some(0), None, 1),
        (Some(1), None, 2),
        (Some(3), Some("0"), 1),
        (Some(0), Some("2"), 3),
        (Some(3), Some(""), 4),
        (Some(3), Some("abc"), 4),
    ] {
        let provider = down();
        let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
        let mut call = invocation();
        if let Some(own) = own {
            call.attachments.insert("retries", own);
        }
        let reply = estate.join(configured, &[]).invoke(call).await;
        let reply = reply.expect("the caller goes on");
        let Body::Unary(empty) = &reply.body else {
            panic!("one answer");
        };
        assert_eq!(empty.encoded_len(Codec::Protobuf), Some(0));
        let again = if want == 1 {
            "is not made again"
        } else {
            "is made again later"
        };
        let text = ignored(&reply);
        assert!(text.starts_with("failback: the call failed and "), "{text}");
        assert!(text.contains(again) && text.contains("refused"), "{text}");
        sleep(AGES).await;
        let case = format!("{configured:?}, attached {own:?}");
        assert_eq!(provider.calls().len(), want, "{case}");
        let letters = estate.letters().await;
        assert_eq!(letters.len(), 1, "{case}");
        assert_eq!(letters[0].reason, Reason::Exhausted);
        assert_eq!(letters[0].attempts.len(), want, "{case}");
        assert_eq!(letters[0].code, Code::Unavailable);
        assert_eq!(letters[0].attempts[0].node, "tri://10.0.0.1:1");
    }
}

#[tokio::test(start_paused = true)]
async fn cluster_t18_negative_retries_of_failback_are_endless() {
    for (configured, own) in [(Some(-1), None), (Some(3), Some("-1"))] {
        let provider = down();
        let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
        let mut call = invocation();
        if let Some(own) = own {
            call.attachments.insert("retries", own);
        }
        let reply = estate.join(configured, &[]).invoke(call).await;
        reply.expect("the caller goes on");
        sleep(AGES).await;
        // One a minute, more or less.
        let calls = provider.calls().len();
        assert!((1_300..1_600).contains(&calls), "{calls}");
        assert!(estate.letters().await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn waits_grow_and_vary_and_have_a_limit() {
    let provider = down();
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let start = Instant::now();
    let reply = estate.join(Some(-1), &[]).invoke(invocation()).await;
    reply.expect("the caller goes on");
    sleep(Duration::from_hours(2)).await;
    let times = times(&provider, start);
    let waits: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut middle = 1.0_f64;
    for wait in &waits {
        // The clock ticks in milliseconds.
        assert!(*wait >= middle * 0.5 - 0.002 && *wait <= middle * 1.5 + 0.002);
        middle = (middle * 1.5).min(60.0);
    }
    let longest = waits.iter().copied().fold(0.0, f64::max);
    assert!(longest > 70.0, "the limit is that of the middle: {longest}");
}

#[tokio::test(start_paused = true)]
async fn cluster_t21_too_many_at_once_are_dead_letters() {
    let provider = down();
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let memory = crate::resend::dead_letter::MemoryStore::new(1_000);
    estate.letters.add("memory", Arc::new(memory));
    let reference = estate.join(Some(3), &[("failbacktasks", "100")]);
    let mut full = 0;
    for _ in 0..150 {
        let reply = reference.invoke(invocation()).await;
        let reply = reply.expect("the caller goes on");
        full += usize::from(ignored(&reply).contains("no more calls can wait"));
    }
    assert_eq!(full, 50);
    let letters = estate.letters().await;
    assert_eq!(letters.len(), 50);
    assert!(
        letters
            .iter()
            .all(|letter| letter.reason == Reason::QueueFull)
    );
    sleep(AGES).await;
    assert_eq!(provider.calls().len(), 150 + 100 * 3);
    let exhausted = estate.letters().await;
    let exhausted = exhausted
        .iter()
        .filter(|letter| letter.reason == Reason::Exhausted);
    assert_eq!(exhausted.count(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_counts_among_those_that_wait() {
    let provider = Scripted::with(1, [unavailable(), Answer::Hang]);
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(3), &[("failbacktasks", "1")]);
    let reply = reference.invoke(invocation()).await.expect("goes on");
    assert!(ignored(&reply).contains("is made again later"));
    while provider.calls().len() < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    // It hangs for 400 ms now.
    let reply = reference.invoke(invocation()).await.expect("goes on");
    assert!(ignored(&reply).contains("no more calls can wait"));
}

#[tokio::test(start_paused = true)]
async fn cluster_t21_a_call_that_nobody_is_there_for_waits_for_somebody() {
    let directory = Fixed::of(&[]);
    let estate = Estate::of(Arc::clone(&directory) as _);
    let reply = estate.join(Some(3), &[]).invoke(invocation()).await;
    let reply = reply.expect("the caller goes on");
    assert!(ignored(&reply).contains("nobody is there"), "{reply:?}");
    let provider = Scripted::at(1);
    directory.set(&[Arc::clone(&provider)]);
    sleep(AGES).await;
    assert_eq!(provider.calls().len(), 1);
    assert!(estate.letters().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cluster_t21_the_callers_end_and_deadline_are_nothing_to_later_attempts() {
    let provider = Scripted::with(
        1,
        [
            unavailable(),
            unavailable(),
            Answer::After(Duration::from_millis(300)),
        ],
    );
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(3), &[]);
    let mut call = invocation();
    call.deadline = Some(Instant::now() + Duration::from_millis(50));
    let caller = tokio::spawn(async move {
        reference.invoke(call).await.expect("goes on");
        std::future::pending::<()>().await;
    });
    sleep(Duration::from_millis(10)).await;
    caller.abort();
    sleep(AGES).await;
    let calls = provider.calls();
    assert_eq!(calls.len(), 3);
    let full_time = Some(Duration::from_millis(400));
    assert_eq!(calls[0].time, Some(Duration::from_millis(50)));
    assert!(calls[1..].iter().all(|got| got.time == full_time));
    assert!(calls.iter().all(|got| got.retries.is_none()));
    assert!(estate.letters().await.is_empty(), "the last one worked");
}

#[tokio::test(start_paused = true)]
async fn the_next_attempt_goes_to_another_provider_than_the_last() {
    let providers = [1, 2].map(|port| Scripted::with(port, [unavailable()]));
    let estate = Estate::of(Fixed::of(&providers));
    let reference = estate.join(Some(9), &[]);
    reference.invoke(invocation()).await.expect("goes on");
    sleep(AGES).await;
    let [one, two] = providers.map(|provider| provider.calls());
    assert_eq!((one.len(), two.len()), (5, 5));
    let mut last = one
        .iter()
        .map(|got| (got.at, 1))
        .chain(two.iter().map(|got| (got.at, 2)));
    let mut order: Vec<_> = last.by_ref().collect();
    order.sort_unstable();
    assert!(
        order.windows(2).all(|pair| pair[0].1 != pair[1].1),
        "{order:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_would_fail_again_is_the_callers_at_once() {
    let refused = Status::invalid_argument("what?").with_origin(Origin::Remote);
    for (status, calls) in [
        (Status::business("sold out"), 1),
        (refused.clone(), 1),
        (Status::canceled("gone"), 1),
    ] {
        let provider = Scripted::with(1, [Answer::Fail(status.clone())]);
        let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
        let answer = estate.join(Some(3), &[]).invoke(invocation()).await;
        let answer = answer.expect_err("it is the caller's");
        assert_eq!(
            (answer.code(), answer.message()),
            (status.code(), status.message())
        );
        sleep(AGES).await;
        assert_eq!(provider.calls().len(), calls);
    }
    // An answer to a later attempt ends it; as a dead letter only where that is asked for.
    for (params, want) in [(&[][..], 0), (&[("dead-letter.on", "non-retryable")], 1)] {
        let provider = Scripted::with(1, [unavailable(), Answer::Fail(refused.clone())]);
        let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
        let reply = estate.join(Some(3), params).invoke(invocation()).await;
        reply.expect("the caller goes on");
        sleep(AGES).await;
        assert_eq!(provider.calls().len(), 2);
        assert_eq!(estate.letters().await.len(), want);
    }
}

#[tokio::test(start_paused = true)]
async fn what_nothing_is_done_about_is_no_success() {
    let estate = Estate::of(Fixed::of(&[down()]));
    for (retries, params) in [
        (
            0,
            [("dead-letter.on", "queue-full"), ("failbacktasks", "100")],
        ),
        (3, [("dead-letter.on", "exhausted"), ("failbacktasks", "0")]),
    ] {
        let reference = estate.join(Some(retries), &params);
        let status = reference
            .invoke(invocation())
            .await
            .expect_err("nobody has it");
        assert_eq!(status.code(), Code::Unavailable);
    }
    assert!(estate.letters().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn streams_do_not_wait() {
    for method in ["Upload", "Download"] {
        let provider = down();
        let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
        let reference = estate.join(Some(3), &[]);
        let status = reference.invoke(invocation_of(method)).await;
        assert_eq!(status.expect_err("the caller's").code(), Code::Unavailable);
        sleep(AGES).await;
        assert_eq!(provider.calls().len(), 1, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn options_are_those_of_the_method_and_bad_ones_are_refused() {
    let estate = Estate::of(Fixed::of(&[down()]));
    let params = [
        ("failback.priority", "3"),
        ("methods.First.failback.priority", "9"),
    ];
    let reference = estate.join(Some(0), &params);
    for method in ["First", "Second"] {
        let reply = reference.invoke(invocation_of(method)).await;
        reply.expect("the caller goes on");
    }
    let letters = estate.letters().await;
    let mut priorities: Vec<_> = letters
        .iter()
        .map(|letter| (&*letter.method, letter.priority))
        .collect();
    priorities.sort_unstable();
    let want = [("First", Priority::new(9)), ("Second", Priority::new(3))];
    assert_eq!(priorities, want);
    for (key, value, want) in [
        (
            "failback.priority",
            "11",
            "`failback.priority` is 11, and goes from 1 to 10",
        ),
        ("failback.burst", "0", "`failback.burst` is 0"),
        ("failbacktasks", "many", "failbacktasks"),
        ("outcome", "nope", "no outcome is called `nope`"),
        ("outcome", "compensate", "it needs `compensate.method`"),
        (
            "dead-letter.on",
            "sometimes",
            "`sometimes` is no reason for a dead letter",
        ),
        (
            "dead-letter.store",
            "nope",
            "no dead letter store is called `nope`",
        ),
    ] {
        let config = estate.config(Some(3), &[(key, value)]);
        let directory = Arc::clone(&estate.directory);
        let error = dubbo_core::cluster::Cluster::join(&estate.failback, directory, config);
        let error = error.err().expect(key).to_string();
        assert!(error.contains(want), "{key}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_of_no_use_any_more_is_given_up() {
    let provider = down();
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let reference = estate.join(Some(-1), &[("failback.ttl", "10s")]);
    let start = Instant::now();
    reference.invoke(invocation()).await.expect("goes on");
    sleep(AGES).await;
    assert!(times(&provider, start).iter().all(|time| *time <= 10.0));
    let letters = estate.letters().await;
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].reason, Reason::Expired);
    assert!(letters[0].expires_at.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_switch_and_the_precondition_hold_calls_back() {
    let provider = Scripted::with(1, [unavailable(), Answer::After(Duration::ZERO)]);
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    let resend = estate.extensions.shared::<crate::resend::Resend>();
    let off = Switches {
        retry_enabled: false,
        ..Switches::default()
    };
    resend.set_switches(off);
    let reference = estate.join(Some(3), &[]);
    reference.invoke(invocation()).await.expect("goes on");
    sleep(AGES).await;
    assert_eq!(provider.calls().len(), 1, "nothing is tried again");
    resend.set_switches(None);
    sleep(AGES).await;
    assert_eq!(provider.calls().len(), 2, "and nothing is lost");

    let provider = down();
    let estate = Estate::of(Fixed::of(&[Arc::clone(&provider)]));
    estate
        .letters
        .set_precondition(|letter: &crate::resend::dead_letter::DeadLetter| {
            assert_eq!(letter.method, "First");
            Err("the coupon is spent".to_owned())
        });
    let reference = estate.join(Some(3), &[]);
    reference.invoke(invocation()).await.expect("goes on");
    advance(Duration::ZERO).await;
    sleep(AGES).await;
    assert_eq!(provider.calls().len(), 1);
}
