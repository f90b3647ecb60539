//! What the built-in filters of a consumer do, from the keys of its configuration to the wire.

use std::{sync::Arc, time::Duration};

use dubbo::{Code, Filter, Invocation, Next, RpcResult, Status, spi::filter::ClusterFilter};
use dubbo_test::{metrics::Numbers, soon};
use examples::greet::GreeterClient;
use parking_lot::Mutex;

use super::rig::{
    answering, consume, desk, greet, load, named, provide, reference, request, url_of,
};

/// Counts what comes by, and says it with each call.
#[derive(Clone, Default)]
struct Count(Arc<Mutex<u32>>);

#[async_trait::async_trait]
impl Filter for Count {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        *self.0.lock() += 1;
        next.run(invocation).await
    }
}

impl ClusterFilter for Count {}

#[tokio::test]
async fn one_list_names_filters_of_calls_and_of_attempts() {
    let refusals = Mutex::new(2);
    let service = answering(move |_| {
        let mut left = refusals.lock();
        if *left > 0 {
            *left -= 1;
            return Err(Status::unavailable("not yet"));
        }
        Ok("done".to_owned())
    });
    let provider = provide("", service).await;
    let (calls, attempts, both) = (Count::default(), Count::default(), Count::default());
    let (of_calls, of_attempts) = (calls.clone(), attempts.clone());
    let (one, other) = (both.clone(), both.clone());
    let consumer = load(&reference(
        &url_of(&provider),
        "filter: [once, each, Both], retries: 2",
    ))
    .extension::<dyn ClusterFilter>("once", move |_| Ok(Arc::new(of_calls.clone())))
    .extension::<dyn Filter>("each", move |_| Ok(Arc::new(of_attempts.clone())))
    .extension::<dyn ClusterFilter>("both", move |_| Ok(Arc::new(one.clone())))
    .extension::<dyn Filter>("both", move |_| Ok(Arc::new(other.clone())))
    .build()
    .expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("refers");
    assert_eq!(
        greet(&greeter, "").await.expect("the third attempt works"),
        "done"
    );
    let seen = [&calls, &attempts, &both].map(|count| *count.0.lock());
    assert_eq!(seen, [1, 3, 1 + 3]);
}

#[tokio::test]
async fn a_filter_of_calls_that_cannot_be_made_fails_the_reference() {
    let consumer = load(&reference(
        "tri://127.0.0.1:9",
        "filter: picky, check: false",
    ))
    .extension::<dyn ClusterFilter>("picky", |cx| {
        Err(format!("no key for {}", cx.url.path()).into())
    })
    .build()
    .expect("valid");
    let refused = consumer
        .refer::<GreeterClient>()
        .await
        .expect_err("refused");
    let text = refused.to_string();
    assert!(
        text.contains("cannot make the cluster filter `picky`: no key for greet.Greeter"),
        "{text}"
    );
}

#[tokio::test]
async fn a_name_without_a_place_is_refused_with_the_reason() {
    for (name, want) in [
        (
            "consumer-classloader",
            "class loaders have no meaning in Rust",
        ),
        (
            "sentinel-consumer",
            "breakers are part of the policies of a call",
        ),
        ("cache", "no results are kept"),
        ("validation", "check arguments in a filter of your own"),
    ] {
        let builder = load(&reference("tri://127.0.0.1:9", &format!("filter: {name}")));
        let error = builder.build().expect_err("refused").to_string();
        assert!(
            error.contains(want) && error.contains("dubbo.yaml:1:"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn so_many_calls_are_under_way_to_one_provider() {
    let (service, mut calls) = desk();
    let provider = provide("", service).await;
    let options = "retries: 0, timeout: 1m, params: {actives: '1'}";
    let consumer = consume(&url_of(&provider), options).await;
    let first = tokio::spawn({
        let consumer = consumer.clone();
        async move { greet(&consumer, "one").await }
    });
    let one = calls.next().await;
    let late = consumer
        .greet(request("late"))
        .timeout(Duration::from_millis(30))
        .await;
    let late = late.expect_err("it waits in vain");
    assert_eq!(late.code(), Code::ResourceExhausted);
    assert!(late.message().contains("`actives`"), "{late}");
    let second = tokio::spawn(async move { greet(&consumer, "two").await });
    one.answer("done");
    first.await.expect("no panic").expect("works");
    let two = soon("its turn", calls.next()).await;
    assert_eq!(two.name, "two", "the one that waited in vain was not sent");
    two.answer("done");
    second.await.expect("no panic").expect("works");
}

#[tokio::test]
async fn calls_and_attempts_are_counted_where_metrics_are_switched_on() {
    let numbers = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&numbers);
    let refusals = Mutex::new(1);
    let service = answering(move |_| {
        let mut left = refusals.lock();
        if *left > 0 {
            *left -= 1;
            return Err(Status::unavailable("not yet"));
        }
        Ok("done".to_owned())
    });
    let provider = provide(
        ", application: {name: shop}, metrics: {enable: true}",
        service,
    )
    .await;
    let yaml = format!(
        "dubbo: {{application: {{name: web}}, metrics: {{enable: true}}, \
         consumer: {{references: {{GreeterClient: {{url: '{}', retries: 2}}}}}}}}",
        url_of(&provider)
    );
    let consumer = super::rig::consume_with(&yaml).await;
    greet(&consumer, "")
        .await
        .expect("the second attempt works");
    // What else the labels say is of the machine.
    let get = |name: &str, application: &str| {
        let of =
            format!("dubbo_{name}{{application_name={application},application_version=,group=,");
        let all = numbers.all();
        let mut own = all.iter().filter(|(key, _)| {
            key.starts_with(&of)
                && key.contains("interface=greet.Greeter,")
                && key.contains(",method=Greet,")
        });
        own.next().map_or(0.0, |(_, value)| *value).to_string()
    };
    for (name, application, want) in [
        ("consumer_requests_total", "web", "1"),
        ("consumer_requests_succeed_total", "web", "1"),
        ("consumer_attempts_total", "web", "2"),
        (
            "consumer_attempts_failed_service_unavailable_total",
            "web",
            "1",
        ),
        ("consumer_rt_milliseconds", "web", "1"),
        ("provider_requests_total", "shop", "2"),
        ("provider_requests_failed_total", "shop", "1"),
        ("provider_requests_processing_total", "shop", "0"),
    ] {
        assert_eq!(get(name, application), want, "{name}: {:#?}", numbers.all());
    }

    let silent = Numbers::default();
    let _recording = metrics::set_default_local_recorder(&silent);
    let provider = provide("", named("x")).await;
    let consumer = consume(&url_of(&provider), "").await;
    greet(&consumer, "").await.expect("works");
    let counted = silent.all();
    assert!(
        !counted.keys().any(|name| name.contains("_requests_")),
        "{counted:?}"
    );
}

#[tokio::test]
async fn a_call_whose_time_is_over_is_not_made() {
    let provider = provide("", named("x")).await;
    let consumer = consume(&url_of(&provider), "retries: 0").await;
    let over = tokio::time::Instant::now();
    let status = consumer
        .greet(request(""))
        .deadline(over)
        .await
        .expect_err("too late");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.is_not_processed());
}
