//! Filters from the configuration by name, on both sides.

use std::{sync::Arc, time::Duration};

use dubbo::{Filter, InstanceBuilder, Invocation, Next, RpcResult, Status, spi::invocation::Body};
use examples::greet::GreeterClient;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use super::rig::{answering, greet, load, named, reference, url_of};

/// Writes down its name when a call comes by.
struct Trace {
    name: &'static str,
    log: Arc<Mutex<Vec<&'static str>>>,
}

#[async_trait::async_trait]
impl Filter for Trace {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        self.log.lock().push(self.name);
        next.run(invocation).await
    }
}

fn with_traces(
    mut builder: InstanceBuilder,
    log: &Arc<Mutex<Vec<&'static str>>>,
) -> InstanceBuilder {
    for name in ["a", "b", "c"] {
        let log = Arc::clone(log);
        builder = builder.extension::<dyn Filter>(name, move |_| {
            let log = Arc::clone(&log);
            Ok(Arc::new(Trace { name, log }))
        });
    }
    builder
}

#[tokio::test]
async fn calls_pass_the_filters_that_are_listed_in_their_order() {
    for (for_all, own, want) in [
        ("", "", ""),
        ("filter: a", "", "a"),
        ("filter: [a, b]", "", "ab"),
        ("filter: 'b,a'", "", "ba"),
        ("filter: [a, b]", "filter: c", "c"),
        ("filter: a", "filter: []", ""),
        ("filter: a", "filter: ''", ""),
        ("", "filter: 'default,a'", "a"),
        ("", "filter: [a, Default, b]", "ab"),
        ("", "filter: [A, b, -a, c]", "bc"),
        ("filter: [a, -a]", "", ""),
        ("", "filter: [a, a]", "aa"),
    ] {
        let (at_provider, at_consumer) = (Arc::default(), Arc::default());
        let yaml = format!(
            "dubbo: {{protocols: {{tri: {{ip: 127.0.0.1, port: 0}}}}, \
             provider: {{{for_all}{}services: {{greet.Greeter: {{{own}}}}}}}}}",
            if for_all.is_empty() { "" } else { ", " }
        );
        let provider = with_traces(load(&yaml), &at_provider)
            .provide(named("done"))
            .build()
            .expect("valid");
        provider.start().await.expect("starts");
        let yaml = format!(
            "dubbo: {{consumer: {{{for_all}{}references: {{greet.Greeter: {{url: '{}', {own}}}}}}}}}",
            if for_all.is_empty() { "" } else { ", " },
            url_of(&provider)
        );
        let consumer = with_traces(load(&yaml), &at_consumer)
            .build()
            .expect("valid");
        let greeter: GreeterClient = consumer.refer().await.expect("refers");
        assert_eq!(greet(&greeter, "").await.expect("answers"), "done");
        let seen = [at_provider, at_consumer].map(|log| log.lock().concat());
        assert_eq!(seen, [want, want], "for all `{for_all}`, own `{own}`");
    }
}

/// What a filter in the usual place has to do: ask someone for a token, read what is called, change what travels
/// beside it, and take the time.
struct Sign {
    side: &'static str,
    tokens: mpsc::UnboundedSender<(String, oneshot::Sender<String>)>,
    times: mpsc::UnboundedSender<(String, Duration)>,
}

#[async_trait::async_trait]
impl Filter for Sign {
    async fn invoke(&self, mut invocation: Invocation, next: Next<'_>) -> RpcResult {
        let began = Instant::now();
        let what = format!(
            "{}: {}.{}",
            self.side,
            invocation.service,
            invocation.method.name()
        );
        let (answer, token) = oneshot::channel();
        let gone = || Status::unavailable("the token service has gone");
        self.tokens
            .send((what.clone(), answer))
            .map_err(|_| gone())?;
        let token = token.await.map_err(|_| gone())?;
        invocation.attachments.remove("secret");
        let name = format!("{}-token", self.side);
        invocation.attachments.insert(name, token);
        let mut reply = next.run(invocation).await?;
        reply.trailers.append("signed-by", self.side);
        assert!(matches!(reply.body, Body::Unary(_)));
        let _ = self.times.send((what, began.elapsed()));
        Ok(reply)
    }
}

#[tokio::test]
async fn one_filter_awaits_reads_changes_and_times_a_call_on_either_side() {
    let (tokens, mut asked) = mpsc::unbounded_channel::<(String, oneshot::Sender<String>)>();
    let (times, mut done) = mpsc::unbounded_channel();
    let token_service = tokio::spawn(async move {
        let mut asked_for = Vec::new();
        while let Some((what, answer)) = asked.recv().await {
            answer
                .send(format!("t{}", asked_for.len()))
                .expect("is awaited");
            asked_for.push(what);
        }
        asked_for
    });
    let sign = move |side| {
        let (tokens, times) = (tokens.clone(), times.clone());
        move |builder: InstanceBuilder| {
            builder.extension::<dyn Filter>("sign", move |_| {
                let (tokens, times) = (tokens.clone(), times.clone());
                Ok(Arc::new(Sign {
                    side,
                    tokens,
                    times,
                }))
            })
        }
    };
    let service = answering(|request| {
        let attachments = request.attachments();
        let token = |side: &str| attachments.get(&format!("{side}-token")).map(str::to_owned);
        let tokens = [token("consumer"), token("provider")];
        Ok(format!("{tokens:?} {}", attachments.contains("secret")))
    });
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}, provider: {filter: sign}}";
    let provider = sign("provider")(load(yaml))
        .provide(service)
        .build()
        .expect("valid");
    provider.start().await.expect("starts");
    let yaml = reference(&url_of(&provider), "filter: sign");
    let consumer = sign("consumer")(load(&yaml)).build().expect("valid");
    let greeter: GreeterClient = consumer.refer().await.expect("refers");

    let response = greeter
        .greet(super::rig::request("you"))
        .attach("secret", "s")
        .await
        .expect("answers");
    assert_eq!(
        response.message().greeting,
        r#"[Some("t0"), Some("t1")] false"#
    );
    let mut signed: Vec<_> = response.trailers().all("signed-by").collect();
    signed.sort_unstable();
    assert_eq!(signed, ["consumer", "provider"]);

    let (inner, outer) = (
        done.recv().await.expect("one"),
        done.recv().await.expect("two"),
    );
    assert_eq!(inner.0, "provider: greet.Greeter.Greet");
    assert!(
        outer.0.starts_with("consumer") && outer.1 >= inner.1,
        "{inner:?} is within {outer:?}"
    );
    drop((greeter, consumer, provider, sign));
    let asked = token_service.await.expect("ends");
    assert_eq!(
        asked,
        [
            "consumer: greet.Greeter.Greet",
            "provider: greet.Greeter.Greet"
        ]
    );
}

/// Refuses the first so many calls.
struct Refuse(Mutex<u32>);

#[async_trait::async_trait]
impl Filter for Refuse {
    async fn invoke(&self, invocation: Invocation, next: Next<'_>) -> RpcResult {
        let refuses = {
            let mut left = self.0.lock();
            let refuses = *left > 0;
            *left = left.saturating_sub(1);
            refuses
        };
        if refuses {
            return Err(Status::unavailable("not now"));
        }
        next.run(invocation).await
    }
}

#[tokio::test]
async fn a_consumers_filter_sees_each_attempt_and_a_refusal_is_one() {
    for (refusals, want) in [(0, Ok("done")), (2, Ok("done")), (3, Err("not now"))] {
        let provider = super::rig::provide("", named("done")).await;
        let consumer = load(&reference(&url_of(&provider), "filter: refuse, retries: 2"))
            .extension::<dyn Filter>("refuse", move |_| {
                Ok(Arc::new(Refuse(Mutex::new(refusals))))
            })
            .build()
            .expect("valid");
        let greeter: GreeterClient = consumer.refer().await.expect("refers");
        match (greet(&greeter, "").await, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want),
            (Err(status), Err(want)) => assert!(status.message().contains(want), "{status}"),
            (got, want) => panic!("{refusals} refusals: {got:?} instead of {want:?}"),
        }
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_made_fails_the_start_or_the_reference() {
    let yaml = "dubbo: {protocols: {tri: {ip: 127.0.0.1, port: 0}}, provider: {filter: picky}, \
                consumer: {references: {greet.Greeter: {url: 'tri://127.0.0.1:9', filter: picky}}}}";
    let instance = load(yaml)
        .extension::<dyn Filter>("picky", |cx| {
            Err(format!("no key for {}", cx.url.path()).into())
        })
        .provide(named("done"))
        .build()
        .expect("valid");
    let want = "cannot make the filter `picky`: no key for greet.Greeter";
    let refused = instance
        .refer::<GreeterClient>()
        .await
        .expect_err("refused");
    assert_eq!(refused.to_string(), want);
    let refused = instance.start().await.expect_err("refused");
    assert_eq!(refused.to_string(), want);
    assert!(instance.exported().is_empty());
}
